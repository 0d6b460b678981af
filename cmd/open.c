/* SPDX-License-Identifier: MIT */
/* OPEN: the paper's checkAlloc and alloc (4.3) as one procedure. With REGION_RETAIN it first looks
 * for a region kept from an earlier run, unless REGION_FRESH says that this is no such opening.
 * Else it asks hosts in random order: those believed to have the room free, then those that could
 * make room by dropping regions that are only kept.
 *
 * Time: each request to an imd ends within request_deadline_ns. None begins after OPEN_DEADLINES of
 * those, nor lasts longer: the client has its reply by then, however many hosts there are. A
 * refusal takes a round trip, and no host refuses twice in a round.
 *
 * The hosts are on their way to a manager that has just taken the place of another: an answer that
 * there is no memory would be wrong in a moment. So for HOSTS_COME_NS an OPEN that found none
 * waits, as the task that it is: opens_max and its client's window of requests limit those, too. It
 * is taken up when a host joins, when its client repeats it, and at the end. */
#include "cmd/manager_private.h"

#include <string.h>

/* So soon the hosts have found a manager that has got its lease. */
#define HOSTS_COME_NS (3 * NS_PER_S)

static bool hosts_come(const Manager *m)
{
    return m->number != MANAGER_UNLEASED && !cmd_silent(m, m->start_ns, HOSTS_COME_NS);
}

/* ---- the ends of an OPEN ------------------------------------------------------------------- */

static void open_wait(Manager *m, Task *t)
{
    cmd_task_unreserve(m, t);
    t->waits = true;
    m->tasks.waiting++;
}

static void open_fail(Manager *m, Task *t)
{
    const bool given_up = t->request < t->client->replies.seen.lowest;
    if (t->op == OP_OPEN && hosts_come(m) && !given_up) {
        open_wait(m, t);
        return;
    }
    m->stats.opens_failed++;
    cmd_task_over(m, t, STATUS_NO_MEMORY, NULL, 0);
}

/* @r, REGION_BUSY, is the client's now. One that is gone has no use for it. */
static void open_succeed(Manager *m, Task *t, Region *r, const OpAllocReply *given, bool reused)
{
    uint8_t body[WIRE_BODY_MAX];
    OpOpenReply reply = {.host = r->host->address,
                         .address = given->address,
                         .reused = reused,
                         .control_port = r->host->address.port};

    if (!t->client) {
        cmd_region_doom(m, r);
        cmd_task_destroy(m, t);
        return;
    }
    if (t->allocated) {
        t->allocated(m, t, r, given);
        return;
    }
    cmd_region_open(r, t->client, t->request);
    m->stats.opens++;
    m->stats.opens_reused += reused;
    reply.host.port = given->port;
    size_t n = wire_open_reply_encode(&reply, body);
    cmd_task_over(m, t, STATUS_OK, body, n);
}

bool cmd_given_decode(const Call *call, int status, const uint8_t *body, size_t len,
                      OpAllocReply *ret)
{
    return status == STATUS_OK && wire_alloc_reply_decode(body, len, ret) == 0 &&
           ret->address.epoch == call->host->epoch && ret->address.region != 0 && ret->port != 0;
}

/* ---- alloc --------------------------------------------------------------------------------- */

static uint64_t call_give_up(const Manager *m, const Task *t)
{
    return min_u64(t->give_up_ns, time_add(m->now_ns, m->config.request_deadline_ns));
}

static void open_allocated(Manager *m, const Call *call, int status, const uint8_t *body,
                           size_t len);

static int ask_alloc(Manager *m, Task *t, Host *h)
{
    uint8_t body[WIRE_BODY_MAX];
    OpAlloc op = {.client = t->client->id,
                  .key = t->open.key,
                  .offset = t->open.offset,
                  .len = t->open.len,
                  .flags = t->open.flags & ~(uint32_t)REGION_FRESH,
                  .evict = t->evict};
    size_t n = wire_alloc_encode(&op, body);

    const CallAsk ask = {
        .op = OP_ALLOC, .over = open_allocated, .task = t, .give_up_ns = call_give_up(m, t)};

    return cmd_call_begin(m, h, &ask, body, n);
}

static size_t tried_bytes(const Manager *m)
{
    return (m->config.hosts_max + 63) / 64 * sizeof(uint64_t);
}

/* The next host of this round, or the first of the next round. */
static Host *next_host(Manager *m, Task *t)
{
    Host *h = cmd_host_choose(m, t);
    if (h || t->evict)
        return h;
    t->evict = true;
    memset(t->tried, 0, tried_bytes(m));
    return cmd_host_choose(m, t);
}

/* The entry is made before the region: a region that the directory cannot hold is not asked for. */
static bool reserve(Manager *m, Task *t)
{
    if (t->fresh)
        return true;
    if (cmd_regions_scarce(m))
        (void)cmd_regions_give_way(m); /* a later opening finds room */
    if (!cmd_regions_room(m))
        return false;
    t->fresh = cmd_region_new(m);
    if (t->fresh)
        m->tasks.reserved++;
    return t->fresh;
}

