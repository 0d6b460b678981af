/* SPDX-License-Identifier: MIT */
#include "rmd/verdicts.h"

#include <errno.h>

#include "daemon/log.h"

static int open_rule(OwnerRule *r, const char *name, const char *text, char error[RULE_ERROR_MAX])
{
    *r = (OwnerRule){.name = name};
    if (!text)
        return 0;
    r->rule = rule_new(name, text, error);
    return r->rule ? rule_check(r->rule, error) : -EINVAL;
}

int verdicts_open(Verdicts *v, const char *recruit_when, const char *reclaim_when,
                  char error[RULE_ERROR_MAX])
{
    *v = (Verdicts){0};
    int res = open_rule(&v->recruit, "recruit_when", recruit_when, error);
    if (res == 0)
        res = open_rule(&v->reclaim, "reclaim_when", reclaim_when, error);
    if (res < 0)
        verdicts_close(v);
    return res;
}

void verdicts_close(Verdicts *v)
{
    v->recruit.rule = rule_free(v->recruit.rule);
    v->reclaim.rule = rule_free(v->reclaim.rule);
}

static enum Verdict judge(OwnerRule *r, const Facts *facts)
{
    bool value = false;
    if (!r->rule)
        return VERDICT_UNKNOWN;
    bool failed = rule_evaluate(r->rule, facts, &value, r->error) < 0;
    if (failed != r->failed)
        log_event(failed ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, failed ? "rule_fails" : "rule_works",
                  "rule=%s%s%s", r->name, failed ? " error=" : "", failed ? r->error : "");
    r->failed = failed;
    return failed ? VERDICT_UNKNOWN : value ? VERDICT_YES : VERDICT_NO;
}

void verdicts_judge(Verdicts *v, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    *recruit = judge(&v->recruit, facts);
    *reclaim = judge(&v->reclaim, facts);
}
