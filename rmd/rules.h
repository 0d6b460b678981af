/* SPDX-License-Identifier: MIT */
/* The owner's rules: expressions over facts (Lua, without any library and with a limit on
 * instructions and memory). A fact that is unknown is nil, so that comparing it is an error, and
 * a rule that fails has no value: the host then counts as busy. */
#ifndef DODO_RMD_RULES_H
#define DODO_RMD_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "rmd/facts.h"

enum { RULE_TEXT_MAX = 4096, RULE_ERROR_MAX = 256 };

typedef struct Rule Rule;

/* NULL: @error says what is wrong with @text. @name stands before errors ("recruit_when"). */
Rule *rule_new(const char *name, const char *text, char error[RULE_ERROR_MAX]);
Rule *rule_free(Rule *r); /* NULL is fine; returns NULL */
/* 0 and *ret; -EINVAL and @error: it failed, or its value is neither true nor false. */
int rule_evaluate(Rule *r, const Facts *facts, bool *ret, char error[RULE_ERROR_MAX]);
/* Evaluates with facts of many kinds, so that misspelt names are found at the start: 0, -EINVAL. */
int rule_check(Rule *r, char error[RULE_ERROR_MAX]);

#endif
