/* SPDX-License-Identifier: MIT */
/* A data thread as it runs in imd, on one end of an in-process pair: a client at the other end
 * writes, reads what it wrote, and hears of it when the thread leaves. */
#include <glib.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/time.h"
#include "imd/thread.h"
#include "tests/lib/case.h"

enum { POOL = 1 << 20, EPOCH = 77, SEGMENT = 1000 };
static const uint64_t PATIENCE_NS = 150 * NS_PER_S; /* then the thread is taken for stuck */

typedef struct Client {
    Transport *ends[2]; /* the second is the thread's */
    Port port;
    Session *session;
    bool up;
    ImdThread thread;
    Mailbox done;
    uint8_t *pool;
    unsigned dropped; /* of the thread's until an order comes back */
    uint64_t dropped_offset, dropped_len;
    bool dropped_first; /* before the order came back */
    /* what came */
    unsigned acks, opened, goodbyes, refused;
    WireWriteAck ack;
    uint64_t segments;
    uint8_t got[WIRE_CHUNK_MAX];
    BurstScratch scratch;
} Client;

static void take_data(Client *c, const WireData *m)
{
    if (m->index == WIRE_INDEX_NONE) {
        c->refused = m->status;
        return;
    }
    c->segments |= (uint64_t)1 << m->index;
    memcpy(c->got + (size_t)m->index * SEGMENT, m->data, m->data_len);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Client *c = ctx;
    WireData data;
    uint64_t epoch;
    if (type == WIRE_DATA) {
        assert_int_equal(wire_data_decode(payload, len, &data), 0);
        take_data(c, &data);
    } else if (type == WIRE_WRITE_ACK) {
        assert_int_equal(wire_write_ack_decode(payload, len, &c->ack), 0);
        c->acks++;
        c->opened += c->ack.state == WRITE_OPEN;
    } else if (type == WIRE_GOODBYE) {
        assert_int_equal(wire_goodbye_decode(payload, len, &epoch), 0);
        assert_int_equal(epoch, EPOCH);
        c->goodbyes++;
    }
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    ((Client *)ctx)->up = true;
}

static const PortOps port_ops = {.message = on_message, .up = on_up};

static EndpointConfig endpoint_config(bool sealed, uint8_t role)
{
    return (EndpointConfig){.cluster = 1,
                            .keys_count = sealed,
                            .role = role,
                            .self = {{role}},
                            .epoch = EPOCH,
                            .sessions_max = 8,
                            .half_open_max = 8,
                            .hello_retry_ns = NS_PER_S};
}

/* Sends and receives until @condition; fails when nothing comes for too long. */
#define UNTIL(c, condition)                                                    \
    do {                                                                       \
        port_expire(&(c)->port, os_now_ns());                                  \
        if (condition)                                                         \
            break;                                                             \
        assert_int_equal(transport_wait((c)->port.transport, PATIENCE_NS), 1); \
        (void)port_receive(&(c)->port, os_now_ns());                           \
    } while (true)

static void on_dropped(void *ctx, const ImdCommand *command)
{
    Client *c = ctx;
    c->dropped++;
    c->dropped_offset = command->region.pool_offset;
    c->dropped_len = command->region.len;
    c->dropped_first = !mailbox_waiting(&c->done);
}

static ImdThreadConfig thread_config(Client *c, bool sealed)
{
    return (ImdThreadConfig){
        .endpoint = endpoint_config(sealed, ROLE_IMD),
        .data =
            {.epoch = EPOCH, .pool = c->pool, .pool_bytes = POOL, .writes_max = 8, .fills_max = 8},
        .leave_deadline_ns = 3600 * NS_PER_S,
        .done = &c->done,
        .dropped = on_dropped,
        .ctx = c,
    };
}

static void open_client(Client *c, bool sealed)
{
    EndpointConfig mine = endpoint_config(sealed, ROLE_CLIENT);
    const PortConfig port = {.endpoint = &mine, .env = os_env()};
    ImdThreadConfig config = thread_config(c, sealed);
    assert_int_equal(mailbox_init(&c->done), 0);
    assert_int_equal(transport_pair_open(c->ends), 0);
    assert_int_equal(port_open(&c->port, c->ends[0], &port, &port_ops, c), 0);
    assert_int_equal(imd_thread_init(&c->thread, &config, c->ends[1]), 0);
    assert_int_equal(imd_thread_start(&c->thread), 0);
    c->session = endpoint_connect(c->port.endpoint, &c->ends[1]->local, os_now_ns());
    UNTIL(c, c->up);
}

