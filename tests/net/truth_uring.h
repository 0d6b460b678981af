/* SPDX-License-Identifier: MIT */
/* Writes that the kernel carries out for a ring, by threads of its own where they have to wait. */
#ifndef DODO_TESTS_NET_TRUTH_URING_H
#define DODO_TESTS_NET_TRUTH_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False: the kernel gives no rings. */
bool uring_start(void);
/* As the calls of these names; -errno. */
int uring_open(const char *path, int flags);
ssize_t uring_pwrite(int fd, const void *buf, size_t len, off_t at);
int uring_close(int fd);

#endif
