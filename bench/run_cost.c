/* SPDX-License-Identifier: MIT */
/* run-cost ROUNDS HOW DODO PROGRAM [ARGUMENT...]: how long PROGRAM takes plainly and by `DODO run
 * --how HOW`, one after the other in each round. Prints a line of JSON; status 1 if its output or
 * its status was not the same. */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "bench/common.h"

enum { ROUNDS_MAX = 100000, OUTPUT_MAX = 1 << 16 };

static void die(const char *what)
{
    (void)fprintf(stderr, "run-cost: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* What a program gave. */
typedef struct Outcome {
    int status;
    size_t len;
    char output[OUTPUT_MAX];
} Outcome;

/* The time that @argv takes, [ns]. Its standard output is a file in memory. */
static uint32_t time_program(char **argv, Outcome *ret)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    CLEANUP_CLOSE int out = memfd_create("output", MFD_CLOEXEC);
    if (out < 0)
        die("memfd_create");
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    uint64_t start = os_now_ns();
    errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    if (errno != 0)
        die(argv[0]);
    if (waitpid(pid, &ret->status, 0) < 0)
        die("waitpid");
    uint64_t ns = os_now_ns() - start;
    (void)posix_spawn_file_actions_destroy(&actions);
    ssize_t n = pread(out, ret->output, sizeof ret->output, 0);
    ret->len = n > 0 ? (size_t)n : 0;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static bool is_same(const Outcome *a, const Outcome *b)
{
    return a->status == b->status && a->len == b->len && memcmp(a->output, b->output, a->len) == 0;
}

static void print_times(const char *name, uint32_t *ns, size_t count)
{
    printf("\"%s\": {\"median_us\": %.1f, \"p10_us\": %.1f, \"p90_us\": %.1f}, ", name,
           bench_percentile(ns, count, 500) / 1e3, bench_percentile(ns, count, 100) / 1e3,
           bench_percentile(ns, count, 900) / 1e3);
}

/* In how many rounds they were not the same. The first round, which is not counted, brings all
 * that is needed into memory. */
static size_t run_rounds(char **plain, char **by_dodo, size_t rounds, uint32_t *plain_ns,
                         uint32_t *dodo_ns)
{
    static Outcome one, other;
    size_t wrong = 0;
    for (size_t i = 0; i <= rounds; i++) {
        size_t place = i > 0 ? i - 1 : 0;
        plain_ns[place] = time_program(plain, &one);
        dodo_ns[place] = time_program(by_dodo, &other);
        wrong += !is_same(&one, &other);
    }
    return wrong;
}

enum { ROUNDS = 1, HOW, DODO, PROGRAM, BEFORE = 4 };

int main(int argc, char **argv)
{
    char run[] = "run", how[] = "--how", *end = NULL;
    unsigned long rounds = argc > PROGRAM ? strtoul(argv[ROUNDS], &end, 10) : 0;
    if (rounds < 1 || rounds > ROUNDS_MAX || *end) {
        (void)fprintf(stderr, "Usage: run-cost ROUNDS HOW DODO PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    char **plain = argv + PROGRAM, *first[BEFORE] = {argv[DODO], run, how, argv[HOW]};
    char **by_dodo = calloc((size_t)argc + 1, sizeof *by_dodo);
    uint32_t *plain_ns = calloc(rounds, sizeof *plain_ns),
             *dodo_ns = calloc(rounds, sizeof *dodo_ns);
    if (!by_dodo || !plain_ns || !dodo_ns)
        die("calloc");
    memcpy(by_dodo, first, sizeof first);
    memcpy(by_dodo + BEFORE, plain, (size_t)(argc - PROGRAM) * sizeof *by_dodo);
    size_t wrong = run_rounds(plain, by_dodo, rounds, plain_ns, dodo_ns);
    printf("{\"rounds\": %lu, ", rounds);
    print_times("plain", plain_ns, rounds);
    print_times("run", dodo_ns, rounds);
    printf("\"wrong\": %zu}\n", wrong);
    free(by_dodo);
    free(plain_ns);
    free(dodo_ns);
    return wrong > 0;
}
