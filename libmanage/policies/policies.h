/* SPDX-License-Identifier: MIT */
/* The policies that come with the library: one file each, and the table that names them. A new
 * one needs a line in table.c and a number in dodo/manage.h. */
#ifndef DODO_LIBMANAGE_POLICIES_H
#define DODO_LIBMANAGE_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

#include "dodo/manage.h"

extern const struct manage_policy policy_lru, policy_mru, policy_first_in, policy_adaptive,
    policy_s3_fifo, policy_sieve;

/* The one of a program that chooses none. */
enum { POLICY_DEFAULT = MANAGE_ADAPTIVE };

/* By its number (MANAGE_LRU, ...); NULL: none. */
const struct manage_policy *policy_builtin(int number);
int policy_builtin_count(void);

/* It need not hear of each hit. */
bool policy_is_coarse(const struct manage_policy *policy);

/* Of a list whose head's next is the oldest: the first that may leave now, or NULL. */
static inline struct manage_entry *policy_first_idle(struct manage_entry *head)
{
    struct manage_entry *e = head->next;
    while (e != head && (e->flags & MANAGE_ENTRY_BUSY))
        e = e->next;
    return e == head ? NULL : e;
}

#endif
