/* SPDX-License-Identifier: MIT */
/* A checksum of a block of data that a host keeps for us: XXH3, cut to 32 bits. It finds errors of
 * memory and machines. No host knows the seed, so none can choose bytes that fit. It is no proof
 * against an attacker who can try many times. */
#ifndef DODO_BASE_BLOCKSUM_H
#define DODO_BASE_BLOCKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of @len bytes; never 0. All functions of this type give the same results. Any thread. */
typedef uint32_t BlockSumFn(const void *data, size_t len, uint64_t seed);

BlockSumFn blocksum;
/* The fastest that this processor runs: four times as fast where it has AVX2. */
BlockSumFn *blocksum_fastest(void);

#endif
