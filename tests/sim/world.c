/* SPDX-License-Identifier: MIT */
/* One seed: the cluster is made, runs under load and faults, heals, and comes to rest. */
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>

enum { EVENTS_MAX = 20000000, EVENTS_SAME_TIME_MAX = 200000 };

uint64_t dodo_broken_rules;

/* ---- small shared things -------------------------------------------------------------------- */

void violate(World *w, const char *format, ...)
{
    va_list args;
    if (w->violated.text[0])
        return;
    va_start(args, format);
    (void)vsnprintf(w->violated.text, sizeof w->violated.text, format, args);
    va_end(args);
    w->violated.at_ns = world_now(w) - w->zero_ns;
    w->phase.stopping = true;
    story(w, "VIOLATION: %s", w->violated.text);
}

void story(World *w, const char *format, ...)
{
    va_list args;
    if (!w->trace)
        return;
    uint64_t t = world_now(w) - w->zero_ns;
    (void)fprintf(w->trace, "[%4llu.%06llu] ", t / NS_PER_S, t % NS_PER_S / NS_PER_US);
    va_start(args, format);
    (void)vfprintf(w->trace, format, args);
    va_end(args);
    (void)fputc('\n', w->trace);
}

static void env_random(void *ctx, void *buf, size_t len)
{
    SimEnv *e = ctx;
    sim_rng_fill(&e->rng, buf, len);
}

static void trace_story(void *ctx, const char *text)
{
    SimEnv *e = ctx;
    story(e->world, "  %s: %s", e->name, text);
}

Env sim_env(SimEnv *e)
{
    return (Env){.random = env_random, .trace = e->world->trace ? trace_story : NULL, .ctx = e};
}

void endpoint_config_fill(const World *w, EndpointConfig *c, uint8_t role, const Id128 *self,
                          uint64_t epoch)
{
    *c = (EndpointConfig){.cluster = 7,
                          .keys_count = !w->p.sealed    ? 0
                                        : w->p.rotating ? 2
                                                        : 1,
                          .role = role,
                          .self = *self,
                          .epoch = epoch,
                          .features = later_features(w, self),
                          .sessions_max = w->p.cores.sessions_max,
                          .half_open_max = 8,
                          .hello_retry_ns = w->p.cores.hello_retry_ns};
    bool second = w->p.rotating && (self->bytes[0] & 1);
    c->keys[0] = w->keys[second];
    c->keys[1] = w->keys[!second];
}

void sim_listen(World *w, Port *p, SimTransport *t, const SimListen *l)
{
    EndpointConfig endpoint;
    endpoint_config_fill(w, &endpoint, l->role, &l->self, l->epoch);
    const PortConfig config = {
        .endpoint = &endpoint, .env = sim_env(l->env), .room = w->p.shells.room};
    sim_transport_open(t, &(SimTransportConfig){.net = w->net,
                                                .all = &w->transports,
                                                .host = l->host,
                                                .port = l->port,
                                                .datagram_max = w->p.datagram_max,
                                                .life = l->life,
                                                .ready = l->ready,
                                                .ctx = l->ctx});
    if (port_open(p, &t->base, &config, l->ops, l->ctx) < 0)
        abort();
}

void sim_send(World *w, Endpoint *e, SimSocket *from, Session *s, uint8_t type,
              const uint8_t *payload, size_t len)
{
    static uint8_t datagram[WIRE_CHUNK_MAX + 1024];
    size_t n = endpoint_seal(e, s, type, payload, len, datagram);
    simnet_send(w->net, from, &s->peer, datagram, n);
}

void sim_flush_hellos(World *w, Endpoint *e, SimSocket *from, uint64_t now_ns)
{
    uint8_t datagram[WIRE_HEADER_SIZE + WIRE_HELLO_SIZE];
    Addr to;
    size_t n;
    while ((n = endpoint_output(e, datagram, sizeof datagram, &to, now_ns)) > 0)
        simnet_send(w->net, from, &to, datagram, n);
}

uint64_t opening_id(const RegionAddress *a)
{
    return mix64(a->epoch ^ mix64(a->region ^ (uint64_t)a->opening << 40));
}

/* Open addressing, never removed from; 0 is kept as 1. */
static size_t id_slot(const IdSet *s, uint64_t id)
{
    size_t i = mix64(id) & (s->cap - 1);
    while (s->slots[i] && s->slots[i] != id)
        i = (i + 1) & (s->cap - 1);
    return i;
}

