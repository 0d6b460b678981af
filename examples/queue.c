/* SPDX-License-Identifier: MIT */
/* One thread reads pieces of a file in random order, many at once, from as many hosts as hold it.
 * With Dodo installed: cc queue.c -o queue $(pkg-config --cflags --libs dodo)
 * Run it where a manager listens: DODO_MANAGER=HOST:PORT DODO_KEY=FILE ./queue FILE */
#include <dodo/dodo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH = 32, PIECE = 1 << 14, REGION = 1 << 22, REGIONS = 8, READS = 20000 };

static int rds[REGIONS];

static int fail(const char *call)
{
    fprintf(stderr, "queue: %s: %s\n", call, dodo_last_error());
    return 1;
}

/* A random piece of a random region into the buffer, whose address is the tag. */
static int submit(DodoQueue *q, void *buf)
{
    off_t offset = (off_t)(rand() % (REGION / PIECE)) * PIECE;
    return dodo_queue_read(q, rds[rand() % REGIONS], offset, buf, PIECE, buf);
}

int main(int argc, char **argv)
{
    static char bufs[DEPTH][PIECE];
    DodoDone done[DEPTH];
    unsigned long long bytes = 0;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1, n, sent = 0;
    if (fd < 0) {
        fprintf(stderr, "usage: queue FILE    (of some MiB)\n");
        return 2;
    }
    for (int i = 0; i < REGIONS; i++) { /* each on one host; all of them perhaps on several */
        rds[i] = dodo_mopen_flags(REGION, fd, (off_t)i * REGION, DODO_RDONLY | DODO_FALLBACK);
        if (rds[i] < 0)
            return fail("mopen");
    }
    DodoQueue *q = dodo_queue_open(DEPTH);
    if (!q)
        return fail("queue_open");
    for (; sent < DEPTH; sent++)
        if (submit(q, bufs[sent]) < 0)
            return fail("queue_read");
    while ((n = dodo_queue_wait(q, done, DEPTH, -1)) > 0) { /* 0: none is under way any more */
        for (int i = 0; i < n; i++) {
            if (done[i].result < 0)
                return fail("mread"); /* done[i].error tells which errno it would have set */
            bytes += (unsigned long long)done[i].result;
            if (sent < READS && submit(q, done[i].tag) < 0)
                return fail("queue_read");
            sent += sent < READS;
        }
    }
    if (n < 0)
        return fail("queue_wait");
    printf("%d reads, %llu bytes\n", sent, bytes);
    if (fflush(stdout) != 0) {
        perror("queue: cannot write to the standard output");
        return 1;
    }
    dodo_queue_close(q);
    return close(fd);
}
