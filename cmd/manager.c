/* SPDX-License-Identifier: MIT */
/* The manager as a whole: its life, the way of every message to the file that knows it, replies,
 * time. */
#include "base/bytes.h"
#include "cmd/manager_private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who is silent is looked up so often; a call's own times are exact. */
#define TICK_MIN_NS (100 * NS_PER_MS)
#define TICK_MAX_NS NS_PER_S
/* Lateness of our own ticks that means that we did not run. */
#define OWN_GAP_NS NS_PER_S

/* ---- life ---------------------------------------------------------------------------------- */

enum { MAPS = 7 };

static void maps_of(Manager *m, Hmap *ret[MAPS])
{
    Hmap *const maps[MAPS] = {&m->hosts.by_epoch,  &m->hosts.by_address, &m->owners.by_address,
                              &m->owners.by_epoch, &m->clients,          &m->regions.by_address,
                              &m->regions.kept};
    memcpy(ret, maps, sizeof maps);
}

static int init_directories(Manager *m)
{
    Hmap *maps[MAPS];
    maps_of(m, maps);
    for (size_t i = 0; i < MAPS; i++) {
        int r = hmap_init(maps[i], env_random_u64(&m->env));
        if (r < 0)
            return r;
    }
    m->hosts.slots = calloc(m->config.hosts_max, sizeof *m->hosts.slots);
    return m->hosts.slots ? cmd_rooms_init(m) : -ENOMEM;
}

static void init_lists(Manager *m)
{
    list_init(&m->hosts.order);
    list_init(&m->owners.order);
    list_init(&m->left.all);
    list_init(&m->hosts.stirred);
    list_init(&m->tasks.all);
}

static uint64_t tick_period(const ManagerConfig *config)
{
    uint64_t period = min_u64(config->client_dead_ns, config->host_dead_ns) / 8;
    return period < TICK_MIN_NS ? TICK_MIN_NS : min_u64(period, TICK_MAX_NS);
}

static void tell_duty(Manager *m)
{
    const bool standby = m->number == MANAGER_STANDBY;
    const ManagerEvent event = {.kind = standby ? EVENT_MANAGER_STANDBY : EVENT_MANAGER_STARTED,
                                .id = get_u64(m->instance.bytes)};
    char why[REASON_MAX] = "hosts and programs report to it what there is";
    if (standby)
        (void)snprintf(why, sizeof why, "it has no lease");
    else if (m->number != MANAGER_UNLEASED)
        (void)snprintf(why, sizeof why,
                       "it has lease %llu: hosts and programs report to it what there is",
                       (unsigned long long)m->number);
    cmd_tell(m, &event, why);
}

Manager *manager_new(const ManagerConfig *config, const Env *env, const ManagerSink *sink,
                     const Id128 *instance, uint64_t now_ns)
{
    assert(config->hosts_max > 0 && config->clients_max > 0 && config->opens_max > 0);
    assert(config->request_first_retry_ns > 0 && config->request_deadline_ns > 0);
    Manager *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->config = *config;
    m->env = *env;
    m->sink = *sink;
    m->instance = *instance;
    m->start_ns = m->now_ns = now_ns;
    m->tick_period_ns = tick_period(config);
    m->tick_ns = time_add(now_ns, m->tick_period_ns);
    m->hosts.ids_base = 1;
    init_lists(m);
    list_init(&m->regions.blocks.with_room);
    if (init_directories(m) != 0)
        return manager_free(m);
    m->number = config->number;
    tell_duty(m);
    return m;
}

void manager_patience(Manager *m, uint64_t client_dead_ns, uint64_t host_dead_ns,
                      uint64_t distrust_ns)
{
    m->config.client_dead_ns = client_dead_ns;
    m->config.host_dead_ns = host_dead_ns;
    m->config.distrust_ns = distrust_ns;
    m->tick_period_ns = tick_period(&m->config);
}

void manager_quota(Manager *m, uint64_t client_bytes, uint64_t client_regions)
{
    m->config.client_bytes = client_bytes;
    m->config.client_regions = client_regions;
}

static void free_hosts(Manager *m)
{
    HmapNode *next;
    for (HmapNode *n = hmap_walk(&m->hosts.by_epoch, NULL); n; n = next) {
        Host *h = CONTAINER_OF(n, Host, by_epoch);
        next = hmap_walk(&m->hosts.by_epoch, n);
        LIST_FOREACH(at, &h->calls.running) {
            cmd_call_destroy(m, CONTAINER_OF(at, Call, of_host));
        }
        LIST_FOREACH(at, &h->calls.waiting) {
            cmd_call_destroy(m, CONTAINER_OF(at, Call, of_host));
        }
        cmd_host_free(h);
    }
}

