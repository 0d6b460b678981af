/* SPDX-License-Identifier: MIT */
/* truth FILE MOUNTED READS [apart]: threads read FILE through a mount, MOUNTED, while others write
 * it, behind the mount and through it, in all ways there are. Every byte read is one that the file
 * held during the call. Where reads are redirected without a mount, MOUNTED is FILE itself; the
 * writer may be a process apart.
 *
 * truth FILE MOUNTED READS SHARED: the writer is another program: truth-writer FILE SHARED, which
 * has begun. SHARED is not below a mount: it is mapped.
 *
 * truth FILE MOUNTED stores: one thread stores into a mapping of FILE and reads MOUNTED, in turns,
 * until the mount is gone. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/net/truth.h"

enum { READERS = 6, SPAN_MAX = 4 };

static const char *file, *mounted;
static unsigned long reads_wanted;
static atomic_ulong reads_done;
/* Where libdodo-preload.so is in this program, reads of files that it has are counted. */
static bool (*holds)(int fd);

/* A word may be 0 while the file is shorter, between its truncation and the write. */
static void check(unsigned block, const uint64_t *words, size_t count, uint64_t low)
{
    uint64_t high = shared->begun[block];
    for (size_t i = 0; i < count; i++) {
        if (words[i] >= low && words[i] <= high)
            continue;
        if (words[i] == 0 && high > low)
            continue;
        (void)fprintf(stderr, "truth: block %u word %zu: %llu, not %llu to %llu\n", block, i,
                      (unsigned long long)words[i], (unsigned long long)low,
                      (unsigned long long)high);
        exit(1);
    }
}

static void read_once(unsigned *seed, int fd, uint64_t *words)
{
    uint64_t low[SPAN_MAX];
    unsigned span = 1 + draw(seed, SPAN_MAX);
    unsigned first = draw(seed, 2) ? draw(seed, BLOCKS - span + 1) : 0;
    for (unsigned i = 0; i < span; i++)
        low[i] = shared->done[first + i];
    ssize_t n = pread(fd, words, (size_t)span * BLOCK, (off_t)first * BLOCK);
    if (n < 0)
        die("pread");
    for (unsigned i = 0; i < span && (size_t)n > (size_t)i * BLOCK; i++) {
        size_t left = ((size_t)n - (size_t)i * BLOCK) / 8;
        check(first + i, words + (size_t)i * WORDS, left < WORDS ? left : WORDS, low[i]);
    }
    reads_done += !holds || holds(fd);
}

static void *read_main(void *arg)
{
    unsigned seed = 100 + *(unsigned *)arg;
    uint64_t *words = aligned_alloc(BLOCK, SPAN_MAX * BLOCK); /* as O_DIRECT wants it */
    if (!words)
        die("memory");
    while (reads_done < reads_wanted) {
        int fd = open(mounted, O_RDONLY | O_CLOEXEC | (draw(&seed, 4) ? 0 : O_DIRECT));
        if (fd < 0)
            die(mounted);
        for (unsigned n = draw(&seed, 3000); n > 0; n--)
            read_once(&seed, fd, words);
        (void)close(fd);
    }
    free(words);
    return NULL;
}

/* ---- one after the other ----------------------------------------------------------------------
 */

typedef struct Stores {
    int fd, reader;
    uint64_t *map;
} Stores;

static Stores stores_open(void)
{
    Stores s = {.fd = open(file, O_RDWR | O_CLOEXEC),
                .reader = open(mounted, O_RDONLY | O_CLOEXEC)};
    s.map = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
    if (s.reader < 0 || s.map == MAP_FAILED)
        die("before the threads");
    return s;
}

static void stores_close(const Stores *s)
{
    s->map[0] = 0;
    (void)munmap(s->map, BLOCK);
    (void)close(s->reader);
    (void)close(s->fd);
}

/* A store through a mapping is no system call, and all but the first move no stamp of the file: the
 * next read finds it. False: the mount is gone. */