bool id_set_has(const IdSet *s, uint64_t id)
{
    return s->cap && s->slots[id_slot(s, id | !id)] != 0;
}

bool id_set_add(IdSet *s, uint64_t id)
{
    id |= !id;
    if (s->count * 2 >= s->cap) {
        IdSet grown = {.cap = s->cap ? s->cap * 2 : 64, .count = s->count};
        grown.slots = calloc(grown.cap, sizeof *grown.slots);
        if (!grown.slots)
            abort();
        for (size_t i = 0; i < s->cap; i++)
            if (s->slots[i])
                grown.slots[id_slot(&grown, s->slots[i])] = s->slots[i];
        free(s->slots);
        *s = grown;
    }
    size_t i = id_slot(s, id);
    if (s->slots[i])
        return false;
    s->slots[i] = id;
    s->count++;
    return true;
}

void id_set_free(IdSet *s)
{
    free(s->slots);
    *s = (IdSet){0};
}

/* ---- making the world ----------------------------------------------------------------------- */

static void make_files(World *w, unsigned host)
{
    SimFs *fs = simfs_new(w->net, w->seed, host, &w->p.fs, oracle_file_changed, w);
    size_t cap = w->p.file_cap;
    uint8_t *bytes = malloc(cap);
    if (!bytes)
        abort();
    w->fs[host] = fs;
    for (unsigned i = 0; i < w->p.files; i++) {
        SimFile *f = simfs_create(fs, cap);
        FileModel *m = &w->models[host][i];
        f->user = m;
        list_init(&m->reads);
        list_init(&m->writes);
        uint64_t size = sim_rng_below(&w->rng, 4) == 0 ? cap : sim_rng_below(&w->rng, cap);
        if (w->p.scenario == SCENARIO_END)
            size /= 4;
        oracle_bytes(++w->next.version, 0, bytes, size);
        simfs_poke(f, 0, bytes, size);
        memcpy(f->durable, f->data, cap);
        memset(f->dirty, 0, cap / 4096 + 1);
    }
    free(bytes);
}

void cluster_make(World *w, uint64_t rng_stream)
{
    sim_rng_init(&w->rng, w->seed, rng_stream);
    list_init(&w->records);
    list_init(&w->sharing.maps);
    list_init(&w->sharing.all);
    w->zero_ns = NS_PER_S + sim_rng_below(&w->rng, 1000 * NS_PER_S);
    w->net = simnet_new(w->seed, w->zero_ns);
    sim_rng_fill(&w->rng, w->keys, sizeof w->keys);
    for (unsigned a = 0; a < HOSTS_COUNT; a++)
        for (unsigned b = 0; b < HOSTS_COUNT; b++)
            *simnet_link(w->net, a, b) = w->p.link;
    shells_start(w);
    w->cmd = (CmdNode){.world = w, .name = "cmd", .host = HOST_CMD};
    w->lock.holder = &w->cmd;
    w->other = (CmdNode){.world = w, .name = "other", .host = HOST_OTHER};
    for (unsigned i = 0; i < w->p.imds; i++) {
        w->imds[i].world = w;
        w->imds[i].index = i;
        w->imds[i].host = (uint16_t)(HOST_IMD + i);
    }
}

static void node_start(void *ctx, uint64_t arg)
{
    World *w = ctx;
    if (arg == 0 && w->p.managers)
        managers_start(w);
    else if (arg == 0)
        cmd_start(&w->cmd);
    else if (arg <= w->p.imds)
        imd_start(&w->imds[arg - 1]);
    else if (w->phase.now == PHASE_RUN)
        w->program_first_start(w, (unsigned)(arg - 1 - w->p.imds));
}

void cluster_start(World *w, unsigned programs, void (*start)(World *w, unsigned index))
{
    w->program_first_start = start;
    for (uint64_t i = 0; i < 1 + w->p.imds + programs; i++)
        simnet_at(w->net, w->zero_ns + sim_rng_below(&w->rng, 100 * NS_PER_MS), NULL, node_start, w,
                  i);
}

void cluster_end(World *w)
{
    cmd_stop(&w->cmd);
    cmd_stop(&w->other);
    for (unsigned i = 0; i < w->p.imds; i++) {
        imd_stop(&w->imds[i]);
        free(w->imds[i].pool);
    }
    stranger_stop(&w->stranger);
    owners_stop(w);
    w->net = simnet_free(w->net);
    for (unsigned i = 0; i < w->p.client_hosts; i++)
        w->fs[i] = simfs_free(w->fs[i]);
    id_set_free(&w->written);
    records_free(w);
    shares_kill(w, NULL);
}

