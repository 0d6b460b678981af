/* SPDX-License-Identifier: MIT */
/* The public calls: arguments in, core, errno out. See include/dodo/dodo.h. */
#include "dodo/dodo.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/description.h"
#include "base/os.h"
#include "base/parked.h"
#include "libdodo/descriptors.h"
#include "libdodo/file.h"
#include "libdodo/gate.h"
#include "libdodo/guests.h"
#include "libdodo/link.h"
#include "libdodo/queue.h"
#include "libdodo/carried.h"
#include "libdodo/program_file.h"
#include "libdodo/range_held.h"
#include "libdodo/reason.h"
#include "libdodo/runtime.h"

/* ---- what all calls share ------------------------------------------------------------------- */

/* A call in progress. It is no cancellation point: a thread that ended in the middle would leave
 * locks behind. On success errno is unchanged. */
typedef struct Entry {
    int error, cancel_state;
    Runtime *rt;
    Link *link; /* NULL: not in the core */
    Call call;
} Entry;

static void enter(Entry *e)
{
    e->error = errno;
    e->link = NULL;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &e->cancel_state);
}

static void leave(const Entry *e, bool failed)
{
    if (!failed)
        errno = e->error;
    (void)pthread_setcancelstate(e->cancel_state, NULL);
}

static int fail(const Entry *e, int error, const char *reason)
{
    reason_set(reason ? reason : "the system call failed");
    errno = error;
    leave(e, true);
    return -1;
}

/* Enters for a call on a region; false: none can be open. */
static bool begin(Entry *e)
{
    enter(e);
    e->rt = runtime_peek();
    if (e->rt)
        e->link = runtime_link_take(e->rt);
    return e->rt != NULL;
}

/* Runs the call that was started, to its end. */
static ssize_t finish(Entry *e)
{
    const Call *call = &e->call;
    runtime_run(e->rt, e->link, &e->call);
    runtime_link_give(e->rt, e->link);
    if (call->result < 0)
        return fail(e, call->error, call->reason ? call->reason : strerrordesc_np(call->error));
    leave(e, false);
    return call->result;
}

static const char no_region[] = "no such region";

/* ---- opening -------------------------------------------------------------------------------- */

static void identify(FileGiven *given, unsigned flags)
{
    static atomic_flag logged = ATOMIC_FLAG_INIT;
    char why[512], text[600];
    file_identify(given, why, sizeof why);
    if (!why[0] || !(flags & DODO_RETAIN) || atomic_flag_test_and_set(&logged))
        return;
    (void)snprintf(text, sizeof text, "region_not_retained reason=\"%s\"", why);
    log_line(DODO_LOG_WARN, text);
}

/* Opens the file, inside the gate: no child of a fork gets a share in its description. */
static int open_file(const Runtime *rt, size_t len, int fd, off_t offset, unsigned flags, bool held,
                     FileGiven *ret_given, const char **ret_reason)
{
    const Settings *s = runtime_settings(rt);
    if (runtime_ended(rt)) {
        *ret_reason = "the process is ending";
        return -ENOMEM;
    }
    int result = file_open(fd, (uint64_t)offset, len, flags & DODO_RDONLY, held, s->filesystems,
                           s->filesystems_count, ret_given);
    const bool may_share = (flags & DODO_RDONLY) && s->share;
    if (result == 0 && ((flags & DODO_RETAIN) || may_share))
        identify(ret_given, flags);
    const char *unfit = flags & DODO_RDONLY
                            ? "not a regular file that is open for reading"
                            : "not a regular file that is open for reading and writing";
    *ret_reason = result == -EBUSY ? "the range is part of an open region, or somebody has "
                                     "locked the file to its end, wherever that is (l_len 0)"
                  : !description_holds((uint64_t)offset, len)
                      ? "the range ends at 4 EiB (2^62 bytes) or beyond"
                  : result == -EINVAL ? unfit
                  : result == -EACCES
                      ? "the file cannot be opened for writing a second time: open the "
                        "region before permissions are given up, or with DODO_RDONLY"
                      : strerrordesc_np(-result);
    return result;
}

