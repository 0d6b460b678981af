/* SPDX-License-Identifier: MIT */
/* Do several reads of a file go together? A disk has one arm: what is asked for at once takes as
 * long as one after the other, and the program's own reads wait for all of it. An SSD, a cloud's
 * volume and a file server carry out many at the same time. None of them can be asked, so it is
 * tried: a few batches, which go on if they take clearly less time. Pure. */
#ifndef DODO_LIBMANAGE_WIDTH_H
#define DODO_LIBMANAGE_WIDTH_H

#include <stdbool.h>
#include <stdint.h>

enum { WIDTH_MAX = 8 };

/* Zeroed: nothing is known. */
typedef struct Width {
    bool wide;
    unsigned batches;  /* since it was seen whether they are of use */
    double parts;      /* of the time that their reads take alone, all together */
    uint64_t ns;       /* that they took */
    uint64_t again_ns; /* not wide: when it is tried again */
    unsigned failed;   /* trials in a row */
} Width;

/* The reads of the next batch, at most. */
unsigned width_reads(const Width *w, uint64_t now_ns);
/* A batch is over: @reads, which would take @alone_ns one after the other, took @ns. */
void width_note(Width *w, unsigned reads, uint64_t alone_ns, uint64_t ns, uint64_t now_ns);

#endif
