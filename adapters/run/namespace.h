/* SPDX-License-Identifier: MIT */
/* Mounts that this process and its children see alone. */
#ifndef DODO_ADAPTERS_RUN_NAMESPACE_H
#define DODO_ADAPTERS_RUN_NAMESPACE_H

#include <stdbool.h>

/* Enters a mount namespace; @user: in a user namespace, which needs no root. False with errno. */
bool namespace_enter(bool user);
/* A program that this process runs keeps the right to mount in our user namespace. */
void namespace_keep_mounting(void);

#endif
