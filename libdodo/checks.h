/* SPDX-License-Identifier: MIT */
/* Checksums of blocks: what a host must return. Not for shells. */
#ifndef DODO_LIBDODO_CHECKS_H
#define DODO_LIBDODO_CHECKS_H

#include "libdodo/region.h"

/* Of consecutive whole blocks. */
enum { BLOCK_SUMS_MAX = TRANSFER_BLOCKS_MAX };
typedef struct BlockSums {
    uint64_t first;
    unsigned count;
    uint32_t sum[BLOCK_SUMS_MAX];
} BlockSums;
/* The sums of the whole blocks in [from, from + len) of the region, at most BLOCK_SUMS_MAX; the
 * region's end ends its last block. None if nothing is checked. @seed: the region's, read under the
 * lock. */
void block_sums(const Client *c, uint64_t region_len, uint64_t seed, uint64_t from,
                const uint8_t *data, size_t len, BlockSums *ret);
/* All below under the lock. The region has a new address: nothing is known of it. */
void checks_begin(Client *c, Region *r);
void checks_end(Region *r);
/* Tries once more to allocate the checksums. Until then no block of the host is trusted. */
void checks_want(Client *c, Region *r);
void checks_forget(Region *r, uint64_t first, uint64_t last);
/* The file held these bytes, as it was read after the write counter stood at @counter. */
void checks_read(Region *r, const BlockSums *sums, uint64_t counter);
/* The write that is on record for these blocks writes these bytes. */
void checks_written(Region *r, const BlockSums *sums);
/* Is there one of each? Or none are kept. */
bool checks_known(const Region *r, uint64_t first, uint64_t last);
/* It is over: bytes that were read from the file before it say nothing now. */
void checks_write_over(Region *r, uint64_t first, uint64_t last);
/* What a host returned, asked when the write counter stood at @counter. UNKNOWN: that cannot
 * be checked, so it is not used. BAD: it is not what the host was given. */
enum CheckVerdict { CHECK_GOOD, CHECK_UNKNOWN, CHECK_BAD };
enum CheckVerdict checks_compare(const Region *r, uint64_t block, uint32_t sum, uint64_t counter);

/* ---- ... those of a retained region, from one opening to the next ---- */
/* The record of @r, or NULL: nothing is checked, or there is no memory. free() it. Under the lock.
 */
CheckRecord *checks_record(const Client *c, const Region *r, const Stamp *stamp, size_t *ret_len);
/* An empty one, to be read into. */
CheckRecord *checks_record_new(const CheckName *name, size_t *ret_len);
/* The region was just activated with what a former opening left. False: the record is not of it. */
bool checks_restore(Region *r, const CheckRecord *record, size_t len);

#endif