static void first_start(World *w, unsigned index)
{
    process_start(&w->processes[index]);
}

void programs_make(World *w)
{
    cluster_make(w, 0x776f726c);
    for (unsigned i = 0; i < w->p.client_hosts; i++)
        make_files(w, i);
    for (unsigned i = 0; i < w->p.clients; i++) {
        w->processes[i].world = w;
        w->processes[i].index = i;
        w->processes[i].host = (uint16_t)(HOST_CLIENT + i % w->p.client_hosts);
    }
    cluster_start(w, w->p.clients, first_start);
    w->stranger.world = w;
    if (sim_rng_chance(&w->rng, w->p.faults.stranger_ppm))
        stranger_start(&w->stranger);
    cover_add(w, COVER_SEALED_SEEDS, w->p.sealed);
    cover_add(w, COVER_LATER_SEEDS, w->p.later);
    faults_start(w);
    owners_start(w);
    lies_start(w);
    drains_start(w);
    writers_start(w);
}

static void free_buffers(Thread *t)
{
    free(t->buf);
    vector_free(t);
}

void programs_end(World *w)
{
    const SimNetCounters *c = simnet_counters(w->net);
    cover_add(w, COVER_NET_LOST, c->lost);
    cover_add(w, COVER_NET_DUPLICATED, c->duplicated);
    cover_add(w, COVER_NET_LATE, c->late);
    cover_add(w, COVER_NET_REORDERED, c->reordered);
    cover_add(w, COVER_NET_OVERRUN, c->overrun);
    shells_end(w);
    for (unsigned i = 0; i < w->p.clients; i++) {
        process_kill(&w->processes[i]);
        for (unsigned j = 0; j < THREADS_MAX; j++)
            free_buffers(&w->processes[i].threads[j]);
        for (unsigned j = 0; j < THREADS_MAX * ASYNC_MAX; j++)
            free_buffers(&w->processes[i].async[j / ASYNC_MAX][j % ASYNC_MAX]);
    }
    cluster_end(w);
}

/* ---- phases --------------------------------------------------------------------------------- */

uint64_t cluster_settle_ns(const World *w)
{
    const Params *p = &w->p;
    uint64_t dead = p->cores.client_dead_ns > p->cores.host_dead_ns ? p->cores.client_dead_ns
                                                                    : p->cores.host_dead_ns;
    return 2 * (dead + p->cores.grace_ns) + 4 * (p->cores.alive_ns + p->cores.beat_ns) +
           4 * p->cores.imd_deadline_ns + p->cores.client_request.deadline_ns +
           (p->faults.no_memory_ppm ? 20 * NS_PER_S : 0);
}

static bool all_idle(const World *w)
{
    for (unsigned i = 0; i < w->p.clients; i++)
        if (w->processes[i].running &&
            (!process_idle(&w->processes[i]) || w->processes[i].script.on))
            return false;
    for (unsigned i = 0; i < w->p.imds; i++)
        if (!w->imds[i].running)
            return false;
    return true;
}

static bool all_at(const World *w, enum ScriptStep step)
{
    for (unsigned i = 0; i < w->p.clients; i++)
        if (w->processes[i].running && w->processes[i].script.step < step)
            return false;
    return true;
}

static bool all_ended(const World *w)
{
    for (unsigned i = 0; i < w->p.clients; i++)
        if (w->processes[i].running)
            return false;
    return true;
}

void phase_enter(World *w, enum Phase phase, uint64_t at_most_ns)
{
    static const char *const names[] = {"run",   "heal", "settle", "probe",
                                        "close", "work", "quiet",  "done"};
    w->phase.now = phase;
    w->phase.until_ns = world_now(w) + at_most_ns;
    story(w, "phase: %s", names[phase]);
}

static void scripts_begin(World *w)
{
    for (unsigned i = 0; i < w->p.clients; i++)
        if (w->processes[i].running)
            script_begin(&w->processes[i], SCRIPT_READ);
}

void phase_overdue(World *w)
{
    if (world_now(w) >= w->phase.until_ns)
        violate(w, "phase %d does not come to its end: a call is stuck", (int)w->phase.now);
}

