/* SPDX-License-Identifier: MIT */
/* The owner's two rules, and what they say of the facts. */
#ifndef DODO_RMD_VERDICTS_H
#define DODO_RMD_VERDICTS_H

#include "rmd/monitor.h"
#include "rmd/rules.h"

typedef struct OwnerRule {
    Rule *rule; /* NULL: none is set */
    const char *name;
    bool failed;                /* as last logged */
    char error[RULE_ERROR_MAX]; /* why, if so */
} OwnerRule;

typedef struct Verdicts {
    OwnerRule recruit, reclaim;
} Verdicts;

/* NULL texts: no rule. 0; -EINVAL, and what is wrong. */
int verdicts_open(Verdicts *v, const char *recruit_when, const char *reclaim_when,
                  char error[RULE_ERROR_MAX]);
void verdicts_close(Verdicts *v); /* also of a zeroed one */
/* A rule that begins to fail is logged once. */
void verdicts_judge(Verdicts *v, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim);

#endif
