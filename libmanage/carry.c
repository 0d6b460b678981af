/* SPDX-License-Identifier: MIT */
#include "libmanage/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "libdodo/range_held.h"
#include "libmanage/backing.h"
#include "libmanage/records.h"

enum { PROBES = 3, PROBES_NS = NS_PER_MS };

static void take_count(CacheResult *r, ssize_t count)
{
    r->count = count < 0 ? -1 : count;
    r->error = count < 0 ? (int)-count : 0;
}

static void take_remote(CacheResult *r, ssize_t count)
{
    r->count = count;
    if (count < 0)
        r->remote_error = errno;
}

static void read_remote(const CacheJob *j, CacheResult *r)
{
    take_remote(r, dodo_mreadv(j->remote, j->iov, j->iov_count, (off_t)j->offset));
}

static void write_file(const CacheJob *j, CacheResult *r)
{
    int error;
    take_count(r, backing_write(j->file, j->iov, j->iov_count, j->offset, &error));
    r->error = error;
}

/* ENOMEM: remote memory is lost, and nothing reached the file. */
static void write_both(const CacheJob *j, CacheResult *r)
{
    ssize_t n = dodo_mwritev(j->remote, j->iov, j->iov_count, (off_t)j->offset);
    if (n < 0 && errno == ENOMEM) {
        r->remote_error = ENOMEM;
        write_file(j, r);
    } else {
        take_count(r, n < 0 ? -errno : n);
    }
}

/* How long a read from there takes: the least of a few, if they are short. The first one waits for
 * what the host still has to do of the clone, and all run beside the program. If nothing can be
 * measured, that does no harm. */
static void probe(const CacheJob *j, CacheResult *r)
{
    CLEANUP_FREE uint8_t *buf = malloc((size_t)j->probe);
    uint64_t began = os_now_ns(), at = began;
    for (unsigned i = 0; buf && i < PROBES && at - began < PROBES_NS; i++) {
        uint64_t start = at;
        if (dodo_mread(j->remote, (off_t)j->offset, buf, (size_t)j->probe) != (ssize_t)j->probe)
            return;
        at = os_now_ns();
        if (r->read_ns == 0 || at - start < r->read_ns)
            r->read_ns = at - start;
    }
}

static void open_remote(const CacheJob *j, CacheResult *r)
{
    DodoStat st;
    r->remote = dodo_mopen_held(j->len, backing_fd(j->file), (off_t)backing_offset(j->file),
                                j->flags, backing_since_ns(j->file));
    if (r->remote < 0)
        r->remote_error = errno;
    else
        r->held = dodo_stat(r->remote, &st) == 0 && st.reused;
    /* Without it all counts as held: a read of what is not there comes from the file all the same.
     */
    uint64_t *map = r->held ? calloc(j->len / CACHE_BLOCK / 64 + 1, sizeof *map) : NULL;
    if (map && dodo_mheld(r->remote, map) == 0)
        r->held_blocks = map;
    else
        free(map);
}

uint8_t *job_copy(const CacheJob *j)
{
    uint8_t *copy = malloc((size_t)j->len), *at = copy;
    for (int i = 0; copy && i < j->iov_count; at += j->iov[i].iov_len, i++)
        memcpy(at, j->iov[i].iov_base, j->iov[i].iov_len);
    return copy;
}

