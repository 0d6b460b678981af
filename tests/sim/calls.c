/* SPDX-License-Identifier: MIT */
/* The calls of a program begin: what is known of the region then is noted, for results.c. */
#include "tests/sim/world.h"

size_t program_clipped(const Thread *t)
{
    uint64_t room = t->desc->len - t->offset;
    return t->len < room ? t->len : room;
}

static void note_killed_range(Process *p, const Desc *d)
{
    FileModel *m = d->file->user;
    for (unsigned i = 0; i < KILLED_MAX; i++) {
        KilledRange *k = &m->killed[i];
        if (!k->len || k->offset >= d->offset + d->len || d->offset >= k->offset + k->len)
            continue;
        cover(p->world, COVER_OPENS_KILLED_OWNER);
        if (k->writing)
            cover(p->world, COVER_REOPENED_AFTER_CRASH);
        k->len = 0;
    }
}

/* Does a host keep just this piece with this stamp? @ret_other: ... or with another. */
bool program_kept(Process *p, const Desc *d, const Stamp *stamp, bool *ret_other)
{
    World *w = p->world;
    RegionListing l;
    bool kept = false;
    for (unsigned i = 0; i < w->p.imds; i++) {
        for (size_t j = 0;
             w->imds[i].running && imd_control_region_at(w->imds[i].member.control, j, &l); j++) {
            if (!(l.flags & REGION_RELEASED) || l.offset != d->offset || l.len != d->len ||
                memcmp(&l.key, &d->file->key, sizeof l.key) != 0)
                continue;
            bool same = memcmp(&l.stamp, stamp, sizeof *stamp) == 0;
            kept |= same;
            *ret_other |= !same;
        }
    }
    return kept;
}

static void note_retained(Process *p, Desc *d)
{
    d->stamp = simfs_stamp(d->file);
    d->settled = simfs_stamp_settled(d->file);
    d->retained = d->stale = false;
    d->leased = simfs_lease(d->file);
    if (d->leased && (d->flags & DODO_RETAIN) && !program_stripes(p->world, d))
        d->retained = program_kept(p, d, &d->stamp, &d->stale);
}

static bool open_locked(Thread *t, Desc *d)
{
    Process *p = t->process;
    SimHandle *conflict;
    d->handle = simfs_open(d->file, p->number, d->offset, d->len, !(d->flags & DODO_RDONLY),
                           !RULE(LOCK), &conflict);
    if (d->handle) {
        d->handle->user = d;
        note_killed_range(p, d);
        return true;
    }
    cover(p->world, COVER_OPENS_BUSY);
    if (!conflict->user && conflict->ops == 0)
        violate(p->world, "EBUSY for a range that no open region holds any more");
    return false;
}

void program_open(Thread *t, Desc *d)
{
    Process *p = t->process;
    World *w = p->world;
    if (!open_locked(t, d)) {
        program_think(t);
        return;
    }
    d->state = DESC_OPENING;
    d->lost = d->written = d->dead = false;
    note_retained(p, d);
    d->users = 1;
    t->desc = d;
    t->op = DO_OPEN;
    FileGiven given = {.file = d->handle,
                       .key = d->file->key,
                       .lease = d->leased ? LEASE_GRANTED : LEASE_WRITER,
                       .stamp = simfs_stamp(d->file),
                       .taken_ns = simfs_realtime(program_fs(p)),
                       .granule_ns = simfs_granule_known(program_fs(p)),
                       .retainable = program_fs(p)->config.honest};
    story(w, "client%u.%u mopen file %u [%llu, +%llu) flags %u", p->index, t->index, d->file->index,
          (unsigned long long)d->offset, (unsigned long long)d->len, d->flags);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_open_start(&t->call, t->channel, &given, d->len, d->offset, d->flags, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

void program_begin_on(Thread *t, Desc *d, enum ProgramOp op)
{
    t->desc = d;
    t->began.rd = d->rd;
    t->op = op;
    t->began.closing = d->state == DESC_CLOSING;
    d->users++;
}

/* What there is of it now: the call goes over several stripes; some of the region's are lost. */
static void note_stripes(Thread *t, size_t len, enum SimCover many, enum SimCover with_lost)
{
    Process *p = t->process;
    ClientRegionInfo info;
    uint64_t stripe = p->world->p.programs.stripe_bytes;
    bool lost = false;
    t->stripes_begun = 1;
    if (t->desc->state != DESC_OPEN || !len || !program_stripes(p->world, t->desc))
        return;
    uint64_t first = t->offset / stripe, last = (t->offset + len - 1) / stripe;
    t->stripes_begun = (unsigned)(last - first + 1);
    if (t->stripes_begun == 1)
        return;
    for (uint64_t i = first; i <= last; i++)
        lost |= client_stripe_info(p->client, t->desc->rd, (unsigned)i, &info) == 0 && !info.active;
    cover(p->world, many);
    cover_add(p->world, with_lost, lost);
}

static void released(void *ctx, uint64_t arg)
{
    Thread *t = ctx;
    (void)arg;
    if (!t->held)
        return;
    t->held = false;
    call_release(&t->call);
    thread_step(t);
}

/* A call that its thread does not wait for may have to begin later. */
static void hold(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    if (!t->owner || w->p.programs.hold_ppm == 0 || !program_chance(p, w->p.programs.hold_ppm) ||
        t->call.need == NEED_NOTHING)
        return;
    t->held = true;
    call_hold(&t->call);
    cover(w, COVER_HELD);
    simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, 20 * NS_PER_MS), &p->life, released, t,
              0);
}

