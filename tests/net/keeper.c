/* SPDX-License-Identifier: MIT */
/* keeper: one run of a program that keeps its regions for the next run. It opens some pieces of a
 * file with DODO_RETAIN, reads all of them and compares every byte with the file's, and closes
 * them.
 *
 *   keeper FILE new      no region may be found from an earlier run; each is read until all of it
 *                        comes from remote memory, so that there is something to keep
 *   keeper FILE found    each must be found, and not a byte may come from the file */
#include <dodo/dodo.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20, PIECES = 5, SHORT_READ = 8111 };

/* The last one ends where the file (of 8 MiB) does. */
static const struct Piece {
    off_t offset;
    size_t len;
} pieces[PIECES] = {
    {0, 2 * MIB},     {2 * MIB + 4097, MIB + 777}, {4 * MIB, 300 * 1000},
    {5 * MIB + 1, 1}, {8 * MIB - 5000, 5000},
};

static int rds[PIECES];
static int file;

static void die(const char *what)
{
    fprintf(stderr, "keeper: %s: %s; %s\n", what, strerror(errno), dodo_last_error());
    exit(1);
}

static void refuse(unsigned piece, const char *what)
{
    fprintf(stderr, "keeper: region %u: %s\n", piece, what);
    exit(1);
}

static DodoStat stat_of(unsigned piece)
{
    DodoStat st;
    if (dodo_stat(rds[piece], &st) != 0)
        die("dodo_stat");
    if (!st.active)
        refuse(piece, "has lost its host");
    return st;
}

/* Reads the whole region in calls of at most @step bytes: it is what the file is. */
static void read_all(unsigned piece, size_t step)
{
    const struct Piece *p = &pieces[piece];
    char *want = malloc(p->len), *got = malloc(p->len);
    if (!want || !got || pread(file, want, p->len, p->offset) != (ssize_t)p->len)
        die("reading the file");
    for (size_t at = 0; at < p->len; at += step) {
        size_t len = p->len - at < step ? p->len - at : step;
        if (dodo_mread(rds[piece], (off_t)at, got + at, len) != (ssize_t)len)
            die("dodo_mread");
    }
    if (memcmp(want, got, p->len) != 0)
        refuse(piece, "wrong bytes");
    free(want);
    free(got);
}

/* Until a whole round of it comes from remote memory. */
static void fill(unsigned piece)
{
    uint64_t misses;
    do {
        misses = stat_of(piece).misses;
        read_all(piece, pieces[piece].len);
    } while (stat_of(piece).misses != misses);
}

static void use(unsigned piece, bool found)
{
    DodoStat st = stat_of(piece);
    if (st.reused != found)
        refuse(piece, found ? "was not found" : "was found, where none should be");
    if (found)
        read_all(piece, SHORT_READ);
    else
        fill(piece);
    read_all(piece, pieces[piece].len);
    st = stat_of(piece);
    printf("region %u at %s: reused=%" PRIu32 " hits=%" PRIu64 " misses=%" PRIu64 "\n", piece,
           st.host, st.reused, st.hits, st.misses);
    if (found && st.misses > 0)
        refuse(piece, "reads came from the file");
    if (st.hits < pieces[piece].len * (found ? 2 : 1))
        refuse(piece, "reads did not come from remote memory");
}

int main(int argc, char **argv)
{
    bool found = argc == 3 && strcmp(argv[2], "found") == 0;
    if (argc != 3 || (!found && strcmp(argv[2], "new") != 0)) {
        fprintf(stderr, "usage: keeper FILE new|found\n");
        return 2;
    }
    file = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (file < 0)
        die(argv[1]);
    for (unsigned i = 0; i < PIECES; i++) {
        rds[i] = dodo_mopen_flags(pieces[i].len, file, pieces[i].offset, DODO_RDONLY | DODO_RETAIN);
        if (rds[i] < 0)
            die("dodo_mopen_flags");
    }
    for (unsigned i = 0; i < PIECES; i++)
        use(i, found);
    for (unsigned i = 0; i < PIECES; i++)
        if (dodo_mclose(rds[i]) != 0)
            die("dodo_mclose");
    return 0;
}
