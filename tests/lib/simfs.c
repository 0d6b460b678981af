/* SPDX-License-Identifier: MIT */
#include "tests/lib/simfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, PIECES_MAX = 48 };

typedef enum { OP_PREAD, OP_PWRITE, OP_SYNC } FileOpKind;

typedef struct FileOp {
    ListNode link; /* in SimFs.running */
    FileOpKind kind;
    SimHandle *handle;
    SimFile *file;
    uint32_t handle_life;
    uint8_t *buf;
    size_t len;      /* asked for */
    size_t effect;   /* of it, what is done before it ends or fails */
    size_t done_len; /* so far */
    uint64_t offset;
    void *cookie;
    const uint32_t *life;
    uint32_t life_value;
    SimFsDone done;
    void *ctx;
    SimFsResult result;
    bool split;
    uint64_t step_ns;
} FileOp;

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

SimFs *simfs_new(SimNet *net, uint64_t seed, unsigned host, const SimFsConfig *config,
                 SimFsChanged changed, void *ctx)
{
    SimFs *fs = must(calloc(1, sizeof *fs));
    fs->net = net;
    fs->config = *config;
    fs->changed = changed;
    fs->ctx = ctx;
    sim_rng_init(&fs->rng, seed, 0x66730000 + host);
    fs->realtime_ns = 1700000000 * NS_PER_S + sim_rng_below(&fs->rng, NS_PER_S);
    fs->generation = (uint64_t)host << 32 | 1;
    list_init(&fs->running);
    return fs;
}

SimFs *simfs_free(SimFs *fs)
{
    LIST_FOREACH(n, &fs->running)
        free(CONTAINER_OF(n, FileOp, link));
    for (unsigned i = 0; i < fs->files_count; i++) {
        free(fs->files[i].data);
        free(fs->files[i].durable);
        free(fs->files[i].dirty);
    }
    free(fs);
    return NULL;
}

static void new_identity(SimFile *f)
{
    SimRng r;
    sim_rng_init(&r, ++f->fs->generation, 0x6b6579);
    sim_rng_fill(&r, f->key.bytes, sizeof f->key.bytes);
}

uint64_t simfs_realtime(const SimFs *fs)
{
    return fs->realtime_ns + simnet_now(fs->net);
}

static void touch(SimFile *f)
{
    SimFs *fs = f->fs;
    if (!fs->config.honest && f->mtime_ns)
        return;
    f->mtime_ns = f->ctime_ns = simfs_realtime(fs) / fs->config.granule_ns * fs->config.granule_ns;
}

SimFile *simfs_create(SimFs *fs, size_t cap)
{
    if (fs->files_count == SIMFS_FILES_MAX)
        abort();
    SimFile *f = &fs->files[fs->files_count];
    *f = (SimFile){.fs = fs, .index = fs->files_count++, .cap = cap};
    f->data = must(calloc(1, cap));
    f->durable = must(calloc(1, cap));
    f->dirty = must(calloc(cap / BLOCK + 1, sizeof *f->dirty));
    new_identity(f);
    touch(f);
    return f;
}

Stamp simfs_stamp(const SimFile *f)
{
    return (Stamp){.size = f->size, .mtime_ns = f->mtime_ns, .ctime_ns = f->ctime_ns};
}

bool simfs_stamp_settled(const SimFile *f)
{
    uint64_t newest = f->mtime_ns > f->ctime_ns ? f->mtime_ns : f->ctime_ns;
    uint64_t wait_ns = 2 * f->fs->config.granule_ns;
    if (f->mtime_ns % NS_PER_S == 0 && f->ctime_ns % NS_PER_S == 0 && wait_ns < 2 * NS_PER_S)
        wait_ns = 2 * NS_PER_S; /* it looks as if it kept whole seconds */
    return simfs_realtime(f->fs) > newest + wait_ns;
}

uint64_t simfs_granule_known(const SimFs *fs)
{
    return fs->config.granule_ns % NS_PER_S ? 2 * fs->config.granule_ns : 50 * NS_PER_MS;
}

bool simfs_lease(const SimFile *f)
{
    bool own = false;
    for (size_t i = 0; i < SIMFS_HANDLES_MAX; i++)
        own |= f->fs->handles[i].file == f && f->fs->handles[i].exclusive;
    return f->writers == 0 && !(own && f->fs->config.lease_counts_own);
}

/* ---- locks ---------------------------------------------------------------------------------- */

static bool handles_conflict(const SimHandle *h, const SimFile *f, uint64_t offset, uint64_t len,
                             bool exclusive)
{
    return h->file == f && (exclusive || h->exclusive) && offset < h->offset + h->len &&
           h->offset < offset + len;
}

