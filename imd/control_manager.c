/* SPDX-License-Identifier: MIT */
/* Our requests to the manager: JOIN when its session is up, BEATs with the hint and the digest,
 * LISTINGs when it wants to rebuild its directory, DRAIN when the owner is back, PART at the end.
 */
#include "imd/control_priv.h"

#include <stdlib.h>

#define RETRY_FIRST_NS (100 * NS_PER_MS)
#define RETRY_MAX_NS (2 * NS_PER_S)
/* After that the request is sent with a new id. A manager may have executed it, lost the reply, and
 * had no memory to keep it: then it never answers a repetition. */
#define PATIENCE_NS (10 * NS_PER_S)
/* BEATs are at least so far apart when there is news. */
#define BEAT_HURRIED_NS (250 * NS_PER_MS)
/* Leaving is bounded: about five tries, then the manager learns it from our silence. */
#define PART_RETRY_MAX_NS (400 * NS_PER_MS)
#define PART_DEADLINE_NS (1500 * NS_PER_MS)
/* How far our drain is, is asked so often. A manager that does not answer for so long is away. */
#define DRAIN_ASK_NS (250 * NS_PER_MS)
#define DRAIN_DEADLINE_NS NS_PER_S
/* By then, who can move its regions has asked the manager for it, be it upon its keep-alive. */
#define DRAIN_HEARD_NS (6 * NS_PER_S)

/* ---- slots ---------------------------------------------------------------------------------- */

static void slot_stop(ImdControl *c, unsigned slot)
{
    if (!c->slots[slot].on)
        return;
    numbers_end(&c->ids, c->slots[slot].request.id);
    c->slots[slot].on = false;
}

/* False: too many of our requests are open, which only a manager that answers some and never others
 * can cause; the next BEAT tries again. */
static bool slot_start(ImdControl *c, unsigned slot, uint16_t op, const uint8_t *body, size_t len,
                       const RequestTimes *times, uint64_t now_ns)
{
    slot_stop(c, slot);
    uint64_t id = numbers_take(&c->ids);
    if (id == 0)
        return false;
    request_start(&c->slots[slot].request, id, op, body, len, times, now_ns);
    c->slots[slot].on = true;
    return true;
}

static RequestTimes times_patient(void)
{
    return (RequestTimes){
        .first_retry_ns = RETRY_FIRST_NS, .retry_max_ns = RETRY_MAX_NS, .deadline_ns = PATIENCE_NS};
}

/* ---- JOIN, BEAT, PART ----------------------------------------------------------------------- */

static void join_start(ImdControl *c, uint64_t now_ns)
{
    uint8_t body[WIRE_BODY_MAX];
    OpJoin m = {.pool_bytes = pool_bytes(c->directory.pool), .ports_count = c->config.threads};
    RequestTimes times = times_patient();
    directory_hint(&c->directory, &m.hint);
    for (unsigned i = 0; i < c->config.threads; i++)
        m.ports[i] = c->config.ports[i];
    c->next_ns = time_add(now_ns, c->config.beat_ns);
    (void)slot_start(c, SLOT_JOIN, OP_JOIN, body, wire_join_encode(&m, body), &times, now_ns);
}

/* A new BEAT takes the place of an unanswered one: only the latest hint matters. */
static void beat_start(ImdControl *c, uint64_t now_ns)
{
    uint8_t body[WIRE_BODY_MAX];
    OpBeat m = {.digest = directory_digest(&c->directory), .served = c->served};
    RequestTimes times = times_patient();
    directory_hint(&c->directory, &m.hint);
    c->next_ns = time_add(now_ns, c->config.beat_ns);
    c->beat_ns = now_ns;
    silence_asked(&c->silence, now_ns);
    (void)slot_start(c, SLOT_BEAT, OP_BEAT, body, wire_beat_encode(&m, body), &times, now_ns);
}

