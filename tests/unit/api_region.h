/* SPDX-License-Identifier: MIT */
/* A cluster of real daemons, a file, and a region of all of it: what tests of the public calls
 * begin with. A test file includes this once. */
#ifndef DODO_TESTS_API_REGION_H
#define DODO_TESTS_API_REGION_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"

#define FIXTURE static inline __attribute__((unused))

static Cluster cluster;
static int fd = -1;
static uint8_t *content, *buf;
static size_t file_len;

/* With @imds hosts of 9 MiB each, and @len bytes in the file. */
FIXTURE void world_start(const char *config, unsigned imds, size_t len)
{
    file_len = len;
    cluster_start(&cluster, config, true);
    for (unsigned i = 0; i < imds; i++)
        (void)cluster_imd(&cluster, "9M");
    fd = cluster_file(&cluster, NULL);
    content = malloc(len);
    buf = malloc(len);
    load_fresh(0, content, len);
    if (pwrite(fd, content, len, 0) != (ssize_t)len)
        abort();
}

FIXTURE int tear_down(void **state)
{
    (void)state;
    (void)dodo_shutdown();
    (void)close(fd);
    free(content);
    free(buf);
    cluster_end(&cluster);
    return 0;
}

FIXTURE int opened(unsigned flags)
{
    int rd = dodo_mopen_flags(file_len, fd, 0, flags);
    if (rd < 0)
        fail_msg("mopen: %s", dodo_last_error());
    return rd;
}

FIXTURE void read_all(int rd)
{
    memset(buf, 0, file_len);
    assert_int_equal(dodo_mread(rd, 0, buf, file_len), file_len);
    assert_memory_equal(buf, content, file_len);
}

#endif
