/* SPDX-License-Identifier: MIT */
#include "rmd/once.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>

#include "base/os.h"
#include "rmd/looker.h"
#include "rmd/pressure.h"
#include "rmd/report.h"
#include "rmd/shell.h"
#include "rmd/verdicts.h"

static int open_rules(Verdicts *v, const RmdOptions *o, char *error)
{
    char wrong[RULE_ERROR_MAX];
    int res = verdicts_open(v, o->recruit_when, o->reclaim_when, wrong);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s", wrong);
    return res;
}

int rmd_check(const RmdOptions *o, char error[CONFIG_ERROR_MAX])
{
    Verdicts v;
    int res = open_rules(&v, o, error);
    if (res < 0)
        return res;
    printf("configuration is right%s\n",
           o->recruit_when || o->reclaim_when ? ", and so are the rules" : "");
    verdicts_close(&v);
    return 0;
}

/* ---- one look -------------------------------------------------------------------------------- */

static void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    verdicts_judge(ctx, facts, recruit, reclaim);
}

static void on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
}

static void on_limit(void *ctx, uint64_t limit_bytes)
{
}

static void on_nothing(void *ctx)
{
}

static Monitor *watch_once(const RmdOptions *o, Verdicts *v, Observation *seen,
                           uint64_t *ret_now_ns)
{
    const MonitorConfig config = rmd_monitor_config(o);
    const MonitorSink sink = {.judge = on_judge,
                              .start = on_start,
                              .limit = on_limit,
                              .terminate = on_nothing,
                              .kill = on_nothing,
                              .changed = on_nothing,
                              .ctx = v};
    MemoryState memory;
    Pressure p;
    pressure_open(&p);
    bool known = pressure_memory(&p, &memory, os_now_ns()) == 0;
    pressure_close(&p);
    return monitor_once(&config, &sink, &seen->look, known ? &memory : NULL, ret_now_ns);
}

int rmd_explain(const RmdOptions *o, char error[CONFIG_ERROR_MAX])
{
    Verdicts v;
    uint64_t now;
    g_autoptr(GString) text = g_string_new(NULL);
    InputHelper input = {.channel = -1};
    int res = open_rules(&v, o, error);
    if (res < 0)
        return res;
    if (o->sources.input &&
        input_helper_start(&input, &o->common, o->sources.input, o->poll_ns, error) < 0) {
        verdicts_close(&v);
        return -EAGAIN;
    }
    Looker *looker = looker_new(o, o->sources.input ? &input : NULL);
    Observation *seen = looker ? looker_look(looker) : NULL;
    Monitor *m = seen ? watch_once(o, &v, seen, &now) : NULL;
    if (m) {
        g_string_append(text, "Looked once, as if the load had been as it is now for as long as "
                              "needed:\n");
        report_monitor(text, m, now, DETAIL_FULL);
        report_rules(text, &v);
        report_observation(text, seen, DETAIL_FULL);
        (void)fputs(text->str, stdout);
    } else {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory");
        res = -ENOMEM;
    }
    m = monitor_free(m);
    g_free(seen);
    looker = looker_free(looker);
    input_helper_stop(&input);
    verdicts_close(&v);
    return res;
}
