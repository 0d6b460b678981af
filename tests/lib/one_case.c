/* SPDX-License-Identifier: MIT */
/* TEST_CASE=PATTERN: a test program runs only those of its cases whose names match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

__attribute__((constructor)) static void choose(void)
{
    const char *pattern = getenv("TEST_CASE");
    if (pattern)
        cmocka_set_test_filter(pattern);
}
