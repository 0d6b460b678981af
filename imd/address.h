/* SPDX-License-Identifier: MIT */
/* Whether an address opens a region: the one comparison that control and data threads share. The
 * epoch is checked earlier, where a region is looked up. Pure. */
#ifndef DODO_IMD_ADDRESS_H
#define DODO_IMD_ADDRESS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/rules.h"
#include "proto/wire.h"

/* Takes the same time wherever the difference is: an answer's delay reveals nothing of the
 * secret. */
static inline bool capability_equal(const Id128 *a, const Id128 *b)
{
    uint64_t of_a[2], of_b[2];
    static_assert(sizeof of_a == sizeof a->bytes, "two words are all of it");
    memcpy(of_a, a->bytes, sizeof of_a);
    memcpy(of_b, b->bytes, sizeof of_b);
    const volatile uint64_t difference = (of_a[0] ^ of_b[0]) | (of_a[1] ^ of_b[1]);
    return difference == 0;
}

/* @a names the region; @opening and @capability are its present ones. */
static inline bool address_opens(const RegionAddress *a, uint32_t opening, const Id128 *capability)
{
    if (RULE(OPENING) && a->opening != opening)
        return false;
    return !RULE(CAPABILITY) || capability_equal(&a->capability, capability);
}

#endif
