/* SPDX-License-Identifier: MIT */
#include "tests/lib/simnet.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"

typedef struct Event {
    uint64_t time_ns, sequence;
    const uint32_t *life;
    SimFn fn;
    void *ctx;
    uint64_t arg;
    uint32_t life_value;
} Event;

typedef struct Datagram {
    struct Datagram *next;
    Addr from;
    size_t len;
    uint8_t bytes[];
} Datagram;

struct SimSocket {
    Addr addr;
    uint32_t life;
    bool open, held;
    SimInputFn input; /* NULL: the owner takes them */
    SimReadyFn ready;
    void *ctx;
    size_t queue_max, queued;
    Datagram *head, **tail;
};

typedef struct Flight {
    Addr from, to;
    Datagram *datagram;
} Flight;

struct SimNet {
    uint64_t now_ns, sequence, events_run, digest;
    Event *heap;
    size_t heap_len, heap_cap;
    SimRng rng;
    SimLink links[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
    SimSocket sockets[SIM_SOCKETS_MAX];
    SimNetCounters counters;
    SimWatchFn watch;
    void *watch_ctx;
};

static void *must(void *p)
{
    if (!p)
        abort(); /* the test machine has no memory: nothing to test */
    return p;
}

/* ---- events --------------------------------------------------------------------------------- */

static bool event_before(const Event *a, const Event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

void simnet_at(SimNet *n, uint64_t time_ns, const uint32_t *life, SimFn fn, void *ctx, uint64_t arg)
{
    if (time_ns == TIME_NEVER)
        return;
    if (n->heap_len == n->heap_cap) {
        n->heap_cap = n->heap_cap ? n->heap_cap * 2 : 1024;
        n->heap = must(realloc(n->heap, n->heap_cap * sizeof *n->heap));
    }
    Event e = {.time_ns = time_ns < n->now_ns ? n->now_ns : time_ns,
               .sequence = ++n->sequence,
               .life = life,
               .life_value = life ? *life : 0,
               .fn = fn,
               .ctx = ctx,
               .arg = arg};
    size_t i = n->heap_len++;
    while (i && event_before(&e, &n->heap[(i - 1) / 2])) {
        n->heap[i] = n->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    n->heap[i] = e;
}

static Event heap_pop(SimNet *n)
{
    Event top = n->heap[0], last = n->heap[--n->heap_len];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n->heap_len)
            break;
        if (child + 1 < n->heap_len && event_before(&n->heap[child + 1], &n->heap[child]))
            child++;
        if (!event_before(&n->heap[child], &last))
            break;
        n->heap[i] = n->heap[child];
        i = child;
    }
    n->heap[i] = last;
    return top;
}

uint64_t simnet_now(const SimNet *n)
{
    return n->now_ns;
}

uint64_t simnet_events(const SimNet *n)
{
    return n->events_run;
}

bool simnet_step(SimNet *n)
{
    if (!n->heap_len)
        return false;
    Event e = heap_pop(n);
    n->now_ns = e.time_ns;
    n->events_run++;
    if (!e.life || *e.life == e.life_value)
        e.fn(e.ctx, e.arg);
    return true;
}

static void timer_fire(void *ctx, uint64_t token)
{
    SimTimer *t = ctx;
    if (t->token != (uint32_t)token)
        return;
    t->armed_ns = TIME_NEVER;
    t->fn(t->ctx, 0);
}

void sim_timer_init(SimTimer *t, SimNet *n, const uint32_t *life, SimFn fn, void *ctx)
{
    *t = (SimTimer){.armed_ns = TIME_NEVER,
                    .token = t->token + 1,
                    .fn = fn,
                    .ctx = ctx,
                    .life = life,
                    .net = n};
}

void sim_timer_set(SimTimer *t, uint64_t time_ns)
{
    /* An event that fires too early only makes the owner look and set it again: the queue then
     * holds one event a timer in the usual case, where deadlines move into the future. */
    if (time_ns == TIME_NEVER || time_ns >= t->armed_ns)
        return;
    t->armed_ns = time_ns;
    simnet_at(t->net, time_ns, t->life, timer_fire, t, ++t->token);
}

/* ---- sockets -------------------------------------------------------------------------------- */

static unsigned host_of(const Addr *a)
{
    return a->host[0] | (unsigned)a->host[1] << 8;
}

static SimSocket *socket_find(SimNet *n, const Addr *a)
{
    for (size_t i = 0; i < SIM_SOCKETS_MAX; i++)
        if (n->sockets[i].open && addr_equal(&n->sockets[i].addr, a))
            return &n->sockets[i];
    return NULL;
}

static SimSocket *socket_open(SimNet *n, const Addr *at, size_t queue_datagrams)
{
    if (socket_find(n, at))
        return NULL;
    for (size_t i = 0; i < SIM_SOCKETS_MAX; i++) {
        SimSocket *s = &n->sockets[i];
        if (s->open)
            continue;
        *s = (SimSocket){
            .addr = *at, .life = s->life + 1, .open = true, .queue_max = queue_datagrams};
        s->tail = &s->head;
        return s;
    }
    abort(); /* the cluster is larger than the simulation was made for */
}

SimSocket *simnet_open(SimNet *n, uint16_t host, uint16_t port, size_t queue_datagrams,
                       SimInputFn input, void *ctx)
{
    Addr at = addr_sim(host, port);
    SimSocket *s = socket_open(n, &at, queue_datagrams);
    if (s) {
        s->input = input;
        s->ctx = ctx;
    }
    return s;
}

SimSocket *simnet_open_queue(SimNet *n, const Addr *at, size_t queue_datagrams, SimReadyFn ready,
                             void *ctx)
{
    SimSocket *s = socket_open(n, at, queue_datagrams);
    if (s) {
        s->ready = ready;
        s->ctx = ctx;
    }
    return s;
}

void simnet_close(SimNet *n, SimSocket *s)
{
    (void)n;
    s->open = false;
    for (Datagram *d = s->head, *next; d; d = next) {
        next = d->next;
        free(d);
    }
    s->head = NULL;
}

void simnet_hold(SimSocket *s, bool held)
{
    s->held = held;
}

static uint64_t bytes_hash(const uint8_t *p, size_t len)
{
    uint64_t h = len, w = 0;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0x9fb21c651e98df25ull;
        h ^= h >> 29;
    }
    w = 0;
    memcpy(&w, p, len);
    return mix64(h ^ w);
}

