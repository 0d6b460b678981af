/* SPDX-License-Identifier: MIT */
/* Mounts that this process and its children see alone. */
#ifndef DODO_ADAPTERS_RUN_NAMESPACE_H
#define DODO_ADAPTERS_RUN_NAMESPACE_H

#include <stdbool.h>

/* Enters a mount namespace; @user: in a user namespace, which needs no root. False with errno. */
bool namespace_enter(bool user);
/* Whether it would be entered, by a process that ends then: 0, or errno. */
int namespace_try(bool user);
/* A user who is not root has all rights in a user namespace of his own; a mount needs one. */
void namespace_drop_all_but_mounting(void);

#endif
