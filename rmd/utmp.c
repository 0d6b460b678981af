/* SPDX-License-Identifier: MIT */
/* Read as the array of records that it is: getutxent(3) keeps its place in one for all threads. */
#include "rmd/utmp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utmpx.h>

#include "base/cleanup.h"
#include "base/time.h"

/* A record stays behind when a session's process was killed. */
static bool is_alive(pid_t pid)
{
    return pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH;
}

/* 0; -E2BIG: there are too many. */
static int session_add(Utmp *u, const struct utmpx *record)
{
    if (record->ut_type != USER_PROCESS || record->ut_user[0] == '\0' || !is_alive(record->ut_pid))
        return 0;
    if (u->count == UTMP_SESSIONS_MAX)
        return -E2BIG;
    UtmpSession *s = &u->sessions[u->count++];
    memcpy(s->line, record->ut_line, UTMP_LINE_MAX);
    s->line[UTMP_LINE_MAX] = '\0';
    s->pid = record->ut_pid;
    return 0;
}

static bool is_kind(short type)
{
    return type >= EMPTY && type <= ACCOUNTING;
}

static int records_read(int fd, Utmp *u)
{
    struct utmpx records[32];
    bool any = false;
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, records, sizeof records, at);
        if (n < 0)
            return -errno;
        size_t count = (size_t)n / sizeof records[0];
        if (count == 0)
            return any ? 0 : -ENODATA;
        for (size_t i = 0; i < count; i++) {
            if (!is_kind(records[i].ut_type))
                return -EBADMSG;
            any |= records[i].ut_type != EMPTY;
            if (session_add(u, &records[i]) != 0)
                return -E2BIG;
        }
        at += (off_t)(count * sizeof records[0]);
    }
}

int utmp_read(const char *path, Utmp *ret)
{
    _Static_assert(sizeof((struct utmpx *)NULL)->ut_line == UTMP_LINE_MAX, "as glibc has it");
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    *ret = (Utmp){.count = 0};
    if (fd < 0 || fstat(fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EBADMSG;
    ret->changed_ns = time_from_timespec(st.st_mtim);
    ret->sessions = calloc(UTMP_SESSIONS_MAX, sizeof *ret->sessions);
    int r = ret->sessions ? records_read(fd, ret) : -ENOMEM;
    if (r != 0)
        utmp_clear(ret);
    return r;
}

void utmp_clear(Utmp *u)
{
    free(u->sessions);
    *u = (Utmp){.count = 0};
}
