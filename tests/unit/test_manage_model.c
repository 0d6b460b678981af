/* SPDX-License-Identifier: MIT */
/* libmanage against a model in memory: random reads, writes and syncs of several regions, with each
 * policy, in caches of all sizes; and policies that are changed meanwhile. No cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "tests/lib/sanitizer.h"
#include "tests/lib/scenario.h"
#include "tests/lib/sim_rng.h"

enum { REGIONS = 4, LEN = 150001, GAP = 5000, READ_MAX = 40000 };
enum { STEPS = UNDER_SANITIZER ? 2000 : 6000 };

typedef struct Model {
    SimRng rng;
    int fd;
    int rds[REGIONS];
    unsigned flags[REGIONS];
    uint8_t *bytes; /* what the regions must read as, at the file's offsets */
} Model;

enum { FILE_BYTES = REGIONS * (LEN + GAP) };

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8));
}

static off_t region_at(unsigned r)
{
    return (off_t)r * (LEN + GAP) + 17;
}

static struct manage_stats stats(void)
{
    struct manage_stats st;
    CHECK(manage_stats(&st) == 0);
    return st;
}

static void region_open(Model *m, unsigned r)
{
    m->flags[r] = sim_rng_below(&m->rng, 3) == 0 ? MANAGE_WRITE_THROUGH : 0;
    m->rds[r] = dodo_copen_flags(LEN, m->fd, region_at(r), m->flags[r]);
    CHECK(m->rds[r] >= 0);
}

static void model_init(Model *m, uint64_t seed)
{
    sim_rng_init(&m->rng, seed, 0);
    m->fd = scenario_file(FILE_BYTES, byte_at);
    m->bytes = malloc(FILE_BYTES);
    CHECK(m->bytes);
    for (size_t i = 0; i < FILE_BYTES; i++)
        m->bytes[i] = byte_at(i);
    for (unsigned r = 0; r < REGIONS; r++)
        region_open(m, r);
}

static void file_check(const Model *m, off_t from, size_t len)
{
    uint8_t *got = malloc(len);
    CHECK(got && pread(m->fd, got, len, from) == (ssize_t)len);
    CHECK(memcmp(got, m->bytes + from, len) == 0);
    free(got);
}

static void step_read(Model *m, unsigned r, off_t at, size_t len)
{
    static uint8_t buf[READ_MAX];
    size_t want = LEN - (size_t)at < len ? LEN - (size_t)at : len;
    CHECK(cread(m->rds[r], at, buf, len) == (ssize_t)want);
    CHECK(memcmp(buf, m->bytes + region_at(r) + at, want) == 0);
}

static void step_write(Model *m, unsigned r, off_t at, size_t len)
{
    static uint8_t buf[READ_MAX];
    size_t want = LEN - (size_t)at < len ? LEN - (size_t)at : len;
    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t)sim_rng_u64(&m->rng);
    CHECK(cwrite(m->rds[r], at, buf, len) == (ssize_t)want);
    memcpy(m->bytes + region_at(r) + at, buf, want);
    if (m->flags[r] & MANAGE_WRITE_THROUGH)
        file_check(m, region_at(r) + at, want);
}

static void step(Model *m)
{
    unsigned r = (unsigned)sim_rng_below(&m->rng, REGIONS);
    uint64_t what = sim_rng_below(&m->rng, 1000);
    size_t max = sim_rng_below(&m->rng, 4) == 0 ? READ_MAX : 600;
    size_t len = 1 + (size_t)sim_rng_below(&m->rng, max);
    off_t at = (off_t)sim_rng_below(&m->rng, LEN);
    if (what < 550) {
        step_read(m, r, at, len);
    } else if (what < 990) {
        step_write(m, r, at, len);
    } else {
        CHECK((what < 996 ? csync : cclose)(m->rds[r]) == 0);
        file_check(m, region_at(r), LEN);
        if (what >= 996)
            region_open(m, r);
    }
    CHECK(stats().cached_bytes <= stats().limit_bytes);
}

/* All is closed, the file holds the model, and nothing else of it was changed. */
static void model_end(Model *m)
{
    for (unsigned r = 0; r < REGIONS; r++)
        CHECK(cclose(m->rds[r]) == 0);
    file_check(m, 0, FILE_BYTES);
    CHECK(stats().regions == 0 && stats().cached_bytes == 0 && stats().dirty_bytes == 0);
    free(m->bytes);
    CHECK(close(m->fd) == 0);
}

