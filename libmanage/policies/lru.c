/* SPDX-License-Identifier: MIT */
/* Least recently used first. One list, in the order of use: the head's next is the oldest. */
#include <stdlib.h>

#include "libmanage/policies/policies.h"

typedef struct Lru {
    struct manage_entry head;
} Lru;

static void *lru_create(uint64_t limit_bytes)
{
    (void)limit_bytes;
    Lru *self = calloc(1, sizeof *self);
    if (self)
        self->head.prev = self->head.next = &self->head;
    return self;
}

static void lru_destroy(void *self)
{
    free(self);
}

static void lru_use(void *self, struct manage_entry *e)
{
    Lru *lru = self;
    manage_entry_move_before(&lru->head, e);
}

static struct manage_entry *lru_reclaim(void *self, const struct manage_directory *dir)
{
    Lru *lru = self;
    (void)dir;
    return policy_first_idle(&lru->head);
}

const struct manage_policy policy_lru = {
    .size = sizeof(struct manage_policy),
    .name = "lru",
    .create = lru_create,
    .destroy = lru_destroy,
    .read = lru_use,
    .write = lru_use,
    .reclaim = lru_reclaim,
};
