/* SPDX-License-Identifier: MIT */
/* SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI 2024). One list in
 * the order of arrival. A hand goes from the oldest to the newest: what was used since the hand
 * passed stays where it is, and what was not leaves. */
#include <stdlib.h>

#include "libmanage/policies/policies.h"

enum { KNOWN, USED }; /* manage_entry.state */

typedef struct Sieve {
    struct manage_entry head;  /* its next is the oldest */
    struct manage_entry *hand; /* the next to be looked at; the head: the oldest */
} Sieve;

static void *sieve_create(uint64_t limit_bytes)
{
    (void)limit_bytes;
    Sieve *self = calloc(1, sizeof *self);
    if (self)
        self->head.prev = self->head.next = self->hand = &self->head;
    return self;
}

static void sieve_destroy(void *self)
{
    free(self);
}

static void sieve_use(void *self, struct manage_entry *e)
{
    Sieve *sieve = self;
    if (!e->state[KNOWN])
        manage_entry_move_before(&sieve->head, e);
    else
        e->state[USED] = 1;
    e->state[KNOWN] = 1;
}

static struct manage_entry *sieve_reclaim(void *self, const struct manage_directory *dir)
{
    Sieve *sieve = self;
    /* In the first round all lose their mark: the second finds one, unless all are busy. */
    for (uint64_t i = 0; i < 2 * (dir->entries + 1); i++) {
        struct manage_entry *e = sieve->hand;
        if (e != &sieve->head && !(e->flags & MANAGE_ENTRY_BUSY)) {
            if (!e->state[USED])
                return e;
            e->state[USED] = 0;
        }
        sieve->hand = e->next;
    }
    return NULL;
}

static void sieve_removed(void *self, struct manage_entry *e)
{
    Sieve *sieve = self;
    if (sieve->hand == e)
        sieve->hand = e->next;
}

const struct manage_policy policy_sieve = {
    .size = sizeof(struct manage_policy),
    .name = "sieve",
    .create = sieve_create,
    .destroy = sieve_destroy,
    .read = sieve_use,
    .write = sieve_use,
    .reclaim = sieve_reclaim,
    .removed = sieve_removed,
};
