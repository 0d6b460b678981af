/* SPDX-License-Identifier: MIT */
#include "libmanage/fill.h"

#include "libmanage/core_private.h"

enum {
    GAP_STEP = 8,   /* the median moves by such a part of itself */
    MIB_WEIGHT = 4, /* of the latest part in the average */
    LEAST_BYTES = 64 << 10,
    FAR = 3,        /* times what a read alone takes: a part is too long */
    COST_PARTS = 8, /* of the latest ones, about, what they cost */
};

/* ---- pure values ----------------------------------------------------------------------------- */

void fill_drive_begin(FillClock *f, uint64_t now_ns)
{
    uint64_t gap = f->reads ? 0 : sub_u64(now_ns, f->read_ended_ns);
    uint64_t step = max_u64(f->gap_ns, COST_NOTHING_NS) / GAP_STEP;
    f->reads++;
    if (!f->read_ended_ns) /* the first read: there is no gap before it */
        return;
    if (!f->gap_known)
        f->gap_ns = gap;
    else
        f->gap_ns = gap > f->gap_ns ? f->gap_ns + step : sub_u64(f->gap_ns, step);
    f->gap_known = true;
}

void fill_drive_end(FillClock *f, uint64_t now_ns)
{
    f->reads--;
    f->read_ended_ns = now_ns;
}

/* What is left of a gap as usual. One that is longer than a read, and twice as long as usual, will
 * last as long again. */
uint64_t fill_idle_ns(const FillClock *f, uint64_t alone_ns, uint64_t now_ns)
{
    uint64_t idled = sub_u64(now_ns, f->read_ended_ns);
    if (f->reads)
        return 0;
    return idled >= max_u64(2 * f->gap_ns, alone_ns) ? idled : sub_u64(f->gap_ns, idled);
}

/* As whole numbers have it; what exceeds any time and any file is as good as no limit. */
static uint64_t whole(double n)
{
    const double most = (double)(1ull << 62);
    return n < most ? (uint64_t)n : 1ull << 62;
}

static uint64_t bytes_ns(const FillClock *f, uint64_t bytes)
{
    return whole((double)f->mib_ns * (double)bytes / (1 << 20));
}

/* Nearby the head passes over what lies between. */
static uint64_t way_ns(const FillClock *f, uint64_t far, uint64_t alone_ns)
{
    return min_u64(bytes_ns(f, far), alone_ns);
}

uint64_t fill_takes_ns(const FillClock *f, uint64_t far, uint64_t bytes, uint64_t alone_ns)
{
    return f->mib_ns ? way_ns(f, far, alone_ns) + bytes_ns(f, bytes) : alone_ns;
}

uint64_t fill_fits(const FillClock *f, uint64_t far, uint64_t alone_ns, uint64_t ns)
{
    uint64_t left = sub_u64(ns, way_ns(f, far, alone_ns));
    if (!f->mib_ns)
        return 0;
    return whole((double)left / (double)f->mib_ns * (1 << 20)) / CACHE_BLOCK * CACHE_BLOCK;
}

uint64_t fill_busy_ns(const FillClock *f, uint64_t now_ns)
{
    return f->busy_ns + (f->busy ? sub_u64(now_ns, f->begun_ns) : 0);
}

void fill_begin(FillClock *f, uint64_t now_ns)
{
    f->busy = true;
    f->begun_ns = now_ns;
}

void fill_over(FillClock *f, uint64_t bytes, uint64_t now_ns)
{
    uint64_t took = sub_u64(now_ns, f->begun_ns);
    f->busy_ns += took;
    f->busy = false;
    if (bytes == 0)
        return;
    uint64_t mib = max_u64(whole((double)took * (1 << 20) / (double)bytes), 1);
    if (f->mib_ns) /* one that waited for something else is no rule */
        mib = f->mib_ns - f->mib_ns / MIB_WEIGHT + min_u64(mib, 2 * f->mib_ns) / MIB_WEIGHT;
    f->mib_ns = mib;
}

