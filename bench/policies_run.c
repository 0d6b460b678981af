/* SPDX-License-Identifier: MIT */
#include "bench/policies_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/timers.h"
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
    struct Lane *lane = need(cache_lane(c));
    for (size_t i = 0; i < t->len; i++) {
        CacheCall call;
        CacheHit hit;
        off_t at = (off_t)t->at[i] * PIECE;
        if (cache_hit_begin(&hit, c, lane, rd, at, PIECE) == CACHE_HIT_LOCAL) {
            cache_hit_end(&hit, c); /* as a program's reads do; there is nothing to copy */
            continue;
        }
        cache_read_start(&call, c, rd, at, buf, PIECE, 1);
        while (call.need == CACHE_JOB)
            cache_call_done(&call, c, &(CacheResult){.count = PIECE, .ns = 1}, 1);
    }
    cache_stats(c, &st);
    cache_free(c);
    return st.disk_reads;
}

/* ---- the optimum -----------------------------------------------------------------------------
 */

typedef struct Piece {
    Timer use; /* when it is read again: the latest is due first */
    bool cached;
} Piece;

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
    CLEANUP_FREE Piece *pieces = need(calloc(t->pieces, sizeof *pieces));
    Timers cached = {0};
    uint64_t misses = 0;
    find_next_uses(t, next);
    for (size_t i = 0; i < t->len; i++) {
        Piece *p = &pieces[t->at[i]];
        if (p->cached) {
            timers_move(&cached, &p->use, UINT64_MAX - next[i]);
            continue;
        }
        misses++;
        (void)need(timers_add(&cached, &p->use, UINT64_MAX - next[i]) == 0 ? p : NULL);
        p->cached = true;
        if (cached.count <= room)
            continue;
        Piece *last = CONTAINER_OF(timers_first(&cached), Piece, use);
        timers_remove(&cached, &last->use);
        last->cached = false;
    }
    timers_deinit(&cached);
    return misses;
}
