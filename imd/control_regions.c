/* SPDX-License-Identifier: MIT */
/* The manager's requests: ALLOC, FREE, RELEASE, REOPEN (the paper's 4.2). Each leads to at most one
 * command to a data thread at a time; while an entry has a command under way, further requests for
 * it wait. A reply to the manager is true when it is sent. */
#include "imd/control_priv.h"

#include <stdlib.h>

#include "imd/address.h"

/* ---- replies -------------------------------------------------------------------------------- */

static void reply_send(ImdControl *c, uint64_t id, uint16_t op, uint16_t status,
                       const uint8_t *body, size_t len)
{
    WireReply reply = {.id = id, .op = op, .status = status, .body = body, .body_len = len};
    uint8_t out[WIRE_PAYLOAD_MAX];
    size_t n = wire_reply_encode(&reply, out);
    /* Without memory the reply is not kept. A repeated request then stays unanswered, and is never
     * executed again. */
    (void)reply_cache_store(&c->replies, id, out, n);
    c->sink.message(c->sink.ctx, WIRE_REPLY, out, n);
}

/* Every reply carries the hint (the paper's 4.3); @e: the region it is about, or NULL. */
static void reply_hint(ImdControl *c, uint64_t id, uint16_t op, uint16_t status, const Entry *e)
{
    uint8_t body[WIRE_BODY_MAX];
    size_t len = 0;
    if (op == OP_ALLOC || op == OP_REOPEN) {
        OpAllocReply reply = {0};
        directory_hint(&c->directory, &reply.hint);
        if (e) {
            reply.address = e->address;
            reply.port = c->config.ports[e->thread];
        }
        len = wire_alloc_reply_encode(&reply, body);
    } else if (op == OP_FREE || op == OP_RELEASE) {
        OpFreeReply reply = {0};
        directory_hint(&c->directory, &reply.hint);
        len = wire_free_reply_encode(&reply, body);
    }
    reply_send(c, id, op, status, body, len);
}

static void job_free(ImdControl *c, Job *job)
{
    list_remove(&job->in_list);
    c->jobs--;
    free(job);
}

/* The job is over; NULL is fine. */
static void job_end(ImdControl *c, Job *job, enum Status status, const Entry *e)
{
    if (!job)
        return;
    if (job->manager == c->manager_count)
        reply_hint(c, job->id, job->op, status, e);
    job_free(c, job);
}

/* ---- commands ------------------------------------------------------------------------------- */

static void entry_command(ImdControl *c, Entry *e, enum EntryState state, enum ImdCommandKind kind,
                          Job *job)
{
    if (job) {
        list_remove(&job->in_list);
        e->job = job;
    }
    directory_set_state(&c->directory, e, state);
    e->command = ++c->commands;
    list_push_back(&c->commanded, &e->in_commanded);
    ImdCommand command = {
        .id = e->command,
        .kind = kind,
        .thread = e->thread,
        .region = {.region = e->address.region,
                   .opening = e->address.opening,
                   .capability = e->address.capability,
                   .pool_offset = e->pool_offset,
                   .len = kind == IMD_PURGE ? directory_entry_bytes(e) : e->len,
                   .extents = kind == IMD_PURGE && state == ENTRY_DROPPING ? NULL : e->extents},
    };
    c->sink.command(c->sink.ctx, &command);
}

static void entry_drop(ImdControl *c, Entry *e, Job *job)
{
    c->dropping++;
    directory_going(&c->directory, e, extents_filled_bytes(e->extents));
    entry_command(c, e, ENTRY_DROPPING, IMD_DROP, job);
}

void control_drop(ImdControl *c, Entry *e)
{
    entry_drop(c, e, NULL);
}

void control_shrink(ImdControl *c, Entry *e)
{
    c->shrinking++;
    e->rest = e->state;
    entry_command(c, e, ENTRY_SHRINKING, IMD_UNFILL, NULL);
}

/* ---- ALLOC ---------------------------------------------------------------------------------- */

/* No room for @job: may it wait for a retained region to go, the least recently used first? */
static bool alloc_make_room(ImdControl *c, const Job *job)
{
    Directory *d = &c->directory;
    if (!job->body.alloc.evict || !directory_could_fit(d, job->body.alloc.len))
        return false;
    if (c->dropping > 0)
        return true;
    if (list_empty(&d->released))
        return false;
    Entry *e = CONTAINER_OF(d->released.next, Entry, in_release);
    control_trace(c, "evict", e->address.region);
    entry_drop(c, e, NULL);
    return true;
}

