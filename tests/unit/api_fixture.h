/* SPDX-License-Identifier: MIT */
/* What the tests of the calls on a cluster share: a manager, a host, a file whose bytes are known.
 * A test file includes this once. */
#ifndef DODO_TESTS_API_FIXTURE_H
#define DODO_TESTS_API_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/call_asserts.h"
#include "tests/lib/load.h"

enum { KIB = 1 << 10, MIB = 1 << 20, FILE_BYTES = 12 * MIB };

/* Nothing gives up on a busy machine, but where a test says so: neither does the manager, which
 * asks hosts for a region's memory. */
#define PATIENT                                                   \
    "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n[client]\n" \
    "transfer_deadline = 60s\nrequest_deadline = 60s\n"
static const char no_refraction[] = PATIENT "refraction = 1us\n";

static Cluster cluster;
static int fd = -1;
static char path[128];
static uint8_t *content; /* of the file, as it is made */

static inline void file_make(void)
{
    fd = cluster_file(&cluster, path);
    content = malloc(FILE_BYTES);
    load_fresh(0, content, FILE_BYTES);
    if (pwrite(fd, content, FILE_BYTES, 0) != FILE_BYTES)
        abort();
}

static inline void begin(const char *config, const char *pool)
{
    cluster_start(&cluster, config, false);
    (void)cluster_imd(&cluster, pool);
    file_make();
}

/* Until a later change of the file gives another stamp. */
static inline void await_settled(void)
{
    file_settle(fd);
}

/* The test's own descriptor must not be one that could write. */
static inline void nobody_writes(void)
{
    assert_int_equal(close(fd), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
}

static inline int tear_down(void **state)
{
    (void)state;
    if (cluster.cmd.pid)
        (void)kill(cluster.cmd.pid, SIGCONT);
    (void)dodo_shutdown();
    (void)close(fd);
    free(content);
    cluster_end(&cluster);
    return 0;
}

static inline int opened(size_t len, off_t offset, unsigned flags)
{
    int rd = dodo_mopen_flags(len, fd, offset, flags);
    if (rd < 0)
        fail_msg("mopen: %s", dodo_last_error());
    return rd;
}

/* Opens with memory for it: tries again in a refraction period. */
static inline int opened_again(size_t len, off_t offset, unsigned flags)
{
    int rd;
    while ((rd = dodo_mopen_flags(len, fd, offset, flags)) < 0)
        if (errno != ENOMEM)
            fail_msg("mopen: %s", dodo_last_error());
    return rd;
}

/* Reads [at, at + len) of a region that starts at @start in the file; all of it is right. */
static inline void assert_reads(int rd, off_t start, off_t at, size_t len)
{
    uint8_t *got = calloc(1, len);
    assert_int_equal(dodo_mread(rd, at, got, len), len);
    assert_memory_equal(got, content + start + at, len);
    free(got);
}

/* With all of it in remote memory, on a host that is not given up yet. */
static inline int opened_full(size_t len, off_t offset)
{
    uint8_t *got = malloc(len);
    int rd = opened_filled(len, fd, offset, 0, got);
    assert_memory_equal(got, content + offset, len);
    free(got);
    return rd;
}

/* Until all of the range is read from remote memory alone. */
static inline void fill(int rd, off_t start, off_t at, size_t len)
{
    uint64_t misses;
    do {
        misses = stat_of(rd).misses;
        assert_reads(rd, start, at, len);
    } while (stat_of(rd).misses != misses);
}

#endif
