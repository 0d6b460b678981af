/* SPDX-License-Identifier: MIT */
#include "libdodo/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "libdodo/random.h"
#include "usocket/cipher.h"

/* So much later than asked for a wait may end, as the kernel has it for any thread's. */
enum { WAIT_SLACK_NS = 50000 };

enum {
    DOZE_PATIENCE_NS = 1000000, /* at most so long, and a tick or two of the kernel */
    DOZE_LEAST_NS = 150000,     /* who wants to be woken sooner than this means it */
    DOZE_PAUSE_NS = 200000000,  /* after a doze that was too long */
};

static const uint64_t HELPER_WAIT_NS = 200 * NS_PER_MS; /* its caller waits, too */

/* ---- the sink ------------------------------------------------------------------------------- */

/* What is lost is lost: the core repeats it. */
static void flush(Link *link)
{
    (void)batches_flush(&link->batches);
}

static void sink_datagram(void *ctx, const Addr *to, const uint8_t *datagram, size_t len)
{
    Link *link = ctx;
    link->sent = true;
    (void)batches_put(&link->batches, to, datagram, len);
}

static void sink_burst(void *ctx, Session *session, const Burst *burst)
{
    Link *link = ctx;
    link->sent = true;
    flush(link); /* in the order that the core has them */
    (void)burst_send(link->batches.transport, channel_endpoint(link->channel), session, burst,
                     &link->scratch);
}

static size_t sink_datagram_max(void *ctx, const Addr *to)
{
    Link *link = ctx;
    Transport *t = link->batches.transport;
    return t->ops->datagram_max(t, to);
}

/* ---- making and ending ---------------------------------------------------------------------- */

static Channel *channel_make(Link *link, Client *client, const Settings *s, const Id128 *self,
                             unsigned calls_max, bool background)
{
    EndpointConfig config = {.cluster = s->cluster,
                             .keys_count = s->keys_count,
                             .cipher = s->keys_count > 0 ? cipher_fastest() : NULL,
                             .role = ROLE_CLIENT,
                             .self = *self,
                             .sessions_max = LINK_SESSIONS_MAX,
                             .half_open_max = 0, /* nobody calls on a program */
                             .hello_retry_ns = s->hello_retry_ns};
    memcpy(config.keys, s->keys, sizeof config.keys);
    Env env = {.random = random_bytes};
    Endpoint *endpoint = endpoint_new(&config, &env);
    explicit_bzero(config.keys, sizeof config.keys);
    if (!endpoint)
        return NULL;
    ChannelSink sink = {.datagram = sink_datagram,
                        .burst = sink_burst,
                        .datagram_max = sink_datagram_max,
                        .ctx = link};
    Channel *channel = channel_new(client, endpoint, &sink, calls_max, background);
    if (!channel)
        endpoint_free(endpoint);
    return channel;
}

static bool transport_make(Link *link, const Settings *s)
{
    const Addr local = {.kind = s->family};
    const TransportOptions options = {.receive_bytes = s->receive_bytes,
                                      .patience_ns = DOZE_PATIENCE_NS};
    const BatchesRoom room = {.receives = LINK_RECEIVES,
                              .receive_bytes = TRANSPORT_RECV_MAX,
                              .sends = LINK_SENDS,
                              .send_bytes = LINK_SEND_BYTES};
    const TransportRaw raw = {.interface = s->interface, .wait_ns = HELPER_WAIT_NS};
    Transport *t;
    const int res = s->raw ? transport_raw_open(&local, &options, &raw, &t, &link->raw)
                           : transport_udp_open(&local, &options, &t);
    if (res < 0)
        return false;
    if (batches_open(&link->batches, t, &room) == 0)
        return true;
    transport_close(t);
    return false;
}

Link *link_new(Client *client, const Settings *s, const Id128 *self, unsigned calls_max,
               bool background)
{
    Link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    file_worker_init(&link->worker, -1);
    polling_init(&link->polling, s->poll_ns);
    link->timer_fd = os_above_standard(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!transport_make(link, s))
        return link_free(link);
    link->channel = channel_make(link, client, s, self, calls_max, background);
    return link->channel ? link : link_free(link);
}

Link *link_free(Link *link)
{
    if (!link)
        return NULL;
    file_worker_stop(&link->worker);
    channel_free(link->channel);
    batches_close(&link->batches);
    if (link->timer_fd >= 0)
        (void)close(link->timer_fd);
    explicit_bzero(&link->scratch, sizeof link->scratch);
    free(link);
    return NULL;
}

void link_abandon(Link *link)
{
    file_worker_abandon(&link->worker);
    if (link->timer_fd >= 0)
        (void)close(link->timer_fd);
    channel_abandon(link->channel);
    batches_close(&link->batches);
    explicit_bzero(&link->scratch, sizeof link->scratch);
    free(link);
}

/* ---- receiving and waiting ------------------------------------------------------------------ */

