/* SPDX-License-Identifier: MIT */
/* What came of the programs' calls: every result against the contract and the oracle. */
#include "tests/sim/world.h"

#include <errno.h>

enum { OPEN_TRIES = 8 };

static bool lost_excused(Thread *t)
{
    Desc *d = t->desc;
    bool first = !d->lost;
    d->lost = true;
    return t->began.closing || !first || !t->process->world->p.calm;
}

static void check_lost(Thread *t, const char *what)
{
    Process *p = t->process;
    ClientRegionInfo info;
    if (t->desc->rd != t->began.rd)
        return; /* closed meanwhile, by another thread, and opened again */
    if (t->desc->flags & DODO_FALLBACK && !t->began.closing)
        violate(p->world, "%s of a DODO_FALLBACK region failed with ENOMEM", what);
    if (!lost_excused(t))
        violate(p->world, "client%u rd %d: a region was lost although nothing happened to it",
                p->index, t->desc->rd);
    if (t->desc->state == DESC_OPEN && client_region_info(p->client, t->desc->rd, &info) == 0 &&
        info.active && !t->began.closing)
        violate(p->world, "%s failed with ENOMEM but the region is active", what);
}

static bool all_active(Thread *t)
{
    ClientRegionInfo info;
    bool all = true;
    for (unsigned i = 0; client_stripe_info(t->process->client, t->desc->rd, i, &info) == 0; i++)
        all &= info.active;
    return all;
}

static void read_over(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    const Call *c = &t->call;
    char why[256];
    /* Its region may be closed meanwhile, and the place in the table another's. */
    size_t full = t->read.len;
    cover(w, COVER_READS);
    cover_add(w, COVER_READS_OVER_WRITE, t->read.overlapped);
    for (size_t i = 0; i < GUARD; i++)
        if (t->buf[t->len + i] != GUARD_BYTE)
            violate(w, "mread wrote past the buffer's end");
    if (t->vector.on && !vector_gather(t))
        violate(w, "a vectored read wrote beside its buffers");
    if (c->result < 0) {
        if (c->error == ENOMEM) {
            cover(w, COVER_READS_NO_MEMORY);
            check_lost(t, "mread");
        } else if (c->error == ECANCELED && t->cancelled) {
            /* what is in the buffer does not matter */
        } else if (c->error != EIO || !t->injected) {
            violate(w, "mread failed with errno %d", c->error);
        }
    } else if (!oracle_read_right(w, &t->read, t->buf, c->result, full, why, sizeof why)) {
        violate(w, "client%u rd %d (process %u, file %u): mread [%llu, +%zu): %s", p->index,
                t->began.rd, p->number, t->read.file->index, (unsigned long long)t->offset, t->len,
                why);
    } else {
        ClientRegionInfo info;
        cover_add(w, COVER_READS_END_OF_FILE, (size_t)c->result < full);
        if (client_region_info(p->client, t->began.rd, &info) == 0) {
            bool hit = info.hits - t->began.hits >= full;
            cover(w, hit ? COVER_READS_HIT : COVER_READS_MISS);
            if (!info.active)
                cover(w, COVER_READS_FALLBACK);
            if (t->must_hit && all_active(t) && !hit)
                violate(w,
                        "client%u rd %d: all is healed and was read before, but %llu of %zu "
                        "bytes came from remote memory",
                        p->index, t->desc->rd, (unsigned long long)(info.hits - t->began.hits),
                        full);
        }
    }
    oracle_read_end(&t->read);
}

static void write_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    WriteWatch *v = &t->write;
    size_t prefix = oracle_write_prefix(v), full = v->len;
    cover(w, COVER_WRITES);
    cover_add(w, COVER_WRITES_FAILED, v->failed);
    cover_add(w, COVER_WRITES_SHORT, v->shortened);
    if (c->result < 0 && c->error == ECANCELED && t->cancelled) {
        if (v->touched)
            violate(w, "a cancelled mwrite wrote %zu bytes", v->touched);
    } else if (c->result < 0 && c->error == ENOMEM) {
        cover(w, COVER_WRITES_NO_MEMORY);
        check_lost(t, "mwrite");
        if (v->touched)
            violate(w, "mwrite failed with ENOMEM but wrote %zu bytes", v->touched);
    } else if (c->result < 0) {
        if (!v->failed || !(c->error == EIO || c->error == ENOSPC))
            violate(w, "mwrite failed with errno %d", c->error);
    } else {
        if ((size_t)c->result > full || ((size_t)c->result < full && !v->shortened && !v->failed))
            violate(w, "mwrite returned %zd of %zu and the file did not fail", c->result, full);
        if (prefix < (size_t)c->result)
            violate(w, "mwrite returned %zd but only %zu bytes are in the file", c->result, prefix);
    }
    oracle_write_end(v);
}