static void advise(const CacheJob *j)
{
    static const int kernels[] = {
        [DODO_CADVISE_NORMAL] = POSIX_FADV_NORMAL,
        [DODO_CADVISE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
        [DODO_CADVISE_RANDOM] = POSIX_FADV_RANDOM,
        [DODO_CADVISE_WILLNEED] = POSIX_FADV_WILLNEED,
        [DODO_CADVISE_NOREUSE] = POSIX_FADV_NOREUSE,
        [DODO_CADVISE_DONTNEED] = POSIX_FADV_DONTNEED,
    };
    if (j->both && j->advice == DODO_CADVISE_WILLNEED)
        (void)dodo_prefetch(j->remote, (off_t)j->offset, (size_t)j->len);
    else
        backing_advise(j->file, j->offset, j->len, kernels[j->advice]);
}

static void recall(const CacheJob *j, CacheResult *r)
{
    dev_t device;
    ino_t inode;
    CacheRange *ranges;
    backing_id(j->file, &device, &inode);
    if (record_load((CacheFileId){device, inode, 0}, &ranges, &r->ranges_count))
        r->ranges = ranges;
}

static void carry_out(const CacheJob *j, CacheResult *r)
{
    uint64_t start = os_now_ns(), cpu_ns = j->kind == CACHE_CLONE ? os_thread_cpu_ns() : 0;
    *r = (CacheResult){.remote = -1};
    switch ((enum CacheJobKind)j->kind) {
    case CACHE_READ_FILE:
        take_count(r, backing_read(j->file, j->iov, j->iov_count, j->offset));
        break;
    case CACHE_READ_REMOTE:
    case CACHE_READ_FILL:
        read_remote(j, r);
        break;
    case CACHE_WRITE:
        if (j->both)
            write_both(j, r);
        else
            write_file(j, r);
        break;
    case CACHE_FILL:
        take_remote(r, dodo_mfill_file(j->remote, j->offset, j->offset + j->len));
        break;
    case CACHE_CLONE:
        take_remote(r, dodo_mfillv(j->remote, j->iov, j->iov_count, (off_t)j->offset));
        break;
    case CACHE_OPEN_REMOTE:
        open_remote(j, r);
        break;
    case CACHE_CLOSE_REMOTE:
        (void)dodo_mclose(j->remote); /* its descriptor is free whatever it says */
        break;
    case CACHE_SYNC:
        take_count(r, backing_sync(j->file));
        break;
    case CACHE_SIZE:
        take_count(r, (ssize_t)backing_size(j->file));
        break;
    case CACHE_ASK:
        backing_ask(j->file, j->offset, j->len);
        break;
    case CACHE_RECALL:
        recall(j, r);
        break;
    case CACHE_ADVISE:
        advise(j);
        break;
    }
    r->ns = os_now_ns() - start;
    r->cpu_ns = j->kind == CACHE_CLONE ? os_thread_cpu_ns() - cpu_ns : 0;
    if (j->probe && r->count == (ssize_t)j->len)
        probe(j, r);
}

void job_carry_out(const CacheJob *j, CacheResult *r)
{
    bool calls_libdodo =
        cache_job_is_remote(j) || j->kind == CACHE_OPEN_REMOTE || j->kind == CACHE_CLOSE_REMOTE;
    if (calls_libdodo)
        dodo_private_enter();
    carry_out(j, r);
    if (calls_libdodo)
        dodo_private_leave();
}

/* ---- several beside each other -------------------------------------------------------------- */

_Static_assert((int)CACHE_BESIDE <= (int)DODO_EACH_MAX, "libdodo makes as many calls");

typedef struct Beside {
    DodoEach each[CACHE_BESIDE];
    uint64_t last_ns, last_cpu_ns; /* when the one before was over */
    JobOver *over;
    void *ctx;
} Beside;

static void beside_over(void *ctx, unsigned i)
{
    Beside *b = ctx;
    const DodoEach *each = &b->each[i];
    uint64_t now_ns = os_now_ns(), cpu_ns = os_thread_cpu_ns();
    CacheResult result = {.count = each->result,
                          .remote_error = each->result < 0 ? each->error : 0,
                          .remote = -1,
                          .beside = true,
                          .ns = now_ns - b->last_ns,
                          .cpu_ns = cpu_ns - b->last_cpu_ns};
    b->last_ns = now_ns;
    b->last_cpu_ns = cpu_ns;
    b->over(b->ctx, i, &result);
}

void job_carry_out_beside(const CacheJob *jobs, const struct iovec *copies, unsigned count,
                          JobOver *over, void *ctx)
{
    Beside b = {
        .last_ns = os_now_ns(), .last_cpu_ns = os_thread_cpu_ns(), .over = over, .ctx = ctx};
    for (unsigned i = 0; i < count; i++) {
        const CacheJob *j = &jobs[i];
        bool copied = copies[i].iov_base;
        b.each[i] = (DodoEach){.rd = j->remote,
                               .fills = j->kind == CACHE_CLONE,
                               .iov = copied ? &copies[i] : j->iov,
                               .iovcnt = copied ? 1 : j->iov_count,
                               .offset = (off_t)j->offset};
    }
    dodo_private_enter();
    dodo_each(b.each, count, beside_over, &b);
    dodo_private_leave();
}

void job_result_free(CacheResult *result)
{
    free(result->held_blocks);
    free((CacheRange *)(uintptr_t)result->ranges);
    result->held_blocks = NULL;
    result->ranges = NULL;
}
