/* SPDX-License-Identifier: MIT */
/* The socket to rmd, over which the messages of imd/owner.h go. */
#ifndef DODO_IMD_OWNER_SOCKET_H
#define DODO_IMD_OWNER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "imd/owner.h"

/* @fd is to be our socket. 0; -errno, and @error says what is wrong with it. */
int owner_socket_take(int fd, char *error, size_t error_cap);
void owner_socket_ready(int fd, uint64_t epoch, uint64_t pool_bytes);
/* We know what "save" means. */
void owner_socket_saves(int fd);
/* False: rmd does not listen just now. That it is gone shows when we listen. */
bool owner_socket_used(int fd, uint64_t used_bytes, uint64_t limit_bytes);
/* The length of the next message, without a closing zero; -EAGAIN: none is there; 0: rmd hung
 * up. */
ssize_t owner_socket_receive(int fd, char text[OWNER_TEXT_MAX + 1]);

#endif
