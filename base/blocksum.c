/* SPDX-License-Identifier: MIT */
#include "base/blocksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t blocksum(const void *data, size_t len, uint64_t seed)
{
    uint32_t sum = (uint32_t)XXH3_64bits_withSeed(data, len, seed);
    return sum ? sum : 1;
}
