/* SPDX-License-Identifier: MIT */
/* Asynchronous reads: see peers_dodo.h. */
#include "bench/peers_dodo.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <dodo/dodo.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"

enum { OPS_MAX = 1 << 18, DEPTH_MAX = 128, WAIT_MS = 10000 };
static const uint64_t DEADLINE_NS = 60 * NS_PER_S;

typedef struct Slot {
    uint64_t offset, start_ns;
    uint8_t *buf;
} Slot;

typedef struct Run {
    const PeerOptions *o;
    const PeerRegion *regions;
    DodoQueue *queue;
    Slot slots[DEPTH_MAX];
    Random random;
    uint32_t *ns;
    uint64_t count, wrong, sum_ns, own_ns;
    unsigned submitted; /* says which region is next */
} Run;

static int submit(Run *r, Slot *s)
{
    const PeerRegion *region = &r->regions[r->submitted++ % r->o->regions];
    s->offset = random_below(&r->random, region->len / r->o->size) * r->o->size;
    s->start_ns = os_now_ns();
    return dodo_queue_read(r->queue, region->rd, (off_t)s->offset, s->buf, r->o->size, s) < 0
               ? -errno
               : 0;
}

/* Takes what is there and submits as many again, if @more. */
static int turn(Run *r, bool counted, bool more)
{
    DodoDone done[DEPTH_MAX];
    int n = dodo_queue_wait(r->queue, done, r->o->depth, WAIT_MS);
    if (n <= 0)
        return n < 0 ? -errno : -ETIMEDOUT;
    uint64_t now = os_now_ns();
    for (int i = 0; i < n; i++) {
        Slot *s = done[i].tag;
        uint64_t took = now - s->start_ns, before = os_now_ns();
        if (done[i].result != (ssize_t)r->o->size)
            return done[i].result < 0 ? -done[i].error : -EIO;
        r->wrong += peer_data_wrong(peer_data_first(s->offset), s->buf, r->o->size);
        r->own_ns += os_now_ns() - before;
        if (counted && r->count < OPS_MAX) {
            r->ns[r->count++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
            r->sum_ns += took;
        }
        int result = more ? submit(r, s) : 0;
        if (result < 0)
            return result;
    }
    return n;
}

static int fill(Run *r)
{
    for (unsigned i = 0; i < r->o->depth; i++) {
        r->slots[i].buf = aligned_alloc(4096, (r->o->size + 4095) / 4096 * 4096);
        int result = r->slots[i].buf ? submit(r, &r->slots[i]) : -ENOMEM;
        if (result < 0)
            return result;
    }
    int n = 0;
    for (uint64_t warm = 0; n >= 0 && warm < r->o->warm_ops; warm += (uint64_t)n)
        n = turn(r, false, true);
    return n < 0 ? n : 0;
}

static uint64_t own_cpu_ns(void)
{
    return os_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int measure(Run *r, PeerResult *ret)
{
    const PeerOptions *o = r->o;
    int n = fill(r);
    r->own_ns = 0;
    uint64_t client = own_cpu_ns(), server = peer_cpu_ns(o->servers);
    uint64_t dropped = peer_dropped(o->servers), start = os_now_ns(), now = start;
    while (n >= 0 && r->count < OPS_MAX && now - start < DEADLINE_NS &&
           (now - start < o->least_ns || r->count < o->least_ops)) {
        n = turn(r, true, true);
        now = os_now_ns();
    }
    if (n < 0)
        return n;
    client = own_cpu_ns() - client;
    server = peer_cpu_ns(o->servers) - server;
    double bytes = (double)r->count * (double)o->size, mib = bytes / (1 << 20);
    *ret = (PeerResult){.ops = r->count,
                        .wrong_bytes = r->wrong,
                        .dropped = peer_dropped(o->servers) - dropped,
                        .p50_us = bench_percentile(r->ns, r->count, 500) / 1e3,
                        .p99_us = bench_percentile(r->ns, r->count, 990) / 1e3,
                        .least_us = r->ns[0] / 1e3, /* they are sorted by now */
                        .mean_us = (double)r->sum_ns / (double)r->count / 1e3,
                        .mb_s = bytes / 1e6 / ((double)(now - start) / 1e9)};
    ret->client_us = (double)sub_u64(client, r->own_ns) / 1e3 / mib;
    ret->server_us = (double)server / 1e3 / mib;
    for (unsigned left = o->depth; left > 0 && n >= 0; left -= n < 0 ? 0 : (unsigned)n)
        n = turn(r, false, false);
    return n < 0 ? n : 0;
}

int peer_measure_queue(const PeerOptions *o, const PeerRegion *regions, PeerResult *ret)
{
    Run *r CLEANUP_FREE = calloc(1, sizeof *r);
    uint32_t *ns CLEANUP_FREE = calloc(OPS_MAX, sizeof *ns);
    if (!r || !ns || o->depth > DEPTH_MAX)
        return r && ns ? -EINVAL : -ENOMEM;
    *r = (Run){.o = o, .regions = regions, .queue = dodo_queue_open(o->depth), .ns = ns};
    if (!r->queue)
        return -errno;
    os_random(NULL, &r->random.state, sizeof r->random.state);
    int result = measure(r, ret);
    if (dodo_queue_close(r->queue) < 0 && result == 0)
        result = -errno;
    for (unsigned i = 0; i < o->depth; i++)
        free(r->slots[i].buf);
    return result;
}
