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

/* *@state: the case. Those with a state or a fixture of their own are not looked at. */
static void run_and_count(void **state)
{
    CMUnitTestFunction test = ((const struct CMUnitTest *)*state)->test_func;
    long before = case_heap_blocks ? case_heap_blocks() : 0;
    *state = NULL;
    test(state);
    long left = case_heap_blocks ? case_heap_blocks() - before : 0;
    if (left > 0)
        fail_msg("%ld blocks of the heap are left", left);
    if (case_locks_held && case_locks_held() > 0)
        fail_msg("%u mutexes are still locked", case_locks_held());
}

static struct CMUnitTest counting(struct CMUnitTest *test)
{
    struct CMUnitTest ret = *test;
    if ((!case_heap_blocks && !case_locks_held) || test->setup_func || test->teardown_func ||
        test->initial_state)
        return ret;
    ret.test_func = run_and_count;
    ret.initial_state = test;
    return ret;
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