void simnet_note(SimNet *n, uint64_t value)
{
    n->digest = mix64(n->digest ^ mix64(value ^ n->now_ns));
}

static void note_delivery(SimNet *n, const SimSocket *s, const Datagram *d)
{
    n->counters.delivered++;
    simnet_note(n, bytes_hash(d->bytes, d->len) ^ addr_hash(&d->from) ^ addr_hash(&s->addr) * 3);
}

static void socket_input(SimNet *n, SimSocket *s, Datagram *d)
{
    note_delivery(n, s, d);
    s->input(s->ctx, &d->from, d->bytes, d->len);
    free(d);
}

static Datagram *dequeue(SimSocket *s)
{
    Datagram *d = s->head;
    s->head = d->next;
    if (!s->head)
        s->tail = &s->head;
    s->queued--;
    return d;
}

bool simnet_waits(const SimSocket *s)
{
    return s->head && !s->held && s->open;
}

size_t simnet_next(const SimSocket *s, const Addr *from)
{
    return simnet_waits(s) && addr_equal(&s->head->from, from) ? s->head->len : 0;
}

size_t simnet_take(SimNet *n, SimSocket *s, Addr *ret_from, uint8_t *buf, size_t cap)
{
    if (!simnet_waits(s))
        return 0;
    Datagram *d = dequeue(s);
    size_t len = d->len < cap ? d->len : cap;
    note_delivery(n, s, d);
    *ret_from = d->from;
    memcpy(buf, d->bytes, len);
    free(d);
    return len;
}

bool simnet_drain_one(SimNet *n, SimSocket *s)
{
    if (!simnet_waits(s))
        return false;
    socket_input(n, s, dequeue(s));
    return true;
}

static void flight_lands(void *ctx, uint64_t arg)
{
    SimNet *n = ctx;
    Flight *f = (Flight *)(uintptr_t)arg;
    Datagram *d = f->datagram;
    SimSocket *s = socket_find(n, &f->to);
    bool cut = simnet_link(n, host_of(&f->from), host_of(&f->to))->cut;
    free(f);
    if (!s || cut) {
        *(cut ? &n->counters.cut : &n->counters.nobody) += 1;
        free(d);
        return;
    }
    if (s->input && !s->held && !s->head) {
        socket_input(n, s, d);
        return;
    }
    if (s->queued >= s->queue_max) {
        n->counters.overrun++;
        free(d);
        return;
    }
    s->queued++;
    *s->tail = d;
    s->tail = &d->next;
    if (s->ready && !s->held)
        s->ready(s->ctx);
}

