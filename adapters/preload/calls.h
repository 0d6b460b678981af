/* SPDX-License-Identifier: MIT */
/* The names that the program calls instead of the C library's. */
#ifndef DODO_ADAPTERS_PRELOAD_CALLS_H
#define DODO_ADAPTERS_PRELOAD_CALLS_H

/* A function of the library's by the name @name; headers know that by other types and names. */
#define EXPORTED(name) __asm__(name) __attribute__((visibility("default"), used))
/* Who has made the call that is being made. */
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#endif
