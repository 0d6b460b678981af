/* SPDX-License-Identifier: MIT */
/* What a host returns is compared with what it was given: a host's memory flips bits, and its owner
 * may change it. So the client keeps a checksum of each block, of the bytes that the file held when
 * the block was read from it or written to it. What a host returns for a block is used only if it
 * has that checksum. A block without a checksum counts as unfilled: its bytes come from the file,
 * which also give it a checksum.
 *
 * A checksum is of the file's bytes, not of the host's. So only what happens to the file changes or
 * drops it; a refused or repeated fill does not matter. */
#include <stdlib.h>
#include <string.h>

#include "libdodo/checks.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"
#include "libdodo/sharing.h"

/* ---- under the lock ------------------------------------------------------------------------- */

void checks_begin(Client *c, Region *r)
{
    checks_end(r);
    if (!c->config.block_sum)
        return;
    if (region_shares(r)) {
        r->memory.blocks.seed = r->sharing.share->map->seed;
        r->memory.blocks.checks = r->sharing.share->map->checks;
        return;
    }
    const Region *twin = mirror_other(r); /* with the same seed a sum is good for both */
    bool shared = twin && twin->memory.blocks.checks;
    r->memory.blocks.seed = shared ? twin->memory.blocks.seed : env_random_u64(&c->env);
    checks_want(c, r);
}

/* What was read before now may be older than a write that has ended. */
void checks_want(Client *c, Region *r)
{
    if (!c->config.block_sum || r->memory.blocks.checks || !r->active)
        return;
    r->memory.blocks.checks = calloc(blocks_in(r->len), sizeof *r->memory.blocks.checks);
    if (r->memory.blocks.checks && numbers_last(&r->memory.numbers) > 0)
        checks_write_over(r, 0, blocks_in(r->len) - 1);
}

void checks_end(Region *r)
{
    if (!r->sharing.share || r->memory.blocks.checks != r->sharing.share->map->checks)
        free(r->memory.blocks.checks);
    r->memory.blocks.checks = NULL;
}

void checks_forget(Region *r, uint64_t first, uint64_t last)
{
    for (uint64_t b = first; r->memory.blocks.checks && b <= last; b++)
        r->memory.blocks.checks[b].sum = 0;
}

void checks_write_over(Region *r, uint64_t first, uint64_t last)
{
    for (uint64_t b = first; r->memory.blocks.checks && b <= last; b++)
        r->memory.blocks.checks[b].written = (uint32_t)numbers_last(&r->memory.numbers);
}

/* A write that has begun since @counter was taken may have changed the file after these bytes were
 * read from it. */
static bool is_current(const Region *r, uint64_t block, uint64_t counter)
{
    return (int32_t)((uint32_t)counter - r->memory.blocks.checks[block].written) >= 0 &&
           !region_write_overlaps(r, block, block);
}

/* Other processes may give it one at the same time: the first one counts. */
static void sum_set(Region *r, uint64_t block, uint32_t sum)
{
    uint32_t none = 0, *at = &r->memory.blocks.checks[block].sum;
    if (!region_shares(r))
        *at = sum;
    else if (!__atomic_compare_exchange_n(at, &none, sum, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST) &&
             none != sum)
        share_changed(r);
}

void checks_read(Region *r, const BlockSums *sums, uint64_t counter)
{
    for (unsigned i = 0; r->memory.blocks.checks && i < sums->count; i++)
        if (is_current(r, sums->first + i, counter))
            sum_set(r, sums->first + i, sums->sum[i]);
}

void checks_written(Region *r, const BlockSums *sums)
{
    for (unsigned i = 0; r->memory.blocks.checks && i < sums->count; i++)
        r->memory.blocks.checks[sums->first + i].sum = sums->sum[i];
}

bool checks_known(const Region *r, uint64_t first, uint64_t last)
{
    for (uint64_t b = first; b <= last; b++)
        if (r->memory.blocks.checks && r->memory.blocks.checks[b].sum == 0)
            return false;
    return true;
}

enum CheckVerdict checks_compare(const Region *r, uint64_t block, uint32_t sum, uint64_t counter)
{
    if (!r->memory.blocks.checks || r->memory.blocks.checks[block].sum == 0)
        return CHECK_UNKNOWN;
    if (RULE(CHECKED) && r->memory.blocks.checks[block].sum != sum)
        return is_current(r, block, counter) && !share_has_changed(r) ? CHECK_BAD : CHECK_UNKNOWN;
    return CHECK_GOOD;
}

/* ---- from one opening to the next ----------------------------------------------------------- */

CheckRecord *checks_record_new(const CheckName *name, size_t *ret_len)
{
    *ret_len = sizeof(CheckRecord) + blocks_in(name->len) * sizeof(uint32_t);
    CheckRecord *record = calloc(1, *ret_len);
    if (record)
        record->name = *name;
    return record;
}

CheckRecord *checks_record(const Client *c, const Region *r, const Stamp *stamp, size_t *ret_len)
{
    const CheckName name = {.key = r->key, .offset = r->file_offset, .len = r->len};
    if (!c->config.block_sum || !r->memory.blocks.checks)
        return NULL;
    CheckRecord *record = checks_record_new(&name, ret_len);
    if (!record)
        return NULL;
    record->version = CHECK_RECORD_VERSION;
    record->stamp = *stamp;
    record->seed = r->memory.blocks.seed;
    for (uint64_t b = 0; b < blocks_in(r->len); b++)
        record->sums[b] = r->memory.blocks.checks[b].sum;
    return record;
}

bool checks_restore(Region *r, const CheckRecord *record, size_t len)
{
    const CheckName name = {.key = r->key, .offset = r->file_offset, .len = r->len};
    if (!r->memory.blocks.checks || !record ||
        len != sizeof *record + blocks_in(r->len) * sizeof record->sums[0] ||
        record->version != CHECK_RECORD_VERSION || memcmp(&record->name, &name, sizeof name) != 0 ||
        !stamp_equal(&record->stamp, &r->stamp))
        return false;
    r->memory.blocks.seed = record->seed;
    if (region_shares(r))
        r->sharing.share->map->seed = record->seed;
    for (uint64_t b = 0; b < blocks_in(r->len); b++)
        r->memory.blocks.checks[b].sum = record->sums[b];
    return true;
}

/* ---- without the lock ----------------------------------------------------------------------- */

void block_sums(const Client *c, uint64_t region_len, uint64_t seed, uint64_t from,
                const uint8_t *data, size_t len, BlockSums *ret)
{
    uint64_t skip = (WIRE_BLOCK_SIZE - from % WIRE_BLOCK_SIZE) % WIRE_BLOCK_SIZE;
    uint64_t at = from + skip, end = from + len;
    ret->first = at / WIRE_BLOCK_SIZE;
    ret->count = 0;
    for (; c->config.block_sum && at < end && ret->count < BLOCK_SUMS_MAX; at += WIRE_BLOCK_SIZE) {
        uint64_t n = region_len - at < WIRE_BLOCK_SIZE ? region_len - at : WIRE_BLOCK_SIZE;
        if (at + n > end)
            break;
        ret->sum[ret->count++] = c->config.block_sum(data + (at - from), n, seed);
    }
}
