/* SPDX-License-Identifier: MIT */
/* With AddressSanitizer, memory that is free must not be touched, though malloc does not know that
 * it is. */
#ifndef DODO_BASE_POISON_H
#define DODO_BASE_POISON_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DODO_POISON
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DODO_POISON
#endif

#ifdef DODO_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

#endif
