/* SPDX-License-Identifier: MIT */
#include "rmd/shares.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "rmd/process_stat.h"

enum { PATH_BYTES = 1024, TEXT_BYTES = 1024 };
static const uint64_t SEARCH_NS = 10 * NS_PER_S; /* all of /proc costs milliseconds */

static bool is_number(const char *name)
{
    return *name >= '1' && *name <= '9';
}

/* "RUN WAIT COUNT" [ns, ns]. A task that has just gone has none. 0, or -errno. */
static int add_task(const char *dir, const char *task, uint64_t *sum_ns)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    unsigned long long run = 0, waited = 0;
    (void)snprintf(path, sizeof path, "%s/%.32s/schedstat", dir, task);
    const ssize_t n = os_text_read(AT_FDCWD, path, text, sizeof text);
    if (n < 0)
        return n == -ENOENT || n == -ESRCH ? 0 : (int)n;
    if (sscanf(text, "%llu %llu", &run, &waited) == 2)
        *sum_ns += run + waited;
    return 0;
}

/* Reads *left tasks at most, and counts them down from it. -E2BIG: it has more. */
static int tasks_of_process(const char *proc, int pid, unsigned *left, uint64_t *ret_ns)
{
    char path[PATH_BYTES / 2]; /* with a task's name behind it */
    uint64_t sum = 0;
    int res = 0;
    (void)snprintf(path, sizeof path, "%s/%d/task", proc, pid);
    DIR *d = opendir(path);
    if (!d)
        return -errno;
    for (const struct dirent *e; res == 0 && (e = readdir(d)) != NULL;) {
        if (!is_number(e->d_name))
            continue;
        res = *left > 0 ? add_task(path, e->d_name, &sum) : -E2BIG;
        *left -= *left > 0;
    }
    (void)closedir(d);
    *ret_ns = sum;
    return res;
}

int shares_of_process(const char *proc, int pid, uint64_t *ret_ns)
{
    unsigned left = SHARES_TASKS_MAX;
    return tasks_of_process(proc, pid, &left, ret_ns);
}

/* ---- by name --------------------------------------------------------------------------------- */

static bool wanted(const char *name, char *const *names)
{
    for (; *names; names++)
        if (strncmp(name, *names, 15) == 0 && strlen(name) <= 15)
            return true;
    return false;
}

static bool is_in(const ShareSet *set, int pid)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->of[i].pid == pid)
            return true;
    return false;
}

/* One walk over all processes, which adds children of those that are in already. */
static bool walk(const char *proc, char *const *names, ShareSet *set)
{
    char name[PROCESS_NAME_BYTES];
    int parent;
    unsigned before = set->count;
    DIR *d = opendir(proc);
    if (!d)
        return false;
    for (const struct dirent *e; (e = readdir(d)) != NULL && set->count < SHARES_PROCESSES_MAX;) {
        int pid = is_number(e->d_name) ? atoi(e->d_name) : 0;
        if (pid > 0 && !is_in(set, pid) && process_stat(proc, pid, name, &parent) &&
            (wanted(name, names) || is_in(set, parent)))
            set->of[set->count++] = (ShareOne){.pid = pid};
    }
    (void)closedir(d);
    return set->count > before;
}

static void search(const char *proc, char *const *names, ShareSet *set)
{
    const ShareSet before = *set;
    set->count = 0;
    while (walk(proc, names, set)) /* ends: each walk adds some, up to the maximum */
        ;
    for (unsigned i = 0; i < set->count; i++)
        for (unsigned k = 0; k < before.count; k++)
            if (before.of[k].pid == set->of[i].pid)
                set->of[i] = before.of[k];
}

/* What it ran while it could not be read is left out. */
static void add_process(const char *proc, ShareOne *one, unsigned *left, uint64_t *sum_ns)
{
    uint64_t busy_ns;
    const bool known = tasks_of_process(proc, one->pid, left, &busy_ns) == 0;
    if (known && one->known && busy_ns > one->busy_ns)
        *sum_ns += busy_ns - one->busy_ns;
    one->known = known;
    one->busy_ns = known ? busy_ns : 0;
}

uint64_t shares_of_names(const char *proc, char *const *names, ShareSet *set, uint64_t now_ns)
{
    unsigned left = SHARES_TASKS_MAX;
    if (!names || !names[0])
        return 0;
    if (set->searched_ns == 0 || now_ns >= set->searched_ns + SEARCH_NS) {
        set->searched_ns = now_ns;
        search(proc, names, set);
    }
    for (unsigned i = 0; i < set->count; i++)
        add_process(proc, &set->of[i], &left, &set->sum_ns);
    return set->sum_ns;
}
