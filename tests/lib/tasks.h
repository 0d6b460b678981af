/* SPDX-License-Identifier: MIT */
/* How many threads this process has. */
#ifndef DODO_TESTS_LIB_TASKS_H
#define DODO_TESTS_LIB_TASKS_H

#include <dirent.h>

/* 0: that is not available. */
static inline unsigned tasks_count(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        (void)closedir(dir);
    return count;
}

#endif
