/* SPDX-License-Identifier: MIT */
/* Hits: reads that take no lock.
 *
 * A thread that reads takes a lane and writes into it what it is about to look at: its claim, a
 * region's descriptor and a range of pieces. Then it looks: is the region open, are the blocks
 * readable? If so, it copies, notes in the lane what it has read, and withdraws the claim. A thread
 * that holds the lock may want to change what a hit may be copying: to write into a piece, to free
 * one, to close a region. It makes that unreadable first, and then looks for claims on it. While
 * there is one, it waits or takes another victim.
 *
 * Why a hit never copies what is being changed or freed: claims, maps of readable blocks and the
 * table of open regions are all read and changed by sequentially consistent operations, so all of
 * these have one order. If the claim comes before the other thread's look for claims, that look
 * finds it. If it comes after, then the hit's own look is later still, and finds the blocks
 * unreadable or the region gone. So it is with what leads from the table to the maps. Only a close
 * frees the region, and it looks for claims on that. A leaf that says nothing any more is taken out
 * of the region before it is looked for claims on its pieces, and put back where there is one. A
 * claim is withdrawn by a release; the thread that finds it gone acquires that.
 *
 * Why it never gives old bytes: a block is unreadable from before a cwrite copies into it until
 * after that. A hit that begins when the cwrite has returned finds the block readable again, or
 * becomes a call. A block is marked readable after its bytes are stored, and a hit loads the mark
 * before the bytes.
 *
 * Why nobody waits for ever: a thread that waits for a claim sets c->wanted and then looks for the
 * claim once more. A thread that withdraws one looks at c->wanted afterwards, and wakes those who
 * wait. To be sure that one of the two sees the other, a hit would have to wait until all that it
 * has copied is in the caches, a third of what it costs beside the copy. It does not wait, so it
 * may look before its own withdrawal can be seen. A thread that was not woken therefore looks again
 * by itself (call_block_hit()). And while a write waits for the readers of a piece, no others begin
 * (Piece.wanted_by): they come after it.
 *
 * Why the policy decides as if it had heard of each hit immediately: what was read stays in the
 * lane until the lock is taken for anything else, and then the policy hears of all hits before
 * anything is decided. A thread keeps to its lane, so its reads come in their order; the order
 * between threads was never defined. If a lane is full, or taken by another thread, the read
 * becomes a call.
 *
 * A policy may say that it need not hear of each hit (DODO_MANAGE_POLICY_COARSE). Then it hears of
 * one for each piece until a part of the cache has been replaced, which is a generation. While
 * nothing leaves, hits leave no more than a count.
 *
 * Files that cost hardly more than copying are read past the cache in the same way: where nothing
 * of the range is cached when the hit looks, the file has the newest bytes, and no older ones
 * later. Where the cache lets go of a file (worth.h), that is read so, and each read is
 * measured. A read that fails or comes short becomes a call under the lock before its claim is
 * withdrawn there: a close finds one or the other, and the descriptor means this region until the
 * read has ended. */
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

/* One read of the file in eight is measured; not every eighth, for what the kernel reads ahead has
 * a rhythm, too. */
#define MEASURE_MIX 0x9E3779B1u
#define MEASURE_BELOW (UINT32_MAX / 8)
enum { HITS_COUNTED = 4096 /* in a lane, before the lock is taken for them */ };

/* ---- lanes ---------------------------------------------------------------------------------- */

static Lane *lane_make(Cache *c)
{
    Lane *lane = aligned_alloc(LANE_ALIGN, sizeof *lane);
    if (!lane)
        return NULL;
    memset(lane, 0, sizeof *lane);
    c->hits.lanes[c->hits.lane_count++] = lane;
    return lane;
}

