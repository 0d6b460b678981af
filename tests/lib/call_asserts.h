/* SPDX-License-Identifier: MIT */
/* What tests of the library ask of its calls. */
#ifndef DODO_TESTS_LIB_CALL_ASSERTS_H
#define DODO_TESTS_LIB_CALL_ASSERTS_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include <dodo/dodo.h>

#include "tests/lib/case.h"

/* The call, just made, failed with @error and told why. */
static inline void assert_fails(ssize_t result, int error)
{
    int saved = errno;
    assert_int_equal(result, -1);
    assert_int_equal(saved, error);
    assert_true(strlen(dodo_last_error()) > 0);
}

static inline void assert_says(const char *words)
{
    if (!strstr(dodo_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", dodo_last_error(), words);
}

static inline DodoStat stat_of(int rd)
{
    DodoStat st;
    assert_int_equal(dodo_stat(rd, &st), 0);
    return st;
}

/* A region with memory for it. A host that a busy machine holds up is back soon: tries again. */
static inline int opened_active(size_t len, int fd, off_t offset, unsigned flags)
{
    for (;;) {
        int rd = dodo_mopen_flags(len, fd, offset, flags);
        if (rd < 0 && errno != ENOMEM)
            fail_msg("mopen: %s", dodo_last_error());
        if (rd >= 0 && stat_of(rd).active)
            return rd;
        if (rd >= 0)
            (void)dodo_mclose(rd);
    }
}

/* Reads all of a region into @buf, again and again, until it comes from remote memory alone. False:
 * its host was given up meanwhile. */
static inline bool filled_whole(int rd, void *buf, size_t len)
{
    for (;;) {
        uint64_t hits = stat_of(rd).hits;
        ssize_t n = dodo_mread(rd, 0, buf, len);
        if ((n < 0 && errno == ENOMEM) || !stat_of(rd).active)
            return false;
        assert_int_equal(n, len);
        if (stat_of(rd).hits - hits == len)
            return true;
    }
}

/* A region, all of which was just read from remote memory; however often a busy machine holds up
 * its host for longer than the library waits. */
static inline int opened_filled(size_t len, int fd, off_t offset, unsigned flags, void *buf)
{
    for (;;) {
        int rd = opened_active(len, fd, offset, flags);
        if (filled_whole(rd, buf, len))
            return rd;
        (void)dodo_mclose(rd);
    }
}

#endif
