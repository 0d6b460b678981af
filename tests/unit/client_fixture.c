/* SPDX-License-Identifier: MIT */
#include "libdodo/mirror.h"
#include "tests/unit/client_fixture.h"

World w;
int the_file;

void rng(void *ctx, void *buf, size_t len)
{
    (void)ctx;
    for (size_t i = 0; i < len; i++) {
        w.random = w.random * 6364136223846793005ull + 1442695040888963407ull;
        ((uint8_t *)buf)[i] = (uint8_t)(w.random >> 56);
    }
}

/* ---- the wires ------------------------------------------------------------------------------ */

Addr addr_of(unsigned host)
{
    return addr_sim((uint16_t)host, 1);
}

void wire(Addr from, const Addr *to, const uint8_t *bytes, size_t len)
{
    assert_true(len <= DATAGRAM_MAX);
    if (w.net.path_mtu && len > w.net.path_mtu &&
        (from.host[0] == HOST_IMD || to->host[0] == HOST_IMD))
        return;
    Datagram *last = &w.net.queue[(w.net.tail + QUEUE_MAX - 1) % QUEUE_MAX];
    if (w.net.joins && w.net.tail > w.net.head && from.host[0] == HOST_IMD &&
        addr_equal(&last->from, &from) && addr_equal(&last->to, to) && len <= last->segment &&
        last->len % last->segment == 0 && last->len + len <= DATAGRAM_MAX) { /* as GRO does */
        memcpy(last->bytes + last->len, bytes, len);
        last->len += len;
        w.net.joined++;
        return;
    }
    Datagram *d = &w.net.queue[w.net.tail++ % QUEUE_MAX];
    d->segment = len;
    assert_true(w.net.tail - w.net.head <= QUEUE_MAX);
    d->from = from;
    d->to = *to;
    d->len = len;
    memcpy(d->bytes, bytes, len);
    w.net.datagrams++;
}

static void sink_datagram(void *ctx, const Addr *to, const uint8_t *bytes, size_t len)
{
    wire(addr_of(HOST_CLIENT + (unsigned)(uintptr_t)ctx), to, bytes, len);
}

static void send_burst(Endpoint *e, Addr from, Session *s, const Burst *b)
{
    uint8_t payload[DATAGRAM_MAX], datagram[DATAGRAM_MAX];
    for (unsigned i = 0; i < 64; i++) {
        if (!(b->want >> i & 1))
            continue;
        size_t n = burst_payload(b, i, payload);
        wire(from, &s->peer, datagram, endpoint_seal(e, s, b->type, payload, n, datagram));
    }
}

static void sink_burst(void *ctx, Session *s, const Burst *b)
{
    unsigned i = (unsigned)(uintptr_t)ctx;
    send_burst(channel_endpoint(w.channels[i]), addr_of(HOST_CLIENT + i), s, b);
}

static size_t sink_datagram_max(void *ctx, const Addr *to)
{
    (void)ctx, (void)to;
    return w.net.datagram_max ? w.net.datagram_max : 1472;
}

void imd_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    uint8_t datagram[DATAGRAM_MAX];
    Session *s = session;
    bool second = ctx == &w.second;
    wire(addr_of(second ? HOST_SECOND : HOST_IMD), &s->peer, datagram,
         endpoint_seal(second ? w.second.imd : w.imd, s, type, payload, len, datagram));
}

static void imd_burst(void *ctx, void *session, const Burst *b)
{
    bool second = ctx == &w.second;
    w.net.segment = b->segment;
    send_burst(second ? w.second.imd : w.imd, addr_of(second ? HOST_SECOND : HOST_IMD), session, b);
}