/* One that no thread has; or a new one; or that of the fewest threads. */
static Lane *lane_for_thread(Cache *c)
{
    Lane *least = NULL, *made = NULL;
    for (unsigned i = 0; i < c->hits.lane_count; i++)
        if (!least || c->hits.lanes[i]->threads < least->threads)
            least = c->hits.lanes[i];
    if ((!least || least->threads > 0) && c->hits.lane_count < min_u64(c->cfg.lanes, LANES))
        made = lane_make(c);
    return made ? made : least;
}

Lane *cache_lane(Cache *c)
{
    cache_enter(c);
    Lane *lane = lane_for_thread(c);
    if (lane)
        lane->threads++;
    cache_unlock(c);
    return lane;
}

void cache_lane_give(Cache *c, Lane *lane)
{
    cache_enter(c);
    lane->threads--;
    cache_unlock(c);
}

void lanes_free(Cache *c)
{
    for (unsigned i = 0; i < c->hits.lane_count; i++)
        free(c->hits.lanes[i]);
}

/* ---- what was read -------------------------------------------------------------------------- */

static void take_local(Cache *c, Region *r, const HitRecord *h)
{
    uint64_t last = (h->offset + h->len - 1) / c->cfg.piece_bytes;
    for (uint64_t i = h->offset / c->cfg.piece_bytes; i <= last; i++) {
        Piece *p = piece_find(r, i);
        if (p && p->known) /* it may have left meanwhile */
            piece_use(c, p, false);
    }
}

/* If all is here already, nothing has to be fetched and no stream begins. The first read that
 * becomes a call - a miss, or the first use of what was fetched ahead - takes care of that.
 * @len: of the run's last read. */
static void run_follow(Cache *c, Lane *l, Region *r, uint64_t from, uint64_t to, uint64_t len)
{
    if (l->run_taken_region == r->number && from < l->run_taken_to && l->run_taken_to <= to)
        from = l->run_taken_to;
    if (from < to)
        stream_follow(c, r, from, to, min_u64(len, to - from));
    l->run_taken_region = r->number;
    l->run_taken_to = to;
}

/* The region of the lane's latest run; NULL: it was closed meanwhile. */
static Region *run_region(Cache *c, Lane *l)
{
    Region *r = region_find(c, atomic_load_explicit(&l->run_rd, memory_order_relaxed));
    bool open =
        r && !r->closing && r->number == atomic_load_explicit(&l->run_region, memory_order_relaxed);
    return open ? r : NULL;
}

/* What it says may be of two runs: at worst, a stream is taken to be elsewhere. */
static void run_take(Cache *c, Lane *l, Region *r)
{
    uint64_t from = atomic_load_explicit(&l->run_from, memory_order_relaxed);
    uint64_t to = atomic_load_explicit(&l->run_to, memory_order_relaxed);
    uint64_t len = atomic_load_explicit(&l->run_len, memory_order_relaxed);
    if (from < to)
        run_follow(c, l, r, from, to, len);
}

/* Hits one after the other on one region, of which what they saved is counted in one. */
typedef struct HitSum {
    const Region *region;
    uint64_t reads, bytes;
} HitSum;

static void sum_take(Cache *c, HitSum *sum, const Region *next)
{
    if (sum->region != next) {
        saved_hits(c, sum->region, sum->reads, sum->bytes);
        *sum = (HitSum){.region = next};
    }
}

static void record_take(Cache *c, Lane *l, const HitRecord *h, HitSum *sum)
{
    Region *r = region_find(c, h->rd);
    bool gone = !r || r->number != h->region || r->closing; /* closed meanwhile */
    c->stats.local_hits += !h->file;
    c->stats.local_bytes += h->file ? 0 : h->len;
    if (gone)
        return;
    if (h->file) { /* as cheap as it is nothing of it is read ahead */
        uint64_t copy_ns = cost_of(&c->copy, h->len);
        bool held = c->hooks.file_held && h->file_ns < copy_ns * c->cfg.bypass_factor;
        file_cost_add(c, r, h->len, h->file_ns, held, h->at_ns);
        worth_note(c, r, h->len, false, h->file_ns, WORTH_FILE, h->at_ns);
        if (r->ways->left)
            trace_note(c, r, h->offset / CACHE_BLOCK * CACHE_BLOCK, h->offset + h->len, false);
        return;
    }
    run_follow(c, l, r, h->run_from, h->offset + h->len, h->len);
    take_local(c, r, h);
    worth_note(c, r, h->len, false, cost_of(&c->copy, h->len), WORTH_LOCAL, h->at_ns);
    sum_take(c, sum, r);
    sum->reads++;
    sum->bytes += h->len;
}

