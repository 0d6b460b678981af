/* SPDX-License-Identifier: MIT */
/* The cases of `rules`: rules of POSIX and of the manual's second section, as calls in a row. */
#ifndef DODO_TESTS_NET_RULES_H
#define DODO_TESTS_NET_RULES_H

#include <stddef.h>

/* CASE begins another one, in an empty directory for all. AS: the next calls are of user @n with
 * group @m, and with the group @a beside it; UMASK: with that mask. The others are calls. */
/* clang-format off */
#define RULES_OPS(X) \
    X(CASE) X(AS) X(UMASK) X(MAKE) X(OPEN) X(WRITE) X(TRUNCATE) X(FTRUNCATE) X(FALLOCATE) \
    X(MKDIR) X(RMDIR) X(UNLINK) X(LINK) X(SYMLINK) X(RENAME) X(MKFIFO) X(MKNOD) X(BIND) \
    X(CHMOD) X(FCHMOD) X(CHOWN) X(LCHOWN) X(FCHOWN) X(UTIMES) X(LUTIMES) X(ACCESS) \
    X(GRANT) X(COPY)
/* clang-format on */

#define RULES_NAME(name) name,
enum RulesOp { RULES_OPS(RULES_NAME) };

/* Which times UTIMES sets. */
enum RulesTimes { BOTH, NOW, NONE, ACCESS_NOW, CHANGE_ONLY, TOO_MANY_NS, TIMES };

/* @a, @b: names below the case's directory; of these, "@255" is one of so many characters, in
 * each part of a path. */
typedef struct Step {
    enum RulesOp op;
    const char *a, *b;
    long n, m;
} Step;
extern const Step rules_steps[];
extern const size_t rules_steps_count;

#endif