void cmd_open_alloc(Manager *m, Task *t)
{
    if (!t->client) {
        cmd_task_destroy(m, t);
        return;
    }
    while (m->now_ns < t->give_up_ns && reserve(m, t)) {
        Host *h = next_host(m, t);
        if (!h)
            break;
        if (ask_alloc(m, t, h) == 0)
            return;
    }
    open_fail(m, t);
}

static Region *enter_fresh(Manager *m, Task *t, Host *h, const RegionAddress *address)
{
    Region *r = t->fresh;

    t->fresh = NULL;
    m->tasks.reserved--;
    r->key = t->open.key;
    r->offset = t->open.offset;
    r->len = t->open.len;
    r->region = address->region;
    r->opening = address->opening;
    cmd_region_add(m, r, h);
    return r;
}

/* The directory's entry for a region just allocated. A LISTING may have come before the answer.
 * Then the entry is there already; it must be the same region, and no earlier answer may have had
 * it. */
static Region *enter_allocated(Manager *m, Task *t, Host *h, const RegionAddress *address)
{
    Region *r = cmd_region_find(m, h, address->region);
    if (!r)
        return enter_fresh(m, t, h, address);
    if (r->state != REGION_OPENED || r->open.client != t->client || r->imd_request != 0 ||
        r->opening != address->opening || r->len != t->open.len || r->offset != t->open.offset ||
        memcmp(&r->key, &t->open.key, sizeof r->key) != 0)
        return NULL;
    cmd_region_detach(m, r);
    return r;
}

static void open_allocated(Manager *m, const Call *call, int status, const uint8_t *body,
                           size_t len)
{
    Task *t = call->ask.task;
    OpAllocReply given;
    Region *r = NULL;

    if (cmd_given_decode(call, status, body, len, &given))
        r = enter_allocated(m, t, call->host, &given.address);
    if (!r) {
        m->stats.retries_next_host++;
        cmd_open_alloc(m, t);
        return;
    }
    r->retain = t->open.flags & REGION_RETAIN;
    r->imd_request = call->request->id;
    open_succeed(m, t, r, &given, false);
}

/* ---- reopening ----------------------------------------------------------------------------- */

/* A kept region of this piece of the file, if it is fresh and its host can be asked. Those that are
 * not fresh never will be: they are freed. One on a host that is being drained is as good: nobody
 * but this client could use what it holds, and the client moves it like any other. */
static Region *find_kept(Manager *m, const Task *t)
{
    Region *found = NULL;
    Region *next;

    for (Region *r = cmd_kept_first(m, &t->open.key, t->open.offset, t->open.len); r; r = next) {
        next = cmd_kept_next(m, r);
        if (RULE(STAMP) && !stamp_equal(&r->kept.stamp, &t->open.stamp))
            cmd_region_doom(m, r);
        else if (!found && cmd_host_fit(m, r->host, &t->open))
            found = r;
    }
    return found;
}

static void open_reopened(Manager *m, const Call *call, int status, const uint8_t *body,
                          size_t len);

static int ask_reopen(Manager *m, Task *t, Region *r)
{
    uint8_t body[WIRE_BODY_MAX];
    OpReopen op = {.epoch = r->host->epoch,
                   .region = r->region,
                   .opening = r->opening,
                   .client = t->client->id,
                   .flags = t->open.flags,
                   .stamp = t->open.stamp};
    size_t n = wire_reopen_encode(&op, body);

    const CallAsk ask = {.op = OP_REOPEN,
                         .over = open_reopened,
                         .task = t,
                         .region = r,
                         .give_up_ns = call_give_up(m, t)};

    return cmd_call_begin(m, r->host, &ask, body, n);
}

void cmd_settle_unopened(Manager *m, Region *r, int status, const Stamp *stamp)
{
    switch (status) {
    case CALL_HOST_LOST: /* and the region with it, in a moment */
        break;
    case STATUS_GONE:
    case STATUS_EPOCH:
        cmd_region_drop(m, r);
        break;
    case STATUS_BUSY:
    case STATUS_NO_MEMORY:
    case STATUS_LEAVING:
        cmd_region_keep(m, r, stamp);
        break;
    default:
        cmd_region_doom(m, r);
        break;
    }
}

static void open_reopened(Manager *m, const Call *call, int status, const uint8_t *body, size_t len)
{
    Task *t = call->ask.task;
    Region *r = call->ask.region;
    OpAllocReply given;

    if (cmd_given_decode(call, status, body, len, &given) && given.address.region == r->region &&
        given.address.opening > r->opening) {
        cmd_region_set_opening(r, given.address.opening);
        r->imd_request = call->request->id;
        open_succeed(m, t, r, &given, true);
        return;
    }
    cmd_settle_unopened(m, r, status, &t->open.stamp);
    cmd_open_alloc(m, t);
}