static void desc_freed(Thread *t, Desc *d)
{
    if (d->handle) {
        if (d->handle->ops == 0)
            violate(t->process->world, "the file of rd %d stays locked after the call", d->rd);
        d->handle->user = NULL;
    }
    d->state = DESC_FREE;
    d->handle = NULL;
}

static void note_striped(Thread *t, const ClientRegionInfo *info)
{
    World *w = t->process->world;
    ClientRegionInfo stripe;
    unsigned active = 0;
    for (unsigned i = 0; client_stripe_info(t->process->client, t->desc->rd, i, &stripe) == 0; i++)
        active += stripe.active;
    cover(w, COVER_STRIPED_OPENS);
    cover_add(w, COVER_STRIPED_OPENS_PARTLY, active > 0 && active < info->stripes);
    cover_add(w, COVER_STRIPED_REUSED, info->reused);
}

static bool is_drained(const World *w, uint64_t epoch)
{
    for (unsigned i = 0; i < w->p.imds; i++)
        if (w->drains.of[i] && w->imds[i].epoch == epoch)
            return true;
    return false;
}

static void open_over(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    Desc *d = t->desc;
    const Call *c = &t->call;
    ClientRegionInfo info;
    if (c->result < 0) {
        cover(w, COVER_OPENS_NO_MEMORY);
        if (c->error != ENOMEM || ((d->flags & DODO_FALLBACK) && !w->p.faults.no_memory_ppm))
            violate(w, "mopen failed with errno %d", c->error);
        if (d->must_open && script_open_failed(t) > OPEN_TRIES)
            violate(w,
                    "client%u: mopen of %llu bytes failed (%s) after all had healed and all was "
                    "closed",
                    p->index, (unsigned long long)d->len, c->reason ? c->reason : "");
        desc_freed(t, d);
        return;
    }
    d->rd = (int)c->result;
    d->state = DESC_OPEN;
    cover(w, COVER_OPENS);
    if (client_region_info(p->client, d->rd, &info) < 0) {
        violate(w, "mopen returned %d, which is no region", d->rd);
        return;
    }
    memset(d->seen, 0, sizeof d->seen);
    d->reused = info.reused;
    if (program_mirrored(d)) {
        cover(w, COVER_MIRRORED_OPENS);
        cover_add(w, COVER_MIRRORED_BOTH, all_active(t));
    }
    if (info.stripes != program_stripes(w, d))
        violate(w, "a region of %u stripes has %u", program_stripes(w, d), info.stripes);
    if (info.stripes) {
        note_striped(t, &info);
    } else if (info.reused) {
        cover(w, COVER_RETAINED_REUSED);
        cover_add(w, COVER_RETAINED_REUSED_DRAINED, is_drained(w, info.address.epoch));
        w->retained.reused++;
    } else if (info.active && d->stale) {
        cover(w, COVER_RETAINED_STALE);
    } else if (info.active && d->retained) {
        cover(w, COVER_RETAINED_MISSED);
        w->retained.not_reused++;
    }
    for (unsigned i = 0; i < DESCS_MAX; i++)
        if (&p->descs[i] != d && p->descs[i].state == DESC_OPEN && p->descs[i].rd == d->rd)
            violate(w, "two regions have descriptor %d", d->rd);
}

/* A region that nothing speaks against must be kept: its file was not written while it was open,
 * nor within the tick of the clock before. One that is not may have been evicted this instant, but
 * hardly all of them: check_retained() looks at the sum. */
static void note_kept(Thread *t)
{
    World *w = t->process->world;
    Desc *d = t->desc;
    Stamp now = simfs_stamp(d->file);
    bool other = false;
    if (program_stripes(w, d) || !(d->flags & DODO_RETAIN) || (d->flags & DODO_FALLBACK) ||
        d->written || d->lost || t->call.result < 0 || t->injected || !d->file->fs->config.honest ||
        !d->settled || !simfs_stamp_settled(d->file) || !d->leased || !simfs_lease(d->file) ||
        memcmp(&now, &d->stamp, sizeof now) != 0)
        return;
    if (program_kept(t->process, d, &now, &other))
        w->retained.kept++;
    else
        w->retained.not_kept++;
}

