/* SPDX-License-Identifier: MIT */
/* DODO_MIRROR: two copies of a region, or of each of its stripes, on different hosts. Each copy is
 * a region like any other, with its own address, write numbers, filled blocks and checksums, and
 * all rules hold for it alone. What they add to each other is little:
 *
 * - They share the writes under way (the first copy's list), the file, and the calls in progress. A
 *   write has a remote half for each, and is over when each has it or is dropped (call_write.c).
 * - A read asks one copy. When that is lost, or lacks blocks that the other one has, it asks the
 *   other one (call_read.c).
 * - What a read brings from the file is a fill for both (client.c).
 * - A copy that has not been asked for anything for a while is asked for a block, so that its loss
 *   is known before it is needed (mirror.c).
 * - The background heals a copy: it reads blocks that only the other one has there, and offers them
 *   as fills (heal.c). */
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/moves.h"
#include "libdodo/region.h"

#define LOOK_NS (100 * NS_PER_MS) /* a read looks how fast the slower copy is now, so often */

/* Silence is longer than that and than so many answers. */
#define PATIENCE_NS (30 * NS_PER_MS)
enum { PATIENCE_ANSWERS = 8 };

void mirror_pair(Region *first, Region *second)
{
    first->mirror.twin = second;
    second->mirror.twin = first;
    second->mirror.second = true;
}

bool moves_drained(const Client *c, uint64_t epoch)
{
    for (unsigned i = 0; i < c->moves.hosts_count; i++)
        if (c->moves.hosts[i] == epoch)
            return true;
    return false;
}

bool move_wants(const Client *c, const Region *r)
{
    const Region *from = mirror_other(r);
    return from && moves_drained(c, from->memory.address.epoch);
}

/* ---- what is filled ------------------------------------------------------------------------- */

bool region_has_filled(const Region *r, uint64_t block)
{
    return r->memory.blocks.filled && (r->memory.blocks.filled[block / 64] >> block % 64 & 1);
}

void mirror_uneven(Client *c, Region *r)
{
    if (!RULE(MIRROR_HEALS) || !r->active || !mirror_other(r))
        return;
    if (!list_empty(&r->mirror.uneven)) {
        r->mirror.again = true;
        return;
    }
    r->mirror.again = false;
    r->mirror.heal_at = r->mirror.heal_ns = 0;
    list_push_back(&c->copies.uneven, &r->mirror.uneven);
    c->copies.uneven_ns = 0;
    c->hooks.wake_background(c->hooks.ctx);
}

void region_saw_filled(Client *c, Region *r, uint64_t block, bool filled)
{
    if (!r->memory.blocks.filled || region_has_filled(r, block) == filled)
        return;
    r->memory.blocks.filled[block / 64] ^= (uint64_t)1 << block % 64;
    r->memory.blocks.filled_count += filled ? 1 : UINT64_MAX;
    c->account.held_blocks += filled ? 1 : UINT64_MAX;
    c->account.changed = true;
    Region *twin = mirror_other(r);
    if (twin && region_has_filled(twin, block) != filled)
        mirror_uneven(c, filled ? twin : r);
}

void region_emptied(Client *c, Region *r)
{
    c->account.held_blocks -= r->memory.blocks.filled_count;
    c->account.changed = true;
    r->memory.blocks.filled_count = 0;
}

void region_gave_up(Client *c, Region *r, uint64_t first, uint64_t last)
{
    for (uint64_t b = first; b <= last; b++)
        region_saw_filled(c, r, b, false);
    r->memory.blocks.given_up = numbers_last(&r->memory.numbers);
}

/* ---- which copy is read --------------------------------------------------------------------- */

static unsigned blocks_lacking(const Region *r, uint64_t first, uint64_t last)
{
    unsigned n = 0;
    for (uint64_t b = first; b <= last; b++)
        n += !region_has_filled(r, b);
    return n;
}

static uint64_t owes_ns(const Region *r, uint64_t now_ns)
{
    return r->mirror.asked_ns ? sub_u64(now_ns, r->mirror.asked_ns) : 0;
}

/* How long a read would take that comes behind those which wait for the copy. */
static uint64_t behind_ns(const Region *r, uint64_t now_ns)
{
    return max_u64(max_u64(r->mirror.answer_ns, owes_ns(r, now_ns)), 1) * (r->mirror.reads + 1);
}

