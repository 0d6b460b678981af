/* SPDX-License-Identifier: MIT */
/* owner-return: the owner of a host whose memory is lent comes back, again and again, for
 * scripts/bench-owner. Touches rmd's console file once imd has so much memory, and measures until
 * imd is gone and the kernel counts the memory as free. A line of JSON a return. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/time.h"

enum {
    PATIENCE_S = 60,   /* for imd to have its memory */
    LOOK_NS = 2000000, /* between looks for it */
    BACK_PERCENT = 90, /* of what imd had: the machine has other processes */
    BACK_LOOK_NS = 500000,
    BACK_PATIENCE_NS = 500000000,
};

static int usage(int status)
{
    (void)fprintf(status ? stderr : stdout,
                  "Usage: owner-return RMD-PID CONSOLE-FILE COUNT BYTES\n"
                  "       owner-return without-huge-pages COMMAND...\n"
                  "COUNT times: waits until an imd of that rmd has BYTES of memory, touches the\n"
                  "file, waits until imd is gone and its memory free. Prints lines of JSON.\n");
    return status;
}

static void pause_ns(long ns)
{
    struct timespec t = {0, ns};
    (void)nanosleep(&t, NULL);
}

static bool read_text(const char *path, char *buf, size_t cap)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, buf, cap - 1) : -1;
    buf[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* "Name:   123 kB" */
static uint64_t field_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

static uint64_t memory_free(void)
{
    char text[8192];
    return read_text("/proc/meminfo", text, sizeof text) ? field_bytes(text, "MemFree:") : 0;
}

/* The process whose parent is rmd and whose name is imd; 0: none. */
static pid_t find_imd(pid_t rmd)
{
    char path[300], text[8192], parent[32];
    (void)snprintf(parent, sizeof parent, "\nPPid:\t%d\n", (int)rmd);
    DIR *dir = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        (void)snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && read_text(path, text, sizeof text) &&
            strncmp(text, "Name:\timd\n", 10) == 0 && strstr(text, parent))
            found = atoi(e->d_name);
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

static uint64_t resident(pid_t pid)
{
    char path[64], text[8192];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return read_text(path, text, sizeof text) ? field_bytes(text, "VmRSS:") : 0;
}

/* An imd that has @bytes; 0: none in time. */
static pid_t wait_filled(pid_t rmd, uint64_t bytes)
{
    uint64_t until = os_now_ns() + PATIENCE_S * NS_PER_S;
    while (os_now_ns() < until) {
        pid_t imd = find_imd(rmd);
        if (imd && resident(imd) >= bytes)
            return imd;
        pause_ns(LOOK_NS);
    }
    return 0;
}

static int once(pid_t rmd, const char *console, uint64_t bytes)
{
    static const struct timespec touch[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    pid_t imd = wait_filled(rmd, bytes);
    if (!imd) {
        (void)fprintf(stderr, "owner-return: no imd of %d had %" PRIu64 " bytes within %d s\n",
                      (int)rmd, bytes, PATIENCE_S);
        return -1;
    }
    CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_open, imd, 0);
    uint64_t had = resident(imd), before = memory_free(), start = os_now_ns();
    if (fd < 0 || utimensat(AT_FDCWD, console, touch, 0) < 0) {
        (void)fprintf(stderr, "owner-return: %s: %s\n", console, strerror(errno));
        return -1;
    }
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    while (poll(&gone, 1, PATIENCE_S * 1000) < 0 && errno == EINTR)
        ;
    uint64_t ended = os_now_ns(), want = before + had / 100 * BACK_PERCENT, now = ended;
    bool back = false;
    while (!(back = memory_free() >= want) && now - ended < BACK_PATIENCE_NS) {
        pause_ns(BACK_LOOK_NS);
        now = os_now_ns();
    }
    (void)printf("{\"gone_ms\": %.3f, \"bytes\": %" PRIu64 ", \"free_ms\": ",
                 (double)(ended - start) / 1e6, had);
    if (back)
        (void)printf("%.3f}\n", (double)(now - start) / 1e6);
    else /* other processes of the machine have taken it meanwhile */
        (void)printf("null}\n");
    (void)fflush(stdout);
    return gone.revents ? 0 : -1;
}

int main(int argc, char **argv)
{
    uint64_t bytes;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(EXIT_SUCCESS);
    if (argc >= 3 && strcmp(argv[1], "without-huge-pages") == 0) {
        (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        (void)execvp(argv[2], argv + 2);
        (void)fprintf(stderr, "owner-return: %s: %s\n", argv[2], strerror(errno));
        return EXIT_FAILURE;
    }
    if (argc != 5 || parse_size(argv[4], &bytes) < 0)
        return usage(2);
    for (int i = 0, count = atoi(argv[3]); i < count; i++)
        if (once((pid_t)atoi(argv[1]), argv[2], bytes) < 0)
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