static void model_run(uint64_t cache_bytes, uint64_t readahead_bytes, int policy)
{
    Model m;
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, cache_bytes) == 0);
    CHECK(dodo_manage_set(MANAGE_READAHEAD_BYTES, readahead_bytes) == 0);
    CHECK(csetPolicy(policy) == 0);
    model_init(&m, cache_bytes + (uint64_t)policy);
    for (int i = 0; i < STEPS; i++)
        step(&m);
    model_end(&m);
}

static void model__all_fits(void)
{
    model_run(4 << 20, 1 << 20, MANAGE_LRU);
}

static void model__lru(void)
{
    model_run(200000, 30000, MANAGE_LRU);
    CHECK(stats().evictions > 0);
}

static void model__mru(void)
{
    model_run(200000, 30000, MANAGE_MRU);
    CHECK(stats().evictions > 0);
}

static void model__first_in(void)
{
    model_run(200000, 0, MANAGE_FIRST_IN);
    CHECK(stats().bypasses > 0);
}

static void model__adaptive(void)
{
    model_run(200000, 0, MANAGE_ADAPTIVE);
}

static void model__three_pieces(void)
{
    model_run(50000, 20000, MANAGE_LRU);
}

static void model__one_piece(void)
{
    model_run(16384, 0, MANAGE_LRU);
}

static void model__no_cache(void)
{
    model_run(0, 0, MANAGE_LRU);
}

/* ---- policies -------------------------------------------------------------------------------- */

static void policy__unknown_changes_nothing(void)
{
    Model m;
    CHECK_FAILS(csetPolicy(-1), EINVAL);
    CHECK_FAILS(csetPolicy(1000), EINVAL);
    CHECK(csetPolicy(MANAGE_MRU) == 0);
    CHECK_FAILS(csetPolicy(1001), EINVAL);
    model_init(&m, 1);
    step(&m);
    model_end(&m);
}

/* One that counts its calls, takes the oldest, and keeps no list. The library calls it under its
 * own lock, from threads of its own too. */
static struct {
    _Atomic unsigned creates, destroys, reads, writes, reclaims, removes;
} told;
static int told_state;

static void *told_create(uint64_t limit_bytes)
{
    CHECK(limit_bytes == 200000);
    told.creates++;
    return &told_state;
}

static void told_destroy(void *self)
{
    CHECK(self == &told_state);
    told.destroys++;
}

static void told_read(void *self, struct manage_entry *e)
{
    CHECK(self == &told_state && e->length > 0 && e->offset + e->length <= LEN);
    told.reads++;
}

static void told_write(void *self, struct manage_entry *e)
{
    CHECK(self == &told_state && e->length > 0);
    e->state[1] = 1;
    told.writes++;
}

static struct manage_entry *told_reclaim(void *self, const struct manage_directory *dir)
{
    uint64_t count = 0;
    CHECK(self == &told_state && dir->limit_bytes == 200000 && dir->bytes <= dir->limit_bytes);
    for (struct manage_entry *e = dir->oldest; e; e = e->newer) {
        CHECK(e->newer ? e->newer->older == e : e == dir->newest);
        count++;
    }
    CHECK(count == dir->entries);
    told.reclaims++;
    for (struct manage_entry *e = dir->oldest; e; e = e->newer)
        if (!(e->flags & MANAGE_ENTRY_BUSY))
            return e;
    return NULL;
}

static void told_removed(void *self, struct manage_entry *e)
{
    CHECK(self == &told_state && e->length > 0);
    told.removes++;
}

static const struct manage_policy told_policy = {.size = sizeof(struct manage_policy),
                                                 .name = "told",
                                                 .create = told_create,
                                                 .destroy = told_destroy,
                                                 .read = told_read,
                                                 .write = told_write,
                                                 .reclaim = told_reclaim,
                                                 .removed = told_removed};