static void close_client(Client *c)
{
    imd_thread_deinit(&c->thread);
    imd_thread_deinit(&c->thread); /* harmless */
    port_close(&c->port);
    mailbox_deinit(&c->done);
}

/* Gives an order; returns its result when it was carried out. */
static void order(Client *c, enum ImdCommandKind kind, uint64_t id)
{
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->command = (ImdCommand){
        .id = id,
        .kind = kind,
        .region = {
            .region = 5, .opening = 1, .capability = {{9}}, .pool_offset = 8192, .len = 100000}};
    imd_thread_order(&c->thread, o);
}

static void await_done(Client *c, uint64_t id)
{
    struct pollfd p = {.fd = c->done.fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
    Letter *l = mailbox_take(&c->done);
    assert_non_null(l);
    assert_null(l->next);
    assert_int_equal(((ImdOrder *)l)->command.id, id);
    assert_int_equal(((ImdOrder *)l)->result, 0);
    g_free(l);
}

static RegionAddress region_address(void)
{
    return (RegionAddress){.epoch = EPOCH, .region = 5, .opening = 1, .capability = {{9}}};
}

static void write_blocks(Client *c, const uint8_t *data, uint32_t len, uint64_t number,
                         uint64_t want)
{
    WireWrite w = {.address = region_address(),
                   .kind = WRITE_DATA,
                   .number = number,
                   .len = len,
                   .segment = SEGMENT};
    Burst b;
    burst_init_write(&b, &w, want & wire_segment_mask(wire_segment_count(len, SEGMENT)), data);
    assert_int_equal(burst_send(c->port.transport, c->port.endpoint, c->session, &b, &c->scratch),
                     0);
}

static void poll_write(Client *c, uint32_t len, uint64_t number)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireWrite w = {.address = region_address(),
                   .kind = WRITE_DATA,
                   .index = WIRE_INDEX_NONE,
                   .number = number,
                   .len = len,
                   .segment = SEGMENT};
    port_message(&c->port, c->session, WIRE_WRITE, payload, wire_write_encode_header(&w, payload));
}

static void ask(Client *c, uint64_t number, uint32_t len)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireRead r = {.ask = number,
                  .address = region_address(),
                  .len = len,
                  .segment = SEGMENT,
                  .want = wire_segment_mask(wire_segment_count(len, SEGMENT))};
    c->segments = 0;
    c->refused = STATUS_MAX;
    port_message(&c->port, c->session, WIRE_READ, payload, wire_read_encode(&r, payload));
}

static void check_thread(bool sealed)
{
    static uint8_t data[WIRE_CHUNK_MAX];
    Client *c = g_new0(Client, 1);
    const uint32_t len = 10 * WIRE_BLOCK_SIZE;
    const uint64_t all = wire_segment_mask(wire_segment_count(len, SEGMENT));
    c->pool = g_malloc0(POOL);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 333);
    open_client(c, sealed);
    order(c, IMD_ADD, 1);
    await_done(c, 1);

    write_blocks(c, data, len, 1, UINT64_MAX);
    UNTIL(c, c->acks > 0 && c->ack.state == WRITE_DONE);
    ask(c, 1, len);
    UNTIL(c, c->segments == all);
    assert_memory_equal(c->got, data, len);
    assert_memory_equal(c->pool + 8192, data, len);

    /* A write is open: leaving waits for it, then says good-bye. */
    write_blocks(c, data, len, 2, 1);
    poll_write(c, len, 2);
    UNTIL(c, c->ack.number == 2);
    assert_int_equal(c->ack.state, WRITE_OPEN);
    order(c, IMD_LEAVE, 2);
    do { /* until the order has come through */
        ask(c, 2, len);
        UNTIL(c, c->segments || c->refused != STATUS_MAX);
    } while (c->refused != STATUS_LEAVING);
    assert_int_equal(c->goodbyes, 0);
    write_blocks(c, data, len, 2, UINT64_MAX & ~1ull);
    UNTIL(c, c->goodbyes == 1);
    await_done(c, 2);
    close_client(c);
    Served served = {.reads = 1000};
    imd_thread_served(&c->thread, &served);
    assert_int_equal(served.write_bytes, 2 * len);
    assert_true(served.read_bytes >= len && served.reads > 1000);
    g_free(c->pool);
    g_free(c);
}

/* Whose pages can be given back is known as soon as nobody uses them. */
TEST(thread__tells_what_it_has_dropped)
{
    Client *c = g_new0(Client, 1);
    c->pool = g_malloc0(POOL);
    open_client(c, false);
    order(c, IMD_ADD, 1);
    await_done(c, 1);
    assert_int_equal(c->dropped, 0);
    order(c, IMD_DROP, 2);
    await_done(c, 2);
    assert_int_equal(c->dropped, 1);
    assert_int_equal(c->dropped_offset, 8192);
    assert_int_equal(c->dropped_len, 100000);
    assert_true(c->dropped_first);
    close_client(c);
    g_free(c->pool);
    g_free(c);
}