/* @since_ns: what the program has of the file is not older. */
static int open_region(size_t len, int fd, off_t offset, unsigned flags, bool held,
                       uint64_t since_ns)
{
    Entry e;
    FileGiven given;
    const char *reason;
    enter(&e);
    const unsigned known = DODO_RDONLY | DODO_RETAIN | DODO_FALLBACK | DODO_STRIPE | DODO_MIRROR;
    if (len < 1 || offset < 0 || (flags & ~known))
        return fail(&e, EINVAL, "length below 1, offset below 0, or an unknown flag");
    if (runtime_get(&e.rt) < 0 || runtime_serve(e.rt) < 0)
        return fail(&e, ENOMEM, reason_get()); /* a program goes on with its file */
    flags |= runtime_settings(e.rt)->mirror ? DODO_MIRROR : 0;
    e.link = runtime_link_take(e.rt);
    int result = open_file(e.rt, len, fd, offset, flags, held, &given, &reason);
    if (result < 0) {
        runtime_link_give(e.rt, e.link);
        return fail(&e, -result, reason);
    }
    retain_since(&given, since_ns);
    given.cached = held;
    call_open_start(&e.call, e.link->channel, &given, len, (uint64_t)offset, flags, os_now_ns());
    return (int)finish(&e);
}

int dodo_mopen_flags(size_t len, int fd, off_t offset, unsigned flags)
{
    return open_region(len, fd, offset, flags, false, UINT64_MAX);
}

int dodo_mopen_held(size_t len, int fd, off_t offset, unsigned flags, uint64_t since_ns)
{
    return open_region(len, fd, offset, flags, true, since_ns);
}

int dodo_mopen(size_t len, int fd, off_t offset)
{
    return dodo_mopen_flags(len, fd, offset, 0);
}

/* ---- calls on a region ---------------------------------------------------------------------- */

ssize_t dodo_mread(int rd, off_t offset, void *buf, size_t len)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    call_read_start(&e.call, e.link->channel, rd, offset, buf, len, os_now_ns());
    return finish(&e);
}

ssize_t dodo_mwrite(int rd, off_t offset, const void *buf, size_t len)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    call_write_start(&e.call, e.link->channel, rd, offset, buf, len, os_now_ns());
    return finish(&e);
}

ssize_t dodo_mreadv(int rd, const struct iovec *iov, int iovcnt, off_t offset)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    call_readv_start(&e.call, e.link->channel, rd, offset, iov, iovcnt, os_now_ns());
    return finish(&e);
}

ssize_t dodo_mwritev(int rd, const struct iovec *iov, int iovcnt, off_t offset)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    call_writev_start(&e.call, e.link->channel, rd, offset, iov, iovcnt, os_now_ns());
    return finish(&e);
}

ssize_t dodo_mfillv(int rd, const struct iovec *iov, int iovcnt, off_t offset)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    e.link->patient = true;
    call_offerv_start(&e.call, e.link->channel, rd, offset, iov, iovcnt, os_now_ns());
    return finish(&e);
}

ssize_t dodo_mfill_file(int rd, uint64_t from, uint64_t to)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    e.link->patient = true;
    call_fill_start(&e.call, e.link->channel, rd, from, to, os_now_ns());
    return finish(&e);
}

static void each_start(Call *call, Channel *ch, const DodoEach *each)
{
    uint64_t now_ns = os_now_ns();
    if (each->fills)
        call_offerv_start(call, ch, each->rd, each->offset, each->iov, each->iovcnt, now_ns);
    else
        call_readv_start(call, ch, each->rd, each->offset, each->iov, each->iovcnt, now_ns);
}

/* Outside the gate: it may wait for what a fork holds. */
static void each_over(DodoEach *each, ssize_t result, int error, void (*over)(void *, unsigned),
                      void *ctx, unsigned i)
{
    each[i].result = result;
    each[i].error = error;
    gate_leave();
    over(ctx, i);
    gate_enter();
}