static void alloc_try(ImdControl *c, Job *job)
{
    Entry *e = NULL;
    if (c->leaving) {
        job_end(c, job, STATUS_LEAVING, NULL);
        return;
    }
    int r = directory_take(&c->directory, &c->env, &job->body.alloc, &e);
    if (r == 0) {
        entry_command(c, e, ENTRY_ADDING, IMD_ADD, job);
    } else if (r == DIRECTORY_E_FULL && alloc_make_room(c, job)) {
        list_remove(&job->in_list);
        list_push_back(&c->waiting, &job->in_list);
    } else {
        job_end(c, job, STATUS_NO_MEMORY, NULL);
    }
}

static void jobs_move(ListNode *from, ListNode *to)
{
    LIST_FOREACH(node, from) {
        list_remove(node);
        list_push_back(to, node);
    }
}

/* A range came back: those that wait try again, in their order. */
static void waiting_retry(ImdControl *c)
{
    ListNode again;
    list_init(&again);
    LIST_FOREACH(node, &c->waiting) {
        list_remove(node);
        list_push_back(&again, node);
    }
    LIST_FOREACH(node, &again)
        alloc_try(c, CONTAINER_OF(node, Job, in_list));
}

/* ---- FREE, RELEASE, REOPEN: with an entry at rest -------------------------------------------- */

static void free_start(ImdControl *c, Entry *e, Job *job)
{
    uint32_t opening = job->body.free.opening;
    bool named = opening == 0 || opening == e->address.opening ||
                 (e->record.valid && opening == e->record.opening);
    if (!named)
        job_end(c, job, STATUS_GONE, NULL);
    else
        entry_drop(c, e, job);
}

static void release_start(ImdControl *c, Entry *e, Job *job)
{
    const OpRelease *m = &job->body.release;
    if (!address_opens(&m->address, e->address.opening, &e->address.capability))
        job_end(c, job, STATUS_GONE, NULL);
    else if (e->state == ENTRY_OPEN)
        entry_command(c, e, ENTRY_CLOSING, IMD_CLOSE, job);
    else /* released before, by a request of an earlier manager: done, if by the same proof */
        job_end(c, job, stamp_equal(&m->stamp, &e->record.stamp) ? STATUS_OK : STATUS_GONE, NULL);
}

/* STATUS_OK when the release record allows it. */
static enum Status reopen_allowed(const ImdControl *c, const Entry *e, const OpReopen *m)
{
    if (c->leaving)
        return STATUS_LEAVING;
    if (!e->record.valid || e->record.opening != m->opening || e->address.opening == UINT32_MAX)
        return STATUS_GONE;
    if (RULE(STAMP) && !stamp_equal(&e->record.stamp, &m->stamp))
        return STATUS_STALE;
    return STATUS_OK;
}

static void reopen_start(ImdControl *c, Entry *e, Job *job)
{
    const OpReopen *m = &job->body.reopen;
    enum Status status = reopen_allowed(c, e, m);
    if (status != STATUS_OK) {
        job_end(c, job, status, NULL);
        return;
    }
    /* Before anybody can write to it: should the writer die, nothing vouches for the region. */
    if (RULE(WITHDRAW))
        e->record.valid = false;
    extents_use_all(e->extents, imd_use_tick(c->now_ns));
    e->client = m->client;
    e->flags = m->flags;
    e->address.opening++;
    c->env.random(c->env.ctx, &e->address.capability, sizeof e->address.capability);
    entry_command(c, e, ENTRY_REOPENING, IMD_REOPEN, job);
}

/* Starts waiting jobs until one leads to a command. */
static void entry_run(ImdControl *c, Entry *e)
{
    while (e->command == 0 && !list_empty(&e->jobs)) {
        Job *job = CONTAINER_OF(e->jobs.next, Job, in_list);
        if (job->op == OP_FREE)
            free_start(c, e, job);
        else if (job->op == OP_RELEASE)
            release_start(c, e, job);
        else
            reopen_start(c, e, job);
    }
}

/* ---- requests ------------------------------------------------------------------------------- */

static int job_decode(Job *job, const WireRequest *request)
{
    const uint8_t *p = request->body;
    size_t len = request->body_len;
    if (request->op == OP_ALLOC)
        return wire_alloc_decode(p, len, &job->body.alloc);
    if (request->op == OP_FREE)
        return wire_free_decode(p, len, &job->body.free);
    if (request->op == OP_RELEASE)
        return wire_release_decode(p, len, &job->body.release);
    return wire_reopen_decode(p, len, &job->body.reopen);
}

static bool is_job(uint16_t op)
{
    return op == OP_ALLOC || op == OP_FREE || op == OP_RELEASE || op == OP_REOPEN;
}