static void part_start(ImdControl *c, uint64_t now_ns)
{
    uint8_t body[WIRE_BODY_MAX];
    OpPart m;
    RequestTimes times = {.first_retry_ns = RETRY_FIRST_NS,
                          .retry_max_ns = PART_RETRY_MAX_NS,
                          .deadline_ns = PART_DEADLINE_NS};
    directory_hint(&c->directory, &m.hint);
    if (!slot_start(c, SLOT_PART, OP_PART, body, wire_part_encode(&m, body), &times, now_ns))
        c->parted = true;
}

/* ---- DRAIN ---------------------------------------------------------------------------------- */

static void drain_start(ImdControl *c, uint64_t now_ns)
{
    static const OpDrain m = {.what = DRAIN_START};
    uint8_t body[WIRE_BODY_MAX];
    RequestTimes times = {.first_retry_ns = RETRY_FIRST_NS,
                          .retry_max_ns = DRAIN_ASK_NS,
                          .deadline_ns = DRAIN_DEADLINE_NS};
    c->save.ask_ns = time_add(now_ns, DRAIN_ASK_NS);
    c->save.over =
        !slot_start(c, SLOT_DRAIN, OP_DRAIN, body, wire_drain_encode(&m, body), &times, now_ns);
}

/* Does anything move that is still here? */
static bool drain_goes_on(const ImdControl *c, const OpDrainReply *r, uint64_t now_ns)
{
    const bool heard = now_ns >= time_add(c->save.begun_ns, DRAIN_HEARD_NS);
    if (r->listed && r->open_regions + r->busy_regions == 0)
        return false;
    if (heard && r->asking == 0)
        return false;
    return !((heard || r->asking >= r->clients) && r->asking > 0 && r->refused >= r->asking);
}

static void drain_answered(ImdControl *c, const Request *r, uint64_t now_ns)
{
    OpDrainReply m;
    c->save.over = r->status != STATUS_OK ||
                   wire_drain_reply_decode(r->answer, r->answer_len, &m) != 0 ||
                   !drain_goes_on(c, &m, now_ns);
}

static bool drain_asks(const ImdControl *c)
{
    return c->save.on && !c->save.over && !c->leaving;
}

static void drain_run(ImdControl *c, uint64_t now_ns)
{
    if (!drain_asks(c))
        return;
    if (!c->joined || c->directory.by_region.count == 0)
        c->save.over = true;
    else if (!c->slots[SLOT_DRAIN].on && now_ns >= c->save.ask_ns)
        drain_start(c, now_ns);
}

void imd_control_save(ImdControl *c, uint64_t now_ns)
{
    if (c->save.on || c->leaving)
        return;
    c->save = (Save){.on = true, .begun_ns = now_ns, .ask_ns = now_ns};
    control_trace(c, "saves of regions:", c->directory.by_region.count);
    control_manager_run(c, now_ns);
}

bool imd_control_saved(const ImdControl *c)
{
    return c->save.on && c->save.over;
}

/* ---- LISTING -------------------------------------------------------------------------------- */

static void listing_end(ImdControl *c)
{
    for (unsigned i = SLOT_PAGE; i < SLOT_MAX; i++)
        slot_stop(c, i);
    free(c->listing.regions);
    c->listing = (Listing){.list = c->listing.list};
}

static void listing_start(ImdControl *c)
{
    Listing *l = &c->listing;
    if (l->on || c->leaving)
        return;
    if (directory_snapshot(&c->directory, &l->regions, &l->count) < 0)
        return; /* the digest will differ at the next BEAT too */
    l->on = true;
    l->before = control_before(c);
    l->list++;
    l->pages = (uint32_t)((l->count + LISTING_MAX - 1) / LISTING_MAX);
    if (l->pages == 0)
        l->pages = 1;
    control_trace(c, "listing of regions:", l->count);
}

