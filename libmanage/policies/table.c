/* SPDX-License-Identifier: MIT */
/* Explicit, so that static linking drops none and the order of start-up decides nothing. */
#include <stddef.h>

#include "libmanage/policies/policies.h"

static const struct manage_policy *const policies[] = {
    [MANAGE_LRU] = &policy_lru,           [MANAGE_MRU] = &policy_mru,
    [MANAGE_FIRST_IN] = &policy_first_in, [MANAGE_ADAPTIVE] = &policy_adaptive,
    [MANAGE_S3_FIFO] = &policy_s3_fifo,   [MANAGE_SIEVE] = &policy_sieve,
};
enum { POLICIES = sizeof policies / sizeof *policies };

const struct manage_policy *policy_builtin(int number)
{
    return number >= 0 && number < POLICIES ? policies[number] : NULL;
}

int policy_builtin_count(void)
{
    return POLICIES;
}

/* One of a program that was built when there were no flags has none. */
bool policy_is_coarse(const struct manage_policy *policy)
{
    size_t with_flags = offsetof(struct manage_policy, flags) + sizeof policy->flags;
    return policy->size >= with_flags && policy->flags & MANAGE_POLICY_COARSE;
}
