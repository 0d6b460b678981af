/* SPDX-License-Identifier: MIT */
/* The host's memory, for pieces. */
#ifndef DODO_LIBMANAGE_PAGES_H
#define DODO_LIBMANAGE_PAGES_H

#include "libmanage/buffers.h"

/* Where a page is larger than what is released, it keeps its memory. */
extern const BufferPages manage_pages;

/* Moves what is in there to huge pages, if the host has any, and lets what comes have them. Others
 * may read, write and release it meanwhile; it takes some tenths of a millisecond for each page. */
void manage_pages_collapse(void *at, size_t bytes);

#endif
