/* SPDX-License-Identifier: MIT */
/* Scope-owned resources without GLib. */
#ifndef DODO_BASE_CLEANUP_H
#define DODO_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}
static inline void cleanup_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing to do about a failing close of something we give up */
}
#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)

/* Takes the value out of a cleaned-up variable. */
#define STEAL_FD(fd)        \
    __extension__({         \
        int stolen_ = (fd); \
        (fd) = -1;          \
        stolen_;            \
    })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
