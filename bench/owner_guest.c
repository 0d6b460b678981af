/* SPDX-License-Identifier: MIT */
/* owner-guest: a program whose region, or whose many, live in a host's memory whenever that is
 * lent, for scripts/bench-owner. Gives remote memory all that the file holds, reads at random,
 * compares every byte with what its offset says, until SIGTERM; then prints what it saw as a line
 * of JSON. The file is one that bench_file_make() made. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/num.h"
#include "base/parse.h"
#include "base/random.h"
#include "bench/common.h"

enum { GIVE_BYTES = 8 << 20, READ_BYTES = 64 << 10, READS = 16, REST_NS = 5000000 };

static volatile sig_atomic_t stop;

static void on_term(int signal)
{
    (void)signal;
    stop = 1;
}

enum { REGIONS_MAX = 4096 };

/* A region, and where in it the next piece is that is given. */
typedef struct Part {
    int rd;
    uint64_t from, size, at;
} Part;

typedef struct Guest {
    Part parts[REGIONS_MAX];
    unsigned count, next;
    const uint8_t *file;
    uint64_t size;
    uint64_t reads, wrong, given, failed;
    Random random;
} Guest;

/* The next piece of a region; where none is missing, nothing. */
static bool give_to(Guest *g, Part *p)
{
    DodoStat st;
    if (dodo_stat(p->rd, &st) < 0 || !st.active || st.filled_bytes >= p->size)
        return false;
    size_t n = p->size - p->at < GIVE_BYTES ? p->size - p->at : GIVE_BYTES;
    struct iovec piece = {(void *)(uintptr_t)(g->file + p->from + p->at), n};
    ssize_t taken = dodo_mfillv(p->rd, &piece, 1, (off_t)p->at);
    g->given += taken > 0 ? (uint64_t)taken : 0;
    p->at = p->at + n < p->size ? p->at + n : 0;
    return taken > 0;
}

static bool give(Guest *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        Part *p = &g->parts[(g->next + i) % g->count];
        if (!give_to(g, p))
            continue;
        g->next = (g->next + i) % g->count;
        return true;
    }
    return false;
}

static void look(Guest *g)
{
    static uint8_t buf[READ_BYTES];
    for (unsigned i = 0; i < READS && !stop; i++) {
        const Part *p = &g->parts[random_below(&g->random, g->count)];
        uint64_t offset = random_below(&g->random, p->size - READ_BYTES + 1);
        if (dodo_mread(p->rd, (off_t)offset, buf, READ_BYTES) != READ_BYTES)
            g->failed++;
        else
            g->wrong += bench_data_wrong(p->from + offset, buf, READ_BYTES);
        g->reads++;
    }
}

/* What is left at the end is too little for a region of its own, and left out. */
static bool open_regions(Guest *g, int fd, uint64_t each)
{
    for (uint64_t from = 0; from + each <= g->size && g->count < REGIONS_MAX; from += each) {
        int rd = dodo_mopen_flags(each, fd, (off_t)from, DODO_FALLBACK | DODO_STRIPE);
        if (rd < 0)
            return false;
        g->parts[g->count++] = (Part){.rd = rd, .from = from, .size = each};
    }
    return g->count > 0;
}

static void close_regions(Guest *g)
{
    for (unsigned i = 0; i < g->count; i++)
        (void)dodo_mclose(g->parts[i].rd);
}

int main(int argc, char **argv)
{
    struct stat st;
    struct sigaction end = {.sa_handler = on_term};
    static Guest g = {.random = {7}};
    uint64_t each = UINT64_MAX;
    int fd = argc == 2 || argc == 3 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < READ_BYTES ||
        (argc == 3 && (parse_size(argv[2], &each) < 0 || each < READ_BYTES))) {
        (void)fprintf(stderr, "Usage: owner-guest FILE [SIZE]\n"
                              "FILE: of 64K at least, as dodo-synthetic --make makes it\n"
                              "SIZE: of each of its regions (default: one region)\n");
        return 2;
    }
    (void)sigaction(SIGTERM, &end, NULL);
    g.size = (uint64_t)st.st_size;
    void *map = mmap(NULL, g.size, PROT_READ, MAP_SHARED, fd, 0);
    g.file = map;
    if (map == MAP_FAILED || !open_regions(&g, fd, min_u64(each, g.size))) {
        (void)fprintf(stderr, "owner-guest: %s: %s\n", argv[1], dodo_last_error());
        return EXIT_FAILURE;
    }
    while (!stop) {
        if (give(&g))
            continue;
        look(&g);
        struct timespec rest = {0, REST_NS};
        (void)nanosleep(&rest, NULL);
    }
    (void)printf("{\"reads\": %" PRIu64 ", \"wrong_bytes\": %" PRIu64 ", \"failed\": %" PRIu64
                 ", \"given_bytes\": %" PRIu64 "}\n",
                 g.reads, g.wrong, g.failed, g.given);
    close_regions(&g);
    return g.wrong || g.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
