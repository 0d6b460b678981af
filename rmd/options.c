/* SPDX-License-Identifier: MIT */
#include "rmd/options.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "daemon/start.h"
#include "proto/conf/defaults.h"
#include "rmd/rules.h"

#define FIELD(name) offsetof(RmdOptions, name)

static const ConfigKey keys[] = {
    {"rmd", "listen", "Where to serve: address or interface; as the way to cmd, if not given",
     "ADDR[:PORT]", FIELD(listen)},
    {"rmd", "pool", "Most memory to lend, as 64M or 1.5G; auto, no cap, if not given", "SIZE|auto",
     FIELD(pool_max_bytes)},
    {"rmd", "idle_after", "Lend when console and load were quiet so long; 5min if not given",
     "TIME", FIELD(idle_after_ns)},
    {"rmd", "load_below", "A load below this is quiet; 0.3 if not given", "X", FIELD(load_below)},
    {"rmd", "poll", "Time between looks at the host; 1s if not given", "TIME", FIELD(poll_ns)},
    {"rmd", "console", "Device file whose access time shows activity; may be repeated", "PATH",
     FIELD(sources.consoles)},
    {"rmd", "recruit_when", "Rule: lend when it is true", "EXPR", FIELD(recruit_when)},
    {"rmd", "reclaim_when", "Rule: take all back when it is true", "EXPR", FIELD(reclaim_when)},
    {"rmd", "dedicated", "Nobody works at this host: the load alone decides", NULL,
     FIELD(dedicated)},
    {NULL, "check", "Say whether configuration and rules are right, and exit", NULL, FIELD(check),
     CONFIG_BOOL},
    {NULL, "explain", "Look once, say what is seen and what decides, and exit", NULL,
     FIELD(explain), CONFIG_BOOL},
    {NULL, "survey", "Lend nothing; record once a minute what could have been lent", "FILE",
     FIELD(survey), CONFIG_TEXT},
    {"rmd", "utmp", NULL, NULL, FIELD(sources.utmp)},
    {"rmd", "input", NULL, NULL, FIELD(sources.input)},
    {"rmd", "bus", NULL, NULL, FIELD(sources.bus)},
    {"rmd", "session_bus", NULL, NULL, FIELD(sources.session_bus)},
    {"rmd", "display", NULL, NULL, FIELD(sources.display)},
    {"rmd", "explain", NULL, NULL, FIELD(tell)},
    {"rmd", "screen_savers", NULL, NULL, FIELD(sources.screen_savers)},
    {"rmd", "leave_deadline", NULL, NULL, FIELD(leave_deadline_ns)},
    {"rmd", "save", NULL, NULL, FIELD(save_bytes)},
    {"rmd", "save_within", NULL, NULL, FIELD(save_within_ns)},
    {"rmd", "beat", NULL, NULL, FIELD(beat_ns)},
    {"rmd", "imd", NULL, NULL, FIELD(imd.program)},
    {"rmd", "imd_port", NULL, NULL, FIELD(imd.port)},
    {"imd", "poll", NULL, NULL, FIELD(imd.poll_ns)},
    {"rmd", "rate_bytes", NULL, NULL, FIELD(imd.rate_bytes)},
    {"rmd", "rate_packets", NULL, NULL, FIELD(imd.rate_packets)},
    {"imd", "rate_bytes", NULL, NULL, FIELD(imd.own_rate_bytes)},
    {"imd", "rate_packets", NULL, NULL, FIELD(imd.own_rate_packets)},
    {"rmd", "cpu_percent", NULL, NULL, FIELD(imd.cpu_percent)},
    {"rmd", "idle_priority", NULL, NULL, FIELD(imd.idle_priority)},
    {"rmd", "cgroup", NULL, NULL, FIELD(imd.cgroup)},
    {"rmd", "owner_file", NULL, NULL, FIELD(owner_file)},
    {"rmd", "owner_socket", NULL, NULL, FIELD(owner_socket)},
    {"rmd", "metrics", "Serve metrics at this address, for Prometheus", "ADDR[:PORT]",
     FIELD(metrics.listen)},
    {"rmd", "metrics_token_file", NULL, NULL, FIELD(metrics.token_file)},
};
static const ConfigTable own = CONFIG_TABLE(keys);

/* Where a rule stands is known while it is read. */
static int judge_rule(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    char wrong[RULE_ERROR_MAX];
    if (strcmp(k->name, "recruit_when") != 0 && strcmp(k->name, "reclaim_when") != 0)
        return 0;
    Rule *r = rule_new(k->name, v->text, wrong);
    const int res = r ? rule_check(r, wrong) : -EINVAL;
    r = rule_free(r);
    if (res < 0)
        (void)snprintf(error, cap, "%s; see RULES in dodo-rmd(8)", wrong);
    return res;
}

const ConfigProgram rmd_program = {
    .name = "rmd",
    .reader = CONF_RMD,
    .summary = "The resource monitor of Dodo: lends this host's memory while its owner is away.",
    .tables = {&config_manager, &own, &config_common, &config_daemon},
    .judge = judge_rule,
};

static const char *const consoles[] = {"/dev/tty[0-9]*", "/dev/pts/*", NULL};
static const char *const savers[] = {"xscreensaver",
                                     "kscreenlocker_g",
                                     "gnome-screensav",
                                     "mate-screensave",
                                     "cinnamon-screen",
                                     "xlock",
                                     "i3lock",
                                     "swaylock",
                                     "light-locker",
                                     "xsecurelock",
                                     NULL};

void rmd_options_init(RmdOptions *o)
{
    *o = (RmdOptions){
        .sources.consoles = g_strdupv((GStrv)(void *)consoles),
        .sources.screen_savers = g_strdupv((GStrv)(void *)savers),
        .sources.utmp = g_strdup("/var/run/utmp"),
        .sources.input = g_strdup("/dev/input"),
        .listen.addr.port = DEFAULT_RMD_PORT,
    };
    config_common_init(&o->common);
    config_defaults(&own, o);
}

/* "none" switches a source off. */
static void drop_none(char **text)
{
    if (*text && strcmp(*text, "none") == 0)
        g_clear_pointer(text, g_free);
}

int rmd_options_check(RmdOptions *o, char error[CONFIG_ERROR_MAX])
{
    drop_none(&o->sources.utmp);
    drop_none(&o->sources.input);
    drop_none(&o->sources.session_bus);
    drop_none(&o->sources.display);
    drop_none(&o->imd.cgroup);
    if (o->sources.consoles && o->sources.consoles[0] && !o->sources.consoles[1] &&
        strcmp(o->sources.consoles[0], "none") == 0)
        g_clear_pointer(&o->sources.consoles, g_strfreev);
    if (o->check || o->explain || o->survey) /* these need no cluster */
        return 0;
    Places places;
    return start_manager(&o->common, &o->listen.addr, &places, error);
}

MonitorConfig rmd_monitor_config(const RmdOptions *o)
{
    return (MonitorConfig){.idle_after_ns = o->idle_after_ns,
                           .poll_ns = o->poll_ns,
                           .leave_deadline_ns = o->leave_deadline_ns,
                           .load_below = o->load_below,
                           .dedicated = o->dedicated,
                           .has_recruit_rule = o->recruit_when != NULL,
                           .has_reclaim_rule = o->reclaim_when != NULL,
                           .pool_max_bytes = o->pool_max_bytes,
                           .save_bytes = o->save_bytes,
                           .save_within_ns = o->save_within_ns,
                           .watch_only = o->survey != NULL};
}
