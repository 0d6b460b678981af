/* SPDX-License-Identifier: MIT */
#include "libmanage/worth.h"

#include "base/time.h"

enum {
    SURE = 16,        /* the cache is to be cheaper by such a part, to be kept */
    MARGIN = 4,       /* such a part more than the cache had cost ends it early */
    NO_CHANCE = 2,    /* standard errors: what differs by less may be chance */
    REMOTE_SHARE = 8, /* of the misses come from remote memory: it is of use */
    PATIENCE = 16,    /* times what it took to find out, before it is looked again; doubles */
    DOUBLINGS = 10,
    KEPT_SHARE = 8, /* of the cache's size: what is measured while it is kept */
};
/* A cluster may come, a file may get slow. */
static const uint64_t LEFT_MAX_NS = 60 * NS_PER_S;
static const uint64_t TOOK_MAX_NS = 600 * NS_PER_S;

/* ---- what reads cost, and how sure that is --------------------------------------------------- */

/* @reads of the same length, of @bytes and @ns in all. */
static void sums_add(WorthSums *s, uint64_t reads, uint64_t bytes, uint64_t ns)
{
    double n = (double)reads, b = (double)bytes, t = (double)ns;
    s->bytes += b;
    s->ns += t;
    s->bytes_squared += b * b / n;
    s->ns_squared += t * t / n;
    s->bytes_ns += b * t / n;
}

static void sums_shrink(WorthSums *s)
{
    const double keep = 1 - 1.0 / KEPT_SHARE;
    s->bytes *= keep;
    s->ns *= keep;
    s->bytes_squared *= keep;
    s->ns_squared *= keep;
    s->bytes_ns *= keep;
}

static double cost(const Worth *w)
{
    return (w->hits.ns + w->misses.ns) / (w->hits.bytes + w->misses.bytes);
}

/* How far reads were from their mean. */
static double spread(const WorthSums *s)
{
    double mean = s->bytes > 0 ? s->ns / s->bytes : 0;
    double sum = s->ns_squared - 2 * mean * s->bytes_ns + mean * mean * s->bytes_squared;
    return sum > 0 ? sum : 0;
}

/* The square of the standard error of cost(). Which reads hit is the program's doing, and no
 * chance. */
static double doubt(const Worth *w)
{
    double bytes = w->hits.bytes + w->misses.bytes;
    return (spread(&w->hits) + spread(&w->misses)) / (bytes * bytes);
}

/* Do reads cost more than with the cache, by a @part of that, and not by chance? A trial of a small
 * cache has few reads, and one read that waits for a processor takes as long as all others
 * together. */
static bool is_worse(const Worth *w, unsigned part)
{
    double more = cost(w) - w->kept_cost, chance = doubt(w) + w->kept_doubt;
    return more * part > w->kept_cost && more * more > NO_CHANCE * NO_CHANCE * chance;
}

/* ---- stretches ------------------------------------------------------------------------------- */

void worth_init(Worth *w, uint64_t limit_bytes)
{
    *w = (Worth){.limit_bytes = limit_bytes};
}

void worth_again(Worth *w)
{
    *w = (Worth){.limit_bytes = w->limit_bytes, .turns = w->turns + w->left, .now_ns = w->now_ns};
}

static void stretch_begin(Worth *w, bool settled)
{
    w->settled = settled;
    w->read_bytes = w->missed_bytes = w->remote_bytes = w->fresh_bytes = 0;
    w->hits = w->misses = (WorthSums){0};
}

/* The next one, in which what was before counts, too: as much as if it had been as long as the
 * cache is large. */
static void stretch_go_on(Worth *w)
{
    w->read_bytes -= w->read_bytes / KEPT_SHARE;
    w->missed_bytes -= w->missed_bytes / KEPT_SHARE;
    w->remote_bytes -= w->remote_bytes / KEPT_SHARE;
    w->fresh_bytes = 0;
    sums_shrink(&w->hits);
    sums_shrink(&w->misses);
}

static void turn(Worth *w, bool left, uint64_t now_ns)
{
    w->left = left;
    w->turns++;
    w->since_ns = now_ns;
    stretch_begin(w, false);
}

static uint64_t patience_ns(const Worth *w, unsigned times, uint64_t now_ns)
{
    unsigned shift = times < DOUBLINGS ? times : DOUBLINGS;
    return time_add(now_ns, (w->took_ns * PATIENCE) << shift);
}

/* A full cache that misses more than it hits: would the kernel do better? */
static void kept(Worth *w, bool may_leave, uint64_t now_ns)
{
    w->kept_cost = cost(w);
    w->kept_doubt = doubt(w);
    bool misses = w->missed_bytes * 16 > w->read_bytes * 9; /* clearly more than half */
    bool remote = w->remote_bytes * REMOTE_SHARE > w->missed_bytes;
    if (misses && !remote && may_leave && now_ns >= w->until_ns) {
        turn(w, true, now_ns);
        w->until_ns = 0; /* not known yet how long */
    } else {
        stretch_go_on(w);
    }
}

static void lost(Worth *w, uint64_t now_ns)
{
    w->won = 0;
    w->until_ns = patience_ns(w, 2 * w->lost++, now_ns);
    turn(w, false, now_ns);
}

/* In doubt it is let go: that is never slower than the file, and that was promised. */
static void left(Worth *w, uint64_t now_ns)
{
    bool first = w->until_ns == 0;
    unsigned part = first ? SURE : MARGIN;
    if (first)
        w->took_ns = min_u64(now_ns - w->since_ns, TOOK_MAX_NS);
    if (is_worse(w, part)) {
        lost(w, now_ns);
        return;
    }
    if (first) {
        w->lost = 0;
        w->until_ns = min_u64(patience_ns(w, w->won++, now_ns), time_add(now_ns, LEFT_MAX_NS));
    }
    if (now_ns >= w->until_ns) {
        w->until_ns = 0;
        turn(w, false, now_ns);
        return;
    }
    stretch_begin(w, true);
}

/* A miss brings a piece, or lets one go: after as many misses as there are pieces, what was here
 * before is gone. While the cache is kept, only misses change it. If keeping it is the slower way,
 * each stretch is one too many, so these are short. */
static bool is_over(const Worth *w)
{
    if (w->left)
        return w->read_bytes >= (w->settled ? 1 : 2) * w->limit_bytes;
    return w->fresh_bytes >= w->limit_bytes / (w->settled ? KEPT_SHARE : 1);
}

bool worth_read(Worth *w, uint64_t bytes, uint64_t ns, enum WorthFrom from, uint64_t now_ns)
{
    if (!w->limit_bytes)
        return false;
    if (now_ns > w->now_ns)
        w->now_ns = now_ns;
    w->read_bytes += bytes;
    sums_add(from == WORTH_LOCAL ? &w->hits : &w->misses, 1, bytes, ns);
    w->missed_bytes += from != WORTH_LOCAL ? bytes : 0;
    w->fresh_bytes += from != WORTH_LOCAL ? bytes : 0;
    w->remote_bytes += from == WORTH_REMOTE ? bytes : 0;
    return is_over(w);
}

void worth_hits(Worth *w, uint64_t reads, uint64_t bytes, uint64_t ns)
{
    if (!w->limit_bytes)
        return;
    w->read_bytes += bytes;
    sums_add(&w->hits, reads, bytes, ns);
}

bool worth_turn(Worth *w, bool may_leave)
{
    if (!w->settled)
        stretch_begin(w, true);
    else if (w->left)
        left(w, w->now_ns);
    else
        kept(w, may_leave, w->now_ns);
    return w->left;
}
