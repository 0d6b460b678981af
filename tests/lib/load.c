/* SPDX-License-Identifier: MIT */
#include "tests/lib/load.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/random.h"

enum {
    CELL = LOAD_CELL_BYTES,
    RUN = LOAD_RUN_CELLS,
    RUNS_PER_THREAD = 4, /* of each shared region */
    READ_MAX = 100 * 1000,
    OWN_BYTES = LOAD_OWN_CELLS * CELL,
};

typedef struct Cell {
    _Atomic uint32_t committed, pending;
} Cell;

typedef struct Worker {
    Load *load;
    pthread_t thread;
    unsigned index;
    Random random;
    uint8_t data[OWN_BYTES > READ_MAX ? OWN_BYTES : READ_MAX];
    uint32_t low[READ_MAX / CELL + LOAD_OWN_CELLS + 2];
} Worker;

typedef struct Shared {
    int rd;
    atomic_bool lost;
} Shared;

struct Load {
    LoadConfig config;
    unsigned region_cells, cells_count;
    Cell *cells; /* those of the shared regions, then each thread's own */
    Shared *shared;
    Worker *workers;
    atomic_bool stop;
    _Atomic uint64_t ops, lost;
    pthread_mutex_t lock;
    pthread_cond_t progress;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "load: %s: %s; %s\n", what, strerror(errno), dodo_last_error());
    abort();
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Bytes [from, from + len) of a cell in one of its versions. */
static void cell_make(unsigned cell, uint32_t version, size_t from, uint8_t *out, size_t len)
{
    uint64_t seed = mix64(((uint64_t)cell << 32 | version) + 1);
    for (size_t i = from; i < from + len;) {
        uint64_t word = mix64(seed + i / 8);
        for (size_t end = i / 8 * 8 + 8; i < end && i < from + len; i++)
            out[i - from] = (uint8_t)(word >> (i % 8 * 8));
    }
}

void load_fresh(unsigned cell, uint8_t *out, size_t len)
{
    for (; len > 0; cell++) {
        size_t n = len < CELL ? len : CELL;
        cell_make(cell, 0, 0, out, n);
        out += n;
        len -= n;
    }
}

/* Whether each byte is of a version in [lo, hi]. */
static bool cell_good(unsigned cell, uint32_t lo, uint32_t hi, size_t from, const uint8_t *data,
                      size_t len)
{
    uint8_t want[CELL];
    bool fine[CELL] = {false};
    size_t bad = 0;
    for (uint32_t v = lo; v <= hi; v++) {
        cell_make(cell, v, from, want, len);
        if (memcmp(want, data, len) == 0)
            return true;
        for (size_t i = 0; i < len; i++)
            fine[i] |= want[i] == data[i];
    }
    for (size_t i = 0; i < len; i++)
        bad += !fine[i];
    if (bad > 0)
        (void)fprintf(stderr, "load: cell %u: %zu of %zu bytes are of no version from %u to %u\n",
                      cell, bad, len, lo, hi);
    return bad == 0;
}

/* The versions committed before a call that reads [at, at + len) of the load's part. */
static void versions_before(Worker *w, uint64_t at, size_t len)
{
    for (uint64_t c = at / CELL; c <= (at + len - 1) / CELL; c++)
        w->low[c - at / CELL] = w->load->cells[c].committed;
}