static bool page_start(ImdControl *c, unsigned slot, uint32_t page, uint64_t now_ns)
{
    const Listing *l = &c->listing;
    size_t first = (size_t)page * LISTING_MAX;
    uint8_t body[WIRE_BODY_MAX];
    OpListing m = {.list = l->list, .page = page, .pages = l->pages, .before = l->before};
    RequestTimes times = times_patient();
    directory_hint(&c->directory, &m.hint);
    while (m.count < LISTING_MAX && first + m.count < l->count) {
        m.regions[m.count] = l->regions[first + m.count];
        m.count++;
    }
    return slot_start(c, slot, OP_LISTING, body, wire_listing_encode(&m, body), &times, now_ns);
}

static void listing_run(ImdControl *c, uint64_t now_ns)
{
    Listing *l = &c->listing;
    for (unsigned i = SLOT_PAGE; i < SLOT_MAX && l->on && l->next_page < l->pages; i++)
        if (!c->slots[i].on && page_start(c, i, l->next_page, now_ns))
            l->next_page++;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* The manager does not know us: it has started again, or took us for dead. */
static void rejoin(ImdControl *c, uint64_t now_ns)
{
    c->joined = false;
    listing_end(c);
    slot_stop(c, SLOT_BEAT);
    join_start(c, now_ns);
}

/* What the answer to a JOIN or BEAT says. */
static void take_beat_reply(ImdControl *c, const Request *r)
{
    OpBeatReply m;
    if (wire_beat_reply_decode(r->answer, r->answer_len, &m) < 0)
        return;
    /* A list would never reflect a request that was given up and has not come here. */
    if (RULE(LIST_SETTLED))
        reply_cache_settle(&c->replies, m.settled);
    if (m.flags & BEAT_WANT_LIST)
        listing_start(c);
}

static void join_answered(ImdControl *c, const Request *r, uint64_t now_ns)
{
    c->joined = r->status == STATUS_OK;
    if (!c->joined) {
        slot_stop(c, SLOT_BEAT);
        return; /* asked again when the next BEAT would be due */
    }
    control_trace(c, "joined with regions:", c->directory.by_region.count);
    c->next_ns = now_ns;
    take_beat_reply(c, r);
}

static void page_answered(ImdControl *c, const Request *r)
{
    if (!c->listing.on)
        return;
    c->listing.answered++;
    if (r->status != STATUS_OK || c->listing.answered == c->listing.pages)
        listing_end(c);
}

/* A JOIN that is on its way could come after the PART: the manager would count on us for long. */
static void part_after_join(ImdControl *c, uint64_t now_ns)
{
    if (!c->parted && !c->slots[SLOT_JOIN].on && !c->slots[SLOT_PART].on)
        part_start(c, now_ns);
}

static void slot_answered(ImdControl *c, unsigned slot, uint64_t now_ns)
{
    const Request *r = &c->slots[slot].request;
    slot_stop(c, slot);
    if (slot == SLOT_PART)
        c->parted = true;
    else if (c->leaving)
        part_after_join(c, now_ns);
    else if (slot == SLOT_JOIN)
        join_answered(c, r, now_ns);
    else if (r->status == STATUS_UNKNOWN_PEER)
        rejoin(c, now_ns);
    else if (slot == SLOT_BEAT)
        take_beat_reply(c, r);
    else if (slot == SLOT_DRAIN)
        drain_answered(c, r, now_ns);
    else
        page_answered(c, r);
}

void control_manager_reply(ImdControl *c, const WireReply *reply, uint64_t now_ns)
{
    for (unsigned i = 0; i < SLOT_MAX; i++) {
        if (c->slots[i].on && request_input(&c->slots[i].request, reply, now_ns)) {
            silence_answered(&c->silence);
            slot_answered(c, i, now_ns);
            return;
        }
    }
}

void control_manager_hurry(ImdControl *c)
{
    if (c->joined)
        c->next_ns = min_u64(c->next_ns, time_add(c->beat_ns, BEAT_HURRIED_NS));
}

/* ---- life and clock ------------------------------------------------------------------------- */

void control_manager_init(ImdControl *c)
{
    numbers_init(&c->ids, 1);
}

void control_manager_deinit(ImdControl *c)
{
    listing_end(c);
}

static void slots_renew(ImdControl *c, bool same, uint64_t now_ns)
{
    for (unsigned i = 0; i < SLOT_MAX; i++) {
        if (!c->slots[i].on)
            continue;
        if (same)
            request_resend(&c->slots[i].request, now_ns);
        else
            slot_stop(c, i);
    }
}

void control_manager_up(ImdControl *c, bool same, uint64_t now_ns)
{
    slots_renew(c, same, now_ns);
    silence_answered(&c->silence);
    if (!same) {
        c->joined = false;
        listing_end(c);
    }
    if (!c->leaving)
        join_start(c, now_ns);
    else
        part_after_join(c, now_ns);
}

void control_manager_part(ImdControl *c, uint64_t now_ns)
{
    listing_end(c);
    slot_stop(c, SLOT_BEAT);
    slot_stop(c, SLOT_DRAIN);
    if (c->up)
        part_after_join(c, now_ns);
    else
        c->parted = true;
}

static void slot_given_up(ImdControl *c, unsigned slot, uint64_t now_ns)
{
    slot_stop(c, slot);
    if (slot == SLOT_PART)
        c->parted = true;
    else if (c->leaving)
        part_after_join(c, now_ns);
    else if (slot == SLOT_JOIN)
        c->next_ns = time_add(now_ns, c->config.beat_ns);
    else if (slot == SLOT_DRAIN)
        c->save.over = true;
    else if (slot >= SLOT_PAGE)
        listing_end(c); /* the digest will differ at the next BEAT too */
}

static void slots_run(ImdControl *c, uint64_t now_ns)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    for (unsigned i = 0; i < SLOT_MAX; i++) {
        Slot *s = &c->slots[i];
        if (!s->on)
            continue;
        request_expire(&s->request, now_ns);
        if (s->request.state == REQUEST_TIMED_OUT) {
            slot_given_up(c, i, now_ns);
            continue;
        }
        size_t n = request_output(&s->request, numbers_lowest(&c->ids), out, now_ns);
        if (n > 0)
            c->sink.message(c->sink.ctx, WIRE_REQUEST, out, n);
    }
}

