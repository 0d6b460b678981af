/* SPDX-License-Identifier: MIT */
/* What rmd does around its monitor, on the test's own clock and without a network. */
#include "rmd/node.h"

#include <math.h>
#include <string.h>

#include "tests/lib/case.h"
#include "tests/lib/peer.h"

#define GIB (1ull << 30)
#define MINUTE (60 * NS_PER_S)
#define TELL_NS (5 * NS_PER_S)

static const Addr manager = {.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, 1}};
static const MonitorConfig usual = {.idle_after_ns = 5 * MINUTE,
                                    .poll_ns = NS_PER_S,
                                    .leave_deadline_ns = 2 * NS_PER_S,
                                    .load_below = 0.3,
                                    .pool_max_bytes = UINT64_MAX};

static struct World {
    Node node;
    ManagerLink link;
    Endpoint *mine, *managers;
    WireRequest asked; /* the last one; id 0: none that is not answered */
    OpHost host;       /* of it */
    uint64_t now_ns, beat_ns, limit_bytes;
    double console_idle;
    unsigned starts, beats, statuses, others, requests, terminates, memories;
    int start_result;
    bool memory_unknown;
    MonitorStatus said, exact, coarse; /* when it was last asked */
} w;

/* ---- what it does ---------------------------------------------------------------------------- */

static void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    (void)ctx;
    fail();
}

static int on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    (void)ctx;
    assert_in_range(limit_bytes, 1, pool_bytes);
    w.starts++;
    return w.start_result;
}

static void on_limit(void *ctx, uint64_t limit_bytes)
{
    (void)ctx;
    w.limit_bytes = limit_bytes;
}

static void on_terminate(void *ctx)
{
    (void)ctx;
    w.terminates++;
}

static void on_kill(void *ctx)
{
    (void)ctx;
}

static void on_beat(void *ctx)
{
    (void)ctx;
    w.beats++;
    w.beat_ns = w.now_ns;
}

static bool on_memory(void *ctx, MemoryState *ret, uint64_t *ret_held_bytes, uint64_t now_ns)
{
    (void)ctx;
    assert_int_equal(now_ns, w.now_ns);
    *ret = (MemoryState){.total_bytes = 100 * GIB, .spare_bytes = 60 * GIB, .reserve_bytes = GIB};
    *ret_held_bytes = 0;
    w.memories++;
    return !w.memory_unknown;
}

static void on_status(void *ctx, const MonitorStatus *status, bool other)
{
    (void)ctx;
    w.statuses++;
    w.others += other;
    assert_int_equal(other, status->state != w.said.state);
    w.said = *status;
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    (void)ctx;
    assert_int_equal(type, WIRE_REQUEST);
    assert_int_equal(wire_request_decode(payload, len, &w.asked), 0);
    assert_int_equal(wire_host_decode(w.asked.body, w.asked.body_len, &w.host), 0);
    monitor_status(w.node.monitor, w.now_ns, &w.exact);
    monitor_status_coarse(w.node.monitor, w.now_ns, &w.coarse);
    w.requests++;
}

static void on_news(void *ctx, enum LinkNews news)
{
    (void)ctx;
}

/* ---- what happens to it ---------------------------------------------------------------------- */

static void begin(bool with_manager, bool full)
{
    const NodeSink sink = {.judge = on_judge,
                           .start = on_start,
                           .limit = on_limit,
                           .terminate = on_terminate,
                           .kill = on_kill,
                           .beat = on_beat,
                           .memory = on_memory,
                           .status = on_status};
    const ManagerLinkSink link_sink = {.message = on_message, .news = on_news};
    const NodeConfig config = {
        .monitor = usual, .full = full, .link = with_manager ? &w.link : NULL};
    w = (struct World){.now_ns = 3600 * NS_PER_S, .console_idle = 7200};
    if (with_manager) {
        w.mine = peer_new(ROLE_RMD, 1, 0);
        w.managers = peer_new(ROLE_CMD, 2, 0);
        manager_link_init(&w.link, w.mine, &link_sink, &manager, TELL_NS, w.now_ns);
    }
    assert_int_equal(node_init(&w.node, &config, &sink, w.now_ns), 0);
    node_step(&w.node, w.now_ns);
    if (with_manager)
        manager_link_up(&w.link, peer_meet(w.mine, w.managers, w.now_ns), w.now_ns);
}

static int tear_down(void **state)
{
    (void)state;
    node_deinit(&w.node);
    endpoint_free(w.mine);
    endpoint_free(w.managers);
    return 0;
}

static void answer(void)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    const WireReply reply = {.id = w.asked.id, .op = OP_HOST, .status = STATUS_OK};
    manager_link_message(&w.link, w.link.contact.session, WIRE_REPLY, out,
                         wire_reply_encode(&reply, out), w.now_ns);
    w.asked.id = 0;
}

