/* SPDX-License-Identifier: MIT */
/* Dodo, measured as the peers are: reads and writes of regions through the public library alone.
 * They are measured once all of the regions is in remote memory (unless writes are to be cold), and
 * from then on not one byte may come from the file. More than one read outstanding: threads, which
 * wait for one each, or one thread and a queue. For comparison also the file alone. */
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
#include "bench/peers_dodo.h"

static const char usage[] =
    "Usage: peers-dodo make|read|write|pread|pwrite FILE [NAME=VALUE...]\n"
    "Makes FILE; measures mread() or mwrite() of regions of it; measures pread(2) or pwrite(2) of\n"
    "the file itself. The cluster is found as by any program. Prints a line of JSON.\n"
    "\n"
    "  name=TEXT     who is measured, for the line\n"
    "  size=SIZE     of a call (8K)\n"
    "  area=SIZE     of the file (64M)\n"
    "  regions=N     it is divided into; each thread has one of them (1)\n"
    "  cold=1        write to regions of which nothing is in remote memory yet\n"
    "  threads=N     (1); depth=N: reads outstanding, by a queue and one thread (0: none)\n"
    "  time=TIME     at least (150ms); ops=N: at least (20); warm=N: before, a thread (100)\n"
    "  servers=PID,...  their CPU time is printed\n";

enum { STEP_BYTES = 256 << 10 };
static const uint64_t WARM_DEADLINE_NS = 60 * NS_PER_S;

static PeerRegion regions[PEER_THREADS_MAX];

/* ---- calls ---------------------------------------------------------------------------------- */

static int region_open(const PeerOptions *o, unsigned thread, void **ret_conn)
{
    *ret_conn = &regions[thread % o->regions];
    return 0;
}

static void region_close(void *conn)
{
}

static int result_of(ssize_t n, size_t len)
{
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

static int region_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    const PeerRegion *r = conn;
    return result_of(dodo_mread(r->rd, (off_t)(offset % r->len), buf, len), len);
}

static int region_write(void *conn, uint64_t offset, const void *buf, size_t len)
{
    const PeerRegion *r = conn;
    return result_of(dodo_mwrite(r->rd, (off_t)(offset % r->len), buf, len), len);
}

/* The loop's places are those of one region; which region a thread has says the rest: contents
 * are made of the place in its region (see make_file()). */
static const PeerOps ops = {region_open, region_close, region_read, region_write, NULL};

/* ---- the file alone -------------------------------------------------------------------------- */

static int file_open(const PeerOptions *o, unsigned thread, void **ret_conn)
{
    int *fd = malloc(sizeof *fd);
    if (!fd)
        return -ENOMEM;
    *ret_conn = fd; /* closed by the caller, whatever comes */
    *fd = open(o->at, O_RDWR | O_CLOEXEC);
    return *fd < 0 ? -errno : 0;
}

static void file_close(void *conn)
{
    int *fd = conn;
    if (fd && *fd >= 0)
        (void)close(*fd);
    free(fd);
}

static int file_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    return result_of(pread(*(int *)conn, buf, len, (off_t)offset), len);
}

static int file_write(void *conn, uint64_t offset, const void *buf, size_t len)
{
    return result_of(pwrite(*(int *)conn, buf, len, (off_t)offset), len);
}

static const PeerOps file_ops = {file_open, file_close, file_read, file_write, NULL};

/* ---- the regions ---------------------------------------------------------------------------- */

static int missed(const PeerOptions *o, uint64_t *ret)
{
    *ret = 0;
    for (unsigned i = 0; i < o->regions; i++) {
        DodoStat st;
        if (dodo_stat(regions[i].rd, &st) < 0)
            return -errno;
        if (!st.active)
            return -ENOMEM;
        *ret += st.misses;
    }
    return 0;
}

static int read_all(const PeerOptions *o, uint8_t *buf)
{
    int result = 0;
    for (unsigned i = 0; i < o->regions; i++)
        for (uint64_t at = 0; result == 0 && at < regions[i].len; at += STEP_BYTES) {
            uint64_t left = regions[i].len - at;
            result = region_read(&regions[i], at, buf, left < STEP_BYTES ? left : STEP_BYTES);
        }
    return result;
}

