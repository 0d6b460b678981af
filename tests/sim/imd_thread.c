/* SPDX-License-Identifier: MIT */
/* The data threads of a host's imd, with their sockets: they obey in order, a moment after each
 * command, answer programs, and may stand still alone. */
#include "tests/sim/world.h"

#include <errno.h>

/* ---- orders ---------------------------------------------------------------------------------- */

/* No block of a write that is not finished may be read: half of it is another's. */
static void check_unfilled(ImdThread *t, const WireWrite *m)
{
    uint64_t last = (m->offset + m->len - 1) / WIRE_BLOCK_SIZE;
    if (m->kind != WRITE_DATA || t->acked != WRITE_OPEN)
        return;
    for (uint64_t b = m->offset / WIRE_BLOCK_SIZE; b <= last; b++)
        if (imd_data_block_filled(t->serve.data, m->address.region, b))
            violate(t->node->world,
                    "imd%u: block %llu of region %llu can be read while write %llu is under way",
                    t->node->index, (unsigned long long)b, (unsigned long long)m->address.region,
                    (unsigned long long)m->number);
}

static int obey(ImdThread *t, const ImdCommand *c, uint64_t going)
{
    ImdNode *n = t->node;
    ImdHeld *h = held_find(n, c->region.region);
    if (c->kind != IMD_ADD && c->kind != IMD_LEAVE && h && h->thread != t->index)
        violate(n->world, "imd%u: a command for a region of another data thread", n->index);
    int result = serve_obey(&t->serve, c, imd_now(n));
    broken_imd_obeyed(t, c, result);
    switch ((enum ImdCommandKind)c->kind) {
    case IMD_ADD:
        if (result == 0)
            held_add(n, c);
        break;
    case IMD_DROP:
        held_remove(n, c->region.region);
        break;
    case IMD_REOPEN:
        if (h) {
            h->opening = c->region.opening;
            h->released = false;
        }
        break;
    case IMD_CLOSE:
        if (h)
            h->released = true;
        break;
    case IMD_LEAVE:
        t->leave = *c;
        break;
    case IMD_UNFILL:
        break;
    case IMD_PURGE:
        if (c->region.extents)
            held_give_extents_back(t, &c->region, going);
        else
            held_give_back(n, &c->region);
        break;
    }
    return result;
}

/* As in imd/thread.c: answers a little; says good-bye once it is time. */
static void thread_turn(ImdThread *t)
{
    ImdNode *n = t->node;
    uint64_t now = imd_now(n);
    if (t->paused || n->paused)
        return;
    serve_answer(&t->serve, now);
    port_flush(&t->port);
    if (serve_parts(&t->serve, now)) {
        uint8_t payload[8];
        size_t len = wire_goodbye_encode(n->epoch, payload);
        for (Session *s = NULL; (s = endpoint_walk(t->port.endpoint, s));)
            port_message(&t->port, s, WIRE_GOODBYE, payload, len);
        port_flush(&t->port);
        imd_command_over(n, &t->leave, 0);
        t->parted = true;
    }
    sim_timer_at(n->world, &t->timer, serve_deadline(&t->serve, now), n->clock_offset_ns);
}

static void thread_timer(void *ctx, uint64_t arg)
{
    ImdThread *t = ctx;
    (void)arg;
    SimHeap *was = sim_heap_enter(&t->node->heap);
    thread_turn(t);
    sim_heap_enter(was);
}

/* More may come before it: a batch. */
static void thread_turn_later(ImdThread *t)
{
    const World *w = t->node->world;
    if (w->p.faults.turn_late_ns == 0)
        thread_turn(t);
    else if (serve_waits(&t->serve))
        sim_timer_set(&t->timer,
                      world_now(w) + sim_rng_below(&t->node->world->rng, w->p.faults.turn_late_ns));
}

