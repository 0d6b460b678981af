/* SPDX-License-Identifier: MIT */
/* Cases that register themselves, on cmocka: TEST(name) { ... } is all there is to write. They run
 * in the order of the file.
 *
 * A test program without a main() of its own takes names of cases, with * and ?, and runs those
 * alone; --list names all. TEST_CASE=NAME in the environment does the same for every program.
 * A name that no case has is an error, and so is a program without a case. */
#ifndef DODO_TESTS_LIB_CASE_H
#define DODO_TESTS_LIB_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

/* A case may use @state, which is what @set_up made of it. Either may be NULL. */
#define TEST_WITH(name, set_up, tear_down)                                                       \
    static void name(void **state);                                                              \
    __attribute__((constructor)) static void name##_is_a_case(void)                              \
    {                                                                                            \
        const struct CMUnitTest test = cmocka_unit_test_setup_teardown(name, set_up, tear_down); \
        case_add(__LINE__, test);                                                                \
    }                                                                                            \
    static void name(void **state)
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Defined where heap_count.c is linked: then a case that leaves a block of the heap behind fails.
 */
__attribute__((weak)) long case_heap_blocks(void);
__attribute__((weak)) long case_heap_bytes(void);
/* Defined where lock_check.c is linked: nor may it leave a mutex locked. */
__attribute__((weak)) unsigned case_locks_held(void);

void case_add(unsigned line, struct CMUnitTest test);
/* Leaves a case out, aloud, where what it needs is not available: scripts/lib/count-tests counts it
 * as skipped. (cmocka's skip() of a single case counts as a failure for meson.) */
void case_if(bool available, CMUnitTestFunction test, const char *reason);
/* Of those that are chosen; @set_up and @tear_down: once for all. Returns main()'s result. */
int cases_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
