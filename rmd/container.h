/* SPDX-License-Identifier: MIT */
/* Whether rmd runs in a container, where it does not see who works at the host. */
#ifndef DODO_RMD_CONTAINER_H
#define DODO_RMD_CONTAINER_H

#include <stdbool.h>

enum { CONTAINER_MAX = 96 };

/* @root stands before /proc and /run: "" but for tests. @environment: of the variable "container",
 * or NULL. True, and @how it is known. A process namespace that cannot be read tells nothing. */
bool container_detect(const char *root, const char *environment, char how[CONTAINER_MAX]);

#endif