SimHandle *simfs_open(SimFile *f, uint32_t process, uint64_t offset, uint64_t len, bool exclusive,
                      bool ignore_locks, SimHandle **ret_conflict)
{
    SimFs *fs = f->fs;
    SimHandle *slot = NULL;
    *ret_conflict = NULL;
    for (size_t i = 0; i < SIMFS_HANDLES_MAX; i++) {
        SimHandle *h = &fs->handles[i];
        if (!h->file && !slot && !h->ops)
            slot = h;
        if (h->file && !ignore_locks && handles_conflict(h, f, offset, len, exclusive)) {
            *ret_conflict = h;
            return NULL;
        }
    }
    if (!slot)
        abort();
    *slot = (SimHandle){
        .file = f, .process = process, .offset = offset, .len = len, .exclusive = exclusive};
    return slot;
}

void simfs_close(SimHandle *h)
{
    h->file = NULL;
}

void simfs_kill(SimFs *fs, uint32_t process)
{
    for (size_t i = 0; i < SIMFS_HANDLES_MAX; i++)
        if (fs->handles[i].file && fs->handles[i].process == process)
            simfs_close(&fs->handles[i]);
}

unsigned simfs_handles(const SimFile *f)
{
    unsigned n = 0;
    for (size_t i = 0; i < SIMFS_HANDLES_MAX; i++)
        n += f->fs->handles[i].file == f;
    return n;
}

/* ---- operations ----------------------------------------------------------------------------- */

static void file_changed(SimFile *f, uint64_t offset, size_t len, void *cookie)
{
    for (uint64_t b = offset / BLOCK; len && b <= (offset + len - 1) / BLOCK; b++)
        f->dirty[b] = true;
    f->fs->changed(f->fs->ctx, f, offset, len, cookie);
}

static void apply_write(FileOp *op, size_t len)
{
    SimFile *f = op->file;
    uint64_t at = op->offset + op->done_len;
    memcpy(f->data + at, op->buf + op->done_len, len);
    if (at + len > f->size)
        f->size = at + len;
    file_changed(f, at, len, op->cookie);
}

static void apply_read(FileOp *op, size_t len)
{
    SimFile *f = op->file;
    uint64_t at = op->offset + op->done_len;
    size_t have = at >= f->size ? 0 : f->size - at < len ? f->size - at : len;
    memcpy(op->buf + op->done_len, f->data + at, have);
    op->result.count += (ssize_t)have;
    if (have < len) /* pread ends at the end of the file */
        op->effect = op->done_len + have;
}

/* What a disk that failed to write leaves: any of the blocks may be as they were. */
static void lose_unsynced(FileOp *op)
{
    SimFile *f = op->file;
    SimHandle *h = op->handle;
    for (size_t i = 0; i < SIMFS_HANDLES_MAX; i++) {
        SimHandle *o = &f->fs->handles[i];
        if (o != h && o->file == f && o->offset < h->offset + h->len &&
            h->offset < o->offset + o->len)
            return;
    }
    uint64_t end = h->offset + h->len < f->size ? h->offset + h->len : f->size;
    for (uint64_t b = h->offset / BLOCK; b * BLOCK < end; b++) {
        uint64_t from = b * BLOCK > h->offset ? b * BLOCK : h->offset;
        uint64_t to = (b + 1) * BLOCK < end ? (b + 1) * BLOCK : end;
        if (from >= to || !f->dirty[b] || sim_rng_chance(&f->fs->rng, 500000))
            continue; /* the file may end before the range */
        memcpy(f->data + from, f->durable + from, to - from);
        f->fs->changed(f->fs->ctx, f, from, to - from, NULL);
    }
}

static void apply_sync(FileOp *op)
{
    SimFile *f = op->file;
    if (op->result.count < 0) {
        lose_unsynced(op);
        return;
    }
    memcpy(f->durable, f->data, f->cap);
    memset(f->dirty, 0, f->cap / BLOCK + 1);
}

static void op_over(FileOp *op)
{
    SimFsDone done = op->done;
    void *ctx = op->ctx;
    SimFsResult result = op->result;
    op->handle->ops--;
    op->file->ops--;
    list_remove(&op->link);
    free(op);
    if (done)
        done(ctx, &result);
}

static void op_run(void *ctx, uint64_t arg)
{
    FileOp *op = ctx;
    (void)arg;
    if (*op->life != op->life_value) { /* killed: the system call ends where it is */
        op->done = NULL;
        op_over(op);
        return;
    }
    if (op->done_len < op->effect) {
        size_t to_boundary = BLOCK - (op->offset + op->done_len) % BLOCK;
        size_t left = op->effect - op->done_len;
        size_t n = op->split && to_boundary < left ? to_boundary : left;
        if (op->kind == OP_PWRITE)
            apply_write(op, n);
        else
            apply_read(op, n);
        op->done_len += n;
    } else {
        if (op->kind == OP_SYNC)
            apply_sync(op);
        op_over(op);
        return;
    }
    SimNet *net = op->file->fs->net;
    simnet_at(net, simnet_now(net) + sim_rng_below(&op->file->fs->rng, op->step_ns + 1), NULL,
              op_run, op, 0);
}

