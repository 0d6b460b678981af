/* SPDX-License-Identifier: MIT */
/* owner-guest: a program whose region lives in a host's memory whenever that is lent, for
 * scripts/bench-owner. Gives remote memory all that the file holds, reads at random, compares every
 * byte with what its offset says, until SIGTERM; then prints what it saw as a line of JSON. The
 * file is one that bench_file_make() made. */
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

#include "examples/bench_common.h"

enum { GIVE_BYTES = 8 << 20, READ_BYTES = 64 << 10, READS = 16, REST_NS = 5000000 };

static volatile sig_atomic_t stop;

static void on_term(int signal)
{
    (void)signal;
    stop = 1;
}

typedef struct Guest {
    int rd;
    const uint8_t *file;
    uint64_t size, at;
    uint64_t reads, wrong, given, failed;
    BenchRandom random;
} Guest;

/* The next piece; where none is missing, nothing. */
static bool give(Guest *g)
{
    DodoStat st;
    if (dodo_stat(g->rd, &st) < 0 || !st.active || st.filled_bytes >= g->size)
        return false;
    size_t n = g->size - g->at < GIVE_BYTES ? g->size - g->at : GIVE_BYTES;
    struct iovec piece = {(void *)(uintptr_t)(g->file + g->at), n};
    ssize_t taken = dodo_mfillv(g->rd, &piece, 1, (off_t)g->at);
    g->given += taken > 0 ? (uint64_t)taken : 0;
    g->at = g->at + n < g->size ? g->at + n : 0;
    return taken > 0;
}

static void look(Guest *g)
{
    static uint8_t buf[READ_BYTES];
    for (unsigned i = 0; i < READS && !stop; i++) {
        uint64_t offset = bench_random_below(&g->random, g->size - READ_BYTES + 1);
        if (dodo_mread(g->rd, (off_t)offset, buf, READ_BYTES) != READ_BYTES)
            g->failed++;
        else
            g->wrong += bench_data_wrong(offset, buf, READ_BYTES);
        g->reads++;
    }
}

int main(int argc, char **argv)
{
    struct stat st;
    struct sigaction end = {.sa_handler = on_term};
    Guest g = {.random = {7}};
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < READ_BYTES) {
        (void)fprintf(
            stderr,
            "Usage: owner-guest FILE (of 64K at least, as dodo-synthetic --make makes it)\n");
        return 2;
    }
    (void)sigaction(SIGTERM, &end, NULL);
    g.size = (uint64_t)st.st_size;
    void *map = mmap(NULL, g.size, PROT_READ, MAP_SHARED, fd, 0);
    g.file = map;
    g.rd = dodo_mopen_flags(g.size, fd, 0, DODO_FALLBACK | DODO_STRIPE);
    if (map == MAP_FAILED || g.rd < 0) {
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
    (void)dodo_mclose(g.rd);
    return g.wrong || g.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
