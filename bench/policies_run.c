/* SPDX-License-Identifier: MIT */
#include "bench/policies_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "libmanage/core.h"

enum { PIECE = CACHE_BLOCK };

static void *need(void *p)
{
    if (p)
        return p;
    fprintf(stderr, "policies: no memory: try smaller caches\n");
    exit(1);
}

/* ---- the library's policies ------------------------------------------------------------------
 */

static void released(void *ctx, void *file)
{
    (void)ctx;
    (void)file;
}

static Cache *make(const PolicyTrace *t, uint64_t room, int policy, int *ret_rd)
{
    static int file;
    const uint64_t len = (uint64_t)t->pieces * PIECE;
    CacheConfig cfg;
    cache_config_init(&cfg, room * PIECE);
    cfg.piece_bytes = PIECE;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cfg.remote = false;
    Cache *c = need(cache_new(&cfg, &(CacheHooks){.file_release = released}));
    *ret_rd = cache_set_policy(c, policy) == 0 ? cache_open(c, len, len, &file, 0) : -1;
    (void)need(*ret_rd < 0 ? NULL : c);
    return c;
}

uint64_t policy_misses(const PolicyTrace *t, uint64_t room, int policy)
{
    uint8_t buf[PIECE];
    struct manage_stats st;
    int rd;
    if (t->len == 0)
        return 0;
    Cache *c = make(t, room, policy, &rd);
    for (size_t i = 0; i < t->len; i++) {
        CacheCall call;
        cache_read_start(&call, c, rd, (off_t)t->at[i] * PIECE, buf, PIECE, 1);
        while (call.need == CACHE_JOB)
            cache_call_done(&call, c, &(CacheResult){.count = PIECE, .ns = 1}, 1);
    }
    cache_stats(c, &st);
    cache_free(c);
    return st.disk_reads;
}

/* ---- the optimum -----------------------------------------------------------------------------
 */

/* What is cached by when it is read again, the latest first: a binary heap. An entry whose piece
 * was read since is out of date; its time is past, so it never comes to the top. */
typedef struct Uses {
    struct Use {
        size_t when;
        uint32_t piece;
    } * of;
    size_t count;
} Uses;

static void uses_add(Uses *u, struct Use use)
{
    size_t i = u->count++;
    for (; i > 0 && u->of[(i - 1) / 2].when < use.when; i = (i - 1) / 2)
        u->of[i] = u->of[(i - 1) / 2];
    u->of[i] = use;
}

static struct Use uses_take_latest(Uses *u)
{
    struct Use latest = u->of[0], last = u->of[--u->count];
    size_t i = 0;
    for (size_t below; (below = 2 * i + 1) < u->count; i = below) {
        below += below + 1 < u->count && u->of[below + 1].when > u->of[below].when;
        if (u->of[below].when <= last.when)
            break;
        u->of[i] = u->of[below];
    }
    u->of[i] = last;
    return latest;
}

/* When the piece of each read is read again; after the end: never. */
static void find_next_uses(const PolicyTrace *t, size_t *next)
{
    CLEANUP_FREE size_t *seen = need(calloc(t->pieces, sizeof *seen));
    for (size_t i = t->len; i-- > 0;) {
        next[i] = seen[t->at[i]] ? seen[t->at[i]] : t->len + i; /* all differ */
        seen[t->at[i]] = i;
    }
}

uint64_t optimum_misses(const PolicyTrace *t, uint64_t room)
{
    if (t->len == 0)
        return 0;
    CLEANUP_FREE size_t *next = need(calloc(t->len, sizeof *next));
    CLEANUP_FREE bool *cached = need(calloc(t->pieces, sizeof *cached));
    CLEANUP_FREE struct Use *of = need(calloc(t->len, sizeof *of));
    Uses uses = {.of = of};
    uint64_t count = 0, misses = 0;
    find_next_uses(t, next);
    for (size_t i = 0; i < t->len; i++) {
        bool hit = cached[t->at[i]];
        misses += !hit;
        count += !hit;
        cached[t->at[i]] = true;
        uses_add(&uses, (struct Use){next[i], t->at[i]});
        if (count <= room)
            continue;
        cached[uses_take_latest(&uses).piece] = false;
        count--;
    }
    return misses;
}
