/* SPDX-License-Identifier: MIT */
/* What the kernel says of memory, as this host has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>

#include "base/time.h"
#include "daemon/log.h"
#include "rmd/pressure.h"

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

static void memory_is_known(void **state)
{
    Pressure p;
    MemoryState m;
    (void)state;
    pressure_open(&p);
    assert_int_equal(pressure_memory(&p, &m, NS_PER_S), 0);
    assert_true(m.total_bytes > 0);
    assert_true(m.spare_bytes <= m.total_bytes);
    pressure_close(&p);
}

/* rmd opens it again and again, to say once what it sees. */
static void all_is_given_back(void **state)
{
    Pressure p;
    unsigned before = descriptors();
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        pressure_open(&p);
        pressure_close(&p);
    }
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    log_init("test", LOG_LEVEL_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_known),
                                       cmocka_unit_test(all_is_given_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