static void policy__of_ones_own(void)
{
    Model m;
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 200000) == 0);
    int policy = manage_register_policy(&told_policy);
    CHECK(policy > MANAGE_FIRST_IN && told.creates == 0);
    CHECK(csetPolicy(policy) == 0 && told.creates == 1);
    model_init(&m, 2);
    for (int i = 0; i < STEPS / 4; i++)
        step(&m);
    CHECK(told.reads > 0 && told.writes > 0 && told.reclaims > 0 && told.removes > 0);
    CHECK(csetPolicy(MANAGE_LRU) == 0 && told.destroys == 1);
    for (int i = 0; i < STEPS / 4; i++)
        step(&m);
    model_end(&m);
}

/* It refuses every victim: reads go past the cache, writes to the file. */
static struct manage_entry *never_reclaim(void *self, const struct manage_directory *dir)
{
    (void)self, (void)dir;
    return NULL;
}

static void nothing(void *self, struct manage_entry *e)
{
    (void)self, (void)e;
}

static void policy__that_gives_nothing_away(void)
{
    static const struct manage_policy never = {.size = sizeof never,
                                               .name = "never",
                                               .read = nothing,
                                               .write = nothing,
                                               .reclaim = never_reclaim};
    Model m;
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 100000) == 0);
    CHECK(csetPolicy(manage_register_policy(&never)) == 0);
    model_init(&m, 3);
    for (int i = 0; i < STEPS / 4; i++)
        step(&m);
    CHECK(stats().bypasses > 0);
    model_end(&m);
}

static void policy__bad_ones(void)
{
    struct manage_policy p = told_policy;
    CHECK_FAILS(manage_register_policy(NULL), EINVAL);
    p.size = 8;
    CHECK_FAILS(manage_register_policy(&p), EINVAL);
    p = told_policy, p.read = NULL;
    CHECK_FAILS(manage_register_policy(&p), EINVAL);
    p = told_policy, p.write = NULL;
    CHECK_FAILS(manage_register_policy(&p), EINVAL);
    p = told_policy, p.reclaim = NULL;
    CHECK_FAILS(manage_register_policy(&p), EINVAL);
    for (int i = 0; i < 16; i++)
        CHECK(manage_register_policy(&told_policy) >= 0);
    CHECK_FAILS(manage_register_policy(&told_policy), ENOSPC);
}

static void *no_memory(uint64_t limit_bytes)
{
    (void)limit_bytes;
    return NULL;
}

static void policy__without_memory_changes_nothing(void)
{
    static struct manage_policy p;
    Model m;
    p = told_policy, p.create = no_memory;
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 200000) == 0);
    CHECK(csetPolicy(manage_register_policy(&told_policy)) == 0);
    model_init(&m, 4);
    CHECK_FAILS(csetPolicy(manage_register_policy(&p)), ENOMEM);
    CHECK(told.destroys == 0);
    unsigned before = told.reads + told.writes;
    for (int i = 0; i < 100; i++)
        step(&m);
    CHECK(told.reads + told.writes > before);
    model_end(&m);
}

static void policy__changed_all_the_time(void)
{
    Model m;
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 200000) == 0);
    int own = manage_register_policy(&told_policy);
    int all[] = {MANAGE_LRU,   MANAGE_MRU, MANAGE_FIRST_IN, MANAGE_ADAPTIVE, MANAGE_S3_FIFO,
                 MANAGE_SIEVE, own};
    model_init(&m, 5);
    for (int i = 0; i < STEPS / 2; i++) {
        if (i % 20 == 0)
            CHECK(csetPolicy(all[sim_rng_below(&m.rng, ARRAY_SIZE(all))]) == 0);
        step(&m);
    }
    model_end(&m);
}

static const Scenario scenarios[] = {
    SCENARIO(model__all_fits),
    SCENARIO(model__lru),
    SCENARIO(model__mru),
    SCENARIO(model__first_in),
    SCENARIO(model__adaptive),
    SCENARIO(model__three_pieces),
    SCENARIO(model__one_piece),
    SCENARIO(model__no_cache),
    SCENARIO(policy__unknown_changes_nothing),
    SCENARIO(policy__of_ones_own),
    SCENARIO(policy__that_gives_nothing_away),
    SCENARIO(policy__bad_ones),
    SCENARIO(policy__without_memory_changes_nothing),
    SCENARIO(policy__changed_all_the_time),
};

int main(int argc, char **argv)
{
    return scenario_main_alone(argc, argv, scenarios, ARRAY_SIZE(scenarios), ARRAY_SIZE(scenarios));
}