/* All that hangs in the maps and lists, which are not usable afterwards. */
static void free_contents(Manager *m)
{
    free_hosts(m);
    cmd_owners_free(m);
    LIST_FOREACH(at, &m->tasks.all) {
        cmd_task_destroy(m, CONTAINER_OF(at, Task, of_manager));
    }
    HmapNode *next;
    for (HmapNode *n = hmap_walk(&m->regions.by_address, NULL); n; n = next) {
        next = hmap_walk(&m->regions.by_address, n);
        cmd_region_free(m, CONTAINER_OF(n, Region, by_address));
    }
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = next) {
        next = hmap_walk(&m->clients, n);
        cmd_client_free(CONTAINER_OF(n, CmdClient, by_id));
    }
}

Manager *manager_free(Manager *m)
{
    Hmap *maps[MAPS];
    if (!m)
        return NULL;
    free_contents(m);
    maps_of(m, maps);
    for (size_t i = 0; i < MAPS; i++)
        hmap_deinit(maps[i]);
    cmd_regions_deinit(m);
    cmd_rooms_deinit(m);
    free(m->hosts.slots);
    timers_deinit(&m->timers);
    free(m);
    return NULL;
}

/* It allocates nothing: it must not fail. */
void cmd_begin_again(Manager *m, uint64_t number, uint64_t now_ns)
{
    Hmap *maps[MAPS];
    free_contents(m);
    maps_of(m, maps);
    for (size_t i = 0; i < MAPS; i++)
        hmap_clear(maps[i]);
    init_lists(m);
    memset(m->hosts.slots, 0, m->config.hosts_max * sizeof *m->hosts.slots);
    memset(m->drains.hosts, 0, sizeof m->drains.hosts);
    m->hosts.slots_end = 0;
    cmd_rooms_clear(m);
    m->timers.count = 0;
    m->calls = 0;
    m->tasks.opens = m->tasks.reserved = m->tasks.waiting = 0;
    m->left.count = 0;
    m->regions.kept_hand = (HmapNode){0};
    m->number = number;
    m->start_ns = m->now_ns = now_ns;
    m->tick_ns = time_add(now_ns, m->tick_period_ns);
    tell_duty(m);
}

uint64_t manager_number(const Manager *m)
{
    return m->number;
}

/* ---- messages ------------------------------------------------------------------------------ */

static void tool_input(Manager *m, Session *session, const WireRequest *request)
{
    switch (request->op) {
    case OP_STATUS:
        cmd_status(m, session, request);
        break;
    case OP_EVENTS:
        cmd_events(m, session, request);
        break;
    case OP_DRAIN:
        cmd_drain(m, session, request);
        break;
    case OP_DRAINS:
        cmd_drains(m, session, request);
        break;
    case OP_REGIONS:
        cmd_regions(m, session, request);
        break;
    case OP_COPIES:
        cmd_copies(m, session, request);
        break;
    default:
        cmd_reply(m, NULL, session, request->id, request->op, STATUS_DENIED, NULL, 0);
    }
}

static void input_request(Manager *m, Session *session, const uint8_t *payload, size_t len)
{
    WireRequest request;

    if (wire_request_decode(payload, len, &request) != 0)
        return;
    if (m->number == MANAGER_STANDBY && session->peer_role != ROLE_TOOL) {
        cmd_reply(m, NULL, session, request.id, request.op, STATUS_STANDBY, NULL, 0);
        return;
    }
    /* What a peer may ask depends on what it proved to be. */
    switch (session->peer_role) {
    case ROLE_CLIENT:
        cmd_client_input(m, session, &request);
        break;
    case ROLE_IMD:
        cmd_host_input(m, session, &request);
        break;
    case ROLE_RMD:
        cmd_owner_input(m, session, &request);
        break;
    case ROLE_TOOL:
        tool_input(m, session, &request);
        break;
    default:
        cmd_reply(m, NULL, session, request.id, request.op, STATUS_DENIED, NULL, 0);
    }
}

static void input_reply(Manager *m, Session *session, const uint8_t *payload, size_t len)
{
    WireReply reply;
    Host *h = session->peer_role == ROLE_IMD ? cmd_host_of(m, session) : NULL;

    if (h && wire_reply_decode(payload, len, &reply) == 0)
        cmd_call_reply(m, h, &reply);
}

/* Silence counts only while the listener itself ran: all clocks stand still during a pause. They
 * keep what they showed before: else a dead host would stay as long as this one pauses now and
 * then. */
