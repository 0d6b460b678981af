/* SPDX-License-Identifier: MIT */
/* Where the libraries' descriptors are in a program that knows nothing of them. Not for programs.
 */
#ifndef DODO_LIBMANAGE_DESCRIPTORS_H
#define DODO_LIBMANAGE_DESCRIPTORS_H

#include <stdbool.h>

#include "dodo/dodo.h"

struct OsDescriptors;

/* os_descriptors_place() for libmanage and libdodo, before the first other call. */
DODO_API void dodo_manage_private_descriptors(const struct OsDescriptors *where);
/* Is all of that in local memory, or on its way there? Of a region that is open. */
DODO_API bool dodo_manage_private_has(int rd, off_t offset, size_t len);
/* parked_close_unlocked() for both. */
DODO_API unsigned dodo_manage_private_close_files(void);

#endif
