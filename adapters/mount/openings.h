/* SPDX-License-Identifier: MIT */
/*
 * Who serves the openings of one file: this process, or the kernel by itself. Pure.
 *
 * An opening is *passed* if the kernel serves it: it reads, writes and maps the directory's own
 * file. Nothing of it is cached, so that is for what is opened for writing, for small files, and
 * for those that are left out by name. Any other opening has pages of the mount: the kernel keeps
 * them of what is read and written by it. An opening that is *straight* has its reads and writes
 * come here, and no pages of them; if it is not passed, its private mappings and sendfile(2) have
 * pages nevertheless.
 *
 * What is opened for reading and writing is straight where the kernel cannot serve it: its shared
 * mappings fail then (ENODEV). With pages they would be written back page by page, over what others
 * have stored in the same pages meanwhile.
 *
 * All openings of a file are passed, or none: the kernel refuses to mix them (EIO), and nothing
 * drops pages when the kernel writes the file itself. An opening counts until the kernel has
 * released it.
 *
 * The caller serializes calls for one file.
 */
#ifndef DODO_ADAPTERS_MOUNT_OPENINGS_H
#define DODO_ADAPTERS_MOUNT_OPENINGS_H

#include <stdbool.h>

typedef struct Openings {
    unsigned passed, unpassed; /* one of them is 0 */
    unsigned readers;          /* for reading alone, with pages: mappings may show these */
    bool stored; /* a mapping by a passed one may be stored to, and outlives its descriptor */
} Openings;

typedef struct Opening {
    bool writes;
    bool passed;
    bool straight;
} Opening;

typedef struct OpeningAsk {
    bool reads, writes; /* as O_ACCMODE says */
    bool cacheable;     /* the file is one for the cache */
    bool changeable; /* its descriptor has flags that fcntl(2) may take away, O_APPEND or O_DIRECT:
                        the kernel goes by those of the opening */
} OpeningAsk;

/* Whether the kernel is to serve it, if it can. */
bool openings_want_passed(const Openings *o, const OpeningAsk *ask);
/* One more; @passed: the kernel is to serve it, and can. */
Opening openings_add(Openings *o, const OpeningAsk *ask, bool passed);
/* The kernel has released it. */
void openings_remove(Openings *o, const Opening *opening);
/* There is a lease: nobody can store to the file any more, mappings included. */
void openings_leased(Openings *o);

/* The kernel keeps pages of what is read and written by it. */
static inline bool opening_is_paged(const Opening *opening)
{
    return !opening->straight && !opening->passed;
}
/* Whether reads by it come here, and may find the file held. */
static inline bool opening_may_be_cached(const Opening *opening)
{
    return !opening->writes && !opening->passed;
}

#endif