void dodo_each(DodoEach *each, unsigned count, void (*over)(void *ctx, unsigned i), void *ctx)
{
    assert(count <= DODO_EACH_MAX);
    Entry e;
    Call calls[DODO_EACH_MAX];
    if (!begin(&e)) {
        for (unsigned i = 0; i < count; i++) {
            each[i].result = -1;
            each[i].error = ENOMEM;
            over(ctx, i);
        }
        leave(&e, false);
        return;
    }
    e.link->patient = true;
    for (unsigned i = 0; i < count; i++)
        each_start(&calls[i], e.link->channel, &each[i]);
    for (unsigned i = 0; i < count; i++) {
        runtime_run(e.rt, e.link, &calls[i]);
        each_over(each, calls[i].result, calls[i].error, over, ctx, i);
    }
    runtime_link_give(e.rt, e.link);
    leave(&e, false);
}

int dodo_mdiscard(int rd, off_t offset, size_t len)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, ENOMEM, no_region);
    call_discard_start(&e.call, e.link->channel, rd, offset, len, os_now_ns());
    return (int)finish(&e);
}

int dodo_prefetch(int rd, off_t offset, size_t len)
{
    Entry e;
    enter(&e);
    e.rt = runtime_peek();
    int result = e.rt ? client_prefetch(runtime_client(e.rt), rd, offset, len) : -ENOMEM;
    if (result == -EINVAL)
        return fail(&e, EINVAL, "offset outside the region, or too much");
    if (result < 0)
        return fail(&e, -result, "no such region, or its host is lost");
    leave(&e, false);
    return 0;
}

int dodo_mclose(int rd)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, EINVAL, no_region);
    call_close_start(&e.call, e.link->channel, rd, os_now_ns());
    if (e.call.need != NEED_NOTHING) {
        gate_leave();
        queue_finish_region(rd);
        gate_enter();
    }
    return (int)finish(&e);
}

int dodo_msync(int rd)
{
    Entry e;
    if (!begin(&e))
        return fail(&e, EINVAL, no_region);
    call_sync_start(&e.call, e.link->channel, rd, os_now_ns());
    return (int)finish(&e);
}

int dodo_stat(int rd, DodoStat *st)
{
    Entry e;
    ClientRegionInfo info;
    enter(&e);
    e.rt = runtime_peek();
    if (!st)
        return fail(&e, EINVAL, "no place for the answer");
    if (!e.rt || client_region_info(runtime_client(e.rt), rd, &info) < 0)
        return fail(&e, EINVAL, no_region);
    *st = (DodoStat){.length = info.len,
                     .filled_bytes = info.filled_bytes,
                     .hits = info.hits,
                     .misses = info.misses,
                     .written = info.written,
                     .flags = info.flags,
                     .active = info.active,
                     .reused = info.reused,
                     .copies = info.copies,
                     .mirrored_bytes = info.mirrored_bytes};
    if (info.active)
        (void)addr_format(&info.named, st->host, sizeof st->host);
    leave(&e, false);
    return 0;
}

int dodo_mheld(int rd, uint64_t *map)
{
    Entry e;
    enter(&e);
    e.rt = runtime_peek();
    if (!e.rt || client_region_held(runtime_client(e.rt), rd, map) < 0)
        return fail(&e, EINVAL, no_region);
    leave(&e, false);
    return 0;
}

/* ---- what is kept, and is to be elsewhere ---------------------------------------------------- */

int dodo_carry(uint64_t epoch, uint64_t region)
{
    Entry e;
    enter(&e);
    if (runtime_get(&e.rt) < 0 || runtime_serve(e.rt) < 0)
        return fail(&e, ENOMEM, reason_get());
    e.link = runtime_link_take(e.rt);
    call_take_start(&e.call, e.link->channel, epoch, region, os_now_ns());
    return (int)finish(&e);
}

int dodo_carried(int rd, uint64_t epoch)
{
    Entry e;
    ClientRegionInfo info;
    enter(&e);
    e.rt = runtime_peek();
    if (!e.rt || client_region_info(runtime_client(e.rt), rd, &info) < 0)
        return fail(&e, EINVAL, no_region);
    leave(&e, false);
    return !info.active ? -1 : info.copies == 1 && info.address.epoch != epoch;
}

/* ---- queues --------------------------------------------------------------------------------- */

static const char no_queue[] = "no queue of this process";