TEST(thread__serves_and_leaves_unsealed)
{
    check_thread(false);
}

TEST(thread__serves_and_leaves_sealed)
{
    check_thread(true);
}

/* ---- in turns ------------------------------------------------------------------------------- */

/* A thread that is not started, and two clients on sockets of their own. */
typedef struct Turns {
    ImdThread *thread; /* the first client's */
    Pace pace;
    Client *clients[2];
} Turns;

static void turn(Turns *t)
{
    for (unsigned i = 0; i < 2; i++)
        port_expire(&t->clients[i]->port, os_now_ns());
    imd_thread_turn(t->thread);
    for (unsigned i = 0; i < 2; i++)
        while (port_receive(&t->clients[i]->port, os_now_ns()) > 0)
            ;
}

/* @rate: bytes a second; 0: no cap. */
static void open_turns(Turns *t, uint64_t rate)
{
    const Addr loopback = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    const ImdRegion region = {
        .region = 5, .opening = 1, .capability = {{9}}, .pool_offset = 8192, .len = 100000};
    Transport *ends[3];
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(transport_udp_open(&loopback, NULL, &ends[i]), 0);
    for (unsigned i = 0; i < 2; i++) {
        EndpointConfig mine = endpoint_config(false, ROLE_CLIENT);
        const PortConfig port = {.endpoint = &mine, .env = os_env()};
        Client *c = t->clients[i] = g_new0(Client, 1);
        mine.self.bytes[1] = (uint8_t)i;
        assert_int_equal(port_open(&c->port, ends[i], &port, &port_ops, c), 0);
        c->session = endpoint_connect(c->port.endpoint, &ends[2]->local, os_now_ns());
    }
    Client *first = t->clients[0];
    first->pool = g_malloc0(POOL);
    t->thread = &first->thread;
    ImdThreadConfig config = thread_config(first, false);
    pace_init(&t->pace, rate, 0);
    config.pace = pace_is_on(&t->pace) ? &t->pace : NULL;
    assert_int_equal(mailbox_init(&first->done), 0);
    assert_int_equal(imd_thread_init(t->thread, &config, ends[2]), 0);
    assert_int_equal(imd_data_add(t->thread->serve.data, &region), 0);
    while (!first->up || !t->clients[1]->up)
        turn(t);
}

static void close_turns(Turns *t)
{
    imd_thread_deinit(t->thread);
    mailbox_deinit(&t->clients[0]->done);
    g_free(t->clients[0]->pool);
    for (unsigned i = 0; i < 2; i++) {
        port_close(&t->clients[i]->port);
        g_free(t->clients[i]);
    }
}

enum { LARGE = WIRE_CHUNK_MAX, SMALL = 2 * WIRE_BLOCK_SIZE, ASKS = 20 };

static uint64_t read_bytes(const ImdThread *t)
{
    Served served = {.reads = 0};
    imd_thread_served(t, &served);
    return served.read_bytes;
}

/* The first client fills a chunk and asks for it ASKS times; a few answers have been given when
 * this returns, and all asks have come. */
static void ask_for_much(Turns *t)
{
    static uint8_t data[LARGE];
    Client *c = t->clients[0];
    while (c->acks == 0 || c->ack.state != WRITE_DONE) {
        write_blocks(c, data, LARGE, 1, UINT64_MAX);
        poll_write(c, LARGE, 1);
        turn(t);
    }
    for (unsigned i = 1; i <= ASKS; i++)
        ask(c, i, LARGE);
    turn(t);
    assert_in_range(read_bytes(t->thread), 1, ASKS / 2 * LARGE);
}

/* One asks for much at once, the other, later, for little: it is answered long before all of the
 * first one's. */
TEST(thread__answers_a_small_ask_amid_large_ones)
{
    const uint64_t all = wire_segment_mask(wire_segment_count(SMALL, SEGMENT));
    Turns t;
    open_turns(&t, 0);
    Client *little = t.clients[1];
    ask_for_much(&t);
    ask(little, 1, SMALL);
    while (little->segments != all)
        turn(&t);
    assert_in_range(read_bytes(t.thread), SMALL + LARGE, ASKS / 2 * LARGE);
    while (read_bytes(t.thread) < SMALL + ASKS * LARGE)
        turn(&t);
    close_turns(&t);
}

