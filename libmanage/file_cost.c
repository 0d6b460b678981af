/* SPDX-License-Identifier: MIT */
/* What reads of the file cost, on average and now: is it as cheap as a copy, and does the kernel
 * have it in memory? */
#include "libmanage/core_private.h"

enum { SHARE_LOOKS = 64 /* that count, about */, SHARE_LEAST = 4 /* before they decide */ };
enum { MEAN_READS = 64, MEAN_COPIES_MAX = 256, QUICK = 1024 /* a read's share of `quick` */ };

/* ---- on average ----------------------------------------------------------------------------- */

/* What a read of this size's class costs on average, over far more reads than the kernel's reading
 * ahead covers at once. Of reads that follow each other, one in many waits for the disk, and all
 * others find what it brought. */
static uint64_t file_mean(const Ways *w, unsigned class)
{
    const FileMean *m = &w->file_mean[class];
    return m->count ? m->sum_ns / m->count : cost_of(&w->cost[COST_FILE], cost_class_bytes(class));
}

/* Do most reads of this length find what the kernel has read ahead, or kept? */
static bool file_is_ahead(const Ways *w, uint64_t bytes)
{
    const FileMean *m = &w->file_mean[cost_class(bytes)];
    return m->quick * 2 > m->count * QUICK;
}

/* The file is cheap if a read of it costs less on average. Where the kernel reads ahead, most reads
 * cost hardly more than a copy, and the others wait for a drive in any case. */
static uint64_t cheap_below(const Cache *c, const Ways *w, unsigned class)
{
    uint64_t bytes = cost_class_bytes(class);
    uint64_t below = cost_of(&c->copy, bytes) * c->cfg.bypass_factor;
    return file_is_ahead(w, bytes) ? 2 * below : below;
}

uint64_t sample_ns(const Cache *c, uint64_t bytes, uint64_t ns)
{
    uint64_t copy = cost_of(&c->copy, bytes);
    return copy ? min_u64(ns, copy * MEAN_COPIES_MAX) : ns;
}

void file_cost_add(const Cache *c, Region *r, uint64_t bytes, uint64_t ns, bool held,
                   uint64_t now_ns)
{
    unsigned class = cost_class(bytes);
    Ways *w = r->ways;
    FileMean *m = &w->file_mean[class];
    uint64_t copy = cost_of(&c->copy, bytes), sample = sample_ns(c, bytes, ns);
    if (!held)
        cost_add_mixed(&w->cost[COST_FILE], bytes, ns, now_ns);
    if (class)
        sample = sample * cost_class_bytes(class) / max_u64(bytes, 1);
    if (m->count < MEAN_READS) {
        m->count++;
    } else {
        m->sum_ns -= m->sum_ns / MEAN_READS;
        m->quick -= m->quick / MEAN_READS;
    }
    m->sum_ns += max_u64(sample, 1);
    m->quick += ns < copy * c->cfg.bypass_factor ? QUICK : 0;
    w->cheap_ns[class] = file_is_cheap(c, r, bytes) ? cheap_below(c, w, class) : 0;
}

bool file_is_cheap(const Cache *c, const Region *r, uint64_t bytes)
{
    unsigned class = cost_class(bytes);
    uint64_t file = file_mean(r->ways, class);
    return file && file < cheap_below(c, r->ways, class);
}

bool file_is_known(const Cache *c, const Region *r, uint64_t bytes)
{
    return r->ways->file_mean[cost_class(bytes)].count >= min_u64(c->cfg.known_reads, MEAN_READS);
}

/* A disk has one arm: reads at once take as long as one after the other, and the program's own wait
 * for all of them. An SSD, a cloud's volume and a file server carry out many at the same time. None
 * of them can be asked, so it is measured, as remote memory is. */
bool together_pays(const Region *r, uint64_t bytes)
{
    uint64_t each = cost_of(&r->ways->cost[COST_TOGETHER], bytes);
    return each && each + each / COST_SAVES < cost_of(&r->ways->cost[COST_FILE], bytes);
}

/* ---- what the kernel holds ------------------------------------------------------------------ */

static void share_note(Share *s, bool found)
{
    if (s->looks == SHARE_LOOKS) {
        s->looks /= 2;
        s->found /= 2;
    }
    s->looks++;
    s->found += found;
}

/* In half of them at least; not before there are some. */
static bool share_is_half(const Share *s)
{
    return s->looks >= SHARE_LEAST && 2 * s->found >= s->looks;
}

/* Not as from memory: somebody was asked. */
static bool is_slow(const Cache *c, uint64_t bytes, uint64_t ns)
{
    return ns > COST_NOTHING_NS + cost_of(&c->copy, bytes) * c->cfg.bypass_factor;
}

bool file_held_note(const Cache *c, Region *r, uint64_t bytes, uint64_t ns)
{
    bool slow = is_slow(c, bytes, ns);
    share_note(&r->ways->held_slow, slow);
    return !slow;
}

void file_kept_note(const Cache *c, Region *r, uint64_t offset, uint64_t len, uint64_t ns)
{
    uint64_t end = min_u64(offset + len, r->size);
    if (!c->hooks.file_held || offset >= end)
        return;
    bool kept =
        !is_slow(c, len, ns) || c->hooks.file_held(c->hooks.ctx, r->file, offset, end - offset);
    share_note(&r->ways->lost, !kept);
}

bool kernel_caches(const Region *r)
{
    return !share_is_half(&r->ways->held_slow) && !share_is_half(&r->ways->lost);
}

/* Some file systems have a page in memory and still ask a server before they return it. A file of
 * which half of the latest reads were slow is not asked for any more. */
static bool is_held_in_vain(const Region *r)
{
    return share_is_half(&r->ways->held_slow);
}

bool kernel_is_asked(const Cache *c, const Region *r, uint64_t bytes, uint8_t source)
{
    return c->hooks.file_held && !is_held_in_vain(r) &&
           (source == CACHE_READ_REMOTE ||
            cost_of(&r->ways->cost[COST_FILE], bytes) > COST_NOTHING_NS);
}
