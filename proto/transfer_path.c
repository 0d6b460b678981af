/* SPDX-License-Identifier: MIT */
/* Credit, the estimate of a path, and the timers that both directions of a transfer run by. */
#include <assert.h>

#include "proto/transfer_private.h"

enum {
    PATH_FIRST_PROBE_NS = 20 * 1000 * 1000, /* before any round trip was measured */
    PATH_PROBE_FLOOR_NS = 200 * 1000,
    PATH_REORDER_FLOOR_NS = 50 * 1000,
    BUSY_FIRST_NS = 1000 * 1000,
    BUSY_MAX_NS = 50 * 1000 * 1000,
    PROBES_A_DEADLINE = 4, /* at least so many go out before a host is given up */
    BACKOFF_MAX = 16,
    FLIGHT_BATCH_BYTES = 4096,
};

/* ---- credit --------------------------------------------------------------------------------- */

void credit_init(CreditPool *c, uint64_t cap_bytes)
{
    c->cap_bytes = cap_bytes > 0 ? cap_bytes : 1;
    c->floor_bytes = cap_bytes < CREDIT_FLOOR_BYTES ? c->cap_bytes : CREDIT_FLOOR_BYTES;
    atomic_init(&c->window_bytes,
                c->cap_bytes < CREDIT_START_BYTES ? c->cap_bytes : CREDIT_START_BYTES);
    atomic_init(&c->used_bytes, 0);
    atomic_init(&c->last_cut_ns, 0);
    atomic_init(&c->sharers, 0);
    atomic_init(&c->hungry, 0);
}

uint64_t credit_take(CreditPool *c, uint64_t want, uint64_t least, bool has_none)
{
    if (least > want)
        least = want;
    uint64_t used = atomic_load_explicit(&c->used_bytes, memory_order_relaxed);
    uint64_t take;
    do {
        uint64_t window = atomic_load_explicit(&c->window_bytes, memory_order_relaxed);
        take = window > used ? window - used : 0;
        if (take > want)
            take = want;
        if (take < least) {
            if (!has_none)
                return 0;
            take = least;
        }
    } while (!atomic_compare_exchange_weak_explicit(&c->used_bytes, &used, used + take,
                                                    memory_order_relaxed, memory_order_relaxed));
    return take;
}

void credit_return(CreditPool *c, uint64_t bytes)
{
    uint64_t used = atomic_fetch_sub_explicit(&c->used_bytes, bytes, memory_order_relaxed);
    assert(used >= bytes);
    (void)used;
}

void credit_on_success(CreditPool *c, uint64_t bytes)
{
    uint64_t window = atomic_load_explicit(&c->window_bytes, memory_order_relaxed);
    uint64_t grown = window + bytes * CREDIT_GROWTH_BYTES / window;
    if (grown > c->cap_bytes)
        grown = c->cap_bytes;
    /* Another thread that was faster has done much the same. */
    (void)atomic_compare_exchange_strong_explicit(&c->window_bytes, &window, grown,
                                                  memory_order_relaxed, memory_order_relaxed);
}

void credit_on_loss(CreditPool *c, uint64_t now_ns, uint64_t rtt_ns)
{
    uint64_t last = atomic_load_explicit(&c->last_cut_ns, memory_order_relaxed);
    uint64_t pause = rtt_ns ? rtt_ns : PATH_FIRST_PROBE_NS;
    if (last != 0 && now_ns < time_add(last, pause))
        return;
    if (!atomic_compare_exchange_strong_explicit(&c->last_cut_ns, &last, now_ns ? now_ns : 1,
                                                 memory_order_relaxed, memory_order_relaxed))
        return; /* another thread has just cut it */
    uint64_t window = atomic_load_explicit(&c->window_bytes, memory_order_relaxed);
    uint64_t half;
    do
        half = window / 2 > c->floor_bytes ? window / 2 : c->floor_bytes;
    while (!atomic_compare_exchange_weak_explicit(&c->window_bytes, &window, half,
                                                  memory_order_relaxed, memory_order_relaxed));
}

/* ---- path ----------------------------------------------------------------------------------- */

void path_sample_rtt(PathEstimate *p, uint64_t rtt_ns)
{
    if (rtt_ns == 0)
        rtt_ns = 1; /* 0 means that there is no sample */
    if (rtt_ns > NS_PER_S * 60)
        rtt_ns = NS_PER_S * 60;
    if (p->srtt_ns == 0) {
        p->srtt_ns = rtt_ns;
        p->rttvar_ns = rtt_ns / 2;
        return;
    }
    uint64_t error = rtt_ns > p->srtt_ns ? rtt_ns - p->srtt_ns : p->srtt_ns - rtt_ns;
    p->rttvar_ns = (3 * p->rttvar_ns + error) / 4;
    p->srtt_ns = (7 * p->srtt_ns + rtt_ns) / 8;
    if (p->srtt_ns == 0)
        p->srtt_ns = 1;
}