static unsigned naps;

static int nap_in_vain(Transport *t, TransportReceive *receives, unsigned count)
{
    naps++;
    return 0;
}

/* A host that nobody reads from does not wake up again and again. */
TEST(thread__sleeps_without_end_while_nothing_comes)
{
    Turns t;
    open_turns(&t, 0);
    Transport *transport = t.thread->port.transport;
    TransportOps ops = *transport->ops;
    ops.receive_asleep = nap_in_vain;
    transport->ops = &ops;
    naps = 0;
    while (naps == 0) /* what is left of the opening */
        turn(&t);
    for (unsigned i = 1; i <= 3; i++) {
        ask(t.clients[0], i, SMALL);
        turn(&t); /* an empty nap was enough: this one ends with what comes */
        assert_int_equal(naps, i);
        turn(&t); /* who was asked may be asked again soon */
        assert_int_equal(naps, i + 1);
    }
    order(t.clients[0], IMD_DROP, 1);
    turn(&t);
    await_done(t.clients[0], 1);
    close_turns(&t);
}

/* What a client asked for goes when its session does. */
TEST(thread__forgets_what_a_dead_session_asked_for)
{
    Turns t;
    open_turns(&t, 0);
    Client *c = t.clients[0];
    ask_for_much(&t);
    unsigned waiting = t.thread->serve.reads->count;
    endpoint_forget(c->port.endpoint, c->session);
    c->up = false;
    c->session = endpoint_connect(c->port.endpoint, &t.thread->port.transport->local, os_now_ns());
    while (!c->up)
        turn(&t);
    assert_in_range(t.thread->serve.reads->count, 1, waiting - 1);
    uint64_t answered = read_bytes(t.thread);
    ask(c, 1, SMALL); /* with which the new session takes the old one's place */
    while (read_bytes(t.thread) == answered || t.thread->serve.reads->count > 0)
        turn(&t);
    assert_in_range(read_bytes(t.thread), answered + 1, answered + ASKS / 2 * LARGE);
    close_turns(&t);
}

/* With a cap, what a dead session asked for does not delay others. */
TEST(thread__no_room_of_the_cap_for_a_dead_session)
{
    const uint64_t all = wire_segment_mask(wire_segment_count(SMALL, SEGMENT));
    Turns t;
    open_turns(&t, (uint64_t)1 << 40);
    Client *c = t.clients[0], *little = t.clients[1];
    ask_for_much(&t);
    endpoint_forget(c->port.endpoint, c->session);
    c->up = false;
    c->session = endpoint_connect(c->port.endpoint, &t.thread->port.transport->local, os_now_ns());
    while (!c->up)
        turn(&t);
    assert_true(t.thread->serve.reads_bytes >= LARGE);
    ask(c, 1, SMALL); /* with which the new session takes the old one's place */
    while (c->segments != all || t.thread->serve.reads->count > 0)
        turn(&t);
    pace_set(&t.pace, LARGE, 0); /* bytes a second */
    ask(little, 1, WIRE_BLOCK_SIZE);
    while (little->segments == 0 && little->refused == STATUS_MAX)
        turn(&t);
    assert_int_equal(little->refused, STATUS_MAX);
    close_turns(&t);
}

/* With a cap, what a write begins with is little, and all of it will come: it is paid for when it
 * begins. Polls take no room of the cap, but open what they ask about. */
TEST(thread__writes_are_paid_for_when_they_begin)
{
    enum { RATE = 16 << 10, WRITES = 6 };
    static uint8_t data[LARGE];
    const uint64_t cost = LARGE * NS_PER_S / RATE; /* 3.5 s: this test's time is nothing beside */
    Turns t;
    open_turns(&t, RATE);
    Client *c = t.clients[0];
    uint64_t start = os_now_ns();
    for (unsigned i = 1; i <= WRITES; i++)
        poll_write(c, LARGE, i);
    while (c->acks < WRITES)
        turn(&t);
    assert_int_equal(c->opened, 1); /* the others are to come again */
    assert_in_range(pace_debt_ns(&t.pace, start), cost - PACE_SAVED_NS, cost + NS_PER_S);

    /* What was paid for is not paid again. */
    for (uint64_t want = UINT64_MAX; c->ack.state != WRITE_DONE; want = ~c->ack.received) {
        unsigned acks = c->acks;
        write_blocks(c, data, LARGE, 1, want);
        poll_write(c, LARGE, 1);
        while (c->acks == acks)
            turn(&t);
    }
    assert_in_range(pace_debt_ns(&t.pace, start), cost - PACE_SAVED_NS, cost + cost / 2);
    close_turns(&t);
}
