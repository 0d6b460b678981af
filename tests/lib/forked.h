/* SPDX-License-Identifier: MIT */
/*
 * For a program that forks while it has threads: the child sets forked_child before it exits, and
 * LeakSanitizer does not look there. What the parent's other threads own is leaked in the child, by
 * nature, and a lock that one of them held at the fork is held there for ever.
 *
 * Included by one file of a program.
 */
#ifndef DODO_TESTS_LIB_FORKED_H
#define DODO_TESTS_LIB_FORKED_H

#include <stdatomic.h>

static atomic_bool forked_child;

/* LeakSanitizer's library calls it. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void)
{
    return forked_child;
}

#endif