void path_sample_rate(PathEstimate *p, uint64_t bytes, uint64_t ns)
{
    if (ns == 0 || bytes == 0 || bytes > UINT64_MAX / NS_PER_S)
        return; /* all of it came in one gulp: that shows nothing */
    uint64_t rate = bytes * NS_PER_S / ns;
    if (rate == 0)
        rate = 1;
    p->bytes_per_s = p->bytes_per_s == 0 ? rate : p->bytes_per_s - p->bytes_per_s / 8 + rate / 8;
    if (p->bytes_per_s == 0)
        p->bytes_per_s = 1;
}

uint64_t path_probe_ns(const PathEstimate *p, uint64_t outstanding_bytes)
{
    if (p->srtt_ns == 0)
        return PATH_FIRST_PROBE_NS;
    uint64_t ns = p->srtt_ns + 4 * p->rttvar_ns;
    if (p->bytes_per_s > 0 && outstanding_bytes < UINT64_MAX / NS_PER_S)
        ns = time_add(ns, outstanding_bytes * NS_PER_S / p->bytes_per_s);
    return ns < PATH_PROBE_FLOOR_NS ? PATH_PROBE_FLOOR_NS : ns;
}

uint64_t path_reorder_ns(const PathEstimate *p)
{
    uint64_t ns = p->srtt_ns / 4;
    return ns < PATH_REORDER_FLOOR_NS ? PATH_REORDER_FLOOR_NS : ns;
}

/* ---- the clock of a transfer ---------------------------------------------------------------- */

void clock_start(TransferClock *k, const TransferConfig *config, uint64_t now_ns)
{
    *k = (TransferClock){.heard_ns = now_ns,
                         .silent_ns = config->silent_ns,
                         .quiet_ns = now_ns,
                         .gap_ns = TIME_NEVER};
}

void clock_sent(TransferClock *k, bool waiting, uint64_t now_ns)
{
    if (!waiting)
        k->heard_ns = now_ns;
    k->quiet_ns = now_ns;
}

uint64_t clock_silence(const TransferClock *k, bool waiting, uint64_t now_ns)
{
    return time_add(k->silent_ns, waiting ? clock_since(k->heard_ns, now_ns) : 0);
}

static uint64_t dead_at(const TransferClock *k, const TransferConfig *config, bool waiting)
{
    uint64_t left = config->deadline_ns > k->silent_ns ? config->deadline_ns - k->silent_ns : 0;
    return waiting ? time_add(k->heard_ns, left) : TIME_NEVER;
}

void clock_busy(TransferClock *k, uint64_t now_ns)
{
    if (now_ns < k->busy_until_ns)
        return;
    k->busy_ns = k->busy_ns == 0 ? BUSY_FIRST_NS : k->busy_ns * 2;
    if (k->busy_ns > BUSY_MAX_NS)
        k->busy_ns = BUSY_MAX_NS;
    k->busy_until_ns = time_add(now_ns, k->busy_ns);
}

void clock_check_busy(TransferClock *k, uint64_t now_ns)
{
    if (now_ns >= k->busy_until_ns)
        k->busy_until_ns = 0;
}

static uint64_t probe_at(const TransferClock *k, const TransferConfig *config, bool waiting,
                         uint64_t outstanding_bytes)
{
    if (!waiting)
        return TIME_NEVER;
    uint64_t wait = path_probe_ns(config->path, outstanding_bytes);
    uint64_t most = config->deadline_ns / PROBES_A_DEADLINE;
    wait = wait > UINT64_MAX >> k->backoff ? UINT64_MAX : wait << k->backoff;
    if (most < PATH_PROBE_FLOOR_NS)
        most = PATH_PROBE_FLOOR_NS;
    uint64_t at = time_add(k->quiet_ns, min_u64(wait, most));
    return at > k->busy_until_ns ? at : k->busy_until_ns;
}

uint64_t clock_deadline(const TransferClock *k, const TransferConfig *config, bool waiting,
                        uint64_t outstanding_bytes)
{
    uint64_t at = dead_at(k, config, waiting);
    at = min_u64(at, time_add(k->gap_ns, path_reorder_ns(config->path)));
    if (k->busy_until_ns)
        at = min_u64(at, k->busy_until_ns);
    return min_u64(at, probe_at(k, config, waiting, outstanding_bytes));
}

