/* SPDX-License-Identifier: MIT */
/* Rules that anybody wrote: they compile or not, they have a value or not, and there is an end to
 * it, with an error that begins with the rule's name; asked again, they say the same. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "rmd/rules.h"
#include "tests/fuzz/fuzz.h"

static void check_error(const char *error)
{
    FUZZ_CHECK(strncmp(error, "NAME: ", 6) == 0 && strlen(error) < RULE_ERROR_MAX);
    for (const char *p = error; *p; p++)
        FUZZ_CHECK((unsigned char)*p >= ' ' && *p != 0x7f);
}

static int evaluate(Rule *r, const Facts *facts)
{
    char error[RULE_ERROR_MAX] = "";
    bool value = false;
    int res = rule_evaluate(r, facts, &value, error);
    FUZZ_CHECK(res == 0 || res == -EINVAL);
    if (res != 0)
        check_error(error);
    return res == 0 ? value : res;
}

static void try_rule(Rule *r, uint8_t which)
{
    char error[RULE_ERROR_MAX] = "";
    Facts facts;
    facts_init(&facts);
    for (int i = 0; i < FACT_COUNT; i++)
        if (which & (1u << i % 8))
            facts.value[i] = i;
    int value = evaluate(r, &facts);
    if (rule_check(r, error) != 0)
        check_error(error);
    FUZZ_CHECK(evaluate(r, &facts) == value);
}

/* The first byte says which facts are known, the rest is the rule. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[RULE_ERROR_MAX] = "";
    if (size == 0)
        return 0;
    CLEANUP_FREE char *text = strndup((const char *)data + 1, size - 1);
    FUZZ_CHECK(text);
    Rule *r = rule_new("NAME", text, error);
    if (r)
        try_rule(r, data[0]);
    else
        check_error(error);
    rule_free(r);
    return 0;
}
