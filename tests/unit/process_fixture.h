/* SPDX-License-Identifier: MIT */
/* What the tests share that run the library in processes of their own: a cluster of real programs,
 * and a file of pieces whose bytes are known. What ends a process runs in a child: this program
 * again, as "PROGRAM child SCENARIO". A test file includes this once. */
#ifndef DODO_TESTS_PROCESS_FIXTURE_H
#define DODO_TESTS_PROCESS_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/cleanup.h"
#include "tests/lib/call_asserts.h"
#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/forked.h"
#include "tests/lib/load.h"
#include "tests/lib/sanitizer.h"
#include "tests/lib/seccomp.h"

#if UNDER_TSAN
/* TSan does not follow a thread in the child of a process with threads: there, it starts none. */
enum { SCALE = 4, CHILD_HAS_THREADS = 0 };
#else
enum { SCALE = 1, CHILD_HAS_THREADS = 1 };
#endif

enum { THREADS = 6, PIECE = 100 * 1000, SMALL = 8192 };

static const char config[] = "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
                             "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n"
                             "refraction = 20ms\n";
static Cluster cluster;
static int fd = -1;
static char path[128];

static inline void pieces_make(unsigned count)
{
    static uint8_t data[PIECE];
    for (unsigned i = 0; i < count; i++) {
        load_fresh(i * PIECE, data, PIECE);
        if (pwrite(fd, data, PIECE, (off_t)i * PIECE) != PIECE)
            abort();
    }
}

static inline int set_up_with(const char *text, bool sealed)
{
    cluster_start(&cluster, text, sealed);
    (void)cluster_imd(&cluster, "64M");
    fd = cluster_file(&cluster, path);
    pieces_make(40);
    return 0;
}

static inline int set_up(void **state)
{
    (void)state;
    return set_up_with(config, true);
}

static inline int tear_down(void **state)
{
    (void)state;
    (void)dodo_shutdown();
    (void)close(fd);
    cluster_end(&cluster);
    return 0;
}

static inline int piece_open(unsigned piece, unsigned flags)
{
    return dodo_mopen_flags(PIECE, fd, (off_t)piece * PIECE, flags);
}

/* 0 when the piece of the file reads as it was made, twice: the second time from remote memory. */
static inline int piece_check(int rd, unsigned piece)
{
    uint8_t *want = malloc(PIECE), *got = malloc(PIECE);
    int bad = 0;
    load_fresh(piece * PIECE, want, PIECE);
    for (int i = 0; i < 2; i++) {
        memset(got, 0, PIECE);
        bad |= dodo_mread(rd, 0, got, PIECE) != PIECE || memcmp(want, got, PIECE) != 0;
    }
    free(want);
    free(got);
    return bad;
}

/* Reads until remote memory has the whole piece; the parent's copy is alive, that is. */
static inline void assert_remote(int rd, unsigned piece)
{
    uint64_t misses;
    do {
        misses = stat_of(rd).misses;
        assert_int_equal(piece_check(rd, piece), 0);
        assert_int_equal(stat_of(rd).active, 1);
    } while (stat_of(rd).misses != misses);
}

/* A scenario that runs in a child. */
typedef struct Child {
    const char *name;
    int (*run)(char **argv);
} Child;

/* Of "PROGRAM child SCENARIO ..." the status; -1: this process is no child. */
static inline int child_main(int argc, char **argv, const Child *children, size_t count)
{
    if (argc < 3 || strcmp(argv[1], "child") != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[2], children[i].name) == 0)
            return children[i].run(argv + 3);
    return 99;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

#endif
