/* SPDX-License-Identifier: MIT */
#ifndef DODO_TESTS_LIB_ADDR_OF_H
#define DODO_TESTS_LIB_ADDR_OF_H

#include "base/addr.h"
#include "tests/lib/case.h"

static inline Addr addr_of(const char *text)
{
    Addr a;
    assert_int_equal(addr_parse(text, 0, &a), 0);
    return a;
}

#endif
