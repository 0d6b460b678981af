/* SPDX-License-Identifier: MIT */
/* The region cache's core against a model: random calls of several threads under every policy, with
 * files that fail, remote memory that comes and goes, and a crash at any step. No read is stale,
 * what csync acknowledged is on the disk, the limit is kept to the byte, and every call ends. */
#include "base/list.h"
#include "tests/lib/case.h"
#include "tests/unit/manage_world.h"

static uint64_t seed_first = 1, seed_last = 400;
static World world;

static struct {
    uint64_t reads, writes, syncs, closes, failed_writes, failed_syncs, opens, opens_failed, clones,
        losses, remote_reads, fills, hits, file_hits, beside, together, completed;
    struct manage_stats cache;
} total;

static unsigned odd_picks;

/* A policy that picks anything: whatever a user's may do, nothing is lost. */
static struct manage_entry *odd_reclaim(void *self, const struct manage_directory *dir)
{
    (void)self;
    struct manage_entry *e = dir->oldest;
    for (unsigned i = 0; e && i < odd_picks % 7; i++)
        e = e->newer;
    odd_picks++;
    return e;
}
static void odd_use(void *self, struct manage_entry *e)
{
    (void)self;
    e->state[0]++;
}
static int odd_number; /* the last that there is */
static const struct manage_policy odd = {
    .size = sizeof odd, .name = "odd", .read = odd_use, .write = odd_use, .reclaim = odd_reclaim};

static void change_policy(World *w)
{
    int policy = (int)sim_rng_below(&w->rng, (uint64_t)odd_number + 2);
    WORLD_CHECK(w, cache_set_policy(w->cache, policy) == (policy > odd_number ? -EINVAL : 0));
}

static void heal(World *w)
{
    w->quiet = true;
    w->full = false;
    w->file_fail_ppm = w->sync_fail_ppm = 0;
    world_drain(w);
}

static void call_alone(World *w, WorldFile *f, WorldOp op)
{
    WorldSlot *s = &w->slots[0];
    *s = (WorldSlot){.on = true, .running = true, .op = op, .file = f, .len = f->len};
    f->calls++;
    world_may_begin(w, s);
    if (op == OP_READ)
        cache_read_start(&s->call, w->cache, f->rd, 0, s->buf, (size_t)f->len, w->now_ns);
    else
        cache_close_start(&s->call, w->cache, f->rd, w->now_ns);
    world_slot_look(w, s);
    world_drain(w);
}

/* After all is well again: everything reads as the model has it, and can be closed. */
static void close_all(World *w)
{
    for (unsigned i = 0; i < WORLD_REGIONS; i++) {
        WorldFile *f = &w->files[i];
        for (unsigned tries = 0; f->rd >= 0; tries++) {
            WORLD_CHECK(w, tries < 3); /* once for errors of before, once for a failed sync's */
            call_alone(w, f, OP_READ);
            call_alone(w, f, OP_CLOSE);
        }
        WORLD_CHECK(w, f->size >= f->model_size);
    }
}

static void add_up(World *w)
{
    struct manage_stats st;
    cache_stats(w->cache, &st);
    WORLD_CHECK(w, st.regions == 0 && st.cached_bytes == 0 && st.dirty_bytes == 0);
    total.cache.local_hits += st.local_hits;
    total.cache.remote_hits += st.remote_hits;
    total.cache.disk_reads += st.disk_reads;
    total.cache.bypasses += st.bypasses;
    total.cache.evictions += st.evictions;
    total.cache.clones += st.clones;
    total.cache.writebacks += st.writebacks;
    total.cache.readaheads += st.readaheads;
    total.cache.readahead_used += st.readahead_used;
    total.reads += w->happened.reads;
    total.writes += w->happened.writes;
    total.syncs += w->happened.syncs;
    total.closes += w->happened.closes;
    total.failed_writes += w->happened.failed_writes;
    total.failed_syncs += w->happened.failed_syncs;
    total.opens += w->happened.opens;
    total.opens_failed += w->happened.opens_failed;
    total.losses += w->happened.losses;
    total.remote_reads += w->happened.remote_reads;
    total.fills += w->happened.fills;
    total.beside += w->happened.beside;
    total.together += w->happened.together;
    total.completed += w->happened.completed;
    total.hits += w->happened.hits;
    total.file_hits += w->happened.file_hits;
}

static void run_seed(uint64_t seed)
{
    World *w = &world;
    world_init(w, seed);
    odd_picks = (unsigned)seed;

    odd_number = cache_register_policy(w->cache, &odd);
    WORLD_CHECK(w, odd_number > 0);
    WORLD_CHECK(w, cache_set_policy(w->cache, (int)(seed % ((uint64_t)odd_number + 1))) == 0);
    unsigned steps = (unsigned)sim_rng_spread(&w->rng, 50, 1500);
    for (unsigned n = 0; n < steps; n++) {
        world_act(w, true);
        if (sim_rng_chance(&w->rng, 400000))
            (void)world_wait(w);
        if (sim_rng_chance(&w->rng, 3000))
            change_policy(w);
        if (sim_rng_chance(&w->rng, 10000))
            w->full = !w->full && w->file_fail_ppm;
        WORLD_CHECK(w, cache_check(w->cache));
        if (n % 16 == 0)
            world_disk_check(w); /* the program crashes here */
    }
    heal(w);
    close_all(w);
    world_disk_check(w);
    add_up(w);
    w->cache = cache_free(w->cache);
}

TEST(core__random_schedules)
{
    for (uint64_t seed = seed_first; seed <= seed_last; seed++)
        run_seed(seed);
    const struct {
        const char *name;
        uint64_t count;
        uint64_t least; /* 0: 40 */
    } did[] = {
        {"reads", total.reads},
        {"writes", total.writes},
        {"syncs", total.syncs},
        {"closes", total.closes},
        {"failed writes", total.failed_writes},
        {"failed syncs", total.failed_syncs},
        {"remote memory opened", total.opens},
        {"refused", total.opens_failed},
        {"lost", total.losses},
        {"read", total.remote_reads},
        {"filled", total.fills},
        {"local hits", total.cache.local_hits},
        {"of them without the lock", total.hits},
        {"remote hits", total.cache.remote_hits},
        {"disk reads", total.cache.disk_reads},
        {"bypasses", total.cache.bypasses},
        {"of them without the lock", total.file_hits},
        {"evictions", total.cache.evictions},
        {"clones", total.cache.clones},
        {"writebacks", total.cache.writebacks},
        {"pieces read ahead", total.cache.readaheads},
        {"used", total.cache.readahead_used},
        {"jobs beside another", total.beside, .least = 5},
        {"reads of a file together", total.together},
        {"pieces completed ahead", total.completed},
    };
    for (size_t i = 0; i < ARRAY_SIZE(did); i++) {
        print_message("# %s: %llu\n", did[i].name, (unsigned long long)did[i].count);
        /* A schedule that exercises nothing proves nothing. */
        uint64_t least = did[i].least ? did[i].least : 40;
        assert_true(did[i].count >= least || seed_last - seed_first < 250);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed_first = seed_last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seed_last = strtoull(argv[2], NULL, 10);
    return cases_run(NULL, NULL);
}
