/* SPDX-License-Identifier: MIT */
/* opener FILE: opens a region of the file and closes it, again and again, until SIGTERM. Now and
 * then it prints how many opens there were, how many failed, and the longest time [ms] from one
 * that succeeded to the next. */
#include <dodo/dodo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { LEN = 4096 };

static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static double ms_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    unsigned long opens = 0, failed = 0;
    double last = 0, gap = 0, told = 0;
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        fprintf(stderr, "usage: opener FILE\n");
        return 2;
    }
    (void)signal(SIGTERM, end);
    while (!ended) {
        const struct timespec pause = {.tv_nsec = 2000000};
        const int rd = mopen(LEN, fd, 0);
        const double now = ms_now();
        if (rd < 0) {
            failed++;
            fprintf(stderr, "opener: %s\n", dodo_last_error());
        } else {
            gap = last > 0 && now - last > gap ? now - last : gap;
            last = now;
            opens++;
            (void)mclose(rd);
        }
        if (now - told > 100) {
            printf("opens=%lu failed=%lu gap=%.0f\n", opens, failed, gap);
            (void)fflush(stdout);
            told = now;
        }
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}
