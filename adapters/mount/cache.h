/* SPDX-License-Identifier: MIT */
/* libmanage, loaded when the first file needs it: with the libraries that it needs it takes longer
 * to load than all else that a mount does before its first read. Thread-safe after
 * cache_prepare(). */
#ifndef DODO_ADAPTERS_MOUNT_CACHE_H
#define DODO_ADAPTERS_MOUNT_CACHE_H

#include <dodo/manage.h>
#include <stddef.h>
#include <stdint.h>

/* What is used of it. */
typedef struct CacheCalls {
    int (*set)(int option, uint64_t value);
    int (*stats)(DodoManageStats *st);
    int (*copen_flags)(size_t len, int fd, off_t offset, unsigned flags);
    ssize_t (*cread)(int rd, off_t offset, void *buf, size_t len);
    int (*cclose)(int rd);
} CacheCalls;

#define CACHE_AS_CONFIGURED UINT64_MAX

/* Before anything is mounted at @mountpoint, an absolute path without links: a process whose own
 * libraries were read through its mount might wait for itself. If they are below that, they are
 * loaded now. @bytes: local memory, or CACHE_AS_CONFIGURED. */
void cache_prepare(const char *mountpoint, uint64_t bytes);
/* Loads it if need be; NULL: it cannot be loaded, which is logged once. */
const CacheCalls *cache_calls(void);
/* NULL: nothing has been cached yet. */
const CacheCalls *cache_calls_if_loaded(void);

#endif