static void verify(Worker *w, uint64_t at, size_t len)
{
    for (uint64_t c = at / CELL, done = 0; done < len; c++) {
        size_t from = (at + done) % CELL;
        size_t n = CELL - from < len - done ? CELL - from : len - done;
        if (!cell_good((unsigned)c, w->low[c - at / CELL], w->load->cells[c].pending, from,
                       w->data + done, n))
            die("wrong bytes were read");
        done += n;
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* False: the region is lost, as it may be. */
static bool call_good(Load *l, Shared *s, ssize_t result, size_t wanted, const char *what)
{
    if (result == (ssize_t)wanted)
        return true;
    if (result != -1 || errno != ENOMEM || !l->config.may_lose)
        die(what);
    l->lost++;
    if (s)
        s->lost = true;
    return false;
}

/* Writes @count cells from the @first on as the next version. @start: the region's first cell. */
static bool cells_write(Worker *w, Shared *s, int rd, unsigned start, unsigned first,
                        unsigned count)
{
    Load *l = w->load;
    for (unsigned i = 0; i < count; i++) {
        uint32_t next = l->cells[first + i].pending + 1;
        l->cells[first + i].pending = next;
        cell_make(first + i, next, 0, w->data + (size_t)i * CELL, CELL);
    }
    size_t len = (size_t)count * CELL;
    if (!call_good(l, s, dodo_mwrite(rd, (off_t)(first - start) * CELL, w->data, len), len,
                   "mwrite"))
        return false; /* nothing of it reached the file */
    for (unsigned i = 0; i < count; i++)
        l->cells[first + i].committed = l->cells[first + i].pending;
    return true;
}

static bool range_read(Worker *w, Shared *s, int rd, unsigned start, uint64_t at, size_t len)
{
    versions_before(w, at, len);
    uint64_t offset = at - (uint64_t)start * CELL;
    if (!call_good(w->load, s, dodo_mread(rd, (off_t)offset, w->data, len), len, "mread"))
        return false;
    verify(w, at, len);
    return true;
}

static void shared_op(Worker *w)
{
    Load *l = w->load;
    unsigned r = (unsigned)random_below(&w->random, l->config.regions), start = r * l->region_cells;
    Shared *s = &l->shared[r];
    if (s->lost)
        return;
    if (random_below(&w->random, 100) < 35) {
        unsigned run =
            (unsigned)random_below(&w->random, RUNS_PER_THREAD) * l->config.threads + w->index;
        unsigned from = (unsigned)random_below(&w->random, RUN);
        unsigned count = 1 + (unsigned)random_below(&w->random, RUN - from);
        (void)cells_write(w, s, s->rd, start, start + run * RUN + from, count);
    } else {
        uint64_t bytes = (uint64_t)l->region_cells * CELL;
        uint64_t offset = random_below(&w->random, bytes);
        uint64_t len = 1 + random_below(&w->random, random_below(&w->random, 4) ? 9000 : READ_MAX);
        if (len > bytes - offset)
            len = bytes - offset;
        (void)range_read(w, s, s->rd, start, (uint64_t)start * CELL + offset, len);
    }
}

static void sync_op(Worker *w)
{
    Shared *s = &w->load->shared[random_below(&w->random, w->load->config.regions)];
    DodoStat st;
    if (dodo_msync(s->rd) != 0)
        die("msync");
    if (dodo_stat(s->rd, &st) != 0 || st.length != (uint64_t)w->load->region_cells * CELL)
        die("stat");
}

/* Opens a region, writes, reads back and closes. */
static void own_op(Worker *w)
{
    Load *l = w->load;
    unsigned start = l->region_cells * l->config.regions + w->index * LOAD_OWN_CELLS;
    int rd = dodo_mopen_flags(OWN_BYTES, l->config.fd, l->config.base + (off_t)start * CELL,
                              l->config.flags);
    if (rd < 0) {
        (void)call_good(l, NULL, rd, 0, "mopen");
        return;
    }
    unsigned from = (unsigned)random_below(&w->random, LOAD_OWN_CELLS);
    unsigned count = 1 + (unsigned)random_below(&w->random, LOAD_OWN_CELLS - from);
    uint64_t at = (uint64_t)start * CELL + random_below(&w->random, OWN_BYTES);
    size_t len = 1 + random_below(&w->random, (uint64_t)(start + LOAD_OWN_CELLS) * CELL - at);
    if (range_read(w, NULL, rd, start, at, len) &&
        cells_write(w, NULL, rd, start, start + from, count))
        (void)range_read(w, NULL, rd, start, (uint64_t)start * CELL, OWN_BYTES);
    if (dodo_msync(rd) != 0)
        die("msync");
    if (dodo_mclose(rd) != 0 && (errno != EINVAL || !l->config.may_lose))
        die("mclose");
}

/* What another has open is not available. */
static void busy_op(Worker *w)
{
    Load *l = w->load;
    off_t inside = (off_t)random_below(&w->random, (uint64_t)l->region_cells * CELL);
    int rd = dodo_mopen_flags(1, l->config.fd, l->config.base + inside, l->config.flags);
    if (rd != -1 || (errno != EBUSY && (errno != ENOMEM || !l->config.may_lose)))
        die("mopen of what is open");
}

/* ---- threads -------------------------------------------------------------------------------- */

static void op_done(Load *l)
{
    (void)pthread_mutex_lock(&l->lock);
    l->ops++;
    (void)pthread_cond_broadcast(&l->progress);
    (void)pthread_mutex_unlock(&l->lock);
}

/* Not part of the thread's first function: ASan takes the frames in which a cancelled thread ended
 * for still in use, and there are buffers in this one. */
__attribute__((noinline)) static void any_op(Worker *w)
{
    uint64_t what = random_below(&w->random, 100);
    if (what < 88)
        shared_op(w);
    else if (what < 92)
        sync_op(w);
    else if (what < 95)
        busy_op(w);
    else
        own_op(w);
}

static void *worker_main(void *arg)
{
    Worker *w = arg;
    Load *l = w->load;
    for (unsigned i = 0; !l->stop && (l->config.ops == LOAD_FOREVER || i < l->config.ops); i++) {
        any_op(w);
        op_done(l);
        pthread_testcancel();
    }
    return NULL;
}

static void file_make(Load *l)
{
    uint8_t data[CELL];
    for (unsigned c = 0; c < l->cells_count; c++) {
        cell_make(c, 0, 0, data, CELL);
        if (pwrite(l->config.fd, data, CELL, l->config.base + (off_t)c * CELL) != CELL)
            die("pwrite");
    }
}

Load *load_start(const LoadConfig *config)
{
    Load *l = calloc(1, sizeof *l);
    l->config = *config;
    l->region_cells = RUNS_PER_THREAD * config->threads * RUN;
    l->cells_count = l->region_cells * config->regions + LOAD_OWN_CELLS * config->threads;
    l->cells = calloc(l->cells_count, sizeof *l->cells);
    l->shared = calloc(config->regions, sizeof *l->shared);
    l->workers = calloc(config->threads, sizeof *l->workers);
    (void)pthread_mutex_init(&l->lock, NULL);
    (void)pthread_cond_init(&l->progress, NULL);
    file_make(l);
    for (unsigned r = 0; r < config->regions; r++) {
        size_t len = (size_t)l->region_cells * CELL;
        do /* again, where a busy machine may hold a host up for too long */
            l->shared[r].rd =
                dodo_mopen_flags(len, config->fd, config->base + (off_t)(r * len), config->flags);
        while (l->shared[r].rd < 0 && errno == ENOMEM && config->may_lose);
        if (l->shared[r].rd < 0)
            die("mopen");
    }
    for (unsigned i = 0; i < config->threads; i++) {
        Worker *w = &l->workers[i];
        w->load = l;
        w->index = i;
        w->random.state = i;
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0)
            die("pthread_create");
    }
    return l;
}

void load_wait(Load *l, uint64_t ops)
{
    (void)pthread_mutex_lock(&l->lock);
    uint64_t until = l->ops + ops;
    while (l->ops < until)
        (void)pthread_cond_wait(&l->progress, &l->lock);
    (void)pthread_mutex_unlock(&l->lock);
}

void load_stop(Load *l)
{
    l->stop = true;
}

pthread_t load_thread(Load *l, unsigned i)
{
    return l->workers[i].thread;
}

int load_rd(Load *l, unsigned region)
{
    return l->shared[region].rd;
}

uint64_t load_lost(Load *l)
{
    return l->lost;
}

/* All cells through the regions (the own ones are closed), then in the file: just what was written
 * last. */
static void verify_all(Load *l)
{
    Worker *w = &l->workers[0];
    for (unsigned r = 0; r < l->config.regions; r++) {
        uint64_t start = (uint64_t)r * l->region_cells, step = READ_MAX / CELL;
        for (uint64_t c = 0; c < l->region_cells && !l->shared[r].lost; c += step) {
            uint64_t n = l->region_cells - c < step ? l->region_cells - c : step;
            (void)range_read(w, &l->shared[r], l->shared[r].rd, (unsigned)start, (start + c) * CELL,
                             n * CELL);
        }
    }
    for (unsigned c = 0; c < l->cells_count; c++) {
        uint32_t version = l->cells[c].committed;
        if (pread(l->config.fd, w->data, CELL, l->config.base + (off_t)c * CELL) != CELL)
            die("pread");
        if (!cell_good(c, version, version, 0, w->data, CELL))
            die("wrong bytes in the file");
    }
}

unsigned load_join(Load *l)
{
    unsigned cancelled = 0;
    for (unsigned i = 0; i < l->config.threads; i++) {
        void *result;
        if (pthread_join(l->workers[i].thread, &result) != 0)
            die("pthread_join");
        cancelled += result == PTHREAD_CANCELED;
    }
    verify_all(l);
    return cancelled;
}

void load_free(Load *l)
{
    for (unsigned r = 0; r < l->config.regions; r++)
        if (dodo_mclose(l->shared[r].rd) != 0 && (errno != EINVAL || !l->config.may_lose))
            die("mclose");
    load_discard(l);
}

void load_discard(Load *l)
{
    (void)pthread_mutex_destroy(&l->lock);
    (void)pthread_cond_destroy(&l->progress);
    free(l->workers);
    free(l->shared);
    free(l->cells);
    free(l);
}
