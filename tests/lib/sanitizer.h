/* SPDX-License-Identifier: MIT */
/* Which sanitizer the test is built with, each 0 or 1. */
#ifndef DODO_TESTS_LIB_SANITIZER_H
#define DODO_TESTS_LIB_SANITIZER_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

#define UNDER_SANITIZER (UNDER_ASAN || UNDER_TSAN)

#endif