/* Not for ALLOC. */
static uint64_t job_region(const Job *job, uint64_t *ret_epoch)
{
    if (job->op == OP_RELEASE) {
        *ret_epoch = job->body.release.address.epoch;
        return job->body.release.address.region;
    }
    *ret_epoch = job->op == OP_FREE ? job->body.free.epoch : job->body.reopen.epoch;
    return job->op == OP_FREE ? job->body.free.region : job->body.reopen.region;
}

static void job_run(ImdControl *c, Job *job)
{
    uint64_t epoch;
    if (job->op == OP_ALLOC) {
        alloc_try(c, job);
        return;
    }
    Entry *e = directory_find(&c->directory, job_region(job, &epoch));
    if (RULE(EPOCH) && epoch != c->config.epoch) {
        job_end(c, job, STATUS_EPOCH, NULL);
    } else if (!e || (e->purging && e->state == ENTRY_DROPPING)) {
        job_end(c, job, STATUS_GONE, NULL);
    } else {
        list_push_back(&e->jobs, &job->in_list);
        entry_run(c, e);
    }
}

static void request_execute(ImdControl *c, const WireRequest *request)
{
    if (!is_job(request->op)) {
        reply_hint(c, request->id, request->op, STATUS_DENIED, NULL);
        return;
    }
    Job *job = c->jobs < JOBS_MAX ? calloc(1, sizeof *job) : NULL;
    if (!job || job_decode(job, request) < 0) {
        reply_hint(c, request->id, request->op, job ? STATUS_INVALID : STATUS_BUSY, NULL);
        free(job);
        return;
    }
    list_init(&job->in_list);
    job->id = request->id;
    job->op = request->op;
    job->manager = c->manager_count;
    c->jobs++;
    job_run(c, job);
}

void control_request(ImdControl *c, const WireRequest *request)
{
    const uint8_t *reply = NULL;
    size_t len = 0;
    switch (reply_cache_admit(&c->replies, request, &reply, &len)) {
    case REQUEST_EXECUTE:
        request_execute(c, request);
        break;
    case REQUEST_REPEAT:
        c->sink.message(c->sink.ctx, WIRE_REPLY, reply, len);
        break;
    case REQUEST_PENDING:
    case REQUEST_OVER:
        break;
    }
}

/* ---- commands that are over ----------------------------------------------------------------- */

/* Its range can be used again. */
static void entry_give(ImdControl *c, Entry *e)
{
    if (e->state == ENTRY_DROPPING)
        c->dropping--;
    directory_give(&c->directory, e);
}

/* The region is gone from its thread, and so are the requests that waited for it. Who asked for
 * that need not wait until its pages are given back, too. */
static void entry_gone(ImdControl *c, Entry *e, enum Status status)
{
    Job *job = e->job;
    ListNode waited;
    list_init(&waited);
    jobs_move(&e->jobs, &waited);
    control_trace(c, "gone", e->address.region);
    e->job = NULL;
    if (e->state == ENTRY_DROPPING && c->config.give_back) {
        e->purging = true;
        entry_command(c, e, ENTRY_DROPPING, IMD_PURGE, NULL);
    } else {
        entry_give(c, e);
    }
    job_end(c, job, status, NULL);
    LIST_FOREACH(node, &waited)
        job_end(c, CONTAINER_OF(node, Job, in_list), STATUS_GONE, NULL);
    waiting_retry(c);
}

static void entry_opened(ImdControl *c, Entry *e)
{
    directory_set_state(&c->directory, e, ENTRY_OPEN);
    control_trace(c, "open", e->address.region);
    job_end(c, e->job, STATUS_OK, e);
}

static void entry_released(ImdControl *c, Entry *e, uint64_t now_ns)
{
    e->record = (ReleaseRecord){.valid = true,
                                .opening = e->address.opening,
                                .stamp = e->job->body.release.stamp,
                                .released_ns = now_ns};
    e->client = (Id128){0};
    directory_set_state(&c->directory, e, ENTRY_RELEASED);
    control_trace(c, "released", e->address.region);
    job_end(c, e->job, STATUS_OK, NULL);
}

static Entry *entry_of_command(const ImdControl *c, uint64_t command)
{
    LIST_FOREACH(node, &c->commanded) {
        Entry *e = CONTAINER_OF(node, Entry, in_commanded);
        if (e->command == command)
            return e;
    }
    return NULL;
}

/* The data thread has unfilled what goes, or its pages are given back, too. */
static void entry_shrunk(ImdControl *c, Entry *e)
{
    if (!e->purging && c->config.give_back) {
        e->purging = true;
        entry_command(c, e, ENTRY_SHRINKING, IMD_PURGE, NULL);
        return;
    }
    e->purging = false;
    c->shrinking--;
    extents_gone(e->extents);
    directory_going(&c->directory, e, 0);
    directory_set_state(&c->directory, e, (enum EntryState)e->rest);
    entry_run(c, e);
    waiting_retry(c);
}