static void close_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    cover(w, COVER_CLOSES);
    note_kept(t);
    if (c->result < 0) {
        cover(w, COVER_CLOSES_UNHEARD);
        if (c->error != EINVAL)
            violate(w, "mclose failed with errno %d", c->error);
        if (w->p.calm_manager && !t->desc->lost)
            violate(w, "client%u rd %d: mclose failed (%s) although nothing happened to the region",
                    t->process->index, t->desc->rd, c->reason ? c->reason : "");
    }
    desc_freed(t, t->desc);
}

static void sync_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    cover(w, COVER_SYNCS);
    if (c->result < 0) {
        cover(w, COVER_SYNCS_FAILED);
        if (c->error != EIO || !t->injected)
            violate(w, "msync failed with errno %d", c->error);
    } else if (t->injected || !t->synced) {
        violate(w, "msync returned 0 though fdatasync %s",
                t->injected ? "failed" : "was not called");
    }
    if (c->result < 0)
        t->desc->lost = true; /* poisoned: to be expected from now on */
}

/* Whatever came of it, the reads show whether it was right. A lost stripe fails the call. */
static void offer_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    cover(w, COVER_OFFERS);
    cover_add(w, COVER_OFFERS_SHORT, c->result >= 0 && (size_t)c->result < t->len);
    if (c->result > (ssize_t)t->len || (c->result < 0 && c->error != ENOMEM))
        violate(w, "mfillv of %zu bytes gave %zd (errno %d)", t->len, c->result, c->error);
    if (c->result < 0 && !(t->desc->flags & DODO_FALLBACK) && !program_stripes(w, t->desc))
        check_lost(t, "mfillv");
}

static void fill_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    cover(w, COVER_FILLS_READ);
    cover_add(w, COVER_FILLS_READ_SHORT, c->result >= 0 && (size_t)c->result < t->len);
    if (c->result > (ssize_t)t->len || (c->result < 0 && c->error != ENOMEM))
        violate(w, "a fill of %zu bytes gave %zd (errno %d)", t->len, c->result, c->error);
}

static void discard_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    cover(w, COVER_DISCARDS);
    if (c->result < 0 && c->error == ENOMEM)
        check_lost(t, "mdiscard");
    else if (c->result != 0)
        violate(w, "mdiscard gave %zd (errno %d)", c->result, c->error);
}

static void bad_over(Thread *t)
{
    World *w = t->process->world;
    const Call *c = &t->call;
    ClientRegionInfo info;
    cover(w, COVER_BAD_ARGUMENTS);
    if (c->result == t->bad_result && (c->result >= 0 || c->error == t->bad_errno))
        return;
    if (t->desc && c->result < 0 && c->error == ENOMEM &&
        (t->desc->state != DESC_OPEN ||
         client_region_info(t->process->client, t->desc->rd, &info) < 0 || !info.active))
        return; /* the region comes before the arguments */
    violate(w, "a call with bad arguments gave %zd (errno %d) for %zd (errno %d)", c->result,
            c->error, t->bad_result, t->bad_errno);
}

/* dodo.conf(5), transfer_deadline: so far a host may be behind a chunk in each. A buffer of
 * a vectored call may be a chunk of its own. */
static uint64_t slow_deadlines(const Thread *t)
{
    return 8 + t->len / 57344 + 2 + (t->vector.on ? VECTOR_BUFFERS : 0);
}

/* No call may take longer than its deadlines allow, whatever the network does. Pauses of its own
 * process do not count. */
static void check_bounded(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    const Params *q = &w->p;
    uint64_t deadlines = 6 + (q->faults.trickle_ns ? slow_deadlines(t) : 0);
    uint64_t bound =
        2 * q->cores.client_request.deadline_ns + deadlines * q->cores.transfer_deadline_ns +
        (8 + 2 * t->stripes_begun) * (1 + q->programs.async) * (q->fs.op_ns + q->fs.slow_ns) +
        NS_PER_S;
    uint64_t took = world_now(w) - t->began.at_ns - (p->paused_total_ns - t->began.paused_ns);
    bound *= p->threads_count; /* it may have queued behind one call of each other thread */
    if (took > bound)
        violate(w, "client%u: call of kind %d took %llu ms of virtual time (at most %llu)",
                p->index, (int)t->op, (unsigned long long)(took / NS_PER_MS),
                (unsigned long long)(bound / NS_PER_MS));
}

