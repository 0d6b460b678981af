/* SPDX-License-Identifier: MIT */
/* The public calls: arguments in, core, errno out. See include/dodo/dodo.h. */
#include "dodo/dodo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "libdodo/file.h"
#include "libdodo/runtime.h"

static int fail(int error, const char *reason)
{
    reason_set(reason);
    errno = error;
    return -1;
}

/* Ends a public call whose core part is over. errno is untouched on success. */
static ssize_t finish(const Call *call)
{
    if (call->result >= 0)
        return call->result;
    return fail(call->error, call->reason ? call->reason : strerrordesc_np(call->error));
}

static int open_checked(Runtime *rt, size_t len, int fd, off_t offset, unsigned flags)
{
    const Settings *s = runtime_settings(rt);
    FileGiven given;
    Call call;
    int result = file_open(fd, (uint64_t)offset, len, flags & DODO_RDONLY, s->filesystems,
                           s->filesystems_count, &given);
    if (result == -EBUSY)
        return fail(EBUSY, "the range is part of an open region");
    if (result < 0)
        return fail(-result, result == -EINVAL
                                 ? "not a regular file that is open for reading and writing"
                                 : strerrordesc_np(-result));
    Link *link = runtime_link_take(rt);
    if (!link) {
        file_close(given.file);
        return fail(ENOMEM, "no socket or memory for another call");
    }
    call_open_start(&call, link_channel(link), &given, len, (uint64_t)offset, flags, os_now_ns());
    link_run(rt, link, &call);
    runtime_link_give(rt, link);
    return (int)finish(&call);
}

int dodo_mopen_flags(size_t len, int fd, off_t offset, unsigned flags)
{
    Runtime *rt;
    if (len < 1 || offset < 0 || (flags & ~(unsigned)(DODO_RDONLY | DODO_RETAIN | DODO_FALLBACK)))
        return fail(EINVAL, "length below 1, offset below 0, or an unknown flag");
    if (runtime_get(&rt) < 0) { /* the reason is set; a program goes on with its file */
        errno = ENOMEM;
        return -1;
    }
    return open_checked(rt, len, fd, offset, flags);
}

int dodo_mopen(size_t len, int fd, off_t offset)
{
    return dodo_mopen_flags(len, fd, offset, 0);
}

/* ---- calls on a region ---------------------------------------------------------------------- */

ssize_t dodo_mread(int rd, off_t offset, void *buf, size_t len)
{
    Runtime *rt = runtime_peek();
    Link *link = rt ? runtime_link_take(rt) : NULL;
    Call call;
    if (!link)
        return fail(ENOMEM, rt ? "no socket or memory for another call" : "no such region");
    call_read_start(&call, link_channel(link), rd, offset, buf, len, os_now_ns());
    link_run(rt, link, &call);
    runtime_link_give(rt, link);
    return finish(&call);
}

ssize_t dodo_mwrite(int rd, off_t offset, const void *buf, size_t len)
{
    Runtime *rt = runtime_peek();
    Link *link = rt ? runtime_link_take(rt) : NULL;
    Call call;
    if (!link)
        return fail(ENOMEM, rt ? "no socket or memory for another call" : "no such region");
    call_write_start(&call, link_channel(link), rd, offset, buf, len, os_now_ns());
    link_run(rt, link, &call);
    runtime_link_give(rt, link);
    return finish(&call);
}

int dodo_mclose(int rd)
{
    Runtime *rt = runtime_peek();
    Link *link = rt ? runtime_link_take(rt) : NULL;
    Call call;
    if (!link)
        return fail(EINVAL, rt ? "no socket or memory for another call" : "no such region");
    call_close_start(&call, link_channel(link), rd, os_now_ns());
    link_run(rt, link, &call);
    runtime_link_give(rt, link);
    return (int)finish(&call);
}

int dodo_msync(int rd)
{
    Runtime *rt = runtime_peek();
    Link *link = rt ? runtime_link_take(rt) : NULL;
    Call call;
    if (!link)
        return fail(EINVAL, rt ? "no socket or memory for another call" : "no such region");
    call_sync_start(&call, link_channel(link), rd, os_now_ns());
    link_run(rt, link, &call);
    runtime_link_give(rt, link);
    return (int)finish(&call);
}

int dodo_stat(int rd, DodoStat *st)
{
    Runtime *rt = runtime_peek();
    ClientRegionInfo info;
    if (!st)
        return fail(EINVAL, "no place for the answer");
    if (!rt || client_region_info(runtime_client(rt), rd, &info) < 0)
        return fail(EINVAL, "no such region");
    *st = (DodoStat){.length = info.len,
                     .filled_bytes = info.filled_bytes,
                     .hits = info.hits,
                     .misses = info.misses,
                     .written = info.written,
                     .flags = info.flags,
                     .active = info.active,
                     .reused = info.reused};
    if (info.active)
        (void)addr_format(&info.host, st->host, sizeof st->host);
    return 0;
}

/* ---- the library itself --------------------------------------------------------------------- */

void dodo_set_log(dodo_log_fn fn, void *ctx)
{
    log_set(fn, ctx);
}

const char *dodo_last_error(void)
{
    return reason_get();
}

int dodo_shutdown(void)
{
    if (runtime_stop(true) < 0)
        return fail(EINVAL, "the manager could not be told of everything");
    return 0;
}

const char *dodo_version(void)
{
    return DODO_VERSION;
}
