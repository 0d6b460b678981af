/* SPDX-License-Identifier: MIT */
#include "tests/net/truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "tests/net/truth_uring.h"

Shared *shared;

void die(const char *what)
{
    (void)fprintf(stderr, "truth: %s: %s\n", what, strerror(errno));
    exit(2);
}

unsigned draw(unsigned *seed, unsigned below)
{
    return (unsigned)rand_r(seed) % below;
}

void share(const char *path)
{
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (path && (fd < 0 || ftruncate(fd, sizeof *shared) < 0))
        die(path);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);
    if (shared == MAP_FAILED)
        die("shared memory");
}

typedef void Store(int fd, void *map, unsigned block, const uint64_t *words);

static void store_pwrite(int fd, void *map, unsigned block, const uint64_t *words)
{
    if (pwrite(fd, words, BLOCK, (off_t)block * BLOCK) != BLOCK)
        die("pwrite");
}

static void store_map(int fd, void *map, unsigned block, const uint64_t *words)
{
    memcpy((char *)map + (size_t)block * BLOCK, words, BLOCK);
}

static void store_uring(int fd, void *map, unsigned block, const uint64_t *words)
{
    if (uring_pwrite(fd, words, BLOCK, (off_t)block * BLOCK) != BLOCK)
        die("a write by io_uring");
}

/* Writes of random blocks: a few anywhere, or many of a few, of which a mapping tells only the
 * first by the file's time of change. */
static void write_some(unsigned *seed, enum WriteWay way, int fd, void *map, Store *store)
{
    unsigned blocks = draw(seed, 2) ? BLOCKS : 3, writes = 1 + draw(seed, blocks == 3 ? 200 : 8);
    for (unsigned n = 0; n < writes; n++) {
        uint64_t words[WORDS];
        unsigned block = draw(seed, blocks);
        uint64_t number = ++shared->begun[block];
        for (unsigned i = 0; i < WORDS; i++)
            words[i] = number;
        store(fd, map, block, words);
        shared->done[block] = number;
        shared->writes_done[way]++;
        if (blocks < BLOCKS)
            (void)usleep(100); /* readers come in between */
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return time_from_timespec(t);
}

static int open_timed(const char *path, int flags)
{
    uint64_t began_ns = now_ns();
    int fd = open(path, flags | O_CLOEXEC);
    shared->wait_ns[shared->waits++ % WAITS] = now_ns() - began_ns;
    if (fd < 0)
        die(path);
    return fd;
}

static void write_opened(unsigned *seed, const char *path, enum WriteWay way)
{
    int fd = open_timed(path, O_RDWR | (way == WRITE_SYNC ? O_SYNC : 0));
    write_some(seed, way, fd, NULL, store_pwrite);
    (void)close(fd);
}

/* Its stores are no system calls. The descriptor is closed before them. A mount may refuse such a
 * mapping (`mapped` looks at that). */
static void write_mapped(unsigned *seed, const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *map = mmap(NULL, BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED && errno != ENODEV)
        die("mmap");
    (void)close(fd);
    if (map == MAP_FAILED)
        return;
    write_some(seed, WRITE_MAP, -1, map, store_map);
    (void)munmap(map, BLOCKS * BLOCK);
}

static void write_by_ring(unsigned *seed, const char *path)
{
    int fd = uring_open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        errno = -fd;
        die("an opening by io_uring");
    }
    write_some(seed, WRITE_IO_URING, fd, NULL, store_uring);
    (void)uring_close(fd);
}

/* Blocks from @first on go, and come again: nobody reads one that is not there as an old one. */
static void write_truncated(const char *path, unsigned first)
{
    uint64_t number[BLOCKS];
    for (unsigned i = first; i < BLOCKS; i++)
        number[i] = ++shared->begun[i];
    if (first > 0 && truncate(path, (off_t)first * BLOCK) < 0)
        die("truncate");
    int fd = open_timed(path, O_WRONLY | (first > 0 ? 0 : O_TRUNC));
    for (unsigned i = first; i < BLOCKS; i++) {
        uint64_t words[WORDS];
        for (unsigned k = 0; k < WORDS; k++)
            words[k] = number[i];
        store_pwrite(fd, NULL, i, words);
        shared->done[i] = number[i];
    }
    (void)close(fd);
    shared->writes_done[first > 0 ? WRITE_TRUNCATE : WRITE_O_TRUNC]++;
}

static void write_by(unsigned *seed, enum WriteWay way, const char *path)
{
    switch (way) {
    case WRITE_MAP:
        write_mapped(seed, path);
        break;
    case WRITE_TRUNCATE:
        write_truncated(path, BLOCKS - BLOCKS / 2);
        break;
    case WRITE_O_TRUNC:
        write_truncated(path, 0);
        break;
    case WRITE_IO_URING:
        write_by_ring(seed, path);
        break;
    case WRITE_OPEN:
    case WRITE_SYNC:
    case WRITE_WAYS:
        write_opened(seed, path, way);
        break;
    }
}

void write_until_over(const char *file, const char *mounted)
{
    unsigned seed = 1;
    bool ring = uring_start();
    while (!shared->over) {
        enum WriteWay way = (enum WriteWay)draw(&seed, WRITE_WAYS);
        if (way == WRITE_IO_URING && !ring)
            way = WRITE_OPEN;
        write_by(&seed, way, draw(&seed, 2) ? file : mounted);
        /* Now and then long enough that the file is cached again. */
        (void)usleep(draw(&seed, 30) ? draw(&seed, 3000) : 1200000);
    }
}

void file_make(const char *file)
{
    static const uint64_t zero[WORDS];
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (unsigned i = 0; fd >= 0 && i < BLOCKS; i++)
        store_pwrite(fd, NULL, i, zero);
    if (fd < 0)
        die(file);
    (void)close(fd);
}
