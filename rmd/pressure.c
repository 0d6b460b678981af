/* SPDX-License-Identifier: MIT */
#include "rmd/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/time.h"
#include "daemon/log.h"

enum { MEMINFO_BYTES = 8192, VMSTAT_BYTES = 16384, ZONEINFO_BYTES = 1 << 20 };
static const uint64_t LIMIT_NS = 1 * NS_PER_S;  /* groups without a limit can be given one */
static const uint64_t VMSTAT_NS = 1 * NS_PER_S; /* the kernel sums it up over all processors */

/* Some task waited for 100 ms of 2 s. Shorter windows need CAP_SYS_RESOURCE, and those that are no
 * multiple of 2 s too. */
static const char trigger_text[] = "some 100000 2000000";

static int open_trigger(void)
{
    int fd = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (write(fd, trigger_text, sizeof trigger_text) >= 0)
        return fd;
    int res = -errno;
    (void)close(fd);
    return res;
}

/* The loop waits for what can be read; the trigger speaks by POLLPRI. */
static int watch_trigger(int trigger)
{
    struct epoll_event wanted = {.events = EPOLLPRI};
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, trigger, &wanted) < 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

void pressure_open(Pressure *p)
{
    *p = (Pressure){.trigger = open_trigger(),
                    .fd = -1,
                    .meminfo = -1,
                    .zones = -1,
                    .vmstat = -1,
                    .overcommit = -1};
    p->fd = p->trigger >= 0 ? watch_trigger(p->trigger) : -1;
    if (p->fd < 0)
        log_event(LOG_LEVEL_WARN, "no_pressure_events",
                  "error=\"%s\" instead=\"memory is looked at ten times a second while lent\"",
                  p->trigger < 0 ? strerror(-p->trigger) : strerror(errno));
    p->meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    p->zones = open("/proc/zoneinfo", O_RDONLY | O_CLOEXEC);
    p->vmstat = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    p->overcommit = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    p->zoneinfo = g_malloc0(ZONEINFO_BYTES);
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void pressure_close(Pressure *p)
{
    close_one(&p->fd);
    close_one(&p->trigger);
    close_one(&p->meminfo);
    close_one(&p->zones);
    close_one(&p->vmstat);
    close_one(&p->overcommit);
    g_clear_pointer(&p->zoneinfo, g_free);
}

bool pressure_take(Pressure *p)
{
    struct epoll_event e;
    if (epoll_wait(p->fd, &e, 1, 0) != 1)
        return false;
    if (!(e.events & EPOLLERR))
        return true;
    log_event(LOG_LEVEL_WARN, "no_pressure_events", "error=\"the kernel has withdrawn them\"");
    (void)epoll_ctl(p->fd, EPOLL_CTL_DEL, p->trigger, NULL); /* or it would speak for ever */
    return false;
}

/* The whole file from its beginning, as the kernel writes it now. */
static int read_whole(int fd, char *text, size_t cap)
{
    size_t len = 0;
    for (ssize_t n; len < cap - 1; len += (size_t)n) {
        n = pread(fd, text + len, cap - 1 - len, (off_t)len);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n < 0)
            return -errno;
        else if (n == 0)
            break;
    }
    text[len] = '\0';
    return 0;
}

/* What the control groups allow, beside what the host has. */
static void apply_limit(Pressure *p, MemoryState *m, uint64_t now_ns)
{
    if (p->limit_ns == 0 || p->limit.bytes < m->total_bytes || now_ns >= p->limit_ns + LIMIT_NS) {
        bool before = p->limit_ns > 0 && p->limit.bytes < m->total_bytes;
        memory_limit("", &p->limit);
        p->limit_ns = now_ns;
        if (!before && p->limit.bytes < m->total_bytes)
            log_event(LOG_LEVEL_INFO, "memory_limited", "bytes=%" PRIu64 " by=%s", p->limit.bytes,
                      p->limit.file);
    }
    memory_state_limit(m, p->limit.bytes, p->limit.left_bytes);
}

/* What the kernel has evicted, and what it promises. Missing files say nothing. */
static void read_more(Pressure *p, const char *meminfo, MemoryState *m, uint64_t now_ns)
{
    char text[VMSTAT_BYTES];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (p->vmstat >= 0 && (p->vmstat_ns == 0 || now_ns >= p->vmstat_ns + VMSTAT_NS) &&
        read_whole(p->vmstat, text, sizeof text) == 0) {
        memory_state_evicted(m, text, page);
        p->evicted_bytes = m->evicted_bytes;
        p->reclaimed_bytes = m->reclaimed_bytes;
        p->vmstat_ns = now_ns;
    }
    m->evicted_bytes = p->evicted_bytes;
    m->reclaimed_bytes = p->reclaimed_bytes;
    m->evicted_ns = p->vmstat_ns;
    if (p->overcommit >= 0 && read_whole(p->overcommit, text, sizeof text) == 0)
        memory_state_commit(m, meminfo, text);
}

int pressure_memory(Pressure *p, MemoryState *ret, uint64_t now_ns)
{
    char meminfo[MEMINFO_BYTES];
    if (p->meminfo < 0 || p->zones < 0)
        return -ENOENT;
    int res = read_whole(p->zones, p->zoneinfo, ZONEINFO_BYTES);
    if (res == 0)
        res = read_whole(p->meminfo, meminfo, sizeof meminfo);
    if (res == 0)
        res = memory_state_parse(meminfo, p->zoneinfo, (uint64_t)sysconf(_SC_PAGESIZE), ret);
    if (res == 0) {
        apply_limit(p, ret, now_ns);
        read_more(p, meminfo, ret, now_ns);
    }
    return res;
}
