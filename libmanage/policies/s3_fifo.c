/* SPDX-License-Identifier: MIT */
/* S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO Queues are All You Need for Cache Eviction", SOSP
 * 2023). What comes stands in a small queue. At its end, what was used more than once goes on to
 * the main queue; the rest leaves, and is remembered. What comes back while it is remembered goes
 * to the main queue at once. At the end of that, what was used starts again, once for each use.
 *
 * Only a hash is remembered of what left, and when that was. */
#include <stdlib.h>

#include "base/id.h"
#include "libmanage/policies/policies.h"

enum { PLACE, USES }; /* manage_entry.state */
enum Place { PLACE_NONE, PLACE_SMALL, PLACE_MAIN, PLACES };
enum {
    USES_MAX = 3,
    GO_ON_FROM = 2,     /* uses, in the small queue */
    SMALL_DIVISOR = 10, /* a part of the cache: the small queue */
    WAYS = 8,
    GHOST_SETS_MIN = 8, /* of so many ways each */
    BLOCK_BYTES = 4096,
};

typedef struct Queue {
    struct manage_entry head; /* its next is the oldest */
    uint64_t bytes;
} Queue;

typedef struct Ghost {
    uint32_t hash; /* 0: none */
    uint32_t left; /* S3Fifo.left_blocks then */
} Ghost;

typedef struct S3Fifo {
    Queue queues[PLACES];
    uint64_t small_bytes;
    uint32_t ghost_blocks; /* remembered: as many as the main queue has room for */
    uint32_t left_blocks;  /* counts what left the small queue */
    bool full;             /* something had to leave; before, what is more than the small queue
                              takes is the main queue's */
    uint64_t sets;         /* a power of two */
    Ghost ghosts[][WAYS];
} S3Fifo;

static void *s3_fifo_create(uint64_t limit_bytes)
{
    uint64_t sets = GHOST_SETS_MIN;
    while (sets * WAYS * 2 / 3 < limit_bytes / BLOCK_BYTES)
        sets *= 2;
    S3Fifo *self = calloc(1, sizeof *self + sets * sizeof *self->ghosts);
    if (!self)
        return NULL;
    self->sets = sets;
    self->small_bytes = limit_bytes / SMALL_DIVISOR;
    self->ghost_blocks = (uint32_t)((limit_bytes - self->small_bytes) / BLOCK_BYTES);
    for (unsigned i = 0; i < PLACES; i++)
        self->queues[i].head.prev = self->queues[i].head.next = &self->queues[i].head;
    return self;
}

static void s3_fifo_destroy(void *self)
{
    free(self);
}

/* ---- what has left --------------------------------------------------------------------------- */

static Ghost *set_of(S3Fifo *s, const struct manage_entry *e, uint32_t *ret_hash)
{
    uint64_t hash = mix64(e->region ^ mix64(e->offset));
    *ret_hash = (uint32_t)(hash >> 32) | 1;
    return s->ghosts[hash & (s->sets - 1)];
}

static void remember(S3Fifo *s, const struct manage_entry *e)
{
    uint32_t hash;
    Ghost *set = set_of(s, e, &hash), *oldest = &set[0];
    for (unsigned i = 1; i < WAYS && oldest->hash; i++)
        if (!set[i].hash || s->left_blocks - set[i].left > s->left_blocks - oldest->left)
            oldest = &set[i];
    s->left_blocks += (e->length + BLOCK_BYTES - 1) / BLOCK_BYTES;
    *oldest = (Ghost){hash, s->left_blocks};
}

static bool remembered(S3Fifo *s, const struct manage_entry *e)
{
    uint32_t hash;
    Ghost *set = set_of(s, e, &hash);
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].hash == hash) {
            bool lately = s->left_blocks - set[i].left < s->ghost_blocks;
            set[i] = (Ghost){0};
            return lately;
        }
    return false;
}

/* ---- the queues ------------------------------------------------------------------------------ */

static void leave(S3Fifo *s, struct manage_entry *e)
{
    s->queues[e->state[PLACE]].bytes -= e->length;
}

static void enter(S3Fifo *s, struct manage_entry *e, enum Place place)
{
    manage_entry_move_before(&s->queues[place].head, e);
    e->state[PLACE] = place;
    s->queues[place].bytes += e->length;
}

static enum Place arrives_at(S3Fifo *s, const struct manage_entry *e)
{
    bool spare = !s->full && s->queues[PLACE_SMALL].bytes + e->length > s->small_bytes;
    return spare || remembered(s, e) ? PLACE_MAIN : PLACE_SMALL;
}

static void s3_fifo_use(void *self, struct manage_entry *e)
{
    S3Fifo *s = self;
    if (e->state[PLACE] == PLACE_NONE)
        enter(s, e, arrives_at(s, e));
    else if (e->state[USES] < USES_MAX)
        e->state[USES]++;
}

/* NULL: all there are busy, or have gone on. */
static struct manage_entry *reclaim_small(S3Fifo *s)
{
    struct manage_entry *e;
    while ((e = policy_first_idle(&s->queues[PLACE_SMALL].head)) && e->state[USES] >= GO_ON_FROM) {
        leave(s, e);
        e->state[USES] = 0;
        enter(s, e, PLACE_MAIN);
    }
    return e;
}

static struct manage_entry *reclaim_main(S3Fifo *s)
{
    struct manage_entry *e;
    while ((e = policy_first_idle(&s->queues[PLACE_MAIN].head)) && e->state[USES] > 0) {
        e->state[USES]--;
        manage_entry_move_before(&s->queues[PLACE_MAIN].head, e);
    }
    return e;
}

static struct manage_entry *s3_fifo_reclaim(void *self, const struct manage_directory *dir)
{
    S3Fifo *s = self;
    (void)dir;
    s->full = true;
    struct manage_entry *e =
        s->queues[PLACE_SMALL].bytes >= s->small_bytes ? reclaim_small(s) : NULL;
    if (!e)
        e = reclaim_main(s);
    return e ? e : reclaim_small(s);
}

static void s3_fifo_removed(void *self, struct manage_entry *e)
{
    S3Fifo *s = self;
    if (e->state[PLACE] == PLACE_SMALL)
        remember(s, e);
    leave(s, e);
}

const struct manage_policy policy_s3_fifo = {
    .size = sizeof(struct manage_policy),
    .name = "s3-fifo",
    .create = s3_fifo_create,
    .destroy = s3_fifo_destroy,
    .read = s3_fifo_use,
    .write = s3_fifo_use,
    .reclaim = s3_fifo_reclaim,
    .removed = s3_fifo_removed,
};