static void file_reads_take(Cache *c, Lane *l)
{
    uint64_t reads = atomic_load_explicit(&l->file_reads, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&l->file_bytes, memory_order_relaxed);
    c->stats.disk_reads += reads - l->file_reads_taken;
    c->stats.bypasses += reads - l->file_reads_taken;
    c->stats.disk_bytes += bytes - l->file_bytes_taken;
    c->stats.bypass_bytes += bytes - l->file_bytes_taken;
    l->file_reads_taken = reads;
    l->file_bytes_taken = bytes;
}

static void hits_take(Cache *c, Lane *l)
{
    uint64_t hits = atomic_load_explicit(&l->hits, memory_order_relaxed) - l->hits_taken;
    uint64_t bytes = atomic_load_explicit(&l->hit_bytes, memory_order_relaxed) - l->hit_bytes_taken;
    if (!hits)
        return;
    c->stats.local_hits += hits;
    c->stats.local_bytes += bytes;
    l->hits_taken += hits;
    l->hit_bytes_taken += bytes;
    Region *r = run_region(c, l);
    if (!r)
        return;
    /* The lane does not say of which files they were: all count for the one that was read last. */
    worth_hits(&r->ways->worth, hits, bytes, hits * cost_of(&c->copy, bytes / hits));
    saved_hits(c, r, hits, bytes);
    run_take(c, l, r);
}

void cache_enter(Cache *c)
{
    cache_lock(c);
    for (unsigned i = 0; i < c->hits.lane_count; i++) {
        Lane *l = c->hits.lanes[i];
        uint32_t head = atomic_load_explicit(&l->head, memory_order_acquire);
        uint32_t tail = atomic_load_explicit(&l->tail, memory_order_relaxed);
        HitSum sum = {0};
        for (; tail != head; tail++)
            record_take(c, l, &l->records[tail % LANE_RECORDS], &sum);
        sum_take(c, &sum, NULL);
        atomic_store_explicit(&l->tail, tail, memory_order_release);
        file_reads_take(c, l);
        hits_take(c, l);
    }
    if (!list_empty(&c->hits.claimed))
        claimed_look(c);
    if (c->stats.local_bytes >= c->collapse.at)
        collapse_begin(c);
}

/* ---- a hit ---------------------------------------------------------------------------------- */

/* Never 0. Of an index as much as there is room for: another piece may seem to be claimed. */
static uint64_t claim_of(int rd, uint64_t first, uint64_t count)
{
    return (uint64_t)rd << CLAIM_RD_SHIFT | count << CLAIM_COUNT_SHIFT | (uint32_t)first;
}

static bool lane_take(Lane *l, uint64_t claim)
{
    uint64_t none = 0;
    return atomic_compare_exchange_strong(&l->claim, &none, claim);
}

static bool lane_has_room(const Lane *l)
{
    uint32_t tail = atomic_load_explicit(&l->tail, memory_order_acquire);
    return atomic_load_explicit(&l->head, memory_order_relaxed) - tail < LANE_RECORDS;
}

static void lane_give(Cache *c, Lane *l)
{
    atomic_store_explicit(&l->claim, 0, memory_order_release);
    if (!atomic_load_explicit(&c->hits.wanted, memory_order_relaxed))
        return;
    cache_enter(c);
    c->hits.wanted = false;
    waiters_wake(c);
    cache_unlock(c);
}