static void look(void)
{
    Look l = {.taken_ns = w.now_ns, .clock_ns = 3600 * NS_PER_S, .console_source = "terminals"};
    facts_init(&l.facts);
    l.facts.value[FACT_console_idle] = w.console_idle;
    l.facts.value[FACT_load] = 0.05;
    l.facts.value[FACT_on_battery] = NAN;
    node_look(&w.node, &l, w.now_ns);
}

/* A look each second; a step after it and at the deadline. */
static void pass(uint64_t ns, bool answers)
{
    for (uint64_t end = w.now_ns + ns, next = w.now_ns + NS_PER_S; w.now_ns < end;) {
        uint64_t t = min_u64(min_u64(node_deadline(&w.node), next), end);
        t = max_u64(t, w.now_ns);
        w.console_idle += (double)(t - w.now_ns) / 1e9;
        w.now_ns = t;
        if (t == next) {
            look();
            next += NS_PER_S;
        }
        node_step(&w.node, w.now_ns);
        if (answers && w.asked.id)
            answer();
    }
}

static void come_back(void)
{
    w.now_ns += NS_PER_MS;
    w.console_idle = 0;
    look();
    node_step(&w.node, w.now_ns);
}

static void lend(bool with_manager, bool full)
{
    begin(with_manager, full);
    pass(5 * MINUTE + 2 * NS_PER_S, with_manager);
    assert_int_equal(w.starts, 1);
    monitor_ready(w.node.monitor, 7, 50 * GIB, w.now_ns);
    node_step(&w.node, w.now_ns);
    if (with_manager && w.asked.id)
        answer();
    assert_int_equal(w.said.state, MONITOR_LENDING);
}

static void end(void)
{
    node_ended(&w.node, "status 0", w.now_ns);
    node_step(&w.node, w.now_ns);
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

/* ---- imd ------------------------------------------------------------------------------------- */

CASE(beat__each_second_while_imd_runs)
{
    begin(false, false);
    pass(4 * MINUTE, false);
    assert_int_equal(w.beats, 0);
    pass(MINUTE + 2 * NS_PER_S, false);
    assert_int_equal(w.starts, 1);
    assert_true(w.beats > 0);
    unsigned before = w.beats;
    for (unsigned i = 1; i <= 60; i++) {
        pass(NS_PER_S, false);
        assert_int_equal(w.beats, before + i);
        assert_true(node_deadline(&w.node) <= w.beat_ns + NODE_BEAT_NS);
    }
    end();
    before = w.beats;
    pass(MINUTE, false);
    assert_int_equal(w.beats, before);
}

/* What hangs for a while says once that it is there again, not once for each second. */
CASE(beat__is_not_made_up_for)
{
    lend(false, false);
    unsigned before = w.beats;
    w.now_ns += 10 * NS_PER_S;
    node_step(&w.node, w.now_ns);
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.beats, before + 1);
}

/* Nobody looks any more: the time alone ends it. */
CASE(start__that_takes_too_long_is_ended)
{
    begin(false, false);
    pass(5 * MINUTE + 2 * NS_PER_S, false);
    assert_int_equal(w.starts, 1);
    w.now_ns += MONITOR_START_DEADLINE_NS;
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.terminates, 1);
}

CASE(start__that_fails_is_an_end)
{
    begin(false, false);
    w.start_result = -1;
    pass(5 * MINUTE + 2 * NS_PER_S, false);
    assert_true(w.starts >= 1);
    assert_int_equal(w.beats, 0);
    assert_int_equal(w.said.state, MONITOR_BUSY);
    assert_non_null(strstr(w.said.reason, "no start"));
    unsigned before = w.starts;
    w.start_result = 0;
    pass(20 * MINUTE, false); /* after its pause */
    assert_int_equal(w.starts, before + 1);
    assert_true(w.beats > 0);
}

CASE(memory__is_read_when_it_is_due)
{
    lend(false, false);
    const unsigned before = w.memories;
    const uint64_t due = monitor_memory_due_ns(w.node.monitor);
    assert_true(due > w.now_ns);
    assert_true(node_deadline(&w.node) <= due);
    w.now_ns = due - 1;
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.memories, before);
    w.now_ns = due;
    node_step(&w.node, w.now_ns);
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.memories, before + 1);
}

/* What is decided by a look goes by the memory that there is now. */
CASE(memory__is_read_before_a_look)
{
    lend(false, false);
    const unsigned before = w.memories;
    w.now_ns = monitor_memory_due_ns(w.node.monitor);
    look();
    assert_int_equal(w.memories, before + 1);
}

CASE(memory__that_is_not_known_is_not_lent)
{
    begin(false, false);
    w.memory_unknown = true;
    pass(6 * MINUTE, false);
    assert_true(w.memories > 1);
    assert_int_equal(w.starts, 0);
}

CASE(limit__follows_the_memory)
{
    const MemoryState less = {
        .total_bytes = 100 * GIB, .spare_bytes = 30 * GIB, .reserve_bytes = GIB};
    lend(false, false);
    w.limit_bytes = UINT64_MAX;
    monitor_memory(w.node.monitor, &less, 0, w.now_ns);
    assert_true(w.limit_bytes < 30 * GIB);
}

