/* SPDX-License-Identifier: MIT */
#include "imd/priority.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int group = -1; /* open file; -1: none, or nothing to change */
static char before[8]; /* its nice, as text */

void priority_open(void)
{
    char text[64] = "";
    int fd = open("/proc/self/autogroup", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "/autogroup-%*u nice %7s", before) == 1 && strcmp(before, "0") != 0)
        group = fd;
    else
        (void)close(fd);
}

void priority_group(bool hurry)
{
    const char *nice = hurry ? "0" : before;
    if (group >= 0) /* refused, it takes longer */
        (void)!pwrite(group, nice, strlen(nice), 0);
}

void hurry(void)
{
    (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    (void)setpriority(PRIO_PROCESS, 0, 0); /* of this thread */
}