static void entry_done(ImdControl *c, Entry *e, int result, uint64_t now_ns)
{
    e->command = 0;
    list_remove(&e->in_commanded);
    if (e->state == ENTRY_SHRINKING) {
        entry_shrunk(c, e);
        return;
    }
    if (e->purging) {
        entry_give(c, e);
        waiting_retry(c);
        return;
    }
    if (e->state == ENTRY_DROPPING) {
        entry_gone(c, e, STATUS_OK);
        return;
    }
    if (e->state == ENTRY_ADDING && result < 0) {
        entry_gone(c, e, STATUS_NO_MEMORY);
        return;
    }
    if (e->state == ENTRY_CLOSING)
        entry_released(c, e, now_ns);
    else
        entry_opened(c, e);
    e->job = NULL;
    entry_run(c, e);
    /* A region that may be evicted now is what a waiting ALLOC may need. */
    waiting_retry(c);
}

bool control_command_done(ImdControl *c, uint64_t command, int result, uint64_t now_ns)
{
    Entry *e = entry_of_command(c, command);
    if (!e)
        return false;
    entry_done(c, e, result, now_ns);
    control_drop_aged(c, now_ns);
    return true;
}

/* ---- age, end, checks ----------------------------------------------------------------------- */

uint64_t control_aged_ns(const ImdControl *c)
{
    const ListNode *released = &c->directory.released;
    if (c->config.retained_age_max_ns == 0 || list_empty(released) || c->dropping >= AGED_DROPS_MAX)
        return TIME_NEVER;
    const Entry *e = CONTAINER_OF(released->next, Entry, in_release);
    return time_add(e->record.released_ns, c->config.retained_age_max_ns);
}

void control_drop_aged(ImdControl *c, uint64_t now_ns)
{
    while (control_aged_ns(c) <= now_ns) {
        Entry *e = CONTAINER_OF(c->directory.released.next, Entry, in_release);
        control_trace(c, "too old", e->address.region);
        entry_drop(c, e, NULL);
    }
}

void control_jobs_forget(ImdControl *c)
{
    LIST_FOREACH(node, &c->waiting)
        job_free(c, CONTAINER_OF(node, Job, in_list));
    LIST_FOREACH(node, &c->commanded) {
        Entry *e = CONTAINER_OF(node, Entry, in_commanded);
        LIST_FOREACH(queued, &e->jobs)
            job_free(c, CONTAINER_OF(queued, Job, in_list));
    }
}

void control_jobs_refuse(ImdControl *c)
{
    LIST_FOREACH(node, &c->waiting)
        job_end(c, CONTAINER_OF(node, Job, in_list), STATUS_LEAVING, NULL);
}

void control_jobs_deinit(ImdControl *c)
{
    control_jobs_forget(c);
    LIST_FOREACH(node, &c->commanded) {
        Entry *e = CONTAINER_OF(node, Entry, in_commanded);
        if (e->job)
            job_free(c, e->job);
    }
}

static uint64_t before_job(const ImdControl *c, const Job *job, uint64_t before)
{
    return job && job->manager == c->manager_count && job->id < before ? job->id : before;
}

uint64_t control_before(const ImdControl *c)
{
    uint64_t before = number_window_open(&c->replies.seen);
    LIST_FOREACH(node, &c->waiting)
        before = before_job(c, CONTAINER_OF(node, Job, in_list), before);
    LIST_FOREACH(node, &c->commanded) {
        const Entry *e = CONTAINER_OF(node, Entry, in_commanded);
        before = before_job(c, e->job, before);
        LIST_FOREACH(queued, &e->jobs)
            before = before_job(c, CONTAINER_OF(queued, Job, in_list), before);
    }
    return before;
}

bool control_jobs_check(const ImdControl *c)
{
    unsigned jobs = 0, dropping = 0, shrinking = 0;
    LIST_FOREACH(node, &c->waiting)
        jobs++;
    LIST_FOREACH(node, &c->commanded) {
        const Entry *e = CONTAINER_OF(node, Entry, in_commanded);
        jobs += e->job != NULL;
        dropping += e->state == ENTRY_DROPPING;
        shrinking += e->state == ENTRY_SHRINKING;
        LIST_FOREACH(queued, &e->jobs)
            jobs++;
    }
    /* What waits for room waits for a drop: it cannot wait for ever. */
    return jobs == c->jobs && dropping == c->dropping && shrinking == c->shrinking &&
           (list_empty(&c->waiting) || c->dropping > 0);
}