bool clock_is_dead(const TransferClock *k, const TransferConfig *config, bool waiting,
                   uint64_t now_ns)
{
    return waiting && now_ns >= dead_at(k, config, waiting);
}

bool clock_gap_over(const TransferClock *k, const TransferConfig *config, uint64_t now_ns)
{
    return k->gap_ns != TIME_NEVER && now_ns >= time_add(k->gap_ns, path_reorder_ns(config->path));
}

bool clock_check_probe(TransferClock *k, const TransferConfig *config, bool waiting,
                       uint64_t outstanding_bytes, uint64_t now_ns)
{
    if (!waiting || now_ns < probe_at(k, config, waiting, outstanding_bytes))
        return false;
    k->probe_due = true;
    k->quiet_ns = now_ns;
    if (k->backoff < BACKOFF_MAX)
        k->backoff++;
    return true;
}

/* ---- credit in flight ----------------------------------------------------------------------- */

static CreditShare *share_of(TransferFlight *f, const TransferConfig *config)
{
    return config->together ? config->together : &f->own;
}

/* Sets @mark, and counts it in @count. */
static void count_mark(bool *mark, bool value, _Atomic uint32_t *count)
{
    if (*mark == value)
        return;
    *mark = value;
    if (value)
        (void)atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    else
        (void)atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
}

static void share_leave(CreditShare *s, CreditPool *pool)
{
    count_mark(&s->shares, false, &pool->sharers);
    count_mark(&s->hungry, false, &pool->hungry);
}

/* Of one that shares. */
static uint64_t equal_share(CreditPool *pool)
{
    return atomic_load_explicit(&pool->window_bytes, memory_order_relaxed) /
           max_u64(atomic_load_explicit(&pool->sharers, memory_order_relaxed), 1);
}

/* What of @want it may take, so that others get their share. */
static uint64_t share_want(CreditShare *s, CreditPool *pool, uint64_t want, uint64_t least)
{
    uint32_t hungry = atomic_load_explicit(&pool->hungry, memory_order_relaxed);
    if (hungry == (s->hungry ? 1 : 0))
        return want;
    count_mark(&s->shares, true, &pool->sharers);
    uint64_t left = sub_u64(equal_share(pool), s->bytes);
    if (left < least)
        return s->bytes == 0 ? least : 0;
    return min_u64(want, left);
}

/* It has taken @taken of the @want. */
static void share_note(CreditShare *s, CreditPool *pool, uint64_t want, uint64_t taken)
{
    if (taken < want)
        count_mark(&s->shares, true, &pool->sharers);
    bool hungry = taken < want && s->bytes < equal_share(pool);
    count_mark(&s->hungry, hungry, &pool->hungry);
}

uint64_t flight_take(TransferFlight *f, const TransferConfig *config, uint64_t want, uint64_t least)
{
    CreditShare *s = share_of(f, config);
    CreditPool *pool = config->credit;
    uint64_t taken = credit_take(pool, share_want(s, pool, want, least), least, s->bytes == 0);
    if (taken < want)
        f->limited = true;
    f->starved = taken == 0;
    f->bytes += taken;
    s->bytes += taken;
    share_note(s, pool, want, taken);
    return taken;
}

void flight_land(TransferFlight *f, const TransferConfig *config, uint64_t bytes)
{
    assert(f->bytes >= bytes);
    f->bytes -= bytes;
    uint64_t given = f->given < bytes ? f->given : bytes;
    f->given -= given;
    f->owed += bytes - given;
    share_of(f, config)->bytes -= bytes - given;
    /* The pool is shared: it is not touched for every datagram. */
    if (f->owed >= FLIGHT_BATCH_BYTES || f->bytes == 0) {
        credit_return(config->credit, f->owed);
        f->owed = 0;
    }
}

void flight_end(TransferFlight *f, const TransferConfig *config)
{
    flight_give_back(f, config);
    f->bytes = 0;
    f->given = 0;
}

void flight_give_back(TransferFlight *f, const TransferConfig *config)
{
    uint64_t charged = f->bytes - f->given;
    CreditShare *s = share_of(f, config);
    credit_return(config->credit, charged + f->owed);
    s->bytes -= charged;
    f->given = f->bytes;
    f->owed = 0;
    if (s->bytes == 0)
        share_leave(s, config->credit);
}

void flight_succeed(const TransferFlight *f, const TransferConfig *config, uint64_t bytes)
{
    if (f->limited)
        credit_on_success(config->credit, bytes);
}

bool sample_is_good(const TransferConfig *config, uint64_t sent_ns, uint64_t missed_ns,
                    uint64_t now_ns)
{
    return !listen_clock_mostly_missed(missed_so_far(config) - missed_ns,
                                       clock_since(sent_ns, now_ns));
}
