/* SPDX-License-Identifier: MIT */
/* cmd-load: the manager's core alone, with many hosts, clients and regions. What it can do a second
 * on one core when the network and the sealing cost nothing, and what it holds in memory.
 *
 * Each row is one cluster: N regions opened (fill), then closed and opened at random (churn),
 * keep-alives, whole lists, a manager that starts again, a host that is drained (move), few hosts
 * with room (near), none (full), released and opened again (reuse), a directory full of what is
 * kept (give way), all leave. Memory is looked at after the fill, and after the churn. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "bench/cmd_load_rig.h"

enum { NUMBERS_MAX = 8, TICKS = 20 };

typedef struct Options {
    uint64_t hosts[NUMBERS_MAX], regions[NUMBERS_MAX];
    unsigned hosts_count, regions_count;
    uint64_t clients, ops;
    const char *json;
} Options;

/* What is measured, in the order of the columns. */
#define COLUMNS(X)                         \
    X(fill, "opens/s", rate)               \
    X(churn, "open+close/s", rate)         \
    X(reuse, "release+reopen/s", rate)     \
    X(near, "near-full open/s", rate)      \
    X(drain, "drain's begin us", each_us)  \
    X(move, "move ns", each)               \
    X(full, "refused/s", rate)             \
    X(give_way, "gives way/s", rate)       \
    X(alive, "ALIVE ns", each)             \
    X(beat, "BEAT ns", each)               \
    X(tick, "tick us", each_us)            \
    X(claim, "claim ns/region", each)      \
    X(list, "list ns/region", each)        \
    X(rebuild, "rebuild ns/region", each)  \
    X(leave, "leave ns/region", each)      \
    X(worst, "worst batch us", each_us)    \
    X(fixed, "manager bytes", plain)       \
    X(host, "bytes/host", plain)           \
    X(client, "bytes/client", plain)       \
    X(region, "bytes/region", plain)       \
    X(told, "told bytes/region", plain)    \
    X(rss, "RSS bytes/region", plain)      \
    X(churned, "the same, churned", plain) \
    X(kept, "the same, half kept", plain)

typedef struct Row {
#define X(name, title, kind) double name;
    COLUMNS(X)
#undef X
} Row;

/* ---- figures -------------------------------------------------------------------------------- */

static double rate(LoadTime t, uint64_t count)
{
    return (double)count * (double)NS_PER_S / (double)t.cpu_ns;
}

static double each(LoadTime t, uint64_t count)
{
    return (double)t.cpu_ns / (double)count;
}

static double each_us(LoadTime t, uint64_t count)
{
    return each(t, count) / (double)NS_PER_US;
}

static double allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

static double resident(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        (void)fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void demand(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "cmd-load: %s\n", what);
    exit(EXIT_FAILURE);
}

static uint64_t directory_count(const LoadRig *rig)
{
    ManagerStats stats;
    manager_stats(rig->m, &stats);
    return stats.regions;
}

/* ---- phases --------------------------------------------------------------------------------- */

/* An empty manager, then with hosts, clients, regions: what each of them takes. What was resident
 * before the regions. */
static double phase_fill(LoadRig *rig, size_t regions, Row *row)
{
    row->fixed = (double)manager_bytes(rig->m);
    double before = allocated();
    load_join(rig);
    double joined = allocated();
    row->host = (joined - before) / rig->hosts_count;
    load_alive(rig);
    double ready = allocated(), ready_rss = resident(), told = (double)manager_bytes(rig->m);
    row->client = (ready - joined) / rig->clients_count;
    (void)load_time_take(rig);
    load_open(rig, regions);
    LoadTime t = load_time_take(rig);
    row->fill = rate(t, regions);
    row->worst = (double)t.worst_ns / (double)NS_PER_US;
    demand(rig->opened == regions && directory_count(rig) == regions, "not all were opened");
    load_alive(rig); /* the replies that the manager remembers are those of before */
    (void)load_time_take(rig);
    row->region = (allocated() - ready) / (double)regions;
    row->told = ((double)manager_bytes(rig->m) - told) / (double)regions;
    row->rss = (resident() - ready_rss) / (double)regions;
    return ready_rss;
}

static void phase_churn(LoadRig *rig, size_t ops, Row *row)
{
    uint64_t opened = rig->opened, closed = rig->closed;
    (void)load_time_take(rig);
    for (size_t i = 0; i < ops; i += LOAD_BATCH) {
        load_close(rig, LOAD_BATCH);
        load_open(rig, LOAD_BATCH);
    }
    row->churn = rate(load_time_take(rig), rig->opened - opened);
    demand(rig->opened - opened == rig->closed - closed && rig->opened > opened, "no churn");
}