static Region *sooner(const Client *c, Region *a, Region *b, uint64_t now_ns)
{
    uint64_t a_ns = behind_ns(a, now_ns), b_ns = behind_ns(b, now_ns);
    Region *soon = b_ns < a_ns ? b : a, *late = soon == a ? b : a;
    /* Unless somebody waits for it. */
    bool waits = late->mirror.asked_ns &&
                 owes_ns(late, now_ns) <
                     time_add(c->config.transfer_deadline_ns, c->config.transfer_deadline_ns);
    bool due = now_ns >= time_add(late->mirror.answered_ns, LOOK_NS);
    return due && !waits ? late : soon;
}

Region *mirror_reader(const Client *c, Region *r, uint64_t first, uint64_t last, uint64_t now_ns)
{
    Region *twin = mirror_other(r);
    if (!twin)
        return r;
    if (!r->active)
        return twin;
    unsigned lacks = blocks_lacking(r, first, last), twin_lacks = blocks_lacking(twin, first, last);
    if (lacks != twin_lacks)
        return lacks < twin_lacks ? r : twin;
    return sooner(c, r, twin, now_ns);
}

uint64_t mirror_common(const Region *r)
{
    const Region *twin = mirror_other(r);
    uint64_t n = 0, words = (block_of(r->len - 1) + 64) / 64;
    if (!r->active || !twin || !r->memory.blocks.filled || !twin->memory.blocks.filled)
        return 0;
    for (uint64_t i = 0; i < words; i++)
        n += (uint64_t)__builtin_popcountll(r->memory.blocks.filled[i] &
                                            twin->memory.blocks.filled[i]);
    return n;
}

Region *mirror_fuller(Region *r)
{
    Region *twin = mirror_other(r);
    return twin && (!r->active || twin->memory.blocks.filled_count > r->memory.blocks.filled_count)
               ? twin
               : r;
}

void mirror_asked(Region *r, uint64_t now_ns)
{
    if (r->mirror.asked_ns == 0)
        r->mirror.asked_ns = max_u64(now_ns, 1);
}

void mirror_answered(Client *c, Region *r, bool brief, uint64_t asked_ns, uint64_t now_ns)
{
    mirror_heard(c, r, now_ns);
    uint64_t took = sub_u64(now_ns, asked_ns);
    r->mirror.answered_ns = now_ns;
    r->mirror.asked_ns = 0;
    if (brief)
        r->mirror.answer_ns = r->mirror.answer_ns ? (7 * r->mirror.answer_ns + took) / 8 : took;
}

bool mirror_holds(const Region *r, uint64_t first, uint64_t last)
{
    if (!r->active)
        return false;
    for (uint64_t b = first; b <= last; b++)
        if (!region_has_filled(r, b) ||
            (r->memory.blocks.checks && r->memory.blocks.checks[b].sum == 0))
            return false;
    return true;
}

bool mirror_together(const Region *r, uint64_t epoch)
{
    const Region *twin = mirror_other(r);
    return RULE(MIRROR_APART) && twin && twin->memory.address.epoch == epoch;
}

/* ---- when it was heard ---------------------------------------------------------------------- */

void mirror_heard(Client *c, Region *r, uint64_t now_ns)
{
    if (!r->mirror.twin || !r->active)
        return;
    r->mirror.heard_ns = now_ns;
    list_remove(&r->mirror.heard);
    if (!r->mirror.twin->mirror.spare)
        list_push_back(&c->copies.all, &r->mirror.heard);
}

uint64_t mirror_patience_ns(const Client *c, const Region *r)
{
    return min_u64(PATIENCE_NS + PATIENCE_ANSWERS * r->mirror.answer_ns,
                   c->config.transfer_deadline_ns / 2);
}

void mirror_silent(Client *c, Region *r)
{
    if (!r->active || r->mirror.twin->mirror.spare)
        return;
    r->mirror.heard_ns = 0;
    list_remove(&r->mirror.heard);
    list_push_front(&c->copies.all, &r->mirror.heard);
    c->hooks.wake_background(c->hooks.ctx);
}
