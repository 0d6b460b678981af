/* SPDX-License-Identifier: MIT */
/* call-cost FILE: how long a pread(2) of 512 bytes of FILE takes, which the kernel has in memory:
 * the least of many batches, for what other programs do is no part of it. Prints a line of JSON. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"

enum { BYTES = 512, CALLS = 20000, BATCHES = 50 };

/* Of one call, [ns]; less than 0, with errno: a read failed. */
static double batch(int fd)
{
    char buf[BYTES];
    uint64_t start = os_now_ns();
    for (int i = 0; i < CALLS; i++)
        if (pread(fd, buf, BYTES, (off_t)(i % 8) * BYTES) != BYTES)
            return -1;
    return (double)(os_now_ns() - start) / CALLS;
}

int main(int argc, char **argv)
{
    CLEANUP_CLOSE int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    double least = fd >= 0 ? batch(fd) : -1;
    for (int i = 1; i < BATCHES && least >= 0; i++) {
        double ns = batch(fd);
        if (ns < least)
            least = ns;
    }
    if (argc != 2 || least < 0) {
        (void)fprintf(stderr, argc != 2 ? "Usage: call-cost FILE\n" : "call-cost: %s: %s\n",
                      argv[argc - 1], strerror(errno));
        return 2;
    }
    printf("{\"call_ns\": %.1f}\n", least);
    return 0;
}
