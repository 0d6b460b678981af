/* SPDX-License-Identifier: MIT */
/* Whether an address opens a region: the one comparison that control and data threads share. The
 * epoch is checked earlier, where a region is looked up. Pure. */
#ifndef DODO_IMD_ADDRESS_H
#define DODO_IMD_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/rules.h"
#include "proto/wire.h"

/* Takes the same time wherever the difference is: an answer's delay reveals nothing of the
 * secret. */
static inline bool capability_equal(const Id128 *a, const Id128 *b)
{
    volatile uint8_t difference = 0;
    for (unsigned i = 0; i < sizeof a->bytes; i++)
        difference |= (uint8_t)(a->bytes[i] ^ b->bytes[i]);
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