static void obey_ready(ImdThread *t)
{
    ImdNode *n = t->node;
    while (t->ready && !t->paused && !n->paused) {
        ImdCommand c = t->queue[t->queue_head];
        uint64_t going = t->queue_going[t->queue_head];
        t->queue_head = (t->queue_head + 1) % IMD_COMMANDS_MAX;
        t->queue_len--;
        t->ready--;
        SimHeap *was = sim_heap_enter(&n->heap);
        int result = obey(t, &c, going);
        thread_turn(t);
        sim_heap_enter(was);
        if (c.kind != IMD_LEAVE) /* that is over when the good-byes are said */
            imd_command_over(n, &c, result);
    }
}

static void command_arrives(void *ctx, uint64_t arg)
{
    ImdThread *t = ctx;
    (void)arg;
    t->ready++;
    obey_ready(t);
}

void imd_thread_order(ImdThread *t, const ImdCommand *c)
{
    ImdNode *n = t->node;
    unsigned last = (t->queue_head + t->queue_len++) % IMD_COMMANDS_MAX;
    t->queue[last] = *c;
    t->queue_going[last] = c->kind == IMD_PURGE ? held_going(c->region.extents) : 0;
    uint64_t at = world_now(n->world) + imd_moment(n);
    if (c->kind == IMD_PURGE && n->world->p.hosts.purge_ns)
        at += sim_rng_below(&n->world->rng, n->world->p.hosts.purge_ns);
    if (at < t->last_delivery_ns)
        at = t->last_delivery_ns;
    t->last_delivery_ns = at;
    simnet_at(n->world->net, at, &n->life, command_arrives, t, 0);
}

/* ---- what programs ask, and hear --------------------------------------------------------------
 */

/* For --trace: what a data thread is asked, and says. */
static void tell_write(ImdThread *t, const WireWrite *m)
{
    static const char *const kinds[] = {"data", "fill", "void"};
    if (!t->node->world->trace)
        return;
    story(t->node->world,
          "  imd%u.%u: write %s region %llu.%u number %llu transfer %llu [%llu, +%u) segment %d",
          t->node->index, t->index, kinds[m->kind], (unsigned long long)m->address.region,
          m->address.opening, (unsigned long long)m->number, (unsigned long long)m->transfer,
          (unsigned long long)m->offset, m->len, m->index == WIRE_INDEX_NONE ? -1 : m->index);
}

static void tell_read(ImdThread *t, const uint8_t *payload, size_t len)
{
    WireRead m;
    if (!t->node->world->trace || wire_read_decode(payload, len, &m) < 0)
        return;
    story(t->node->world, "  imd%u.%u: read region %llu.%u ask %llu [%llu, +%u) want %llx",
          t->node->index, t->index, (unsigned long long)m.address.region, m.address.opening,
          (unsigned long long)m.ask, (unsigned long long)m.offset, m.len,
          (unsigned long long)m.want);
}

static void tell_ack(ImdThread *t, const uint8_t *payload, size_t len)
{
    static const char *const states[] = {"open", "done", "refused"};
    WireWriteAck m;
    if (wire_write_ack_decode(payload, len, &m) < 0)
        return;
    t->acked = m.state;
    if (!t->node->world->trace)
        return;
    story(t->node->world, "  imd%u.%u: ack number %llu transfer %llu %s %s", t->node->index,
          t->index, (unsigned long long)m.number, (unsigned long long)m.transfer, states[m.state],
          status_text(m.status));
}

static void data_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    ImdThread *t = ctx;
    if (type == WIRE_WRITE_ACK)
        tell_ack(t, payload, len);
    port_message(&t->port, session, type, payload, len);
}

static BurstScratch scratch; /* of all threads: nothing in it lasts */

static void data_burst(void *ctx, void *session, const Burst *burst)
{
    ImdThread *t = ctx;
    port_burst(&t->port, session, burst, &scratch);
}

static void data_probe_ack(void *ctx, void *session, const uint8_t *payload, size_t len)
{
    ImdThread *t = ctx;
    port_large(&t->port, session, WIRE_PROBE_ACK, payload, len, &scratch);
}

