/* SPDX-License-Identifier: MIT */
/* Libraries that a program is linked with begin before libdodo-preload.so does. */
#include "tests/lib/case.h"
#include "tests/unit/early_reader.h"

TEST(constructor__reads_before_the_library_is_ready)
{
    assert_true(early_has_read());
}