void program_cancel(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    SimHeap *was = sim_heap_enter(&p->heap);
    t->cancelled = call_cancel(&t->call);
    sim_heap_enter(was);
    cover_add(w, COVER_CANCELLED_LATE, !t->cancelled);
    story(w, "client%u.%u cancel rd %d: %s", p->index, t->index, t->began.rd,
          t->cancelled ? "done" : "too late");
    if (!t->cancelled)
        return;
    t->held = false;
    cover(w, t->op == DO_WRITE ? COVER_CANCELLED_WRITES : COVER_CANCELLED_READS);
    thread_step(t);
}

void program_read(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    ClientRegionInfo info;
    size_t full = program_clipped(t);
    memset(t->buf, 0xEE, t->len);
    memset(t->buf + t->len, GUARD_BYTE, GUARD);
    oracle_read_begin(&t->read, t->desc->file, t->desc->offset + t->offset, full);
    t->began.hits = client_region_info(p->client, t->desc->rd, &info) == 0 ? info.hits : 0;
    program_note_held(t, t->began.holders);
    t->began.discards = t->desc->discards;
    t->vector.on = program_chance(p, w->p.programs.vector_ppm);
    if (t->vector.on)
        vector_scatter(t, false);
    note_stripes(t, full, COVER_STRIPED_READS, COVER_STRIPED_READS_LOST);
    unsigned beside = thread_calls(t->owner ? t->owner : t);
    cover_add(w, COVER_READS_ASYNC, beside > 0);
    cover_add(w, COVER_READS_ASYNC_LOSS, beside > 0 && w->p.link.loss_ppm > 0);
    cover_add(w, COVER_READS_VECTOR, t->vector.on);
    story(w, "client%u.%u mread%s rd %d (file %u) [%llu, +%zu)%s", p->index, t->index,
          t->vector.on ? "v" : "", t->desc->rd, t->desc->file->index, (unsigned long long)t->offset,
          t->len, t->owner ? ", not waited for" : "");
    SimHeap *was = sim_heap_enter(&p->heap);
    if (program_chance(p, w->p.programs.prefetch_ppm) &&
        client_prefetch(p->client, t->desc->rd, (off_t)(t->offset / 2), 8 * t->len + 50000) == 0)
        cover(w, COVER_PREFETCHES);
    if (t->vector.on)
        call_readv_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->vector.iov,
                         t->vector.buffers, process_now(p));
    else
        call_read_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->buf, t->len,
                        process_now(p));
    hold(t);
    thread_begin(t);
    sim_heap_enter(was);
}

/* None of the openings that it goes to may be retained. */
void program_note_written(Thread *t)
{
    Process *p = t->process;
    size_t len = program_clipped(t);
    ClientRegionInfo info;
    bool striped = program_stripes(p->world, t->desc);
    uint64_t stripe = striped ? p->world->p.programs.stripe_bytes : t->desc->len;
    t->desc->written = true;
    unsigned stripes = striped ? program_stripes(p->world, t->desc) : 1;
    for (unsigned i = 0; client_stripe_info(p->client, t->desc->rd, i, &info) == 0; i++)
        if (len && info.active && t->offset < (i % stripes + 1) * stripe &&
            t->offset + len > i % stripes * stripe)
            id_set_add(&p->world->written, opening_id(&info.address));
}

void program_write(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    uint64_t offset = t->desc->offset + t->offset;
    size_t full = program_clipped(t);
    oracle_write_begin(w, &t->write, t->desc->file, offset, full);
    oracle_bytes(t->write.version, offset, t->buf, t->len);
    t->vector.on = program_chance(p, w->p.programs.vector_ppm);
    if (t->vector.on)
        vector_scatter(t, true);
    note_stripes(t, full, COVER_STRIPED_WRITES, COVER_STRIPED_WRITES_LOST);
    unsigned beside = thread_calls(t->owner ? t->owner : t);
    cover_add(w, COVER_WRITES_ASYNC, beside > 0);
    cover_add(w, COVER_WRITES_ASYNC_LOSS, beside > 0 && w->p.link.loss_ppm > 0);
    cover_add(w, COVER_WRITES_VECTOR, t->vector.on);
    story(w, "client%u.%u mwrite%s rd %d (file %u) [%llu, +%zu) version %u", p->index, t->index,
          t->vector.on ? "v" : "", t->desc->rd, t->desc->file->index, (unsigned long long)t->offset,
          t->len, t->write.version);
    if (!t->owner) /* else perhaps later, or not at all */
        program_note_written(t);
    SimHeap *was = sim_heap_enter(&p->heap);
    if (t->vector.on)
        call_writev_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->vector.iov,
                          t->vector.buffers, process_now(p));
    else
        call_write_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->buf, t->len,
                         process_now(p));
    hold(t);
    thread_begin(t);
    sim_heap_enter(was);
}

void program_close(Thread *t, Desc *d)
{
    Process *p = t->process;
    program_begin_on(t, d, DO_CLOSE);
    d->state = DESC_CLOSING;
    story(p->world, "client%u.%u mclose rd %d", p->index, t->index, d->rd);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_close_start(&t->call, t->channel, d->rd, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

void program_read_all(Thread *t, Desc *d)
{
    program_begin_on(t, d, DO_READ);
    t->offset = 0;
    t->len = d->len;
    program_read(t);
}

void program_write_all(Thread *t, Desc *d)
{
    program_begin_on(t, d, DO_WRITE);
    t->offset = 0;
    t->len = d->len;
    program_write(t);
}