static void phase_alive(LoadRig *rig, Row *row)
{
    load_alive(rig);
    row->alive = each(load_time_take(rig), rig->clients_count);
    load_beat(rig);
    row->beat = each(load_time_take(rig), rig->hosts_count);
    for (unsigned i = 0; i < TICKS; i++) { /* all are heard of in between: nobody is silent */
        load_tick(rig, 1);
        LoadTime t = load_time_take(rig);
        row->tick += each_us(t, TICKS);
        load_alive(rig);
        load_beat(rig);
        (void)load_time_take(rig);
    }
}

static void phase_lists(LoadRig *rig, Row *row)
{
    uint64_t regions = rig->regions_count;
    load_claim(rig);
    row->claim = each(load_time_take(rig), regions);
    load_list(rig);
    row->list = each(load_time_take(rig), regions);
    demand(directory_count(rig) == regions, "lists changed the directory");
    load_manager_restart(rig);
    load_join(rig);
    load_claim(rig);
    row->rebuild = each(load_time_take(rig), regions);
    load_alive(rig); /* the digests must be those of before */
    load_beat(rig);
    (void)load_time_take(rig);
    demand(directory_count(rig) == regions, "not all were found again");
}

static void phase_reuse(LoadRig *rig, size_t ops, Row *row)
{
    uint64_t reused = rig->reused;
    load_open(rig, rig->regions_room - rig->regions_count);
    (void)load_time_take(rig);
    load_release_and_reopen(rig, ops);
    row->reuse = rate(load_time_take(rig), ops);
    demand(rig->reused - reused == ops, "not opened again");
}

/* A host is drained: what all its regions cost until each has moved to another one, with the
 * keep-alives and questions of all clients. */
static void phase_move(LoadRig *rig, Row *row)
{
    load_drain(rig, 0, DRAIN_START);
    row->drain = each_us(load_time_take(rig), 1);
    load_alive(rig);
    load_ask_moves(rig);
    const size_t regions = rig->hosts[0].regions, moved = load_move(rig, 0);
    row->move = each(load_time_take(rig), moved);
    demand(moved == regions && moved > 0 && rig->hosts[0].regions == 0, "not all were moved");
    load_drain(rig, 0, DRAIN_CANCEL);
    (void)load_time_take(rig);
}

/* One host in 64 has room. */
static void phase_near(LoadRig *rig, size_t ops, Row *row)
{
    unsigned hosts = rig->hosts_count / 64 ? rig->hosts_count / 64 : 1;
    size_t opens = ops < rig->regions_count ? ops : rig->regions_count;
    uint64_t opened = rig->opened;

    load_close(rig, opens);
    load_room(rig, hosts, opens / hosts);
    (void)load_time_take(rig);
    load_open(rig, opens / hosts * hosts);
    row->near = rate(load_time_take(rig), opens / hosts * hosts);
    demand(rig->opened - opened == opens / hosts * hosts, "there was room");
}

static void phase_full(LoadRig *rig, size_t ops, Row *row)
{
    uint64_t refused = rig->refused;
    load_room(rig, 0, 0);
    (void)load_time_take(rig);
    load_open(rig, ops);
    row->full = rate(load_time_take(rig), ops);
    demand(rig->refused - refused == ops, "there was no room");
    load_room(rig, rig->hosts_count, UINT32_MAX);
    (void)load_time_take(rig);
}

static void phase_leave(LoadRig *rig, Row *row)
{
    uint64_t regions = rig->regions_count;
    load_leave(rig);
    row->leave = each(load_time_take(rig), regions);
    demand(directory_count(rig) == 0, "somebody did not leave");
}

/* Half of a full directory is kept, the other half in use: what is opened in turn makes the former
 * give way. */
static void phase_give_way(LoadRig *rig, size_t regions, size_t ops, Row *row)
{
    size_t kept = regions / 2 < ops ? regions / 2 : ops;
    load_alive(rig);
    double ready_rss = resident();
    load_open(rig, regions);
    load_release(rig, kept);
    row->kept = (resident() - ready_rss) / (double)regions;
    (void)load_time_take(rig);
    uint64_t opened = rig->opened;
    while (rig->opened - opened < kept / 2)
        load_open(rig, LOAD_BATCH);
    row->give_way = rate(load_time_take(rig), rig->opened - opened);
    demand(directory_count(rig) <= regions, "more than the directory may hold");
}

/* ---- rows ----------------------------------------------------------------------------------- */