static const ImdNode *host_of(const World *w, uint64_t epoch)
{
    for (unsigned i = 0; i < w->p.imds; i++)
        if (w->imds[i].running && w->imds[i].epoch == epoch)
            return &w->imds[i];
    return NULL;
}

/* Its region is on a host that has been alive and undisturbed for all of the call. */
static bool host_is_lively(const Thread *t)
{
    ClientRegionInfo info;
    if (t->desc->state != DESC_OPEN || t->desc->rd != t->began.rd ||
        client_region_info(t->process->client, t->began.rd, &info) < 0 || !info.active ||
        info.stripes)
        return false;
    const ImdNode *n = host_of(t->process->world, info.address.epoch);
    return n && !n->paused && n->silent_ns < t->began.at_ns;
}

/* Since when the host has been silent that the call began with: one that went on meanwhile, and
 * stood still again, has another deadline. */
static uint64_t waits_since(const Thread *t)
{
    const ImdNode *n = host_of(t->process->world, t->began.host_epoch);
    return n ? max_u64(t->began.at_ns, n->silent_ns) : t->began.at_ns;
}

static bool any_silent(const World *w)
{
    bool silent = false;
    for (unsigned i = 0; i < w->p.imds; i++)
        silent |= w->imds[i].paused;
    return silent;
}

/* A live host's data takes some round trips, and the files of the calls beside; a dead one is given
 * up after the one deadline of all who wait for it, however the program stands still in between. */
static void check_prompt(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    const Params *q = &w->p;
    if (q->scenario != SCENARIO_SILENT || w->phase.now != PHASE_RUN || t->op != DO_READ)
        return;
    bool lively = host_is_lively(t);
    uint64_t bound =
        lively ? q->cores.transfer_deadline_ns / 2 : 3 * q->cores.transfer_deadline_ns / 2;
    uint64_t since_ns = lively ? t->began.at_ns : waits_since(t);
    since_ns += p->paused_total_ns - t->began.paused_ns;
    uint64_t took = world_now(w) > since_ns ? world_now(w) - since_ns : 0;
    cover_add(w, COVER_READS_BESIDE_SILENCE, lively && any_silent(w));
    if (took > bound)
        violate(w, "client%u: a read from a %s host took %llu ms (at most %llu)", p->index,
                lively ? "live" : "silent", (unsigned long long)(took / NS_PER_MS),
                (unsigned long long)(bound / NS_PER_MS));
}

void program_call_over(Thread *t)
{
    static void (*const over[DO_COUNT])(Thread *) = {
        [DO_OPEN] = open_over,   [DO_READ] = read_over,       [DO_WRITE] = write_over,
        [DO_CLOSE] = close_over, [DO_SYNC] = sync_over,       [DO_BAD] = bad_over,
        [DO_OFFER] = offer_over, [DO_DISCARD] = discard_over, [DO_CARRY] = program_carry_over,
        [DO_FILL] = fill_over};
    static const char *const names[DO_COUNT] = {
        [DO_OPEN] = "mopen",   [DO_READ] = "mread",   [DO_WRITE] = "mwrite",
        [DO_CLOSE] = "mclose", [DO_SYNC] = "msync",   [DO_LEAVE] = "leave",
        [DO_BAD] = "bad call", [DO_OFFER] = "mfillv", [DO_DISCARD] = "mdiscard",
        [DO_CARRY] = "carry",  [DO_FILL] = "fill"};
    World *w = t->process->world;
    story(w, "client%u.%u %s -> %zd%s%s", t->process->index, t->index, names[t->op], t->call.result,
          t->call.result < 0 ? ": " : "",
          t->call.result < 0 && t->call.reason ? t->call.reason : "");
    simnet_note(w->net,
                (uint64_t)t->call.result ^ (uint64_t)t->call.error << 40 ^ (uint64_t)t->op << 56);
    cover(w, COVER_CALLS);
    cover(w, COVER_CHECKS);
    check_bounded(t);
    check_prompt(t);
    Desc *d = t->desc;
    if (t->op == DO_LEAVE) {
        script_left(t->process);
        return;
    }
    over[t->op](t);
    if (d)
        d->users--;
    t->desc = NULL;
    program_think(t);
}
