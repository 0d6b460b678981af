/* SPDX-License-Identifier: MIT */
/* Whether `dodo run` can run a program, and why. Pure. */
#ifndef DODO_ADAPTERS_RUN_VERDICT_H
#define DODO_ADAPTERS_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "adapters/run/executable.h"

/* Where the program would run. */
typedef struct Surroundings {
    bool user_namespace; /* the namespace of mounts is in one of users, where only @uid and @gid are
                          */
    uid_t uid;
    gid_t gid;
    int namespace_error; /* errno of making it; 0: it is there */
    int fuse_error;      /* the same of opening /dev/fuse */
    bool mount_failed;   /* and has said why */
} Surroundings;

/* What keeps it from running, and what to do instead, in @text; false: nothing does. */
bool verdict_obstacle(const Executable *e, const Surroundings *s, char *text, size_t cap);
/* The way that it takes, and what the file is. */
const char *verdict_way(const Surroundings *s);
const char *verdict_kind(const Executable *e);

#endif