static void launch(SimNet *n, const Addr *from, const Addr *to, const uint8_t *bytes, size_t len,
                   uint64_t arrival_ns, uint64_t flip)
{
    Datagram *d = must(malloc(sizeof *d + len));
    Flight *f = must(malloc(sizeof *f));
    *d = (Datagram){.from = *from, .len = len};
    memcpy(d->bytes, bytes, len);
    if (flip && len)
        d->bytes[(flip >> 8) % len] ^= (uint8_t)(1u << (flip & 7));
    *f = (Flight){.from = *from, .to = *to, .datagram = d};
    simnet_at(n, arrival_ns, NULL, flight_lands, n, (uint64_t)(uintptr_t)f);
}

SimLink *simnet_link(SimNet *n, unsigned from_host, unsigned to_host)
{
    return &n->links[from_host % SIM_HOSTS_MAX][to_host % SIM_HOSTS_MAX];
}

/* When the link has put @len bytes on the wire; false when its queue is full. */
static bool link_transmit(SimNet *n, SimLink *l, size_t len, uint64_t *ret_sent_ns)
{
    *ret_sent_ns = n->now_ns;
    if (!l->bytes_per_s)
        return true;
    uint64_t start = l->busy_until_ns > n->now_ns ? l->busy_until_ns : n->now_ns;
    if ((start - n->now_ns) / 1000 * l->bytes_per_s / 1000000 > l->queue_bytes)
        return false;
    l->busy_until_ns = *ret_sent_ns = start + len * NS_PER_S / l->bytes_per_s;
    return true;
}

/* Is it one of the long datagrams that a slow peer has no time for? */
static bool link_refuses_long(const SimNet *n, SimLink *l, size_t len)
{
    enum { LONG_BYTES = 512 };
    if (!l->long_every_ns || len <= LONG_BYTES)
        return false;
    if (n->now_ns < l->long_at_ns)
        return true;
    l->long_at_ns = n->now_ns + l->long_every_ns;
    return false;
}

void simnet_send(SimNet *n, const SimSocket *s, const Addr *to, const uint8_t *datagram, size_t len)
{
    enum { DRAWS = 8 };
    uint64_t draw[DRAWS], sent_ns;
    for (int i = 0; i < DRAWS; i++)
        draw[i] = sim_rng_u64(&n->rng);
    SimLink *l = simnet_link(n, host_of(&s->addr), host_of(to));
    n->counters.sent++;
    if (n->watch && !n->watch(n->watch_ctx, &s->addr, to, datagram, len)) {
        n->counters.lost++;
        return;
    }
    if (l->cut) {
        n->counters.cut++;
        return;
    }
    if (link_refuses_long(n, l, len) || !link_transmit(n, l, len, &sent_ns)) {
        n->counters.overrun++;
        return;
    }
    uint64_t arrival = sent_ns + l->delay_ns + (l->jitter_ns ? draw[0] % (l->jitter_ns + 1) : 0);
    if (draw[1] % 1000000 < l->reorder_ppm) {
        arrival += draw[2] % (4 * (l->delay_ns + l->jitter_ns) + 1);
        n->counters.reordered++;
    }
    uint64_t flip = draw[5] % 1000000 < l->corrupt_ppm ? draw[6] | 256 : 0;
    n->counters.corrupted += flip != 0;
    if (draw[3] % 1000000 < l->loss_ppm)
        n->counters.lost++;
    else
        launch(n, &s->addr, to, datagram, len, arrival, flip);
    if (draw[4] % 1000000 < l->dup_ppm) {
        n->counters.duplicated++;
        launch(n, &s->addr, to, datagram, len, arrival + draw[2] % (l->delay_ns + 1), 0);
    }
    if (draw[7] % 1000000 < l->late_ppm) {
        n->counters.late++;
        launch(n, &s->addr, to, datagram, len, arrival + draw[6] % (l->late_max_ns + 1), 0);
    }
}

void simnet_watch(SimNet *n, SimWatchFn watch, void *ctx)
{
    n->watch = watch;
    n->watch_ctx = ctx;
}

const SimNetCounters *simnet_counters(const SimNet *n)
{
    return &n->counters;
}

uint64_t simnet_digest(const SimNet *n)
{
    return n->digest;
}

SimNet *simnet_new(uint64_t seed, uint64_t start_ns)
{
    SimNet *n = must(calloc(1, sizeof *n));
    n->now_ns = start_ns;
    sim_rng_init(&n->rng, seed, 0x6e6574);
    return n;
}

SimNet *simnet_free(SimNet *n)
{
    for (size_t i = 0; i < n->heap_len; i++)
        if (n->heap[i].fn == flight_lands) {
            Flight *f = (Flight *)(uintptr_t)n->heap[i].arg;
            free(f->datagram);
            free(f);
        }
    for (size_t i = 0; i < SIM_SOCKETS_MAX; i++)
        if (n->sockets[i].open)
            simnet_close(n, &n->sockets[i]);
    free(n->heap);
    free(n);
    return NULL;
}
