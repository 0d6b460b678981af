/* SPDX-License-Identifier: MIT */
#include "tests/lib/case.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 256, EXIT_USAGE = 2 };

static struct {
    unsigned line;
    struct CMUnitTest test;
} cases[CASES_MAX];
static size_t cases_count;
static char **patterns; /* NULL: TEST_CASE, or all */

/* Constructors may run in any order. */
void case_add(unsigned line, struct CMUnitTest test)
{
    size_t at = cases_count;
    if (cases_count == CASES_MAX)
        abort();
    for (; at > 0 && cases[at - 1].line > line; at--)
        cases[at] = cases[at - 1];
    cases[at].line = line;
    cases[at].test = test;
    cases_count++;
}

void case_if(bool available, CMUnitTestFunction test, const char *reason)
{
    size_t at = 0;
    while (at < cases_count && cases[at].test.test_func != test)
        at++;
    if (at == cases_count)
        abort();
    if (available)
        return;
    printf("# SKIP %s: %s\n", cases[at].test.name, reason);
    memmove(&cases[at], &cases[at + 1], (--cases_count - at) * sizeof cases[0]);
}

static bool is_chosen(const char *name, char **wanted)
{
    for (; *wanted; wanted++)
        if (fnmatch(*wanted, name, 0) == 0)
            return true;
    return false;
}

/* The first that no case has; NULL: there is none. */
static const char *unknown(char **wanted)
{
    for (; *wanted; wanted++) {
        size_t i = 0;
        while (i < cases_count && fnmatch(*wanted, cases[i].test.name, 0) != 0)
            i++;
        if (i == cases_count)
            return *wanted;
    }
    return NULL;
}

/* The case that runs, and what was there before it. */
static struct {
    const struct CMUnitTest *test;
    long blocks;
    bool passed;
} running;

/* *@state: the case. */
static int count_before(void **state)
{
    running.test = *state;
    running.blocks = case_heap_blocks ? case_heap_blocks() : 0;
    running.passed = false;
    *state = NULL;
    return running.test->setup_func ? running.test->setup_func(state) : 0;
}

static void run_counted(void **state)
{
    running.test->test_func(state);
    running.passed = true;
}

/* One that has failed leaves what it likes. */
static int count_after(void **state)
{
    int result = running.test->teardown_func ? running.test->teardown_func(state) : 0;
    long left = case_heap_blocks ? case_heap_blocks() - running.blocks : 0;
    if (running.passed && left > 0)
        fail_msg("%ld blocks of the heap are left", left);
    if (running.passed && case_locks_held && case_locks_held() > 0)
        fail_msg("%u mutexes are still locked", case_locks_held());
    return result;
}

/* Those with a state of their own are not looked at. */
static struct CMUnitTest counting(struct CMUnitTest *test)
{
    if ((!case_heap_blocks && !case_locks_held) || test->initial_state)
        return *test;
    return (struct CMUnitTest){test->name, run_counted, count_before, count_after, test};
}

int cases_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    char *by_default[] = {getenv("TEST_CASE"), NULL};
    char **wanted = patterns ? patterns : by_default;
    struct CMUnitTest chosen[CASES_MAX];
    size_t count = 0;
    const char *none = unknown(wanted);
    if (none)
        fprintf(stderr, "no such case: \"%s\"; --list names all\n", none);
    else if (cases_count == 0)
        fprintf(stderr, "there is no case\n");
    if (none || cases_count == 0)
        return EXIT_USAGE;
    for (size_t i = 0; i < cases_count; i++)
        if (!*wanted || is_chosen(cases[i].test.name, wanted))
            chosen[count++] = set_up ? cases[i].test : counting(&cases[i].test);
    return _cmocka_run_group_tests("tests", chosen, count, set_up, tear_down);
}

__attribute__((weak)) int main(int argc, char **argv)
{
    if (argc > 1)
        patterns = argv + 1;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < cases_count; i++)
            puts(cases[i].test.name);
        return EXIT_SUCCESS;
    }
    return cases_run(NULL, NULL);
}
