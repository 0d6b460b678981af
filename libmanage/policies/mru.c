/* SPDX-License-Identifier: MIT */
/* Most recently used first: in a loop that is longer than the cache, what was just used is what is
 * wanted last. One list, in the order of use: the head's prev is the latest. */
#include <stdlib.h>

#include "libmanage/policies/policies.h"

typedef struct Mru {
    struct manage_entry head;
} Mru;

static void *mru_create(uint64_t limit_bytes)
{
    (void)limit_bytes;
    Mru *self = calloc(1, sizeof *self);
    if (self)
        self->head.prev = self->head.next = &self->head;
    return self;
}

static void mru_destroy(void *self)
{
    free(self);
}

static void mru_use(void *self, struct manage_entry *e)
{
    Mru *mru = self;
    manage_entry_move_before(&mru->head, e);
}

static struct manage_entry *mru_reclaim(void *self, const struct manage_directory *dir)
{
    Mru *mru = self;
    (void)dir;
    for (struct manage_entry *e = mru->head.prev; e != &mru->head; e = e->prev)
        if (!(e->flags & MANAGE_ENTRY_BUSY))
            return e;
    return NULL;
}

const struct manage_policy policy_mru = {
    .size = sizeof(struct manage_policy),
    .name = "mru",
    .create = mru_create,
    .destroy = mru_destroy,
    .read = mru_use,
    .write = mru_use,
    .reclaim = mru_reclaim,
};