static void postpone_clocks(Manager *m, uint64_t gap_ns, uint64_t now_ns)
{
    env_trace(&m->env, "paused for %llu ms: all clocks stood still",
              (unsigned long long)(gap_ns / NS_PER_MS));
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = hmap_walk(&m->clients, n)) {
        CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        c->heard_ns += gap_ns;
        c->moves.asked_ns += c->moves.asked_ns ? gap_ns : 0;
    }
    LIST_FOREACH(at, &m->hosts.order) {
        CONTAINER_OF(at, Host, in_order)->heard_ns += gap_ns;
    }
    cmd_owners_postpone(m, gap_ns);
    LIST_FOREACH(at, &m->tasks.all) {
        Task *t = CONTAINER_OF(at, Task, of_manager);
        t->give_up_ns = time_add(t->give_up_ns, gap_ns);
    }
    cmd_calls_postpone(m, gap_ns);
    m->start_ns = time_add(m->start_ns, gap_ns); /* grace, too, counts while we run */
    m->tick_ns = time_add(now_ns, m->tick_period_ns);
}

static void enter(Manager *m, uint64_t now_ns)
{
    if (now_ns <= m->now_ns)
        return;
    bool late = now_ns > time_add(manager_deadline(m), OWN_GAP_NS);
    if (RULE(OWN_SILENCE) && late)
        postpone_clocks(m, now_ns - m->now_ns, now_ns);
    m->now_ns = now_ns;
}

void manager_input(Manager *m, Session *session, uint8_t type, const uint8_t *payload, size_t len,
                   uint64_t now_ns)
{
    enter(m, now_ns);
    if (type == WIRE_REQUEST)
        input_request(m, session, payload, len);
    else if (type == WIRE_REPLY)
        input_reply(m, session, payload, len);
    cmd_calls_pump_stirred(m);
}

void manager_stranger(Manager *m, const Addr *from, const char *why, uint64_t now_ns)
{
    const ManagerEvent event = {.kind = EVENT_STRANGER, .address = *from};
    enter(m, now_ns);
    cmd_tell(m, &event, why);
}

void manager_session_closed(Manager *m, Session *session)
{
    /* Hosts and tasks stand by the identity that the session's peer proved: nobody else's is it. */
    cmd_host_session_closed(m, session);
    cmd_client_session_closed(m, session);
}

/* ---- time ---------------------------------------------------------------------------------- */

uint64_t manager_deadline(const Manager *m)
{
    return min_u64(min_u64(m->tick_ns, timers_due(&m->timers)), cmd_opens_deadline(m));
}

void manager_expire(Manager *m, uint64_t now_ns)
{
    enter(m, now_ns);
    cmd_calls_expire(m);
    cmd_opens_expire(m);
    if (m->now_ns >= m->tick_ns) {
        m->tick_ns = time_add(m->now_ns, m->tick_period_ns);
        cmd_hosts_tick(m);
        cmd_owners_tick(m);
        cmd_clients_tick(m);
        cmd_drains_tick(m);
    }
    cmd_calls_pump_stirred(m);
}

/* ---- figures ------------------------------------------------------------------------------- */

void manager_stats(const Manager *m, ManagerStats *ret)
{
    *ret = m->stats;
    ret->hosts = m->hosts.by_epoch.count;
    ret->clients = m->clients.count - m->left.count; /* who left is only remembered */
    ret->regions = m->regions.by_address.count;
}

bool manager_has_host(const Manager *m, uint64_t epoch)
{
    const Host *h = cmd_host_find(m, epoch);
    return h && !h->leaving;
}

size_t manager_bytes(const Manager *m)
{
    const Hmap *maps[] = {&m->hosts.by_epoch,  &m->hosts.by_address, &m->owners.by_address,
                          &m->owners.by_epoch, &m->clients,          &m->regions.by_address,
                          &m->regions.kept};
    size_t bytes = sizeof *m;

    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        bytes += hmap_bytes(maps[i]);
    bytes += m->config.hosts_max * sizeof *m->hosts.slots + timers_bytes(&m->timers);
    bytes += cmd_rooms_bytes(m);
    bytes += cmd_regions_bytes(m) + m->hosts.by_epoch.count * sizeof(Host) +
             m->owners.by_address.count * sizeof(Owner) + m->clients.count * sizeof(CmdClient);
    bytes += m->calls * (sizeof(Call) + sizeof(Request));
    LIST_FOREACH(at, &m->hosts.order) {
        bytes += reply_cache_bytes(&CONTAINER_OF(at, Host, in_order)->replies);
    }
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = hmap_walk(&m->clients, n))
        bytes += reply_cache_bytes(&CONTAINER_OF(n, CmdClient, by_id)->replies);
    LIST_FOREACH(at, &m->tasks.all) {
        bytes += sizeof(Task);
    }
    return bytes;
}
