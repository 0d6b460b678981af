/* SPDX-License-Identifier: MIT */
/* libmanage, loaded when the first file needs it: with the libraries that it needs it takes longer
 * to load than all else that an adapter does before its first read. */
#ifndef DODO_ADAPTERS_REGION_CACHE_H
#define DODO_ADAPTERS_REGION_CACHE_H

#include <dodo/manage.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct OsDescriptors;

/* What is used of it. */
typedef struct CacheCalls {
    int (*set)(int option, uint64_t value);
    int (*stats)(DodoManageStats *st);
    int (*copen_flags)(size_t len, int fd, off_t offset, unsigned flags);
    ssize_t (*cread)(int rd, off_t offset, void *buf, size_t len);
    int (*cclose)(int rd);
    void (*descriptors)(const struct OsDescriptors *where);
    bool (*has)(int rd, off_t offset, size_t len); /* in local memory, or on its way there */
    unsigned (*close_files)(void);                 /* that are not in use */
    const char *(*version)(void);                  /* in libdodo, which it stands on */
} CacheCalls;

/* The real path of @place, relative to the shared object or program that has @code: what is there
 * in the directory of a build. NULL: nothing is. On the heap. */
char *region_cache_built(const void *code, const char *place);
/* Loads it: the one of the same build as @code, or the one that is installed. It stays until the
 * process ends, and says good-bye to the cluster then. NULL, or why it cannot be loaded. */
const char *region_cache_load(const void *code, CacheCalls *ret);

#endif
