/* SPDX-License-Identifier: MIT */
/* Where the library's descriptors are in a program that knows nothing of it. Not for programs. */
#ifndef DODO_LIBDODO_DESCRIPTORS_H
#define DODO_LIBDODO_DESCRIPTORS_H

#include "dodo/dodo.h"

struct OsDescriptors;

/* os_descriptors_place() for libdodo. */
DODO_API void dodo_private_descriptors(const struct OsDescriptors *where);
/* parked_close_unlocked() for libdodo. */
DODO_API unsigned dodo_private_close_files(void);

#endif
