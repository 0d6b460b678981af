/* SPDX-License-Identifier: MIT */
/* By which calls an ELF file would read: what it imports. Pure: whatever the file says is checked.
 */
#ifndef DODO_ADAPTERS_RUN_IMPORTS_H
#define DODO_ADAPTERS_RUN_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ways to read, as bits. A file that imports a call need not make it, and for files. */
enum Imports {
    IMPORTS_READ = 1,    /* read(2) and its kin, which libdodo-preload.so serves */
    IMPORTS_STDIO = 2,   /* the C library reads, by calls of its own */
    IMPORTS_MAPPING = 4, /* mmap(2) */
    IMPORTS_KERNEL = 8,  /* the kernel copies */
};

/* Gives [@at, @at + @len) of the file; false: it has not all of that. */
typedef bool ImportsGet(void *ctx, uint64_t at, void *buf, size_t len);

/* Into @ret the ways that the file has, of an ELF file of this process's word size and byte order.
 * False: it is none, or does not say. */
bool imports_of(ImportsGet *get, void *ctx, unsigned *ret);

#endif