/* ---- OPEN ---------------------------------------------------------------------------------- */

/* What it has, and what it has asked for: else a burst of OPENs would pass all at once. What it has
 * on hosts that are being drained does not count: a client that has all that it may have could not
 * move it. */
static bool within_quota(const Manager *m, const CmdClient *c, uint64_t len)
{
    uint64_t bytes = c->bytes - c->moves.bytes, regions = c->regions_count - c->moves.count;
    const uint64_t most = m->config.client_bytes;
    LIST_FOREACH(at, &c->tasks) {
        const Task *t = CONTAINER_OF(at, Task, of_client);
        if (t->op != OP_OPEN)
            continue;
        bytes += t->open.len;
        regions++;
    }
    return (most == 0 || (len <= most && bytes <= most - len)) &&
           (m->config.client_regions == 0 || regions < m->config.client_regions);
}

static void task_begin(const Manager *m, Task *t)
{
    t->give_up_ns = m->now_ns;
    for (int i = 0; i < OPEN_DEADLINES; i++)
        t->give_up_ns = time_add(t->give_up_ns, m->config.request_deadline_ns);
}

Task *cmd_open_task(Manager *m, CmdClient *c, Session *session, const WireRequest *request,
                    const OpOpen *open)
{
    Task *t = m->tasks.opens < m->config.opens_max
                  ? cmd_task_new(m, c, session, request, tried_bytes(m))
                  : NULL;
    if (!t)
        return NULL;
    t->open = *open;
    task_begin(m, t);
    return t;
}

static uint16_t open_admit(Manager *m, CmdClient *c, Session *session, const WireRequest *request,
                           Task **ret_task)
{
    OpOpen open;

    if (wire_open_decode(request->body, request->body_len, &open) != 0)
        return STATUS_INVALID;
    if (!within_quota(m, c, open.len)) {
        m->stats.opens_refused++;
        return STATUS_QUOTA;
    }
    *ret_task = cmd_open_task(m, c, session, request, &open);
    return *ret_task ? STATUS_OK : STATUS_BUSY;
}

static bool may_be_kept(const OpOpen *open)
{
    return open->flags & REGION_RETAIN && !(open->flags & REGION_FRESH);
}

static void open_try(Manager *m, Task *t)
{
    Region *r = may_be_kept(&t->open) ? find_kept(m, t) : NULL;
    if (!r || ask_reopen(m, t, r) != 0)
        cmd_open_alloc(m, t);
}

void cmd_open(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    Task *t = NULL;
    uint16_t status = open_admit(m, c, session, request, &t);

    if (status != STATUS_OK) {
        cmd_reply(m, &c->replies, session, request->id, request->op, status, NULL, 0);
        return;
    }
    open_try(m, t);
}

/* ---- OPENs that wait for hosts -------------------------------------------------------------- */

bool cmd_open_comes_early(const Manager *m, const WireRequest *request)
{
    return request->op == OP_OPEN && hosts_come(m) && m->tasks.opens >= m->config.opens_max;
}

void cmd_open_again(Manager *m, Task *t)
{
    if (!t->waits)
        return;
    t->waits = false;
    m->tasks.waiting--;
    t->evict = false;
    memset(t->tried, 0, tried_bytes(m));
    task_begin(m, t);
    open_try(m, t);
}

/* What a host has kept is known when it has given its list. It could make room of that. */
static bool host_helps(const Manager *m, const Host *h, const OpOpen *open)
{
    return (h->listed || !may_be_kept(open)) && cmd_host_chosen(m, h, open) &&
           (h->said.hint.largest_free_bytes >= open->len ||
            h->said.hint.evictable_bytes >= open->len);
}

void cmd_opens_take_up(Manager *m, const Host *h)
{
    if (m->tasks.waiting == 0)
        return;
    LIST_FOREACH(at, &m->tasks.all) {
        Task *t = CONTAINER_OF(at, Task, of_manager);
        if (t->waits && host_helps(m, h, &t->open))
            cmd_open_again(m, t);
    }
}

void cmd_opens_forget(Manager *m, CmdClient *c, uint64_t below)
{
    if (m->tasks.waiting == 0)
        return;
    LIST_FOREACH(at, &c->tasks) {
        Task *t = CONTAINER_OF(at, Task, of_client);
        if (t->waits && t->request < below)
            cmd_task_destroy(m, t);
    }
}

uint64_t cmd_opens_deadline(const Manager *m)
{
    return m->tasks.waiting > 0 ? time_add(m->start_ns, HOSTS_COME_NS) : TIME_NEVER;
}

void cmd_opens_expire(Manager *m)
{
    if (m->now_ns < cmd_opens_deadline(m))
        return;
    LIST_FOREACH(at, &m->tasks.all) {
        cmd_open_again(m, CONTAINER_OF(at, Task, of_manager));
    }
}