bool fill_began_late(uint64_t ns, uint64_t work_ns, uint64_t alone_ns)
{
    return sub_u64(ns, work_ns) > work_ns + alone_ns;
}

uint64_t fill_paid_bytes(uint64_t bytes, uint64_t ns, uint64_t alone_ns, uint64_t most)
{
    if (ns <= alone_ns)
        return min_u64(2 * bytes, most);
    return ns > FAR * alone_ns ? max_u64(bytes / 2, min_u64(LEAST_BYTES, most)) : bytes;
}

/* Before the first one, one has cost what was expected. */
void fill_cost_add(FillCost *k, uint64_t expected_ns, int64_t charged_ns)
{
    if (!k->expected_ns) {
        k->expected_ns = expected_ns;
        k->charged_ns = (int64_t)expected_ns;
    }
    k->expected_ns += expected_ns - k->expected_ns / COST_PARTS;
    k->charged_ns += charged_ns - k->charged_ns / COST_PARTS;
}

uint64_t fill_cost_ns(const FillCost *k, uint64_t expected_ns)
{
    if (!k->expected_ns)
        return expected_ns;
    double share = (double)k->charged_ns / (double)k->expected_ns;
    return share > 0 ? whole(share * (double)expected_ns) : 0;
}

void fill_init(Fill *f, uint64_t most_bytes, unsigned percent)
{
    *f = (Fill){.most_bytes = most_bytes,
                .paid_bytes = min_u64(LEAST_BYTES, most_bytes),
                .ledger.percent = percent};
}

/* ---- what it costs the program, and what it earns -------------------------------------------- */

static uint64_t alone_ns(const CacheJob *job)
{
    enum CostOf way = job->kind == CACHE_READ_REMOTE ? COST_REMOTE : COST_FILE;
    return cost_of(&job->region->ways->cost[way], job->len);
}

void fill_note_begin(Cache *c, CacheJob *job, uint64_t now_ns)
{
    job->noted = true;
    job->fill_busy_ns = fill_busy_ns(&c->fill.clock, now_ns);
    job->drive = job->kind != CACHE_READ_REMOTE && alone_ns(job) > COST_NOTHING_NS;
    if (job->drive)
        fill_drive_begin(&c->fill.clock, now_ns);
}

static uint64_t beside_ns(const Cache *c, const CacheJob *job, uint64_t now_ns)
{
    return fill_busy_ns(&c->fill.clock, now_ns) - job->fill_busy_ns;
}

bool fill_ran_beside(const Cache *c, const CacheJob *job, uint64_t now_ns)
{
    return job->noted && beside_ns(c, job, now_ns) > 0;
}

/* The bytes of [from, to) that parts have brought. They count once. */
static uint64_t brought_bytes(const Cache *c, Region *r, uint64_t from, uint64_t to)
{
    uint64_t blocks = 0;
    for (uint64_t i = from / c->cfg.piece_bytes; piece_start(c, i) < to; i++) {
        uint64_t taken = brought_take(c, r, i, piece_mask(c, i, from, to));
        blocks += (uint64_t)__builtin_popcountll(taken);
    }
    return min_u64(blocks * CACHE_BLOCK, to - from);
}

static void earn(Cache *c, const CacheJob *job, uint64_t ns)
{
    uint64_t bytes = brought_bytes(c, job->region, job->offset, job->offset + job->len);
    uint64_t saved = sub_u64(cost_of(&job->region->ways->cost[COST_FILE], job->len), ns);
    c->fill.ledger.earned_ns += whole((double)saved * (double)bytes / (double)job->len);
}

/* A read took @ns, and usually takes @usual_ns; a part was being read for @beside_ns of that. Reads
 * take a little more or less for other reasons, too, so what they take less counts as well. */
