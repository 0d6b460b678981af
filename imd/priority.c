/* SPDX-License-Identifier: MIT */
#include "imd/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/time.h"

static const uint64_t AGAIN_NS = 20 * NS_PER_MS;

static int group = -1; /* open file; -1: none, or nothing to change */
static int least, wanted;
static uint64_t due_ns = TIME_NEVER;

/* The group's nice; false: it has none, or is not one. */
static bool read_group(int fd, int *ret_nice)
{
    char text[64];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "/autogroup-%*u nice %d", ret_nice) == 1;
}

void priority_open(int nice, uint64_t now_ns)
{
    int now;
    if (nice == 0 || getsid(0) != getpid()) /* others are in that session, too */
        return;
    int fd = open("/proc/self/autogroup", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!read_group(fd, &now)) {
        (void)close(fd);
        return;
    }
    group = fd;
    least = nice;
    priority_group(false, now_ns);
}

void priority_group(bool hurry, uint64_t now_ns)
{
    wanted = hurry ? 0 : least;
    due_ns = 0;
    priority_expire(now_ns);
}

uint64_t priority_due_ns(void)
{
    return due_ns;
}

/* Writing costs the kernel locks of the whole host, reading nothing. */
void priority_expire(uint64_t now_ns)
{
    char text[16];
    int is;
    if (now_ns < due_ns)
        return;
    due_ns = TIME_NEVER;
    if (group < 0 || (read_group(group, &is) && is == wanted))
        return;
    int len = snprintf(text, sizeof text, "%d", wanted);
    if (write(group, text, (size_t)len) < 0 && errno == EAGAIN) /* pwrite() is not for such files */
        due_ns = time_add(now_ns, AGAIN_NS);
}

void hurry(void)
{
    (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    (void)setpriority(PRIO_PROCESS, 0, 0); /* of this thread */
}
