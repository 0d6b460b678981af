/* SPDX-License-Identifier: MIT */
/* What the programs do: random calls from all threads. */
#include "tests/sim/world.h"

#include <errno.h>

SimFs *program_fs(Process *p)
{
    return p->world->fs[p->host - HOST_CLIENT];
}

static unsigned descs_used(const Process *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < DESCS_MAX; i++)
        n += p->descs[i].state != DESC_FREE;
    return n;
}

/* The file changes, is opened and written again before its stamp can tell the difference. */
static void begin_in_one_granule(Thread *t, Desc *d)
{
    Process *p = t->process;
    if (simfs_handles(d->file) || d->file->ops)
        return;
    oracle_bytes(++p->world->next.version, d->offset, t->buf, d->len);
    simfs_poke(d->file, d->offset, t->buf, d->len);
    d->flags = DODO_RETAIN;
    t->write_at_once = d;
}

static void do_open(Thread *t)
{
    Process *p = t->process;
    const Params *q = &p->world->p;
    Desc *d = descs_used(p) < q->programs.descs ? program_desc_in(p, DESC_FREE) : NULL;
    if (!d) {
        program_think(t);
        return;
    }
    *d = (Desc){.file = &program_fs(p)->files[sim_rng_below(&p->rng, program_fs(p)->files_count)]};
    d->flags = (program_chance(p, q->programs.retain_ppm) ? DODO_RETAIN : 0) |
               (program_chance(p, q->programs.rdonly_ppm) ? DODO_RDONLY : 0) |
               (program_chance(p, q->programs.fallback_ppm) ? DODO_FALLBACK : 0) |
               (program_chance(p, q->programs.stripe_ppm) ? DODO_STRIPE : 0);
    if (q->programs.mirror_ppm && program_chance(p, q->programs.mirror_ppm))
        d->flags |= DODO_MIRROR;
    program_choose_range(p, d);
    if (q->scenario == SCENARIO_RETAIN && program_chance(p, 200000))
        begin_in_one_granule(t, d);
    program_open(t, d);
}

static void do_read(Thread *t)
{
    Desc *d = program_desc_for_use(t->process);
    if (!d) {
        do_open(t);
        return;
    }
    program_begin_on(t, d, DO_READ);
    program_choose_piece(t);
    program_read(t);
}

static void async_begin(Thread *a, Desc *d)
{
    Process *p = a->process;
    const Params *q = &p->world->p;
    bool writes = q->programs.async_write_ppm > 0 && program_chance(p, q->programs.async_write_ppm);
    a->cancelled = false;
    program_begin_on(a, d, writes && !(d->flags & DODO_RDONLY) ? DO_WRITE : DO_READ);
    program_choose_piece(a);
    if (a->op == DO_WRITE)
        program_write(a);
    else
        program_read(a);
}

/* Several calls that the thread does not wait for; it goes on to its next one. */
static void do_async(Thread *t)
{
    Process *p = t->process;
    uint32_t life = p->life;
    for (unsigned i = 0;
         i < p->world->p.programs.async && p->life == life && !p->world->phase.stopping; i++) {
        Thread *a = &p->async[t->index][i];
        if (a->in_call && !t->file.waits && p->world->p.programs.cancel_ppm > 0 &&
            program_chance(p, p->world->p.programs.cancel_ppm))
            program_cancel(a);
        if (p->life != life || p->world->phase.stopping)
            return;
        Desc *d = a->in_call || program_chance(p, 200000) ? NULL : program_desc_for_use(p);
        if (!d)
            continue;
        if (!a->buf)
            a->buf = malloc(p->world->p.region_max + GUARD);
        if (!a->buf)
            abort();
        async_begin(a, d);
    }
    if (p->life == life)
        program_think(t);
}

