/* SPDX-License-Identifier: MIT */
/* Which way `dodo run` takes to run a program, or what keeps it from running it. Pure. */
#ifndef DODO_ADAPTERS_RUN_VERDICT_H
#define DODO_ADAPTERS_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "adapters/run/executable.h"

/* What the user asks for. */
enum How { HOW_AUTO, HOW_MOUNT, HOW_NAMESPACE, HOW_USER_NAMESPACE, HOW_PRELOAD };

/* The program's reads of files come to the cache through a mount that it sees in a namespace of
 * mounts, or in one of users, too; or through a library that is loaded into it. */
enum Way { WAY_NAMESPACE, WAY_USER_NAMESPACE, WAY_PRELOAD };

/* Where the program would run. Errors are errno; 0: none, or not looked at. */
typedef struct Surroundings {
    enum How how;
    uid_t uid;
    gid_t gid;
    int namespace_error; /* of making the namespace */
    int fuse_error;      /* of opening /dev/fuse */
    int preload_error;   /* of finding the library */
    bool mount_failed;   /* and has said why */
} Surroundings;

/* "auto" and so on; false: @text is none of them. */
bool verdict_how(const char *text, enum How *ret);
/* The way to a mount, if it is to be one. */
enum Way verdict_mount_way(enum How how, uid_t uid);
/* The way to take. HOW_AUTO takes the library where LD_PRELOAD reaches the program: it serves large
 * files wherever they are, and all else, small files above all, is the kernel's alone. */
enum Way verdict_way(const Executable *e, const Surroundings *s);
/* What keeps the program from running that way, or from being cached, and what to do instead, in
 * @text; false: nothing does. */
bool verdict_obstacle(const Executable *e, const Surroundings *s, char *text, size_t cap);
/* Why LD_PRELOAD does not reach the program; NULL: it does. */
const char *verdict_unreached(const Executable *e, const Surroundings *s);
/* What that way is, and what the file is. */
const char *verdict_way_text(enum Way way);
const char *verdict_kind(const Executable *e);

#endif
