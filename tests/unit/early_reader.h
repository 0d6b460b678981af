/* SPDX-License-Identifier: MIT */
#ifndef DODO_TESTS_EARLY_READER_H
#define DODO_TESTS_EARLY_READER_H

#include <stdbool.h>

/* Whether the library's constructor could read as ever. */
__attribute__((visibility("default"))) bool early_has_read(void);

#endif
