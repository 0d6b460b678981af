/* SPDX-License-Identifier: MIT */
/* What a manager is, in words: what dodo status and dodo top have in common. Pure. */
#ifndef DODO_TOOLS_DUTY_WORDS_H
#define DODO_TOOLS_DUTY_WORDS_H

#include <stdint.h>

enum { DUTY_TEXT_MAX = 40 };

/* What stands before the time for which it is that: "up", "lease 7 for", "stands by for". @number:
 * as in WireHello.epoch. Returns @buf. */
const char *duty_format(uint64_t number, char buf[DUTY_TEXT_MAX]);

#endif