static void imd_probe_ack(void *ctx, void *session, const uint8_t *payload, size_t len)
{
    imd_message(ctx, session, WIRE_PROBE_ACK, payload, len);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void imd_refuse(const EndpointInput *in)
{
    WireRead m;
    assert_int_equal(wire_read_decode(in->payload, in->payload_len, &m), 0);
    WireData answer = {.ask = m.ask, .index = WIRE_INDEX_NONE, .status = w.net.refuse};
    uint8_t out[WIRE_DATA_HEADER_SIZE];
    imd_message(NULL, in->session, WIRE_DATA, out, wire_data_encode_header(&answer, out));
}

static void imd_input(const EndpointInput *in)
{
    WireRead m;
    bool asks = in->type == WIRE_READ || in->type == WIRE_WRITE;
    bool busy = w.net.trickle_ns && asks && w.now < w.net.trickle_at;
    if (asks && !busy)
        w.net.trickle_at = w.now + w.net.trickle_ns;
    imd_data_pace(w.data, busy);
    if (w.beside && in->type == WIRE_READ)
        heal_beside(w.client, w.beside);
    if (w.net.refuse && in->type == WIRE_READ)
        imd_refuse(in);
    else if (busy && in->type == WIRE_READ &&
             wire_read_decode(in->payload, in->payload_len, &m) == 0)
        imd_data_busy(w.data, in->session, &m);
    else
        imd_data_input(w.data, in->session, in->type, in->payload, in->payload_len, w.now);
}

static void second_input(const EndpointInput *in)
{
    w.second.reads += in->type == WIRE_READ;
    imd_data_input(w.second.data, in->session, in->type, in->payload, in->payload_len, w.now);
}

static void server_input(Endpoint *e, unsigned host, Datagram *d)
{
    EndpointInput in;
    if (endpoint_input(e, &d->from, d->bytes, d->len, w.now, &in) == ENDPOINT_MESSAGE) {
        if (host == HOST_IMD)
            imd_input(&in);
        else if (host == HOST_SECOND)
            second_input(&in);
        else
            manager_input(e, host, &in);
    }
    if (in.reply_len)
        wire(addr_of(host), &d->from, in.reply, in.reply_len);
}

void deliver(Datagram *d)
{
    unsigned host = d->to.host[0];
    if (host == HOST_MANAGER && !w.cmd.dead)
        server_input(w.manager, host, d);
    else if (host == HOST_OTHER && w.other)
        server_input(w.other, host, d);
    else if (host == HOST_IMD && !w.net.imd_dead)
        server_input(w.imd, host, d);
    else if (host == HOST_SECOND && w.second.epoch && !w.second.dead)
        server_input(w.second.imd, host, d);
    else if (host >= HOST_CLIENT)
        channel_input_joined(w.channels[host - HOST_CLIENT], &d->from, d->bytes, d->len, d->segment,
                             w.now);
}

uint32_t sum_of(const void *data, size_t len, uint64_t seed)
{
    uint32_t sum = (uint32_t)seed | 1;
    for (size_t i = 0; i < len; i++)
        sum = sum * 31 + ((const uint8_t *)data)[i];
    return sum ? sum : 1;
}

void channel_run(unsigned i)
{
    if (i != w.asleep || i == 0)
        channel_step(w.channels[i], w.now);
}

static uint64_t channel_next_ns(unsigned i)
{
    return i != w.asleep || i == 0 ? channel_deadline(w.channels[i]) : TIME_NEVER;
}

static bool deliver_next(void)
{
    if (w.net.head == w.net.tail)
        return false;
    Datagram d = w.net.queue[w.net.head++ % QUEUE_MAX];
    w.now += w.net.datagram_ns ? w.net.datagram_ns : 1000;
    deliver(&d);
    return true;
}

static uint64_t next_ns(void)
{
    uint64_t next = TIME_NEVER;
    for (unsigned i = 0; i < CHANNELS; i++)
        next = min_u64(next, channel_next_ns(i));
    return next;
}

void run_until(uint64_t until)
{
    for (unsigned guard = 0; guard < 200000; guard++) {
        for (unsigned i = 0; i < CHANNELS; i++)
            channel_run(i);
        if (deliver_next())
            continue;
        uint64_t next = next_ns();
        if (next > until)
            return;
        if (next > w.now)
            w.now = next;
    }
    fail_msg("the world does not come to rest");
}

bool file_needed(const Call *call)
{
    return call->need >= NEED_FILE_READ && call->need <= NEED_SHARE;
}

Call *next_file_needed(Channel *ch)
{
    Call *call = NULL;
    while ((call = channel_next(ch, call)) && !file_needed(call))
        ;
    return call;
}

void pump(void)
{
    if (deliver_next())
        return;
    uint64_t next = next_ns();
    assert_int_not_equal(next, TIME_NEVER);
    if (next > w.now)
        w.now = next;
}

Call *run_to_file(const Call *call)
{
    for (unsigned guard = 0; call->need != NEED_NOTHING && guard < 100000; guard++) {
        Call *needs = next_file_needed(call->channel);
        if (needs)
            return needs;
        for (unsigned i = 0; i < CHANNELS; i++)
            channel_run(i);
        if (call->need != NEED_NOTHING && !next_file_needed(call->channel))
            pump();
    }
    assert_int_equal(call->need, NEED_NOTHING);
    return NULL;
}

ssize_t finish(Call *call)
{
    for (Call *needs; (needs = run_to_file(call));)
        do_file(needs);
    return call->result;
}

void settle(void)
{
    run_until(w.now + 10 * NS_PER_MS);
}

/* ---- calls ---------------------------------------------------------------------------------- */

int fail_error;
const char *fail_reason;

ssize_t done(Call *call)
{
    ssize_t result = finish(call);
    fail_error = call->error;
    fail_reason = call->reason;
    assert_true(client_check(w.client));
    return result;
}

int open_at(uint64_t len, uint64_t offset, unsigned flags)
{
    Call call;
    FileGiven given = {
        .file = &the_file, .lease = w.disk.lease, .stamp = file_stamp_now(), .retainable = true};
    given.taken_ns = file_stamp_taken();
    given.granule_ns = NS_PER_MS;
    call_open_start(&call, w.channels[1], &given, len, offset, flags, w.now);
    return (int)done(&call);
}

ssize_t read_at(int rd, off_t offset, void *buf, size_t len)
{
    Call call;
    call_read_start(&call, w.channels[1], rd, offset, buf, len, w.now);
    return done(&call);
}

ssize_t write_at(int rd, off_t offset, const void *buf, size_t len)
{
    Call call;
    call_write_start(&call, w.channels[1], rd, offset, buf, len, w.now);
    return done(&call);
}

ssize_t close_rd(int rd)
{
    Call call;
    call_close_start(&call, w.channels[1], rd, w.now);
    return done(&call);
}

ClientRegionInfo info(int rd)
{
    ClientRegionInfo i;
    assert_int_equal(client_region_info(w.client, rd, &i), 0);
    return i;
}

ClientStats stats(void)
{
    ClientStats s;
    client_stats(w.client, &s);
    return s;
}

unsigned calls_on(Channel *ch)
{
    unsigned n = 0;
    for (Call *call = NULL; (call = channel_next(ch, call));)
        n++;
    return n;
}

void assert_reads_file(int rd, uint64_t region_offset, off_t offset, size_t len)
{
    static uint8_t buf[FILE_BYTES_MAX];
    assert_int_equal(read_at(rd, offset, buf, len), len);
    assert_memory_equal(buf, w.disk.bytes + region_offset + offset, len);
}

void assert_reads_without_file(int rd, size_t len)
{
    uint64_t before = w.disk.bytes_read;
    assert_reads_file(rd, 0, 0, len);
    assert_int_equal(w.disk.bytes_read, before);
}

void write_some(int rd, off_t at, size_t len, uint8_t value)
{
    static uint8_t data[FILE_BYTES];
    memset(data, value, len);
    assert_int_equal(write_at(rd, at, data, len), len);
}

void assert_writes_wait(int rd)
{
    uint8_t data[100] = {1};
    Call first, last;
    call_write_start(&first, w.channels[1], rd, 0, data, sizeof data, w.now);
    do_file(run_to_file(&first));
    channel_run(1);
    w.net.head = w.net.tail; /* its datagram is lost, and its thread held up */
    w.asleep = 1;
    for (int i = 0; i < 64; i++) {
        call_write_start(&last, w.channels[2], rd, 8192, data, sizeof data, w.now);
        if (i < 63)
            assert_int_equal(done(&last), sizeof data);
    }
    do_file(run_to_file(&last));
    run_until(w.now + 100 * NS_PER_MS);
    assert_int_not_equal(last.need, NEED_NOTHING);
    w.asleep = 0;
    assert_int_equal(done(&first), sizeof data);
    assert_int_equal(done(&last), sizeof data);
    assert_true(info(rd).active);
}

/* ---- set-up --------------------------------------------------------------------------------- */

/* No thread is there to keep out; that the lock is taken and given back in turn can be seen. */
static void hook_lock(void *ctx)
{
    (void)ctx;
    assert_false(w.locked);
    w.locked = true;
}

static void hook_unlock(void *ctx)
{
    (void)ctx;
    assert_true(w.locked);
    w.locked = false;
}

/* Calls that are blocked may go on. */
static void hook_wake(void *ctx)
{
    (void)ctx;
    w.wakes++;
}

static void hook_wake_background(void *ctx)
{
    (void)ctx;
    w.background_wakes++;
}

static void hook_release(void *ctx, void *file)
{
    (void)ctx;
    assert_ptr_equal(file, &the_file);
    w.disk.released++;
}

static Endpoint *endpoint(uint8_t role, uint8_t self, uint64_t epoch)
{
    Env env = {.random = rng};
    EndpointConfig config = {.cluster = 1,
                             .role = role,
                             .self = {{self}},
                             .epoch = epoch,
                             .sessions_max = 16,
                             .half_open_max = 16,
                             .hello_retry_ns = 50 * NS_PER_MS};
    return endpoint_new(&config, &env);
}

void other_start(uint64_t number)
{
    w.other = endpoint(ROLE_CMD, 2, number);
}

void other_is(uint64_t number)
{
    const Id128 self = {{2, (uint8_t)number}};
    endpoint_become(w.other, &self, number);
}

void imd_start(uint64_t epoch)
{
    w.epoch = epoch;
    w.first_epoch = w.first_epoch ? w.first_epoch : epoch;
    Env env = {.random = rng};
    ImdDataConfig config = {.epoch = epoch,
                            .pool = w.pool,
                            .pool_bytes = POOL_BYTES,
                            .writes_max = 64,
                            .fills_max = 64,
                            .grant_bytes = 1 << 20};
    ImdDataSink sink = {.message = imd_message, .burst = imd_burst, .probe_ack = imd_probe_ack};
    w.imd = endpoint(ROLE_IMD, (uint8_t)epoch, epoch);
    w.data = imd_data_new(&config, &env, &sink);
}

static void second_stop(void)
{
    if (!w.second.epoch)
        return;
    endpoint_free(w.second.imd);
    imd_data_free(w.second.data);
}

void second_start(uint64_t epoch)
{
    second_stop();
    Env env = {.random = rng};
    ImdDataConfig config = {.epoch = epoch,
                            .pool = w.second.pool,
                            .pool_bytes = POOL_BYTES,
                            .writes_max = 64,
                            .fills_max = 64,
                            .grant_bytes = 1 << 20};
    ImdDataSink sink = {
        .message = imd_message, .burst = imd_burst, .probe_ack = imd_probe_ack, .ctx = &w.second};
    w.second.epoch = epoch;
    w.second.dead = false;
    w.second.pool_used = 0;
    w.second.imd = endpoint(ROLE_IMD, (uint8_t)epoch, epoch);
    w.second.data = imd_data_new(&config, &env, &sink);
}

void imd_stop(void)
{
    second_stop();
    endpoint_free(w.imd);
    imd_data_free(w.data);
}

void set_up_with(size_t file_bytes, BlockSumFn *block_sum)
{
    const bool shares = w.shares;
    memset(&w, 0, sizeof w);
    w.shares = shares;
    w.disk.lease = LEASE_GRANTED;
    w.now = NS_PER_S;
    w.random = 4711;
    w.disk.size = file_bytes;
    for (size_t i = 0; i < file_bytes; i++)
        w.disk.bytes[i] = (uint8_t)(i * 7 + (i >> 9));
    Env env = {.random = rng};
    ClientConfig config = {.manager = addr_of(HOST_MANAGER),
                           .self = {{9}},
                           .refraction_ns = 5 * NS_PER_S,
                           .refraction_max_ns = 60 * NS_PER_S,
                           .transfer_deadline_ns = NS_PER_S,
                           .alive_ns = 5 * NS_PER_S,
                           .reopen_ns = 2 * NS_PER_S,
                           .request = {50 * NS_PER_MS, 2 * NS_PER_S, 5 * NS_PER_S},
                           .credit_cap_bytes = 1 << 20,
                           .regions_max = 3000,
                           .fill_queue_bytes = 4 << 20,
                           .stripe_bytes = STRIPE_BYTES,
                           .block_sum = block_sum};
    ClientHooks hooks = {.lock = hook_lock,
                         .unlock = hook_unlock,
                         .wake = hook_wake,
                         .wake_background = hook_wake_background,
                         .file_release = hook_release,
                         .share_end = w.shares ? hook_share_end : NULL};
    w.client = client_new(&config, &env, &hooks);
    for (unsigned i = 0; i < CHANNELS; i++) {
        ChannelSink sink = {sink_datagram, sink_burst, sink_datagram_max, (void *)(uintptr_t)i};
        w.channels[i] =
            channel_new(w.client, endpoint(ROLE_CLIENT, 9, 0), &sink, i == 2 ? 64 : 1, i == 0);
        assert_non_null(w.channels[i]);
    }
    w.manager = endpoint(ROLE_CMD, 1, 0);
    imd_start(77);
}

int set_up(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, NULL);
    return 0;
}

int set_up_two(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, NULL);
    second_start(SECOND_EPOCH);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CHANNELS; i++)
        channel_free(w.channels[i]);
    client_free(w.client);
    free(w.shared.map);
    assert_false(w.locked);
    endpoint_free(w.manager);
    endpoint_free(w.other);
    imd_stop();
    return 0;
}
