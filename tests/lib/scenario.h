/* SPDX-License-Identifier: MIT */
/* Test cases that each need a process of their own, since what they test is the process's: its one
 * cache, its exit, its environment. Each runs as "PROGRAM scenario NAME", with an end of its own.
 */
#ifndef DODO_TESTS_LIB_SCENARIO_H
#define DODO_TESTS_LIB_SCENARIO_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Scenario {
    const char *name;
    void (*run)(void);
} Scenario;
#define SCENARIO(name) \
    {                  \
#name, name    \
    }

/* In a scenario: what does not hold ends it, with status 1 and without exit handlers. */
#define CHECK(what)                                   \
    do {                                              \
        if (!(what))                                  \
            scenario_fail(__FILE__, __LINE__, #what); \
    } while (0)
#define CHECK_FAILS(call, error) \
    do {                         \
        errno = 0;               \
        CHECK((call) == -1);     \
        CHECK(errno == (error)); \
    } while (0)

_Noreturn static inline void scenario_fail(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: not so: %s (errno: %s)\n", file, line, what, strerror(errno));
    _exit(1);
}

/* An open file of @bytes whose byte at i is @byte_at(i), in TMPDIR, without a name. */
static inline int scenario_file(size_t bytes, uint8_t (*byte_at)(uint64_t))
{
    const char *tmp = getenv("TMPDIR");
    char path[128];
    (void)snprintf(path, sizeof path, "%s/dodo-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    uint8_t *data = malloc(bytes + 1);
    CHECK(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_at(i);
    CHECK(pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
    free(data);
    return fd;
}

/* Starts this program again for the scenario. */
static inline pid_t scenario_start(const char *name)
{
    char *argv[] = {(char *)"scenario", (char *)"scenario", (char *)name, NULL};
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execv("/proc/self/exe", argv);
        _exit(127);
    }
    return pid;
}

/* Wait status of the child. */
static inline int scenario_wait(pid_t pid)
{
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* main() asks first: true when this process is a scenario, which has then been run. */
static inline int scenario_main(int argc, char **argv, const Scenario *all, size_t count)
{
    if (argc < 3 || strcmp(argv[1], "scenario") != 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[2], all[i].name) == 0)
            return all[i].run(), 1;
    (void)fprintf(stderr, "no scenario %s\n", argv[2]);
    _exit(1);
}

#ifdef CMOCKA_H_
#include "tests/lib/case.h"

static inline void scenario_case(void **state)
{
    assert_int_equal(scenario_wait(scenario_start(*state)), 0);
}

/* Each scenario as a test case. */
static inline int scenario_group(const Scenario *all, size_t count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct CMUnitTest test = {
            .name = all[i].name, .test_func = scenario_case, .initial_state = (void *)all[i].name};
        case_add(i, test);
    }
    return cases_run(NULL, NULL);
}

/* The main() of a test that needs no cluster, whatever its environment says. The first @cases
 * scenarios are test cases; these start the others. */
static inline int scenario_main_alone(int argc, char **argv, const Scenario *all, size_t count,
                                      size_t cases)
{
    if (argc < 3) {
        (void)unsetenv("DODO_MANAGER");
        (void)unsetenv("DODO_STATS");
        (void)setenv("DODO_CONFIG", "/dev/null", 1);
    }
    return scenario_main(argc, argv, all, count) ? 0 : scenario_group(all, cases);
}
#endif

#endif
