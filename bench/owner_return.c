/* SPDX-License-Identifier: MIT */
/* owner-return: the owner of a host whose memory is lent comes back, again and again, for
 * scripts/bench-owner. Touches rmd's console file once imd has so much memory, and measures until
 * imd has no more than a part of it or is gone, until it is gone, and until the kernel counts the
 * memory as free. A line of JSON a return. */
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
#include "bench/owner_common.h"

enum {
    PATIENCE_S = 60,   /* for imd to go */
    BACK_PERCENT = 90, /* of what imd had: the machine has other processes */
    BACK_LOOK_NS = 500000,
    BACK_PATIENCE_NS = 500000000,
};

static int usage(int status)
{
    (void)fprintf(status ? stderr : stdout,
                  "Usage: owner-return RMD-PID CONSOLE-FILE COUNT BYTES [LEFT-BYTES]\n"
                  "       owner-return without-huge-pages COMMAND...\n"
                  "COUNT times: waits until an imd of that rmd has BYTES of memory, touches the\n"
                  "file, waits until imd has LEFT-BYTES at most or is gone, until it is gone, and\n"
                  "its memory is free. Prints lines of JSON.\n");
    return status;
}

/* When it has so little left, or is gone. */
static uint64_t wait_left(pid_t imd, struct pollfd *gone, uint64_t left_bytes)
{
    while (left_bytes > 0 && poll(gone, 1, 0) == 0 && owner_resident(imd) > left_bytes)
        owner_pause_ns(BACK_LOOK_NS);
    return os_now_ns();
}

static int once(pid_t rmd, const char *console, uint64_t bytes, uint64_t left_bytes)
{
    static const struct timespec touch[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    pid_t imd = owner_wait_imd(rmd, bytes);
    if (!imd)
        return -1;
    CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_open, imd, 0);
    uint64_t had = owner_resident(imd), before = owner_meminfo("MemFree"), start = os_now_ns();
    if (fd < 0 || utimensat(AT_FDCWD, console, touch, 0) < 0) {
        (void)fprintf(stderr, "owner-return: %s: %s\n", console, strerror(errno));
        return -1;
    }
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    const uint64_t left = wait_left(imd, &gone, left_bytes);
    /* The owner goes on: a touch that a stalled machine looked at too late is idleness again. */
    for (int i = 0; i < PATIENCE_S && poll(&gone, 1, 1000) <= 0; i++)
        (void)utimensat(AT_FDCWD, console, touch, 0);
    uint64_t ended = os_now_ns(), want = before + had / 100 * BACK_PERCENT, now = ended;
    bool back = false;
    while (!(back = owner_meminfo("MemFree") >= want) && now - ended < BACK_PATIENCE_NS) {
        owner_pause_ns(BACK_LOOK_NS);
        now = os_now_ns();
    }
    if (left_bytes > 0)
        (void)printf("{\"left_ms\": %.3f, ", (double)(left - start) / 1e6);
    (void)printf("%s\"gone_ms\": %.3f, \"bytes\": %" PRIu64 ", \"free_ms\": ",
                 left_bytes > 0 ? "" : "{", (double)(ended - start) / 1e6, had);
    if (back)
        (void)printf("%.3f}\n", (double)(now - start) / 1e6);
    else /* other processes of the machine have taken it meanwhile */
        (void)printf("null}\n");
    (void)fflush(stdout);
    if (!gone.revents)
        (void)fprintf(stderr, "owner-return: imd did not go within %d s\n", PATIENCE_S);
    return gone.revents ? 0 : -1;
}

int main(int argc, char **argv)
{
    uint64_t bytes, left = 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(EXIT_SUCCESS);
    if (argc >= 3 && strcmp(argv[1], "without-huge-pages") == 0) {
        (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        (void)execvp(argv[2], argv + 2);
        (void)fprintf(stderr, "owner-return: %s: %s\n", argv[2], strerror(errno));
        return EXIT_FAILURE;
    }
    if ((argc != 5 && argc != 6) || parse_size(argv[4], &bytes) < 0 ||
        (argc == 6 && parse_size(argv[5], &left) < 0))
        return usage(2);
    for (int i = 0, count = atoi(argv[3]); i < count; i++)
        if (once((pid_t)atoi(argv[1]), argv[2], bytes, left) < 0)
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