static Row measure(const Options *o, unsigned hosts, size_t regions)
{
    Row row = {0};
    LoadRig *rig =
        load_rig_new(hosts, (unsigned)o->clients, regions + LOAD_BATCH, regions + LOAD_BATCH);
    double ready_rss = phase_fill(rig, regions, &row);
    phase_churn(rig, o->ops, &row);
    row.churned = (resident() - ready_rss) / (double)regions;
    phase_alive(rig, &row);
    phase_lists(rig, &row);
    phase_move(rig, &row);
    phase_near(rig, o->ops, &row);
    phase_full(rig, o->ops, &row);
    phase_reuse(rig, o->ops, &row);
    rig = load_rig_free(rig);
    (void)malloc_trim(0); /* what is resident now was not asked for before */
    rig = load_rig_new(hosts, (unsigned)o->clients, regions, regions);
    load_join(rig);
    phase_give_way(rig, regions, o->ops, &row);
    rig = load_rig_free(rig);
    rig = load_rig_new(hosts, (unsigned)o->clients, regions, regions);
    load_join(rig);
    load_open(rig, regions);
    (void)load_time_take(rig);
    phase_leave(rig, &row);
    rig = load_rig_free(rig);
    (void)malloc_trim(0);
    return row;
}

static void print_text(const Options *o, unsigned hosts, size_t regions, const Row *row)
{
    (void)printf("hosts %u, clients %" PRIu64 ", regions %zu\n", hosts, o->clients, regions);
#define X(name, title, kind) (void)printf("  %-20s %14.0f\n", title, row->name);
    COLUMNS(X)
#undef X
    (void)fflush(stdout);
}

static void print_json(FILE *f, const Options *o, unsigned hosts, size_t regions, const Row *row)
{
    (void)fprintf(f, "{\"hosts\": %u, \"clients\": %" PRIu64 ", \"regions\": %zu", hosts,
                  o->clients, regions);
#define X(name, title, kind) (void)fprintf(f, ", \"%s\": %.1f", #name, row->name);
    COLUMNS(X)
#undef X
    (void)fprintf(f, "}\n");
    (void)fflush(f);
}

/* ---- options -------------------------------------------------------------------------------- */

static bool parse_numbers(const char *text, uint64_t ret[NUMBERS_MAX], unsigned *ret_count)
{
    *ret_count = 0;
    while (*ret_count < NUMBERS_MAX) {
        char *end;
        ret[*ret_count] = strtoull(text, &end, 10);
        if (end == text || ret[*ret_count] == 0)
            return false;
        ++*ret_count;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static bool set_option(Options *o, const char *name, const char *value)
{
    uint64_t one[NUMBERS_MAX];
    unsigned n;
    if (strcmp(name, "hosts") == 0)
        return parse_numbers(value, o->hosts, &o->hosts_count);
    if (strcmp(name, "regions") == 0)
        return parse_numbers(value, o->regions, &o->regions_count);
    if (strcmp(name, "json") == 0) {
        o->json = value;
        return true;
    }
    if (!parse_numbers(value, one, &n) || n != 1)
        return false;
    if (strcmp(name, "clients") == 0)
        o->clients = one[0];
    else if (strcmp(name, "ops") == 0)
        o->ops = one[0];
    else
        return false;
    return true;
}

static Options options(int argc, char **argv)
{
    Options o = {.hosts = {16, 256, 4096},
                 .hosts_count = 3,
                 .regions = {1000, 10000, 100000, 1000000},
                 .regions_count = 4,
                 .clients = 1000,
                 .ops = 200000};
    bool good = true;
    for (int i = 1; good && i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals)
            *equals = '\0';
        good = equals && set_option(&o, argv[i], equals + 1);
    }
    if (good && o.ops >= LOAD_BATCH)
        return o;
    (void)fprintf(stderr, "usage: cmd-load [hosts=N,...] [regions=N,...] [clients=N] [ops=N] "
                          "[json=FILE]\n");
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    Options o = options(argc, argv);
    FILE *json = o.json ? fopen(o.json, "w") : NULL;
    if (o.json && !json) {
        perror(o.json);
        return EXIT_FAILURE;
    }
    for (unsigned r = 0; r < o.regions_count; r++) {
        for (unsigned h = 0; h < o.hosts_count; h++) {
            Row row = measure(&o, (unsigned)o.hosts[h], o.regions[r]);
            print_text(&o, (unsigned)o.hosts[h], o.regions[r], &row);
            if (json)
                print_json(json, &o, (unsigned)o.hosts[h], o.regions[r], &row);
        }
    }
    return json && fclose(json) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
