/* SPDX-License-Identifier: MIT */
/* owner-morning: what an owner leaves in memory in the evening, and how long the first touch of it
 * takes in the morning, for scripts/bench-owner: a file that was read again and again, and the heap
 * of a program that sleeps. If asked to, it takes all other memory first (and locks that), so that
 * only a little can be lent. A line on its input says that a night is over; a line of JSON tells of
 * the morning. All that is touched is compared; that is not in the times. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/parse.h"
#include "bench/common.h"
#include "bench/owner_common.h"

enum {
    PAGE = 4096,
    RANDOM_BYTES = 1024, /* of a page of the heap; the rest is zeros, so that it compresses */
    CHUNK = 1 << 20,
    WARM_READS = 3,
    LINE = 512,
    HEADROOM_PERCENT = 15, /* of all memory stays with the owner; 1 % more is slack */
};

static int usage(int status)
{
    (void)fprintf(status ? stderr : stdout,
                  "Usage: owner-morning FILE HEAP-BYTES LEND-BYTES\n"
                  "FILE: as dodo-synthetic --make makes it, of whole MiB. LEND-BYTES: takes memory "
                  "until rmd\n"
                  "can lend about as much; 0: takes none. Says \"ready\" in the evening; then, for "
                  "each line\n"
                  "\"RMD-PID CONSOLE-FILE\" (0 -: there is no rmd), touches the console and then "
                  "heap and file\n"
                  "for the first time, says how long that took, and makes all warm again.\n");
    return status;
}

typedef struct Morning {
    int fd;
    uint64_t file_bytes, heap_bytes;
    uint8_t *heap, *map;
} Morning;

static void page_make(uint64_t offset, uint8_t page[PAGE])
{
    memset(page, 0, PAGE);
    bench_data_make(offset, page, RANDOM_BYTES);
}

/* False: it cannot be read. */
static bool warm_up(const Morning *m)
{
    static uint8_t buf[CHUNK];
    for (unsigned i = 0; i < WARM_READS; i++)
        for (uint64_t at = 0; at < m->file_bytes; at += CHUNK)
            if (pread(m->fd, buf, CHUNK, (off_t)at) != CHUNK)
                return false;
    return true;
}

/* ---- the morning ----------------------------------------------------------------------------- */

typedef struct Seen {
    uint64_t heap_ns, file_ns, wrong;
    uint64_t swapped, uncached, lent; /* before the first touch, bytes */
} Seen;

static uint64_t uncached(const Morning *m)
{
    size_t pages = m->file_bytes / PAGE;
    unsigned char *in = malloc(pages);
    uint64_t missing = 0;
    if (!in || mincore(m->map, m->file_bytes, in) != 0) {
        free(in);
        return UINT64_MAX;
    }
    for (size_t i = 0; i < pages; i++)
        missing += !(in[i] & 1);
    free(in);
    return missing * PAGE;
}

static void touch_heap(const Morning *m, Seen *s)
{
    uint8_t page[PAGE];
    for (uint64_t at = 0; at < m->heap_bytes; at += CHUNK) {
        uint64_t start = os_now_ns();
        for (uint64_t p = at; p < at + CHUNK; p += PAGE)
            (void)*(volatile uint8_t *)(m->heap + p);
        s->heap_ns += os_now_ns() - start;
        for (uint64_t p = at; p < at + CHUNK; p += PAGE) {
            page_make(p, page);
            s->wrong += memcmp(page, m->heap + p, PAGE) != 0;
        }
    }
}

static void touch_file(const Morning *m, Seen *s)
{
    static uint8_t buf[CHUNK];
    for (uint64_t at = 0; at < m->file_bytes; at += CHUNK) {
        uint64_t start = os_now_ns();
        ssize_t n = pread(m->fd, buf, CHUNK, (off_t)at);
        s->file_ns += os_now_ns() - start;
        s->wrong += n != CHUNK ? CHUNK : bench_data_wrong(at, buf, CHUNK);
    }
}

/* The owner is back. */
static bool wake(pid_t rmd, const char *console, Seen *s)
{
    static const struct timespec touch[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    if (rmd == 0)
        return true;
    pid_t imd = owner_wait_imd(rmd, 0);
    s->lent = imd ? owner_resident(imd) : 0;
    if (!imd || utimensat(AT_FDCWD, console, touch, 0) < 0) {
        (void)fprintf(stderr, "owner-morning: no imd, or %s: %s\n", console, strerror(errno));
        return false;
    }
    return true;
}

static bool morning(const Morning *m, pid_t rmd, const char *console)
{
    Seen s = {.swapped = owner_swapped(getpid()), .uncached = uncached(m)};
    if (!wake(rmd, console, &s))
        return false;
    touch_heap(m, &s);
    touch_file(m, &s);
    (void)printf("{\"heap_ms\": %.3f, \"file_ms\": %.3f, \"heap_bytes\": %" PRIu64
                 ", \"file_bytes\": %" PRIu64 ", \"swapped_bytes\": %" PRIu64
                 ", \"uncached_bytes\": %" PRIu64 ", \"lent_bytes\": %" PRIu64
                 ", \"wrong\": %" PRIu64 "}\n",
                 (double)s.heap_ns / 1e6, (double)s.file_ns / 1e6, m->heap_bytes, m->file_bytes,
                 s.swapped, s.uncached, s.lent, s.wrong);
    (void)fflush(stdout);
    return s.wrong == 0 && warm_up(m);
}

/* ---- the evening ----------------------------------------------------------------------------- */

static void *anonymous(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* What the owner's other programs have is of no interest: it is locked. */
static bool take_all_but(uint64_t lend)
{
    uint64_t total = owner_meminfo("MemTotal");
    uint64_t available = owner_meminfo("MemAvailable") + owner_listed();
    uint64_t keep = total / 100 * (HEADROOM_PERCENT + 1) + lend;
    if (lend == 0 || available <= keep)
        return lend == 0;
    uint64_t bytes = (available - keep) / PAGE * PAGE;
    void *p = anonymous(bytes);
    return p && mlock(p, bytes) == 0;
}

static bool evening(Morning *m, const char *path, uint64_t lend)
{
    struct stat st;
    m->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (m->fd < 0 || fstat(m->fd, &st) < 0)
        return false;
    m->file_bytes = (uint64_t)st.st_size / CHUNK * CHUNK;
    m->heap_bytes = m->heap_bytes / CHUNK * CHUNK;
    void *map = mmap(NULL, m->file_bytes, PROT_READ, MAP_SHARED, m->fd, 0);
    m->heap = anonymous(m->heap_bytes);
    if (map == MAP_FAILED || !m->heap)
        return false;
    m->map = map;
    for (uint64_t at = 0; at < m->heap_bytes; at += PAGE)
        page_make(at, m->heap + at);
    return warm_up(m) && take_all_but(lend);
}

static int days(const Morning *m)
{
    char line[LINE], console[LINE];
    int rmd;
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        if (sscanf(line, "%d %500s", &rmd, console) != 2 || !morning(m, rmd, console))
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    Morning m = {0};
    uint64_t lend;
    (void)prctl(PR_SET_PDEATHSIG, 9); /* it holds most of the memory */
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(EXIT_SUCCESS);
    if (argc != 4 || parse_size(argv[2], &m.heap_bytes) < 0 || parse_size(argv[3], &lend) < 0)
        return usage(2);
    if (evening(&m, argv[1], lend))
        return days(&m);
    (void)fprintf(stderr, "owner-morning: %s: %s, or too little memory is available\n", argv[1],
                  strerror(errno));
    return EXIT_FAILURE;
}