static void charge(Fill *f, uint64_t ns, uint64_t usual_ns, uint64_t beside_ns)
{
    if (!usual_ns) /* nothing is known yet */
        return;
    uint64_t more = min_u64(sub_u64(ns, usual_ns), beside_ns);
    uint64_t less = min_u64(sub_u64(usual_ns, ns), beside_ns);
    f->ledger.spent_ns = sub_u64(f->ledger.spent_ns + more, less);
    f->charged_ns += (int64_t)more - (int64_t)less;
}

void fill_note_end(Cache *c, const CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Fill *f = &c->fill;
    f->ledger.reads_ns += result->ns;
    charge(f, result->ns, alone_ns(job), beside_ns(c, job, now_ns));
    f->beside = fill_ran_beside(c, job, now_ns) ? f->beside + 1 : 0;
    if (job->drive)
        fill_drive_end(&f->clock, now_ns);
    if (job->kind == CACHE_READ_REMOTE && !result->remote_error)
        earn(c, job, result->ns);
}

void fill_found_held(Cache *c, const CacheJob *job, uint64_t ns)
{
    earn(c, job, ns);
}

void fill_asked(Cache *c, const CacheResult *result)
{
    c->fill.ledger.spent_ns += result->ns;
}

/* ---- the end of a part ----------------------------------------------------------------------- */

static void brought(Cache *c, Region *r, uint64_t from, uint64_t to)
{
    for (uint64_t i = from / c->cfg.piece_bytes; piece_start(c, i) < to; i++)
        brought_add(c, r, i, piece_mask(c, i, from, to));
    c->stats.extent_bytes += to - from;
    remote_holds(c, r, from, to);
}

/* @whole: all of it has come. */
static void part_over(Fill *f, bool whole, uint64_t alone, uint64_t now_ns)
{
    const FillPart *part = &f->part;
    bool late = fill_began_late(sub_u64(now_ns, f->clock.begun_ns), part->work_ns, alone);
    bool says = whole && !late && part->passed <= part->came;
    fill_over(&f->clock, says ? part->passed + part->came : 0, now_ns);
    f->ledger.spent_ns = sub_u64(f->ledger.spent_ns, part->expected_ns);
    if (says && part->came >= f->paid_bytes && part->passed == 0)
        f->paid_bytes = fill_paid_bytes(f->paid_bytes, part->work_ns, alone, f->most_bytes);
}

void fill_end(Cache *c, const CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Fill *f = &c->fill;
    Region *r = job->region;
    uint64_t came = result->count > 0 ? min_u64((uint64_t)result->count, job->len) : 0;
    c->stats.extents += came && !f->part.came;
    f->part.came += came;
    f->part.work_ns += result->ns;
    if (f->region == r && f->at <= job->offset)
        f->at = job->offset + came;
    if (f->region == r && came < job->len) /* the network has no time, say: until a read misses */
        f->region = NULL;
    if (result->remote_error)
        remote_lost(c, r, now_ns);
    else if (came)
        brought(c, r, job->offset, job->offset + came);
    if (remote_holds_at(c, r, job->offset)) /* not what is dirty here: it goes on elsewhere */
        f->full = 0;
    f->part.due = f->region == r && (f->part.len || f->part.next); /* for its next job */
    if (!f->part.due)
        part_over(f, came == job->len, cost_of(&r->ways->cost[COST_FILE], f->read_bytes), now_ns);
}

void fill_forget(Cache *c, const Region *r, uint64_t now_ns)
{
    Fill *f = &c->fill;
    if (f->region != r && f->part.next != r)
        return;
    f->part.next = NULL;
    f->part.rest = 0;
    if (f->region == r)
        f->region = NULL;
    if (f->part.due && (!f->region || !f->part.len)) {
        f->part.due = false;
        f->part.takes_ns = 0;
        f->ledger.spent_ns = sub_u64(f->ledger.spent_ns, f->part.expected_ns);
        fill_over(&f->clock, 0, now_ns);
    }
}
