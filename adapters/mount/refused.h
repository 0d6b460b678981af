/* SPDX-License-Identifier: MIT */
/* Why there is no mount, and what to do. Pure. */
#ifndef DODO_ADAPTERS_MOUNT_REFUSED_H
#define DODO_ADAPTERS_MOUNT_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

/* Errors are errno; 0: none. */
typedef struct Refused {
    int device_error; /* of opening /dev/fuse */
    bool root;        /* who may mount without a helper */
    bool helper;      /* fusermount3 is there */
} Refused;

/* "/dev/fuse: REASON: WHAT TO DO". */
void refused_device_text(int device_error, char *text, size_t cap);
/* The same, or else what the facts say; where they say nothing, libfuse has told why. */
void refused_text(const Refused *r, char *text, size_t cap);

#endif
