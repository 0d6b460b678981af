/* SPDX-License-Identifier: MIT */
/* What a fuzz target is made of. A target aborts (FUZZ_CHECK) when something is wrong; it must be
 * deterministic: everything comes from the input. */
#ifndef DODO_TESTS_FUZZ_FUZZ_H
#define DODO_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert(), in every build. */
#define FUZZ_CHECK(condition)                                                                   \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            (void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                            \
        }                                                                                       \
    } while (0)

#endif