static void phases_step(World *w)
{
    uint64_t now = world_now(w), patience = 600 * NS_PER_S;
    bool due = now >= w->phase.until_ns;
    switch (w->phase.now) {
    case PHASE_RUN:
        if (due) {
            phase_enter(w, PHASE_HEAL, patience);
            faults_heal(w);
            owners_heal(w);
        }
        break;
    case PHASE_HEAL:
        if (all_idle(w))
            phase_enter(w, PHASE_SETTLE, cluster_settle_ns(w));
        else
            phase_overdue(w);
        break;
    case PHASE_SETTLE:
        if (due) {
            check_no_leak(w);
            phase_enter(w, PHASE_PROBE, patience);
            scripts_begin(w);
        }
        break;
    case PHASE_PROBE:
        if (all_at(w, SCRIPT_READ_DONE)) {
            check_probed(w);
            phase_enter(w, PHASE_CLOSE, patience);
        } else {
            phase_overdue(w);
        }
        break;
    case PHASE_CLOSE:
        if (all_at(w, SCRIPT_CLOSED) && !w->phase.work_at_ns)
            w->phase.work_at_ns = now + 8 * w->p.cores.refraction_ns + w->p.cores.imd_deadline_ns +
                                  2 * w->p.cores.beat_ns;
        if (w->phase.work_at_ns && now >= w->phase.work_at_ns)
            phase_enter(w, PHASE_WORK, patience);
        else
            phase_overdue(w);
        break;
    case PHASE_WORK:
        if (all_ended(w))
            phase_enter(w, PHASE_QUIET, cluster_settle_ns(w));
        else
            phase_overdue(w);
        break;
    case PHASE_QUIET:
        if (due) {
            check_quiet(w);
            w->phase.now = PHASE_DONE;
        }
        break;
    case PHASE_DONE:
        break;
    }
}

/* The phases look at the world a hundred times a second, so that time passes also where nothing
 * happens. */
static void phases_tick(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    phases_step(w);
    simnet_at(w->net, world_now(w) + 10 * NS_PER_MS, NULL, phases_tick, w, 0);
}

void cluster_run(World *w, unsigned check_every)
{
    uint64_t same = 0, last = 0;
    w->looked_always = check_every == 1;
    while (w->phase.now != PHASE_DONE && !w->phase.stopping && simnet_step(w->net)) {
        uint64_t events = simnet_events(w->net);
        if (events % check_every == 0)
            check_invariants(w);
        same = world_now(w) == last ? same + 1 : 0;
        last = world_now(w);
        if (same > EVENTS_SAME_TIME_MAX || events > EVENTS_MAX)
            violate(w, "the cluster runs in circles: no end of events");
    }
}

void world_run(uint64_t seed, int scenario, unsigned check_every, FILE *trace, uint64_t *cover_sum,
               SimResult *ret)
{
    World *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    w->cover = cover_sum;
    w->trace = trace;
    w->seed = seed;
    params_choose(&w->p, seed, scenario);
    programs_make(w);
    story(w, "seed %" PRIu64 ", scenario %s, %s", seed, scenario_name(w->p.scenario),
          w->p.sealed ? "sealed" : "not sealed");
    story(w,
          "link: delay %llu us, jitter %llu us, rate %llu, queue %llu; datagrams of %llu; "
          "allocations fail %u ppm",
          (unsigned long long)w->p.link.delay_ns / 1000,
          (unsigned long long)w->p.link.jitter_ns / 1000, (unsigned long long)w->p.link.bytes_per_s,
          (unsigned long long)w->p.link.queue_bytes, (unsigned long long)w->p.datagram_max,
          w->p.faults.no_memory_ppm);
    phase_enter(w, PHASE_RUN, w->p.duration_ns);
    phases_tick(w, 0);
    uint64_t checks = w->cover[COVER_CHECKS];
    cluster_run(w, check_every);
    *ret = (SimResult){.digest = simnet_digest(w->net),
                       .virtual_ns = world_now(w) - w->zero_ns,
                       .events = simnet_events(w->net),
                       .checks = w->cover[COVER_CHECKS] - checks,
                       .scenario = w->p.scenario,
                       .failed = w->violated.text[0] != '\0',
                       .violation_ns = w->violated.at_ns};
    memcpy(ret->violation, w->violated.text, sizeof ret->violation);
    programs_end(w);
    free(w);
}