DodoQueue *dodo_queue_open(unsigned depth)
{
    Entry e;
    DodoQueue *q = NULL;
    enter(&e);
    if (depth < 1 || depth > QUEUE_DEPTH_MAX)
        (void)fail(&e, EINVAL, "a queue holds 1 to 128 requests");
    else if (runtime_get(&e.rt) < 0)
        (void)fail(&e, ENOMEM, reason_get());
    else if (queue_open(e.rt, depth, &q) < 0)
        (void)fail(&e, ENOMEM, "no memory or descriptors for a queue, or the process is ending");
    else
        leave(&e, false);
    return q;
}

static int submit(DodoQueue *q, const QueueTask *t)
{
    Entry e;
    enter(&e);
    if (!q || !queue_is_ours(q))
        return fail(&e, EINVAL, no_queue);
    int result = queue_submit(q, t);
    if (result == -EAGAIN)
        return fail(&e, EAGAIN, "the queue is full: take requests back first");
    if (result < 0)
        return fail(&e, -result, "the library was shut down since the queue was opened");
    leave(&e, false);
    return 0;
}

int dodo_queue_read(DodoQueue *q, int rd, off_t offset, void *buf, size_t len, void *tag)
{
    return submit(
        q, &(QueueTask){
               .kind = ORDER_READ, .rd = rd, .offset = offset, .buf = buf, .len = len, .tag = tag});
}

int dodo_queue_write(DodoQueue *q, int rd, off_t offset, const void *buf, size_t len, void *tag)
{
    return submit(q, &(QueueTask){.kind = ORDER_WRITE,
                                  .rd = rd,
                                  .offset = offset,
                                  .buf = (void *)(uintptr_t)buf, /* only read */
                                  .len = len,
                                  .tag = tag});
}

int dodo_queue_sync(DodoQueue *q, int rd, void *tag)
{
    return submit(q, &(QueueTask){.kind = ORDER_SYNC, .rd = rd, .tag = tag});
}

int dodo_queue_cancel(DodoQueue *q, void *tag)
{
    Entry e;
    enter(&e);
    if (!q || !queue_is_ours(q))
        return fail(&e, EINVAL, no_queue);
    int n = queue_cancel(q, tag);
    leave(&e, false);
    return n;
}

int dodo_queue_wait(DodoQueue *q, DodoDone *done, unsigned max, int timeout_ms)
{
    Entry e;
    enter(&e);
    if (!q || !queue_is_ours(q))
        return fail(&e, EINVAL, no_queue);
    if (!done || max < 1 || timeout_ms < -1)
        return fail(&e, EINVAL, "no place for the answer, or a timeout below -1");
    int n = queue_wait(q, done, max, timeout_ms);
    leave(&e, false);
    return n;
}

int dodo_queue_fd(const DodoQueue *q)
{
    Entry e;
    enter(&e);
    if (!q || !queue_is_ours(q))
        return fail(&e, EINVAL, no_queue);
    leave(&e, false);
    return queue_fd(q);
}

int dodo_queue_close(DodoQueue *q)
{
    Entry e;
    enter(&e);
    bool ours = q && queue_is_ours(q);
    if (q)
        queue_close(q);
    if (!ours)
        return fail(&e, EINVAL, no_queue);
    leave(&e, false);
    return 0;
}

/* ---- the library itself --------------------------------------------------------------------- */

void dodo_set_log(dodo_log_fn fn, void *ctx)
{
    log_set(fn, ctx);
}

void dodo_private_reason(const char *text)
{
    reason_set_copy(text);
}

void dodo_private_descriptors(const OsDescriptors *where)
{
    os_descriptors_place(where);
}

ProgramPart *dodo_private_program(void)
{
    return program_part(PROGRAM_CACHE);
}

void dodo_private_enter(void)
{
    guests_enter();
}

void dodo_private_leave(void)
{
    guests_leave();
}

void dodo_private_ends(void)
{
    runtime_ends();
}

unsigned dodo_private_close_files(void)
{
    return parked_close_unlocked();
}

const char *dodo_last_error(void)
{
    return reason_get();
}

int dodo_shutdown(void)
{
    Entry e;
    enter(&e);
    guests_wait();
    int result = runtime_stop();
    guests_admit();
    if (result < 0)
        return fail(&e, EINVAL, "the manager could not be informed of everything");
    leave(&e, false);
    return 0;
}

const char *dodo_version(void)
{
    return DODO_VERSION;
}
