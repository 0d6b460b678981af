/* SPDX-License-Identifier: MIT */
/* A directory for each case: TEST_WITH(name, dir_set_up, dir_tear_down), or, where the library
 * keeps its state, TEST_WITH(name, state_set_up, dir_tear_down). A test file includes this once. */
#ifndef DODO_TESTS_LIB_TMPDIR_CASE_H
#define DODO_TESTS_LIB_TMPDIR_CASE_H

#include <stdlib.h>

#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static TmpDir dir;

static int dir_set_up(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    return 0;
}

static inline int state_set_up(void **state)
{
    (void)dir_set_up(state);
    return setenv("XDG_STATE_HOME", dir.path, 1);
}

static int dir_tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&dir);
    return 0;
}

#endif
