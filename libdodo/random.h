/* SPDX-License-Identifier: MIT */
/* Randomness for the library, which never ends the user's program: if getrandom(2) is refused from
 * some moment on (a strict seccomp filter), a generator goes on from an earlier seed. */
#ifndef DODO_LIBDODO_RANDOM_H
#define DODO_LIBDODO_RANDOM_H

#include <stddef.h>

/* Takes the seed. 0; -errno: the kernel has no randomness for this process. */
int random_start(void);
/* Of an Env. Not before random_start() has succeeded. */
void random_bytes(void *ctx, void *buf, size_t len);
/* In the child of a fork: what it makes is not what its parent makes. */
void random_forget(void);

#endif
