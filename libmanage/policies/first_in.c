/* SPDX-License-Identifier: MIT */
/* First in stays: "once a region is cached, it is not replaced" (the paper's 4.5), for programs
 * that scan all their data again and again. There is nothing to keep, and nothing ever leaves. */
#include "libmanage/policies/policies.h"

static void first_in_use(void *self, struct manage_entry *e)
{
    (void)self;
    (void)e;
}

static struct manage_entry *first_in_reclaim(void *self, const struct manage_directory *dir)
{
    (void)self;
    (void)dir;
    return NULL;
}

const struct manage_policy policy_first_in = {
    .size = sizeof(struct manage_policy),
    .name = "first-in",
    .read = first_in_use,
    .write = first_in_use,
    .reclaim = first_in_reclaim,
};