/* Where the range is to be read from: all of it is readable, or none of it is here. */
static enum CacheHitKind look(const Cache *c, CacheHit *h, uint64_t first, uint64_t count)
{
    const Region *r = h->region;
    uint64_t missing = 0;
    uint8_t generation = atomic_load_explicit(&c->hits.generation, memory_order_relaxed);
    h->heard = generation != 0; /* 0: it hears of every hit */
    for (uint64_t i = first; i < first + count; i++) {
        Leaf *leaf = r->leaves[i / LEAF_PIECES];
        uint64_t k = i % LEAF_PIECES;
        if (!leaf || !(leaf->present[k / 64] >> k % 64 & 1))
            missing++;
        else if (GUARD(HIT) && piece_mask(c, i, h->offset, h->offset + h->len) & ~leaf->readable[k])
            return CACHE_HIT_NONE;
        else if (atomic_load_explicit(&leaf->heard[k], memory_order_relaxed) != generation)
            h->heard = false;
    }
    if (!missing)
        return CACHE_HIT_LOCAL;
    bool past = r->ways->cheap_ns[cost_class(h->len)] || r->ways->left;
    bool nothing_here = !GUARD(PAST) || missing == count;
    return nothing_here && past ? CACHE_HIT_FILE : CACHE_HIT_NONE;
}

static void file_begin(CacheHit *h, const Cache *c)
{
    uint64_t reads = atomic_load_explicit(&h->lane->file_reads, memory_order_relaxed);
    h->file = h->region->file;
    h->cheap_ns = h->region->ways->cheap_ns[cost_class(h->len)];
    h->ask = c->hooks.file_held && h->region->remote_is_open;
    h->measure = !h->cheap_ns || (uint32_t)reads * MEASURE_MIX < MEASURE_BELOW;
}

enum CacheHitKind cache_hit_begin(CacheHit *h, Cache *c, Lane *lane, int rd, off_t offset,
                                  size_t len)
{
    if (!lane || rd < 0 || (unsigned)rd >= c->hits.open_len || offset < 0 || !len ||
        len > (uint64_t)CLAIM_PIECES << c->hits.piece_shift)
        return CACHE_HIT_NONE;
    uint64_t first = (uint64_t)offset >> c->hits.piece_shift;
    uint64_t count = (((uint64_t)offset + len - 1) >> c->hits.piece_shift) - first + 1;
    if (!lane_take(lane, claim_of(rd, first, count)))
        return CACHE_HIT_NONE;
    *h = (CacheHit){
        .lane = lane, .region = c->hits.open[rd], .rd = rd, .offset = (uint64_t)offset, .len = len};
    enum CacheHitKind kind = CACHE_HIT_NONE;
    if (h->region && h->offset + len <= h->region->size)
        kind = look(c, h, first, count);
    if (kind == CACHE_HIT_FILE)
        file_begin(h, c);
    if (((kind == CACHE_HIT_LOCAL && !h->heard) || h->measure) && !lane_has_room(lane))
        kind = CACHE_HIT_NONE;
    if (kind == CACHE_HIT_NONE)
        lane_give(c, lane);
    return kind;
}

void cache_hit_copy(const CacheHit *h, const Cache *c, void *buf)
{
    uint64_t end = h->offset + h->len;
    uint8_t *to = buf;
    for (uint64_t at = h->offset; at < end;) {
        uint64_t i = at >> c->hits.piece_shift, next = min_u64(end, (i + 1) << c->hits.piece_shift);
        const uint8_t *data = h->region->leaves[i / LEAF_PIECES]->data[i % LEAF_PIECES];
        memcpy(to, data + (at - (i << c->hits.piece_shift)), (size_t)(next - at));
        to += next - at;
        at = next;
    }
}