/* The library reads that part of the file itself, in whole blocks. */
static void do_fill(Thread *t)
{
    Process *p = t->process;
    Desc *d = t->desc;
    uint64_t from = t->offset / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    uint64_t to = (t->offset + t->len + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    to = min_u64(to, d->len);
    t->op = DO_FILL;
    t->len = (size_t)(to - from);
    story(p->world, "client%u.%u fill rd %d (file %u) [%llu, +%zu)", p->index, t->index, d->rd,
          d->file->index, (unsigned long long)from, t->len);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_fill_start(&t->call, t->channel, d->rd, from, to, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

/* Gives what the file holds now. Nobody else writes there: the range is locked, and the writes of
 * this process go through the library, which must know what they have touched meanwhile. */
static void do_offer(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    Desc *d = program_desc_in(p, DESC_OPEN);
    if (!d) {
        do_open(t);
        return;
    }
    program_begin_on(t, d, DO_OFFER);
    program_choose_piece(t);
    if (t->offset / WIRE_BLOCK_SIZE % 2 && t->offset < d->len) {
        do_fill(t);
        return;
    }
    uint64_t at = d->offset + t->offset, size = d->file->size;
    size_t full = program_clipped(t);
    t->len = at + full <= size ? full : at < size ? (size_t)(size - at) : 0;
    memcpy(t->buf, d->file->data + at, t->len);
    vector_scatter(t, true);
    story(w, "client%u.%u mfillv rd %d (file %u) [%llu, +%zu)", p->index, t->index, d->rd,
          d->file->index, (unsigned long long)t->offset, t->len);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_offerv_start(&t->call, t->channel, d->rd, (off_t)t->offset, t->vector.iov,
                      t->vector.buffers, process_now(p));
    if (!t->file.waits && t->call.need != NEED_NOTHING &&
        program_chance(p, 500000)) /* before it has taken the counter */
        thread_hold_up(t, sim_rng_spread(&p->rng, 100000, 40 * w->p.fs.op_ns));
    thread_begin(t);
    sim_heap_enter(was);
}

/* The oracle need not know: the same reads are right after it. */
static void do_discard(Thread *t)
{
    Process *p = t->process;
    Desc *d = program_desc_in(p, DESC_OPEN);
    if (!d) {
        do_open(t);
        return;
    }
    program_begin_on(t, d, DO_DISCARD);
    d->discards++;
    program_choose_piece(t);
    story(p->world, "client%u.%u mdiscard rd %d (file %u) [%llu, +%zu)", p->index, t->index, d->rd,
          d->file->index, (unsigned long long)t->offset, t->len);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_discard_start(&t->call, t->channel, d->rd, (off_t)t->offset, t->len, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

static void do_write(Thread *t)
{
    Desc *d = program_desc_for_use(t->process);
    if (!d || (d->flags & DODO_RDONLY)) {
        do_read(t);
        return;
    }
    program_begin_on(t, d, DO_WRITE);
    program_choose_piece(t);
    program_write(t);
}

static void do_close(Thread *t)
{
    Desc *d = program_desc_in(t->process, DESC_OPEN);
    if (d)
        program_close(t, d);
    else
        do_open(t);
}

static void do_sync(Thread *t)
{
    Process *p = t->process;
    Desc *d = program_desc_in(p, DESC_OPEN);
    if (!d) {
        do_open(t);
        return;
    }
    program_begin_on(t, d, DO_SYNC);
    story(p->world, "client%u.%u msync rd %d", p->index, t->index, d->rd);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_sync_start(&t->call, t->channel, d->rd, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

/* Arguments that are wrong in one way each, with the errno the contract names. */
static void do_bad(Thread *t)
{
    Process *p = t->process;
    Desc *d = program_desc_in(p, DESC_OPEN);
    uint64_t now = process_now(p);
    unsigned which = (unsigned)sim_rng_below(&p->rng, d ? 9 : 4);
    t->op = DO_BAD;
    t->desc = NULL;
    t->bad_result = -1;
    t->bad_errno = which < 2 ? ENOMEM : EINVAL;
    if (which >= 4) {
        t->desc = d;
        t->began.rd = d->rd;
        d->users++;
    }
    if (which == 8)
        t->bad_result = t->bad_errno = 0;
    SimHeap *was = sim_heap_enter(&p->heap);
    switch (which) {
    case 0:
        call_read_start(&t->call, t->channel, -1, 0, t->buf, 10, now);
        break;
    case 1:
        call_write_start(&t->call, t->channel, 12345, 0, t->buf, 10, now);
        break;
    case 2:
        call_close_start(&t->call, t->channel, 0x3fffffff, now);
        break;
    case 3:
        call_sync_start(&t->call, t->channel, -7, now);
        break;
    case 4:
        call_read_start(&t->call, t->channel, d->rd, -1, t->buf, 10, now);
        break;
    case 5:
        call_read_start(&t->call, t->channel, d->rd, (off_t)d->len + 1, t->buf, 10, now);
        break;
    case 6:
        call_write_start(&t->call, t->channel, d->rd, 0, NULL, 10, now);
        break;
    case 7:
        call_read_start(&t->call, t->channel, d->rd, 0, t->buf, SIZE_MAX, now);
        break;
    default:
        call_read_start(&t->call, t->channel, d->rd, 0, t->buf, 0, now);
        break;
    }
    thread_begin(t);
    sim_heap_enter(was);
}

/* All threads come to rest, then the script's last part runs, and the program is run again. */
static void do_exit(Thread *t)
{
    t->process->leaving = true;
    program_think(t);
}

static void exit_when_idle(Thread *t)
{
    Process *p = t->process;
    if (t->index != 0)
        return; /* rests; thread 0 wakes up till the others do */
    if (process_idle(p))
        script_begin(p, program_chance(p, 500000) ? SCRIPT_CLOSE : SCRIPT_LEAVE);
    else
        program_think(t);
}

/* ---- the schedule --------------------------------------------------------------------------- */

static void program_next(Thread *t)
{
    static void (*const start[DO_COUNT])(Thread *) = {[DO_OPEN] = do_open,
                                                      [DO_READ] = do_read,
                                                      [DO_WRITE] = do_write,
                                                      [DO_CLOSE] = do_close,
                                                      [DO_SYNC] = do_sync,
                                                      [DO_BAD] = do_bad,
                                                      [DO_CHANGE_FILE] = program_change_file,
                                                      [DO_ASYNC] = do_async,
                                                      [DO_OFFER] = do_offer,
                                                      [DO_DISCARD] = do_discard,
                                                      [DO_CARRY] = program_carry,
                                                      [DO_EXIT] = do_exit};
    Process *p = t->process;
    const unsigned *weights = p->world->p.programs.weights;
    Desc *d = t->write_at_once;
    t->write_at_once = NULL;
    if (d && d->state == DESC_OPEN && !(d->flags & DODO_RDONLY)) {
        program_begin_on(t, d, DO_WRITE);
        program_choose_piece(t);
        program_write(t);
        return;
    }
    unsigned total = 0, op = 0;
    for (unsigned i = 0; i < DO_COUNT; i++)
        total += weights[i];
    uint64_t pick = sim_rng_below(&p->rng, total);
    while (pick >= weights[op])
        pick -= weights[op++];
    start[op](t);
}

static void think_over(void *ctx, uint64_t arg)
{
    Thread *t = ctx;
    Process *p = t->process;
    (void)arg;
    t->thinking = false;
    if (p->paused || t->in_call || p->world->phase.stopping)
        return; /* process_resume() has it think again */
    if (p->script.on)
        script_next(t);
    else if (p->leaving && p->world->phase.now == PHASE_RUN)
        exit_when_idle(t);
    else if (p->world->phase.now == PHASE_RUN)
        program_next(t);
}

void program_think(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    if (t->thinking || t->owner)
        return;
    t->thinking = true;
    uint64_t think =
        sim_rng_below(&p->rng, 8) == 0 ? 4 * w->p.programs.think_ns : w->p.programs.think_ns / 2;
    uint64_t wait = p->script.on ? script_wait(t) : sim_rng_below(&p->rng, think + 1);
    simnet_at(w->net, world_now(w) + wait, &p->life, think_over, t, 0);
}

void program_start(Process *p)
{
    p->script.on = false;
    for (unsigned i = 0; i < p->threads_count; i++) {
        Thread *t = &p->threads[i];
        if (!t->buf)
            t->buf = malloc(p->world->p.region_max + GUARD);
        if (!t->buf)
            abort();
        program_think(t);
    }
}

void program_file_released(Process *p, SimHandle *h)
{
    Desc *d = h->user;
    if (h->ops)
        violate(p->world, "client%u: a file was given back while an operation on it ran", p->index);
    if (d)
        d->handle = NULL;
    simfs_close(h);
}

bool process_idle(const Process *p)
{
    for (unsigned i = 0; i < p->threads_count; i++)
        if (thread_calls(&p->threads[i]))
            return false;
    return true;
}

void program_forget(Process *p)
{
    p->carried_count = 0;
    for (unsigned i = 0; i < THREADS_MAX * ASYNC_MAX; i++) {
        Thread *a = &p->async[i / ASYNC_MAX][i % ASYNC_MAX];
        if (a->in_call && a->desc && a->op == DO_WRITE)
            a->desc->killed_writing = true;
        oracle_read_end(&a->read);
        oracle_write_end(&a->write);
        a->in_call = a->held = a->file.write_done = false;
    }
    for (unsigned i = 0; i < p->threads_count; i++) {
        Thread *t = &p->threads[i];
        if (t->in_call && t->desc && t->op == DO_WRITE)
            t->desc->killed_writing = true;
        oracle_read_end(&t->read);
        oracle_write_end(&t->write);
        t->in_call = t->file.waits = t->file.read_done = t->file.write_done = false;
    }
    for (unsigned i = 0; i < DESCS_MAX; i++) {
        Desc *d = &p->descs[i];
        if (d->state == DESC_OPEN || d->state == DESC_CLOSING) {
            FileModel *m = d->file->user;
            m->killed[m->killed_next++ % KILLED_MAX] =
                (KilledRange){d->offset, d->len, d->killed_writing};
        }
        d->state = DESC_FREE;
    }
}