static FileOp *op_new(SimHandle *h, FileOpKind kind, const uint32_t *life, SimFsDone done,
                      void *ctx)
{
    FileOp *op = must(calloc(1, sizeof *op));
    SimFs *fs = h->file->fs;
    *op = (FileOp){.kind = kind,
                   .handle = h,
                   .file = h->file,
                   .life = life,
                   .life_value = *life,
                   .done = done,
                   .ctx = ctx};
    list_push_back(&fs->running, &op->link);
    h->ops++;
    h->file->ops++;
    op->split = sim_rng_chance(&fs->rng, fs->config.split_ppm);
    op->step_ns =
        sim_rng_chance(&fs->rng, fs->config.slow_ppm) ? fs->config.slow_ns : fs->config.op_ns;
    return op;
}

static void op_start(FileOp *op)
{
    SimNet *net = op->file->fs->net;
    size_t pieces = op->split ? op->len / BLOCK + 2 : 2;
    op->step_ns = 2 * op->step_ns / pieces;
    simnet_at(net, simnet_now(net) + sim_rng_below(&op->file->fs->rng, op->step_ns + 1), NULL,
              op_run, op, 0);
}

void simfs_pread(SimHandle *h, void *buf, size_t len, uint64_t offset, const uint32_t *life,
                 SimFsDone done, void *ctx)
{
    SimFs *fs = h->file->fs;
    FileOp *op = op_new(h, OP_PREAD, life, done, ctx);
    op->buf = buf;
    op->len = op->effect = len;
    op->offset = offset;
    if (sim_rng_chance(&fs->rng, fs->config.read_fail_ppm)) {
        op->effect = 0;
        op->result = (SimFsResult){.count = -1, .error = EIO, .injected = true};
    }
    op_start(op);
}

void simfs_pwrite(SimHandle *h, const void *buf, size_t len, uint64_t offset, void *cookie,
                  const uint32_t *life, SimFsDone done, void *ctx)
{
    SimFs *fs = h->file->fs;
    FileOp *op = op_new(h, OP_PWRITE, life, done, ctx);
    op->buf = (uint8_t *)buf;
    op->len = op->effect = len;
    op->offset = offset;
    op->cookie = cookie;
    op->result.count = (ssize_t)len;
    if (offset + len > h->file->cap)
        abort(); /* the region was checked to lie inside what the model can hold */
    if (sim_rng_chance(&fs->rng, fs->config.write_fail_ppm)) {
        op->effect = sim_rng_below(&fs->rng, len + 1);
        op->result = (SimFsResult){.count = -1, .error = EIO, .injected = true};
    } else if (sim_rng_chance(&fs->rng, fs->config.write_full_ppm)) {
        op->effect = sim_rng_chance(&fs->rng, 500000) ? 0 : sim_rng_below(&fs->rng, len);
        op->result = op->effect ? (SimFsResult){.count = (ssize_t)op->effect, .injected = true}
                                : (SimFsResult){.count = -1, .error = ENOSPC, .injected = true};
    } else if (sim_rng_chance(&fs->rng, fs->config.write_short_ppm)) {
        op->effect = len > 1 ? sim_rng_between(&fs->rng, 1, len - 1) : len;
        op->result = (SimFsResult){.count = (ssize_t)op->effect, .injected = true};
    }
    touch(h->file);
    op_start(op);
}

void simfs_sync(SimHandle *h, const uint32_t *life, SimFsDone done, void *ctx)
{
    SimFs *fs = h->file->fs;
    FileOp *op = op_new(h, OP_SYNC, life, done, ctx);
    if (sim_rng_chance(&fs->rng, fs->config.sync_fail_ppm))
        op->result = (SimFsResult){.count = -1, .error = EIO, .injected = true};
    op_start(op);
}

/* ---- the program itself --------------------------------------------------------------------- */

void simfs_poke(SimFile *f, uint64_t offset, const uint8_t *bytes, size_t len)
{
    touch(f);
    simfs_poke_late(f, offset, bytes, len);
}

void simfs_poke_late(SimFile *f, uint64_t offset, const uint8_t *bytes, size_t len)
{
    if (offset + len > f->cap)
        abort();
    memcpy(f->data + offset, bytes, len);
    if (offset + len > f->size)
        f->size = offset + len;
    file_changed(f, offset, len, NULL);
}

void simfs_truncate(SimFile *f, uint64_t size)
{
    uint64_t old = f->size;
    touch(f);
    if (size > f->cap)
        abort();
    if (size < old) {
        memset(f->data + size, 0, old - size);
        memset(f->durable + size, 0, old - size);
        f->size = size;
        file_changed(f, size, old - size, NULL);
    }
    f->size = size;
}

void simfs_replace(SimFile *f)
{
    new_identity(f);
    touch(f);
}

void simfs_set_mtime(SimFile *f, uint64_t mtime_ns)
{
    touch(f);
    if (f->fs->config.honest)
        f->mtime_ns = mtime_ns;
}