static bool store_is_read(const Stores *s, uint64_t number)
{
    uint64_t word = 0;
    s->map[0] = number;
    ssize_t got = pread(s->reader, &word, sizeof word, 0);
    if (got < 0 && (errno == ENOTCONN || errno == ECONNABORTED || errno == EIO))
        return false;
    if (got == sizeof word && word == number)
        return true;
    (void)fprintf(stderr, "truth: a store of %llu is read as %llu\n", (unsigned long long)number,
                  (unsigned long long)word);
    exit(1);
}

/* So are some. */
static void check_stores(void)
{
    Stores s = stores_open();
    for (uint64_t n = 1; n <= 200; n++)
        if (!store_is_read(&s, n))
            die(mounted);
    stores_close(&s);
}

/* So are all, until the mount is gone. */
static void check_stores_on(void)
{
    Stores s = stores_open();
    for (uint64_t n = 1; store_is_read(&s, n); n++)
        if (n == 1) {
            (void)puts("reads");
            (void)fflush(stdout);
        }
    stores_close(&s);
}

/* ---- ------------------------------------------------------------------------------------------
 */

/* The writer is a thread, or a process; writer_end() waits for it. */
static pthread_t writer_thread;
static pid_t writer_pid;

static void *write_main(void *arg)
{
    write_until_over(file, mounted);
    return arg;
}

static void writer_begin(bool apart)
{
    if (!apart) {
        if (pthread_create(&writer_thread, NULL, write_main, NULL) != 0)
            die("a thread");
        return;
    }
    writer_pid = fork();
    if (writer_pid < 0)
        die("a process");
    if (writer_pid == 0) {
        (void)write_main(NULL);
        _exit(0);
    }
}

static void writer_end(void)
{
    int status = 0;
    shared->over = true;
    if (writer_pid == 0)
        (void)pthread_join(writer_thread, NULL);
    else if (waitpid(writer_pid, &status, 0) != writer_pid || status != 0)
        die("the writer");
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* How long the writer waited for files that it opened. */
static void print_waits(void)
{
    unsigned count = shared->waits < WAITS ? shared->waits : WAITS;
    uint64_t *waits = shared->wait_ns;
    if (count == 0)
        return;
    qsort(waits, count, sizeof *waits, by_number);
    printf("a writer's %u openings: median %.3f ms, p99 %.3f ms, at most %.3f ms\n", count,
           (double)waits[count / 2] / 1e6, (double)waits[count * 99 / 100] / 1e6,
           (double)waits[count - 1] / 1e6);
}

static void print_writes(void)
{
    static const char *const names[WRITE_WAYS] = {
        [WRITE_OPEN] = "opened",       [WRITE_SYNC] = "O_SYNC",     [WRITE_MAP] = "mapped",
        [WRITE_TRUNCATE] = "truncate", [WRITE_O_TRUNC] = "O_TRUNC", [WRITE_IO_URING] = "io_uring"};
    printf("%lu reads: all true; writes:", (unsigned long)reads_done);
    for (unsigned i = 0; i < WRITE_WAYS; i++)
        printf(" %lu %s", (unsigned long)shared->writes_done[i], names[i]);
    (void)puts("");
}

/* Threads read until it is enough. */
static void read_all(void)
{
    pthread_t readers[READERS];
    unsigned numbers[READERS];
    for (unsigned i = 0; i < READERS; i++) {
        numbers[i] = i;
        if (pthread_create(&readers[i], NULL, read_main, &numbers[i]) != 0)
            die("a thread");
    }
    for (unsigned i = 0; i < READERS; i++)
        (void)pthread_join(readers[i], NULL);
}

/* Those of a writer that is here. */
static void read_beside(bool apart)
{
    check_stores();
    writer_begin(apart);
    read_all();
    writer_end();
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        return 2;
    file = argv[1];
    mounted = argv[2];
    const char *path = argc == 5 && strcmp(argv[4], "apart") != 0 ? argv[4] : NULL;
    share(path);
    if (!path)
        file_make(file);
    if (strcmp(argv[3], "stores") == 0) {
        check_stores_on();
        return 0;
    }
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    reads_wanted = strtoul(argv[3], NULL, 10);
    if (path) {
        read_all();
        shared->over = true;
    } else {
        read_beside(argc == 5);
    }
    print_waits();
    print_writes();
    return 0;
}
