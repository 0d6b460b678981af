/* SPDX-License-Identifier: MIT */
/*
 * Which way the reads of one file go: the kernel's alone, or the region cache's. Pure.
 *
 * For what the kernel has in memory its own way is the shorter one, so a file begins with that.
 * Some of its reads are watched: does the thread sleep in them, and how long? When the file has
 * been waited for as long as the region cache takes to start, the cache has the reads. From there
 * on the kernel is asked now and then whether it has what is being read and the cache lacks: if it
 * always has, the reads are the kernel's again.
 *
 * The caller serializes calls for one file.
 */
#ifndef DODO_ADAPTERS_PRELOAD_WAY_H
#define DODO_ADAPTERS_PRELOAD_WAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Way {
    bool cache;         /* the region cache has the reads */
    uint64_t waited_ns; /* about, in the kernel's way */
    unsigned held;      /* times in a row that the kernel had what was read */
} Way;

/* One read of so many is looked at, and each of a file's first ones: a look takes about as long as
 * a read that the kernel answers at once. So many answers in a row say that it has the rest, too.
 */
enum { WAY_SAMPLE = 32 };
/* What it takes to load the region cache, to start its threads and to open a region:
 * scripts/bench-run measures it. */
#define WAY_START_NS 15000000ull

/* How many reads one that is watched stands for; 0: read number @number (from 0) is not watched. */
unsigned way_weight(uint64_t number);
/* A watched read took @ns; @slept: the thread had to wait in it. */
void way_watched(Way *w, bool slept, uint64_t ns, unsigned weight);
/* Whether to ask the kernel about read number @number through the cache. */
bool way_asks(uint64_t number);
/* Whether the kernel has it. If the cache has it, too, that says nothing: the cache may have read
 * it from the kernel, ahead of the program. */
void way_answered(Way *w, bool cached, bool held);

#endif
