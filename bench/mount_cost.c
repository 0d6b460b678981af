/* SPDX-License-Identifier: MIT */
/* mount-cost DIRECTORY MOUNTPOINT: what a mount costs, beside the same calls without it, and how
 * long a writer behind the mount waits for the lease. DIRECTORY is shown at MOUNTPOINT, and gets
 * files of our own. Prints a line of JSON; status 1 if a byte was wrong. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "bench/common.h"

enum {
    REQUEST = 8192,
    PLACES = 512, /* of a file */
    CALLS = 4000,
    FILES = 400,
    FILE_BYTES = 64 << 10,
    READERS = 16,
};

static const char *directory, *mountpoint;
static atomic_ulong wrong;
static atomic_bool over;

static void die(const char *what)
{
    (void)fprintf(stderr, "mount-cost: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int open_in(const char *dir, const char *name, int flags)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static void make(const char *name, uint64_t bytes)
{
    int fd = open_in(directory, name, O_WRONLY | O_CREAT | O_TRUNC);
    if (bench_file_write(fd, 0, bytes) < 0)
        die(name);
    (void)close(fd);
}

static uint32_t ns_since(uint64_t start_ns)
{
    uint64_t ns = os_now_ns() - start_ns;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The time that it takes, [ns], but for the check. */
static uint32_t read_checked(int fd, char *buf, uint64_t place)
{
    uint64_t offset = place * REQUEST, start = os_now_ns();
    ssize_t n = pread(fd, buf, REQUEST, (off_t)offset);
    uint32_t ns = ns_since(start);
    if (n != REQUEST)
        die("pread");
    if (bench_data_wrong(offset, buf, REQUEST) > 0)
        wrong++;
    return ns;
}

static void print_times(const char *name, uint32_t *ns, size_t count)
{
    printf("\"%s\": {\"median_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}", name,
           bench_percentile(ns, count, 500) / 1e3, bench_percentile(ns, count, 990) / 1e3,
           bench_percentile(ns, count, 1000) / 1e3);
}

/* ---- a read -------------------------------------------------------------------------------- */

/* Reads at random places of "data" in @dir: from the kernel's pages, or past them. */
static void time_reads(const char *name, const char *dir, int flags)
{
    static char buf[REQUEST] __attribute__((aligned(4096)));
    static uint32_t ns[CALLS];
    unsigned seed = 1;
    int fd = open_in(dir, "data", O_RDONLY | flags);
    for (unsigned place = 0; place < PLACES; place++)
        (void)read_checked(fd, buf, place); /* what can be kept is */
    for (unsigned i = 0; i < CALLS; i++)
        ns[i] = read_checked(fd, buf, (unsigned)rand_r(&seed) % PLACES);
    (void)close(fd);
    print_times(name, ns, CALLS);
}

/* ---- a writer ------------------------------------------------------------------------------ */

/* Each round has files of its own: what was broken is not held again at once. */
static void file_name(char *name, size_t cap, unsigned readers, unsigned number)
{
    (void)snprintf(name, cap, "held-%u-%u", readers, number);
}

static void *read_all_the_time(void *ctx)
{
    char *buf = malloc(REQUEST);
    int fd = open_in(mountpoint, "data", O_RDONLY);
    unsigned seed = (unsigned)(uintptr_t)ctx;
    while (buf && !over)
        (void)read_checked(fd, buf, (unsigned)rand_r(&seed) % PLACES);
    (void)close(fd);
    free(buf);
    return NULL;
}

static void readers_start(pthread_t *threads, unsigned count)
{
    over = false;
    for (unsigned i = 0; i < count; i++)
        if (os_thread_start(&threads[i], read_all_the_time, (void *)(uintptr_t)(i + 1)) < 0)
            die("a thread");
}

static void readers_end(const pthread_t *threads, unsigned count)
{
    over = true;
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

/* Opens files that the mount holds for writing, behind it. */
static void time_writers(const char *name, unsigned readers)
{
    static uint32_t ns[FILES];
    pthread_t threads[READERS];
    char file[32], buf[REQUEST];
    for (unsigned i = 0; i < FILES; i++) {
        file_name(file, sizeof file, readers, i);
        make(file, FILE_BYTES);
        int fd = open_in(mountpoint, file, O_RDONLY);
        (void)read_checked(fd, buf, 0);
        (void)close(fd);
    }
    readers_start(threads, readers);
    for (unsigned i = 0; i < FILES; i++) {
        file_name(file, sizeof file, readers, i);
        uint64_t start = os_now_ns();
        int fd = open_in(directory, file, O_WRONLY);
        ns[i] = ns_since(start);
        (void)close(fd);
    }
    readers_end(threads, readers);
    print_times(name, ns, FILES);
}

/* ---- what a wake-up costs -------------------------------------------------------------------- */

/* It runs before all others, as the mount's thread of the leases does, where that is allowed. */
static void *echo(void *ctx)
{
    const struct sched_param first = {.sched_priority = 1};
    int fd = *(int *)ctx;
    char c;
    (void)pthread_setschedparam(pthread_self(), SCHED_RR, &first);
    while (read(fd, &c, 1) == 1 && write(fd, &c, 1) == 1)
        ;
    return NULL;
}

/* A thread wakes another one, which wakes it: less than that no writer can wait. */
static void time_wakeups(const char *name, unsigned readers)
{
    static uint32_t ns[FILES];
    pthread_t threads[READERS], other;
    int pair[2];
    char c = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
        os_thread_start(&other, echo, &pair[1]) < 0)
        die("a thread");
    readers_start(threads, readers);
    for (unsigned i = 0; i < FILES; i++) {
        uint64_t start = os_now_ns();
        if (write(pair[0], &c, 1) != 1 || read(pair[0], &c, 1) != 1)
            die("an echo");
        ns[i] = ns_since(start);
    }
    readers_end(threads, readers);
    (void)close(pair[0]);
    (void)pthread_join(other, NULL);
    (void)close(pair[1]);
    print_times(name, ns, FILES);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "Usage: mount-cost DIRECTORY MOUNTPOINT\n");
        return 2;
    }
    directory = argv[1];
    mountpoint = argv[2];
    make("data", (uint64_t)PLACES * REQUEST);
    printf("{");
    time_reads("kernel_plain", directory, 0);
    printf(", ");
    time_reads("kernel_mount", mountpoint, 0);
    printf(", ");
    time_reads("process_mount", mountpoint, O_DIRECT);
    printf(", ");
    time_writers("writer_idle", 0);
    printf(", ");
    time_writers("writer_16_readers", READERS);
    printf(", ");
    time_wakeups("wakeup_idle", 0);
    printf(", ");
    time_wakeups("wakeup_16_readers", READERS);
    printf(", \"wrong\": %lu}\n", (unsigned long)wrong);
    return wrong > 0;
}