/* Until none of it comes from the file any more. Fills run beside. */
static int warm_up(const PeerOptions *o)
{
    uint8_t *buf CLEANUP_FREE = malloc(STEP_BYTES);
    uint64_t before, after = 0, until = os_now_ns() + WARM_DEADLINE_NS;
    int result = buf ? 0 : -ENOMEM;
    do {
        before = after;
        if (result == 0)
            result = read_all(o, buf);
        if (result == 0)
            result = missed(o, &after);
        if (result == 0 && after != before && os_now_ns() >= until)
            result = -ETIMEDOUT;
    } while (result == 0 && after != before);
    return result;
}

static int open_regions(const PeerOptions *o, int fd)
{
    uint64_t len = o->area_bytes / o->regions;
    for (unsigned i = 0; i < o->regions; i++) {
        regions[i] = (PeerRegion){dodo_mopen(len, fd, (off_t)(i * len)), len};
        if (regions[i].rd < 0)
            return -errno;
    }
    return 0;
}

static int measure(const PeerOptions *o, PeerResult *ret, uint64_t *ret_missed)
{
    int fd CLEANUP_CLOSE = open(o->at, O_RDWR | O_CLOEXEC);
    uint64_t before = 0, after = 0;
    PeerOptions part = *o;
    for (unsigned i = 0; i < PEER_THREADS_MAX; i++)
        regions[i].rd = -1;
    int result = fd < 0 ? -errno : open_regions(o, fd);
    if (result == 0 && !o->cold)
        result = warm_up(o);
    if (result == 0)
        result = missed(o, &before);
    part.area_bytes /= o->regions;
    part.file = o->regions == 1 ? o->at : NULL; /* read back from there, too */
    if (result == 0)
        result = o->depth > 0 && !o->write ? peer_measure_queue(&part, regions, ret)
                                           : peer_measure(&part, &ops, ret);
    if (result == 0)
        result = missed(o, &after);
    *ret_missed = after - before;
    for (unsigned i = 0; i < o->regions; i++)
        if (regions[i].rd >= 0 && dodo_mclose(regions[i].rd) < 0 && result == 0)
            result = -errno;
    return result;
}

/* ---- main ----------------------------------------------------------------------------------- */

/* Each region's part holds the same. */
static int make_file(const PeerOptions *o)
{
    uint8_t *buf CLEANUP_FREE = malloc(STEP_BYTES);
    int fd CLEANUP_CLOSE = open(o->at, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    uint64_t part = o->area_bytes / o->regions;
    if (fd < 0 || !buf || part % STEP_BYTES != 0)
        return fd < 0 ? -errno : buf ? -EINVAL : -ENOMEM;
    for (uint64_t at = 0; at < o->area_bytes; at += STEP_BYTES) {
        peer_data_make(peer_data_first(at % part), buf, STEP_BYTES);
        if (pwrite(fd, buf, STEP_BYTES, (off_t)at) != STEP_BYTES)
            return -EIO;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    const char *word = argc > 2 ? argv[1] : "";
    PeerOptions o = peer_defaults;
    PeerResult r = {.ops = 0};
    uint64_t from_file = 0;
    char more[64];
    bool make = strcmp(word, "make") == 0;
    bool plain = strcmp(word, "pread") == 0 || strcmp(word, "pwrite") == 0;
    if (plain)
        word++;
    o.write = strcmp(word, "write") == 0;
    if ((!make && !o.write && strcmp(word, "read") != 0) || !peer_options(&o, argc - 3, argv + 3)) {
        fputs(usage, stderr);
        return 2;
    }
    o.at = argv[2];
    int result = make    ? make_file(&o)
                 : plain ? peer_measure(&o, &file_ops, &r)
                         : measure(&o, &r, &from_file);
    if (result < 0) {
        fprintf(stderr, "peers-dodo %s: %s (%s)\n", word, strerror(-result), dodo_last_error());
        return 1;
    }
    if (make)
        return 0;
    (void)snprintf(more, sizeof more, ", \"missed_bytes\": %" PRIu64, from_file);
    peer_print(&o, &r, more);
    return r.wrong_bytes > 0 || from_file > 0;
}
