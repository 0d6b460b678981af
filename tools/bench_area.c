/* SPDX-License-Identifier: MIT */
/* What dodo bench reads and writes: a file, and regions of it one behind the other. */
#include <dodo/dodo.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/time.h"
#include "bench/common.h"
#include "examples/progress.h"
#include "tools/bench.h"

enum { STEP_BYTES = 256 << 10 };
enum { VERSION_SHIFT = 40 };                            /* above every place of the area */
static const uint64_t FILL_DEADLINE_NS = 30 * NS_PER_S; /* without any progress */

/* ---- the file -------------------------------------------------------------------------------- */

/* It has no name from the start, so that nothing is left of it whatever happens. */
static int file_make(BenchArea *a, const BenchOptions *o, char *error)
{
    char path[4096], shown[256];
    Progress progress = {.on = o->progress};
    uint64_t size = a->layout.area_bytes;
    int res = snprintf(path, sizeof path, "%s/dodo-bench-XXXXXX", o->dir) < (int)sizeof path
                  ? 0
                  : -ENAMETOOLONG;
    if (res == 0) {
        a->fd = mkostemp(path, O_CLOEXEC);
        res = a->fd < 0 || unlink(path) != 0 ? -errno : 0;
    }
    for (uint64_t at = 0; res == 0 && at < size; at += 16 * STEP_BYTES) {
        uint64_t left = size - at;
        res = bench_signal
                  ? -EINTR
                  : bench_file_write(a->fd, at, left < 16 * STEP_BYTES ? left : 16 * STEP_BYTES);
        progress_show(&progress, at, size, "making the file");
    }
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "cannot make a file of %" PRIu64 " bytes in %s: %s; see --dir and --area",
                       size, printable_path(o->dir, shown, sizeof shown), strerror(-res));
    return res;
}

static int file_open(BenchArea *a, const BenchOptions *o, char *error)
{
    struct stat st;
    char shown[256];
    (void)printable_path(o->file, shown, sizeof shown);
    a->fd = open(o->file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* a pipe has no writer */
    if (a->fd < 0 || fstat(a->fd, &st) != 0) {
        int res = -errno;
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s: %s", shown, strerror(-res));
        return res;
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s: expected a regular file with data in it",
                       shown);
        return -EINVAL;
    }
    if ((uint64_t)st.st_size < a->layout.area_bytes)
        a->layout.area_bytes = (uint64_t)st.st_size;
    return 0;
}

/* ---- the regions ----------------------------------------------------------------------------- */

static int regions_open(BenchArea *a, char *error)
{
    uint64_t count = bench_regions(&a->layout);
    a->regions = calloc(count, sizeof *a->regions);
    if (!a->regions || count > BENCH_REGIONS_MAX) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "%" PRIu64 " regions are too many: give a larger --region-size", count);
        return -EINVAL;
    }
    for (uint64_t i = 0; i < count && !bench_signal; i++) {
        a->regions[i] =
            dodo_mopen_flags(bench_region_length(&a->layout, i), a->fd,
                             (off_t)(i * a->layout.region_bytes), a->made ? 0 : DODO_RDONLY);
        if (a->regions[i] < 0) {
            int res = -errno;
            (void)snprintf(error, CONFIG_ERROR_MAX,
                           "region %" PRIu64 " of %" PRIu64 " is unavailable: %s%s", i + 1, count,
                           dodo_last_error(),
                           res == -ENOMEM ? "; see dodo status, --area and --region-size" : "");
            return res;
        }
        a->regions_open++;
    }
    return bench_signal ? -EINTR : 0;
}

int bench_area_open(BenchArea *a, const BenchOptions *o, char error[CONFIG_ERROR_MAX])
{
    *a = (BenchArea){.layout = {o->area_bytes, o->region_bytes}, .fd = -1, .made = !o->file};
    int res = a->made ? file_make(a, o, error) : file_open(a, o, error);
    return res < 0 ? res : regions_open(a, error);
}

void bench_area_close(BenchArea *a)
{
    for (uint64_t i = 0; i < a->regions_open; i++)
        (void)dodo_mclose(a->regions[i]); /* frees the descriptor whatever it returns */
    (void)dodo_shutdown(); /* a manager that cannot be informed finds out by itself */
    free(a->regions);
    if (a->fd >= 0)
        (void)close(a->fd); /* it has no name, or was only read */
    *a = (BenchArea){.fd = -1};
}

