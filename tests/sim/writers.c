/* SPDX-License-Identifier: MIT */
/* Other programs on the clients' hosts whose writes take long: a write(2) moves the stamp when it
 * begins, and its bytes follow; likewise the stores through a mapping that was stored to before.
 * They keep to the contract, and change no file of which a region is open; but a region may be
 * opened and closed in between. With numbers of their own, as all else of a seed is as it would be
 * without. */
#include "tests/sim/world.h"

/* Mostly the rest comes when a region was open since it began. */
enum { PIECES = 4, PIECE_BYTES = 32768, PIECE_EVERY_NS = 100 * NS_PER_MS };

static void writer_due(void *ctx, uint64_t arg);

static void writer_later(World *w, uint64_t within_ns)
{
    simnet_at(w->net, world_now(w) + sim_rng_below(&w->rngs.writers, within_ns), NULL, writer_due,
              w, 0);
}

/* A region of the range is open, or what a killed process began there may still come. */
static bool range_is_open(const World *w)
{
    const SimFile *f = w->writer.file;
    unsigned ops = 0;
    bool open = false;
    for (size_t i = 0; i < SIMFS_HANDLES_MAX; i++) {
        const SimHandle *h = &f->fs->handles[i];
        if (h->file != f)
            continue;
        ops += h->ops;
        open |=
            h->offset < w->writer.offset + w->writer.len && w->writer.offset < h->offset + h->len;
    }
    return open || f->ops > ops;
}

static void write_piece(World *w, bool first)
{
    static uint8_t bytes[PIECE_BYTES];
    SimFile *f = w->writer.file;
    uint64_t offset = w->writer.offset, len = w->writer.len;
    oracle_bytes(++w->next.version, offset, bytes, len);
    story(w, "another program %s a write of file %u: [%llu, +%llu)",
          first ? "begins" : "goes on with", f->index, (unsigned long long)offset,
          (unsigned long long)len);
    (first ? simfs_poke : simfs_poke_late)(f, offset, bytes, len);
    cover_add(w, COVER_LATE_WRITES, !first && w->writer.overlapped);
}

static void writer_begin(World *w)
{
    SimFs *fs = w->fs[sim_rng_below(&w->rngs.writers, w->p.client_hosts)];
    SimFile *f = &fs->files[sim_rng_below(&w->rngs.writers, fs->files_count)];
    w->writer.file = f;
    w->writer.len = sim_rng_between(&w->rngs.writers, 1, PIECE_BYTES);
    w->writer.offset = sim_rng_below(&w->rngs.writers, w->p.file_cap - w->writer.len + 1);
    if (range_is_open(w)) {
        w->writer.file = NULL;
        return;
    }
    w->writer.pieces = 1 + (unsigned)sim_rng_below(&w->rngs.writers, PIECES);
    w->writer.overlapped = false;
    f->writers++;
    write_piece(w, true);
}

static void writer_end(World *w)
{
    w->writer.file->writers--;
    w->writer.file = NULL;
}

static void writer_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    SimFile *f = w->writer.file;
    (void)arg;
    if (w->phase.now != PHASE_RUN) {
        if (f)
            writer_end(w);
        return;
    }
    if (!f) {
        writer_begin(w);
    } else if (range_is_open(w)) {
        w->writer.overlapped = true;
    } else if (w->writer.overlapped || sim_rng_below(&w->rngs.writers, 8) == 0) {
        write_piece(w, false);
        if (--w->writer.pieces == 0)
            writer_end(w);
    }
    writer_later(w, w->writer.file ? PIECE_EVERY_NS : w->p.faults.writer_every_ns);
}

void writers_start(World *w)
{
    sim_rng_init(&w->rngs.writers, w->seed, 0x777274);
    if (w->p.faults.writer_every_ns != TIME_NEVER)
        writer_later(w, w->p.faults.writer_every_ns);
}
