/* SPDX-License-Identifier: MIT */
/* The host's memory, for pieces. */
#ifndef DODO_LIBMANAGE_PAGES_H
#define DODO_LIBMANAGE_PAGES_H

#include "libmanage/buffers.h"

/* Where a page is larger than what is released, it keeps its memory. */
extern const BufferPages manage_pages;

#endif