BenchSources bench_area_sources(const BenchArea *a)
{
    BenchSources sum = {0, 0};
    for (uint64_t i = 0; i < a->regions_open; i++) {
        DodoStat st;
        if (dodo_stat(a->regions[i], &st) != 0)
            continue;
        sum.remote_bytes += st.hits;
        sum.file_bytes += st.misses;
    }
    return sum;
}

unsigned bench_area_hosts(const BenchArea *a, char (*ret)[BENCH_HOST_MAX], unsigned max)
{
    unsigned count = 0;
    for (uint64_t i = 0; i < a->regions_open && count < max; i++) {
        DodoStat st;
        unsigned k = 0;
        if (dodo_stat(a->regions[i], &st) != 0 || !*st.host)
            continue;
        while (k < count && strcmp(ret[k], st.host) != 0)
            k++;
        if (k == count)
            (void)snprintf(ret[count++], BENCH_HOST_MAX, "%s", st.host);
    }
    return count;
}

/* ---- calls ----------------------------------------------------------------------------------- */

int bench_call_failed(const char *what, uint64_t offset, int result, char *error)
{
    if (result == -ENOMEM)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "the host that held the region at %" PRIu64 " is lost (%s)", offset,
                       dodo_last_error());
    else if (result != -EINTR)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s at %" PRIu64 ": %s", what, offset,
                       result == -ENODATA ? "the file is shorter than it was" : strerror(-result));
    return result;
}

int bench_area_read(const BenchArea *a, uint64_t offset, void *buf, size_t len)
{
    uint64_t region = a->layout.region_bytes;
    ssize_t n = dodo_mread(a->regions[offset / region], (off_t)(offset % region), buf, len);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -ENODATA;
}

int bench_area_write(const BenchArea *a, uint64_t offset, const void *buf, size_t len)
{
    uint64_t region = a->layout.region_bytes;
    ssize_t n = dodo_mwrite(a->regions[offset / region], (off_t)(offset % region), buf, len);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -ENOSPC;
}

void bench_contents_make(uint64_t offset, uint32_t version, void *buf, size_t len)
{
    bench_data_make(offset + ((uint64_t)version << VERSION_SHIFT), buf, len);
}

int bench_area_check(const BenchArea *a, uint64_t offset, uint32_t version, const void *buf,
                     void *spare, size_t len, uint64_t *ret)
{
    if (!a->made)
        return bench_area_check_file(a, offset, buf, spare, len, ret);
    *ret = bench_data_wrong(offset + ((uint64_t)version << VERSION_SHIFT), buf, len);
    return 0;
}

int bench_area_check_file(const BenchArea *a, uint64_t offset, const void *buf, void *spare,
                          size_t len, uint64_t *ret)
{
    const uint8_t *is = buf, *wanted = spare;
    *ret = 0;
    ssize_t n = pread(a->fd, spare, len, (off_t)offset);
    if (n < 0 || (size_t)n != len)
        return n < 0 ? -errno : -ENODATA;
    if (memcmp(is, wanted, len) != 0)
        for (size_t i = 0; i < len; i++)
            *ret += is[i] != wanted[i];
    return 0;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Reads all of it once. */
static int read_all(const BenchArea *a, Progress *progress, uint8_t *buf, char *error)
{
    for (uint64_t r = 0; r < bench_regions(&a->layout); r++) {
        uint64_t start = r * a->layout.region_bytes, len = bench_region_length(&a->layout, r);
        for (uint64_t at = 0; at < len; at += STEP_BYTES) {
            size_t n = len - at < STEP_BYTES ? (size_t)(len - at) : STEP_BYTES;
            int res = bench_signal ? -EINTR : bench_area_read(a, start + at, buf, n);
            if (res < 0)
                return bench_call_failed("filling", start + at, res, error);
            progress_show(progress, start + at + n, a->layout.area_bytes, "filling");
        }
    }
    return 0;
}

/* Fills run beside the reads, so it takes more than one time over. */
int bench_area_fill(const BenchArea *a, bool progress, char error[CONFIG_ERROR_MAX])
{
    uint8_t *buf CLEANUP_FREE = malloc(STEP_BYTES);
    uint64_t least = UINT64_MAX, until = time_add(os_now_ns(), FILL_DEADLINE_NS);
    int res = buf ? 0 : -ENOMEM;
    while (res == 0 && os_now_ns() < until) {
        Progress p = {.on = progress};
        uint64_t before = bench_area_sources(a).file_bytes;
        res = read_all(a, &p, buf, error);
        uint64_t missed = bench_area_sources(a).file_bytes - before;
        if (missed == 0)
            break;
        if (missed < least) {
            least = missed;
            until = time_add(os_now_ns(), FILL_DEADLINE_NS);
        }
    }
    return res;
}
