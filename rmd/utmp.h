/* SPDX-License-Identifier: MIT */
/* Who is logged in, from the file of sessions (utmp(5)). */
#ifndef DODO_RMD_UTMP_H
#define DODO_RMD_UTMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { UTMP_LINE_MAX = 32, UTMP_SESSIONS_MAX = 1024 };

typedef struct UtmpSession {
    char line[UTMP_LINE_MAX + 1]; /* of its terminal: "pts/3" */
    pid_t pid;
} UtmpSession;

typedef struct Utmp {
    UtmpSession *sessions; /* of processes that live */
    unsigned count;
    uint64_t changed_ns; /* when the file was last written */
} Utmp;

/* 0 and @ret, which utmp_clear() frees; -ENODATA: there is no record in it, not even of the
 * host's start, so that nobody keeps it; -EBADMSG: it is something else; -E2BIG: more than
 * UTMP_SESSIONS_MAX; -errno. */
int utmp_read(const char *path, Utmp *ret);
void utmp_clear(Utmp *u);

#endif
