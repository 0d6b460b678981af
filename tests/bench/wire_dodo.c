/* SPDX-License-Identifier: MIT */
/* Reads and writes of one region through the public library, timed, every byte checked. A read is
 * measured once all of the region is in remote memory, and from then on not one byte may come from
 * the file. For comparison also the file alone, by pread(2) and pwrite(2). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "examples/bench_common.h"
#include "tests/bench/wire_common.h"

static const char usage[] =
    "Usage: wire-dodo make|read|write|pread|pwrite FILE [NAME=VALUE...]\n"
    "Makes FILE; measures mread() or mwrite() of a region of it; measures pread(2) or pwrite(2) "
    "of\n"
    "the file itself. The cluster is found as by any program. Prints a line of JSON.\n"
    "\n"
    "  name=TEXT  who is measured, for the line\n"
    "  size=SIZE  of a call (8K)\n"
    "  area=SIZE  of the region (32M)\n"
    "  time=TIME  inside the calls, at least (200ms)\n"
    "  ops=N      calls, at least (20)\n"
    "  warm=N     calls before that, not counted (100)\n";

enum { WARM_STEP_BYTES = 256 << 10 };
static const uint64_t WARM_DEADLINE_NS = 60 * NS_PER_S;

/* ---- through Dodo --------------------------------------------------------------------------- */

static int region_read(void *ctx, uint64_t offset, void *buf, size_t len)
{
    ssize_t n = dodo_mread(*(int *)ctx, (off_t)offset, buf, len);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

static int region_write(void *ctx, uint64_t offset, const void *buf, size_t len)
{
    ssize_t n = dodo_mwrite(*(int *)ctx, (off_t)offset, buf, len);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

static int region_missed(int rd, uint64_t *ret)
{
    DodoStat st;
    if (dodo_stat(rd, &st) < 0)
        return -errno;
    if (!st.active)
        return -ENOMEM;
    *ret = st.misses;
    return 0;
}

/* Reads all of the region until none of it comes from the file any more. Fills run beside. */
static int warm_up(int rd, uint64_t area_bytes)
{
    uint8_t *buf CLEANUP_FREE = malloc(WARM_STEP_BYTES);
    uint64_t before, after = 0, until = os_now_ns() + WARM_DEADLINE_NS;
    int result = buf ? region_missed(rd, &after) : -ENOMEM;
    do {
        before = after;
        for (uint64_t at = 0; result == 0 && at < area_bytes; at += WARM_STEP_BYTES) {
            uint64_t left = area_bytes - at;
            result = region_read(&rd, at, buf, left < WARM_STEP_BYTES ? left : WARM_STEP_BYTES);
        }
        if (result == 0)
            result = region_missed(rd, &after);
        if (result == 0 && after != before && os_now_ns() >= until)
            result = -ETIMEDOUT;
    } while (result == 0 && after != before);
    return result;
}

static int measure_region(const WireOptions *o, int fd, WireResult *ret, uint64_t *ret_missed)
{
    int rd = dodo_mopen(o->area_bytes, fd, 0);
    uint64_t before = 0, after = 0;
    WireTarget target = {.read = region_read, .write = region_write, .ctx = &rd};
    if (rd < 0)
        return -errno;
    int result = o->write ? 0 : warm_up(rd, o->area_bytes);
    if (result == 0)
        result = region_missed(rd, &before);
    if (result == 0)
        result = wire_measure(o, &target, ret);
    if (result == 0)
        result = region_missed(rd, &after);
    *ret_missed = after - before;
    if (dodo_mclose(rd) < 0 && result == 0)
        result = -errno;
    return result;
}

/* ---- the file alone ------------------------------------------------------------------------- */

static int file_read(void *ctx, uint64_t offset, void *buf, size_t len)
{
    ssize_t n = pread(*(int *)ctx, buf, len, (off_t)offset);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

static int file_write(void *ctx, uint64_t offset, const void *buf, size_t len)
{
    ssize_t n = pwrite(*(int *)ctx, buf, len, (off_t)offset);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

/* ---- main ----------------------------------------------------------------------------------- */

static int measure(const WireOptions *o, bool plain, WireResult *ret, uint64_t *ret_missed)
{
    int fd CLEANUP_CLOSE = open(o->at, O_RDWR | O_CLOEXEC);
    WireTarget target = {.read = file_read, .write = file_write, .ctx = &fd};
    if (fd < 0)
        return -errno;
    return plain ? wire_measure(o, &target, ret) : measure_region(o, fd, ret, ret_missed);
}

int main(int argc, char **argv)
{
    static char read_word[] = "read";
    const char *word = argc > 1 ? argv[1] : "";
    bool make = strcmp(word, "make") == 0;
    bool plain = strcmp(word, "pread") == 0 || strcmp(word, "pwrite") == 0;
    uint64_t missed = 0;
    WireResult r = {.ops = 0};
    char more[64];
    if (make)
        argv[1] = read_word;
    else if (plain)
        argv[1]++;
    WireOptions o = wire_options(argc, argv, usage);
    int result = make ? bench_file_make(o.at, o.area_bytes) : measure(&o, plain, &r, &missed);
    if (result < 0) {
        fprintf(stderr, "wire-dodo %s: %s (%s)\n", word, strerror(-result), dodo_last_error());
        return 1;
    }
    if (make)
        return 0;
    (void)snprintf(more, sizeof more, ", \"missed_bytes\": %" PRIu64, missed);
    wire_print(&o, &r, more);
    return r.wrong_bytes > 0 || missed > 0;
}