bool link_receive(Link *link)
{
    int n = batches_receive(&link->batches);
    uint64_t now = os_now_ns();
    const TransportReceive *r = link->batches.receives;
    for (int i = 0; i < n; i++)
        channel_input_joined(link->channel, &r[i].from, r[i].buf, r[i].len, r[i].segment, now);
    if (n > 0)
        polling_traffic(&link->polling, now);
    flush(link);
    return n > 0;
}

void link_step(Link *link)
{
    uint64_t now = os_now_ns();
    channel_step(link->channel, now);
    if (link->sent)
        polling_traffic(&link->polling, now);
    link->sent = false;
    flush(link);
}

static bool look(void *ctx)
{
    Link *link = ctx;
    return batches_look(&link->batches);
}

/* The wait for a short answer mostly ends after some ten microseconds. Its timer, a few hundred
 * ahead, costs more than everything else: the processor's clock is set and set back, which is
 * expensive under a hypervisor. So one timer stays set from wait to wait as long as it rings in
 * time, and is set again when it rang too early. False: the wait must do without a timer. */
static bool timer_covers(Link *link, uint64_t deadline_ns, uint64_t now_ns)
{
    if (link->timer_fd < 0)
        return false;
    if (link->rings_ns > now_ns && link->rings_ns <= time_add(deadline_ns, WAIT_SLACK_NS))
        return true;
    struct itimerspec at = {.it_value = time_to_timespec(deadline_ns)};
    bool set = timerfd_settime(link->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0;
    link->rings_ns = set ? deadline_ns : 0;
    return set;
}

/* Waits once. True: it was only the timer, which may have rung for an earlier wait. */
static bool wait_once(Link *link, int other_fd, uint64_t deadline_ns, uint64_t now_ns)
{
    const Transport *t = link->batches.transport;
    bool forever = deadline_ns == TIME_NEVER;
    bool covered =
        !forever && channel_is_brief(link->channel) && timer_covers(link, deadline_ns, now_ns);
    struct pollfd fds[3] = {
        {.fd = t->ops->fd(t), .events = POLLIN},
        {.fd = covered ? link->timer_fd : -1, .events = POLLIN},
        {.fd = other_fd, .events = POLLIN},
    };
    uint64_t left = deadline_ns - now_ns;
    struct timespec timeout = time_to_timespec(left);
    int n = ppoll(fds, other_fd >= 0 ? 3 : 2, forever || covered ? NULL : &timeout, NULL);
    return n == 1 && fds[1].revents;
}

/* The end of an answer is hardly ever lost, and only then does it matter when the wait for it ends.
 * If one was lost recently, another may be: then waits end in time. */
bool link_may_doze(const Link *link, uint64_t deadline_ns)
{
    uint64_t now = os_now_ns();
    return link->batches.transport->ops->receive_asleep && channel_is_brief(link->channel) &&
           now >= link->doze_from_ns && deadline_ns >= time_add(now, DOZE_LEAST_NS);
}

void link_doze(Link *link, uint64_t deadline_ns)
{
    bool came = batches_sleep(&link->batches);
    uint64_t now = os_now_ns();
    if (!came && now >= deadline_ns)
        link->doze_from_ns = time_add(now, DOZE_PAUSE_NS);
}

void link_wait(Link *link, int other_fd, uint64_t deadline_ns)
{
    uint64_t now = os_now_ns();
    /* EINTR: the caller looks at its clock and comes again. */
    while (now < deadline_ns && wait_once(link, other_fd, deadline_ns, now))
        now = os_now_ns();
}

static void sleep_for_answer(Link *link, uint64_t deadline_ns)
{
    if (link_may_doze(link, deadline_ns))
        link_doze(link, deadline_ns);
    else
        link_wait(link, -1, deadline_ns);
}

void link_await(Link *link, uint64_t deadline_ns)
{
    if (link->polling.limit_ns == 0) {
        sleep_for_answer(link, deadline_ns);
        return;
    }
    const uint64_t start = os_now_ns();
    enum PollingEnd end = POLLING_NONE;
    if (!link->patient && polling_try(&link->trial))
        end = polling_for(&link->polling, deadline_ns, look, link);
    if (end != POLLING_FOUND) {
        polling_wait_begin();
        sleep_for_answer(link, deadline_ns);
        polling_wait_end();
    }
    if (!link->patient)
        polling_waited(&link->trial, end != POLLING_NONE, os_now_ns() - start);
}

void link_alarm(Link *link, uint64_t deadline_ns)
{
    static const struct itimerspec never;
    if (deadline_ns != TIME_NEVER)
        (void)timer_covers(link, deadline_ns > 0 ? deadline_ns : 1, os_now_ns());
    else if (link->rings_ns > 0 && timerfd_settime(link->timer_fd, 0, &never, NULL) == 0)
        link->rings_ns = 0;
}