/* Where the run begins that goes on with this hit. */
static uint64_t run_from(const CacheHit *h)
{
    const Lane *l = h->lane;
    bool goes_on =
        atomic_load_explicit(&l->run_region, memory_order_relaxed) == h->region->number &&
        atomic_load_explicit(&l->run_to, memory_order_relaxed) == h->offset;
    return goes_on ? atomic_load_explicit(&l->run_from, memory_order_relaxed) : h->offset;
}

static void run_set(const CacheHit *h, uint64_t from)
{
    Lane *l = h->lane;
    atomic_store_explicit(&l->run_rd, h->rd, memory_order_relaxed);
    atomic_store_explicit(&l->run_region, h->region->number, memory_order_relaxed);
    atomic_store_explicit(&l->run_from, from, memory_order_relaxed);
    atomic_store_explicit(&l->run_to, h->offset + h->len, memory_order_relaxed);
    atomic_store_explicit(&l->run_len, h->len, memory_order_relaxed);
}

static void record(const CacheHit *h, uint64_t run_from, uint64_t file_ns, uint64_t now_ns)
{
    Lane *l = h->lane;
    uint32_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
    l->records[head % LANE_RECORDS] = (HitRecord){.region = h->region->number,
                                                  .rd = h->rd,
                                                  .offset = h->offset,
                                                  .run_from = run_from,
                                                  .len = (uint32_t)h->len,
                                                  .file = h->file,
                                                  .file_ns = file_ns,
                                                  .at_ns = now_ns};
    atomic_store_explicit(&l->head, head + 1, memory_order_release);
}

static void add(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* The policy will hear of this one. One that hears of every hit needs no marks: threads would write
 * them side by side. */
static void mark_heard(const CacheHit *h, const Cache *c)
{
    uint8_t generation = atomic_load_explicit(&c->hits.generation, memory_order_relaxed);
    if (!generation)
        return;
    uint64_t last = (h->offset + h->len - 1) >> c->hits.piece_shift;
    for (uint64_t i = h->offset >> c->hits.piece_shift; i <= last; i++)
        atomic_store_explicit(&h->region->leaves[i / LEAF_PIECES]->heard[i % LEAF_PIECES],
                              generation, memory_order_relaxed);
}

/* What hits bring about - huge pages, and whether the cache is worth its memory - is seen with the
 * lock held, and where all is local nothing else takes it. */
static bool hits_are_due(const CacheHit *h)
{
    return h->heard &&
           atomic_load_explicit(&h->lane->hits, memory_order_relaxed) % HITS_COUNTED == 0;
}

void cache_hit_end(CacheHit *h, Cache *c)
{
    uint64_t from = run_from(h);
    if (h->heard) {
        add(&h->lane->hits, 1);
        add(&h->lane->hit_bytes, h->len);
        run_set(h, from);
    } else {
        mark_heard(h, c);
        record(h, from, 0, 0);
        run_set(h, h->offset + h->len);
    }
    bool due = hits_are_due(h);
    lane_give(c, h->lane);
    if (due) {
        cache_enter(c);
        cache_unlock(c);
    }
}

void cache_hit_file_end(CacheHit *h, Cache *c, uint64_t ns, uint64_t now_ns)
{
    bool slow = h->measure && h->cheap_ns && ns > h->cheap_ns;
    add(&h->lane->file_reads, 1);
    add(&h->lane->file_bytes, h->len);
    if (h->measure)
        record(h, h->offset, ns, now_ns);
    lane_give(c, h->lane);
    if (slow) { /* expensive, this one: that must be known soon */
        cache_enter(c);
        cache_unlock(c);
    }
}

Region *hit_give(Cache *c, CacheHit *h)
{
    atomic_store_explicit(&h->lane->claim, 0, memory_order_release);
    if (c->hits.wanted) {
        c->hits.wanted = false;
        waiters_wake(c);
    }
    return h->region;
}