/* Nobody answers: it has ended, or no datagram comes through. Asked to take us in from now on. */
static void mind_silence(ImdControl *c, uint64_t now_ns)
{
    if (c->config.manager_dead_ns == 0 || !c->joined || c->leaving ||
        !silence_is_long(&c->silence, c->config.beat_ns, c->config.manager_dead_ns, now_ns))
        return;
    control_trace(c, "manager silent, regions:", c->directory.by_region.count);
    silence_answered(&c->silence);
    c->lost = true;
    rejoin(c, now_ns);
}

void control_manager_run(ImdControl *c, uint64_t now_ns)
{
    mind_silence(c, now_ns);
    if (c->up && !c->leaving) {
        if (c->joined && now_ns >= c->next_ns)
            beat_start(c, now_ns);
        else if (!c->joined && !c->slots[SLOT_JOIN].on && now_ns >= c->next_ns)
            join_start(c, now_ns);
    }
    listing_run(c, now_ns);
    drain_run(c, now_ns);
    slots_run(c, now_ns);
}

uint64_t control_manager_deadline(const ImdControl *c)
{
    uint64_t t = TIME_NEVER;
    if (c->up && !c->leaving && (c->joined || !c->slots[SLOT_JOIN].on))
        t = c->next_ns;
    if (c->config.manager_dead_ns && c->joined && !c->leaving)
        t = min_u64(t, silence_deadline(&c->silence, c->config.manager_dead_ns));
    if (drain_asks(c) && !c->slots[SLOT_DRAIN].on)
        t = min_u64(t, c->save.ask_ns);
    for (unsigned i = 0; i < SLOT_MAX; i++)
        if (c->slots[i].on)
            t = min_u64(t, request_deadline(&c->slots[i].request));
    return t;
}