static void data_closed(void *ctx, Session *s)
{
    ImdThread *t = ctx;
    serve_closed(&t->serve, s);
}

static void on_data(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                    uint64_t now_ns)
{
    ImdThread *t = ctx;
    WireWrite m;
    bool write = type == WIRE_WRITE && wire_write_decode(payload, len, &m) == 0;
    t->acked = WRITE_STATE_MAX;
    if (write)
        tell_write(t, &m);
    if (type == WIRE_READ)
        tell_read(t, payload, len);
    serve_message(&t->serve, s, type, payload, len, now_ns);
    if (write)
        check_unfilled(t, &m);
}

static void data_event(void *ctx, const PortEvent *e)
{
    ImdThread *t = ctx;
    shell_event(t->node->world, t->node->env.name, e);
}

static const PortOps data_ops = {.message = on_data, .closed = data_closed, .event = data_event};

static void data_ready(void *ctx)
{
    ImdThread *t = ctx;
    ImdNode *n = t->node;
    SimHeap *was = sim_heap_enter(&n->heap);
    (void)port_receive(&t->port, imd_now(n));
    thread_turn_later(t);
    /* The control thread adds up. */
    const Served served = imd_data_served(imd_data_stats(n->threads[0].serve.data));
    member_served(&n->member, &served);
    sim_heap_enter(was);
}

/* ---- life ------------------------------------------------------------------------------------ */

void imd_thread_start(ImdNode *n, unsigned index)
{
    World *w = n->world;
    const Params *q = &w->p;
    ImdThread *t = &n->threads[index];
    Env env = sim_env(&n->env);
    SimListen listen = {.host = n->host,
                        .port = (uint16_t)(PORT_DATA + index),
                        .life = &n->life,
                        .role = ROLE_IMD,
                        .epoch = n->epoch,
                        .env = &n->env,
                        .ops = &data_ops,
                        .ready = data_ready,
                        .ctx = t};
    sim_rng_fill(&n->env.rng, &listen.self, sizeof listen.self);
    SimTimer timer = t->timer;
    *t = (ImdThread){.node = n, .index = index, .timer = timer};
    ImdDataSink sink = {data_message, data_burst, data_probe_ack, t};
    ImdServeConfig config = {.data = {.epoch = n->epoch,
                                      .pool = n->pool,
                                      .pool_bytes = q->hosts.pool_bytes,
                                      .writes_max = q->cores.imd_writes_max,
                                      .write_age_ns = q->cores.client_dead_ns,
                                      .fills_max = q->cores.imd_fills_max,
                                      .grant_bytes = q->cores.grant_bytes},
                             .leave_deadline_ns =
                                 member_threads_deadline(q->cores.leave_deadline_ns),
                             .pace = q->hosts.cap_bytes ? &n->pace : NULL};
    if (q->hosts.cap_bytes) /* as in imd/threads.c */
        config.data.pace_bytes = (uint32_t)min_u64(q->hosts.cap_bytes / 64, UINT32_MAX);
    sim_listen(w, &t->port, &t->transport, &listen);
    sim_timer_init(&t->timer, w->net, &n->life, thread_timer, t);
    if (serve_init(&t->serve, &config, &env, &sink) < 0)
        abort();
}

void imd_thread_go_on(ImdThread *t)
{
    uint32_t life = t->node->life;
    if (t->paused || t->node->paused)
        return;
    sim_transport_hold(&t->transport, false);
    obey_ready(t);
    if (t->node->life == life)
        sim_transport_look(&t->transport);
    if (t->node->life == life)
        thread_timer(t, 0);
}

void imd_thread_pause(ImdThread *t)
{
    if (!t->node->running || t->paused)
        return;
    t->paused = true;
    sim_transport_hold(&t->transport, true);
}

void imd_thread_resume(ImdThread *t)
{
    if (!t->node->running || !t->paused)
        return;
    t->paused = false;
    imd_thread_go_on(t);
}