/* Between two looks the beat alone is due. */
CASE(deadline__is_the_next_beats)
{
    lend(false, false);
    pass(10 * NS_PER_S, false);
    w.node.beat_ns = w.now_ns + NS_PER_MS;
    assert_int_equal(node_deadline(&w.node), w.now_ns + NS_PER_MS);
}

/* ---- what is said ---------------------------------------------------------------------------- */

CASE(status__once_for_each_change)
{
    lend(false, false);
    unsigned statuses = w.statuses, others = w.others;
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.statuses, statuses);
    come_back();
    assert_int_equal(w.statuses, statuses + 1);
    assert_int_equal(w.others, others + 1);
    assert_int_equal(w.said.state, MONITOR_BUSY);
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.statuses, statuses + 1);
}

CASE(manager__hears_of_each_state)
{
    lend(true, false);
    assert_int_equal(w.host.state, HOST_OWNER_LENDING);
    assert_int_equal(w.host.epoch, 7);
    assert_int_equal(w.host.lendable_bytes, w.said.lendable_bytes);
    unsigned before = w.requests;
    come_back();
    assert_int_equal(w.requests, before + 1);
    assert_int_equal(w.host.state, HOST_OWNER_BUSY);
    assert_int_equal(node_deadline(&w.node), manager_link_deadline(&w.link)); /* once more */
    answer();
    end();
    assert_int_equal(w.host.state, HOST_OWNER_BUSY);
}

CASE(manager__hears_it_again_at_each_beat)
{
    lend(true, false);
    pass(TELL_NS, true); /* the lendable memory has settled */
    unsigned before = w.requests;
    pass(10 * TELL_NS, true);
    assert_true(w.requests >= before + 10);
}

/* The owner's times are his own. */
CASE(manager__hears_times_as_far_as_the_owner_wants)
{
    for (unsigned full = 0; full < 2; full++) {
        lend(true, full);
        come_back();
        answer();
        end();
        pass(2 * MINUTE, true);
        assert_string_not_equal(w.exact.reason, w.coarse.reason);
        assert_string_equal(w.host.reason.text, full ? w.exact.reason : w.coarse.reason);
        assert_string_equal(w.said.reason, w.exact.reason); /* the log is the owner's */
        (void)tear_down(NULL);
    }
    w = (struct World){0};
}

/* ---- the end --------------------------------------------------------------------------------- */

CASE(leave__with_nothing_to_wait_for)
{
    begin(false, false);
    assert_false(node_finished(&w.node, w.now_ns));
    node_leave(&w.node, w.now_ns);
    assert_true(node_finished(&w.node, w.now_ns));
    assert_int_equal(w.terminates, 0);
}

CASE(leave__waits_for_imd)
{
    lend(false, false);
    node_leave(&w.node, w.now_ns);
    node_step(&w.node, w.now_ns);
    assert_int_equal(w.terminates, 1);
    assert_false(node_finished(&w.node, w.now_ns));
    assert_false(node_finished(&w.node, TIME_NEVER));
    end();
    assert_true(node_finished(&w.node, w.now_ns));
}

/* The kernel may take longer to end a large imd than rmd has to tell the manager. */
CASE(leave__does_not_spin_while_imd_takes_longer)
{
    lend(false, false);
    uint64_t until = w.now_ns + 10 * NS_PER_S;
    unsigned steps = 0;
    node_leave(&w.node, w.now_ns);
    for (; w.now_ns < until && steps < 1000; steps++) {
        node_step(&w.node, w.now_ns);
        w.now_ns = max_u64(node_deadline(&w.node), w.now_ns + NS_PER_MS);
    }
    assert_true(w.now_ns >= until);
    assert_in_range(steps, 1, 200); /* readings of the memory, mostly */
    end();
    assert_true(node_finished(&w.node, w.now_ns));
}

CASE(leave__waits_until_the_manager_knows)
{
    lend(true, false);
    node_leave(&w.node, w.now_ns);
    end();
    assert_false(node_finished(&w.node, w.now_ns));
    assert_int_equal(w.host.state, HOST_OWNER_BUSY);
    answer();
    assert_true(node_finished(&w.node, w.now_ns));
}

CASE(leave__waits_for_a_silent_manager_so_long)
{
    lend(true, false);
    uint64_t until = w.now_ns + usual.leave_deadline_ns + NODE_LEAVE_NS;
    node_leave(&w.node, w.now_ns);
    end();
    for (; w.now_ns < until; w.now_ns += NS_PER_MS) {
        node_step(&w.node, w.now_ns);
        assert_false(node_finished(&w.node, w.now_ns));
        assert_true(node_deadline(&w.node) <= until);
    }
    assert_false(node_finished(&w.node, until - 1));
    assert_true(node_finished(&w.node, until));
}
