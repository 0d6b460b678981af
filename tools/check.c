/* SPDX-License-Identifier: MIT */
/* dodo check: whether this host is set up as it should be, and reaches the rest of the cluster. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/start.h"
#include "tools/check_look.h"
#include "tools/command.h"

static const ConfigKey keys[] = {
    {NULL, "json", "Print JSON", NULL, offsetof(ToolOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo check",
    .reader = CONF_TOOL,
    .summary = "Checks this host's configuration, key and limits, and whether the manager and the "
               "hosts\nanswer here. Exits with 1 if something is wrong.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

static unsigned print(const CheckFacts *f, bool json)
{
    if (!json)
        return check_judge(f, check_print_line, NULL);
    g_autoptr(GString) lines = g_string_new(NULL);
    unsigned faults = check_judge(f, check_add_json, lines);
    printf("{\"checks\":[%s],\"faults\":%u}\n", lines->str, faults);
    return faults;
}

static bool check(const ToolOptions *o, CheckFacts *f)
{
    Parts parts = {.cmd = false};
    f->config = config_file(&o->common);
    look_at_config(f, &parts);
    look_at_key(&f->key, &o->common);
    look_at_cluster(f, o);
    look_at_limits(&f->limits, &parts);
    return print(f, o->json) == 0;
}

static int run(int argc, char **argv)
{
    ToolOptions o;
    CheckFacts f = {.hosts_count = 0};
    int status;
    tool_options_init(&o);
    o.common.log_level = LOG_LEVEL_ERROR;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, f.config_error);
    if (outcome == CONFIG_OK || outcome == CONFIG_BAD)
        status = check(&o, &f) ? EXIT_SUCCESS : EXIT_FAILURE;
    else
        status = start_config_failed(&program, outcome, f.config_error);
    g_free((void *)f.hosts);
    config_clear(&program, &o);
    return status;
}

const Command command_check = {"check", "Check this host, and what of the cluster answers here",
                               run};
