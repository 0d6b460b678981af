/* SPDX-License-Identifier: MIT */
#include "rmd/options.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "base/defaults.h"
#include "base/parse.h"

#define FIELD(name) offsetof(RmdOptions, name)
#define DAY (24 * 3600 * NS_PER_S)

static const ConfigKey keys[] = {
    {"rmd", "listen", NULL, "Address of this host to serve at", "ADDR[:PORT]", CONFIG_ADDR,
     FIELD(listen), DEFAULT_RMD_PORT, 0},
    {"rmd", "pool", NULL, "Most memory to lend, as 64M or 1.5G; auto, no cap, if not given",
     "SIZE|auto", CONFIG_TEXT, FIELD(pool), 0, 0},
    {"rmd", "idle_after", NULL, "Lend when console and load were quiet so long; 5min if not given",
     "TIME", CONFIG_TIME, FIELD(idle_after_ns), NS_PER_MS, DAY},
    {"rmd", "load_below", NULL, "A load below this is quiet; 0.3 if not given", "X", CONFIG_NUMBER,
     FIELD(load_below), 0, 100000},
    {"rmd", "poll", NULL, "Time between looks at the host; 1s if not given", "TIME", CONFIG_TIME,
     FIELD(poll_ns), 10 * NS_PER_MS, 60 * NS_PER_S},
    {"rmd", "console", NULL, "Device file whose access time tells of activity; may be repeated",
     "PATH", CONFIG_LIST, FIELD(consoles), 0, 0},
    {"rmd", "recruit_when", NULL, "Rule: lend when it is true", "EXPR", CONFIG_TEXT,
     FIELD(recruit_when), 0, 0},
    {"rmd", "reclaim_when", NULL, "Rule: take all back when it is true", "EXPR", CONFIG_TEXT,
     FIELD(reclaim_when), 0, 0},
    {"rmd", "dedicated", NULL, "Nobody works at this host: the load alone decides", NULL,
     CONFIG_BOOL, FIELD(dedicated), 0, 0},
    {NULL, "check", NULL, "Say whether configuration and rules are right, and exit", NULL,
     CONFIG_BOOL, FIELD(check), 0, 0},
    {NULL, "explain", NULL, "Look once, say what is seen and what decides, and exit", NULL,
     CONFIG_BOOL, FIELD(explain), 0, 0},
    {NULL, "survey", NULL, "Lend nothing; record once a minute what could have been lent", "FILE",
     CONFIG_TEXT, FIELD(survey), 0, 0},
    {"rmd", "utmp", NULL, NULL, NULL, CONFIG_TEXT, FIELD(utmp), 0, 0},
    {"rmd", "input", NULL, NULL, NULL, CONFIG_TEXT, FIELD(input), 0, 0},
    {"rmd", "bus", NULL, NULL, NULL, CONFIG_TEXT, FIELD(bus), 0, 0},
    {"rmd", "session_bus", NULL, NULL, NULL, CONFIG_TEXT, FIELD(session_bus), 0, 0},
    {"rmd", "display", NULL, NULL, NULL, CONFIG_TEXT, FIELD(display), 0, 0},
    {"rmd", "explain", NULL, NULL, NULL, CONFIG_TEXT, FIELD(tell), 0, 0},
    {"rmd", "screen_savers", NULL, NULL, NULL, CONFIG_LIST, FIELD(screen_savers), 0, 0},
    {"rmd", "leave_deadline", NULL, NULL, NULL, CONFIG_TIME, FIELD(leave_deadline_ns), NS_PER_MS,
     60 * NS_PER_S},
    {"rmd", "beat", NULL, NULL, NULL, CONFIG_TIME, FIELD(beat_ns), NS_PER_MS, DAY},
    {"rmd", "imd", NULL, NULL, NULL, CONFIG_TEXT, FIELD(imd), 0, 0},
    {"rmd", "imd_port", NULL, NULL, NULL, CONFIG_COUNT, FIELD(imd_port), 0, 65535},
    {"rmd", "rate_bytes", NULL, NULL, NULL, CONFIG_SIZE, FIELD(rate_bytes), 256 << 10, 1ull << 40},
    {"rmd", "rate_packets", NULL, NULL, NULL, CONFIG_COUNT, FIELD(rate_packets), 100, 1 << 30},
    {"rmd", "cpu_percent", NULL, NULL, NULL, CONFIG_COUNT, FIELD(cpu_percent), 1, 100000},
    {"rmd", "idle_priority", NULL, NULL, NULL, CONFIG_BOOL, FIELD(idle_priority), 0, 0},
    {"rmd", "cgroup", NULL, NULL, NULL, CONFIG_TEXT, FIELD(cgroup), 0, 0},
};
static const ConfigTable own = CONFIG_TABLE(keys);

const ConfigProgram rmd_program = {
    .name = "rmd",
    .summary = "The resource monitor of Dodo: lends this host's memory while its owner is away.",
    .tables = {&config_manager, &own, &config_common, &config_daemon},
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
        .pool = g_strdup("auto"),
        .pool_max_bytes = UINT64_MAX,
        .idle_after_ns = DEFAULT_IDLE_AFTER_NS,
        .poll_ns = DEFAULT_POLL_NS,
        .leave_deadline_ns = DEFAULT_RMD_LEAVE_DEADLINE_NS,
        .beat_ns = DEFAULT_RMD_BEAT_NS,
        .load_below = DEFAULT_LOAD_BELOW,
        .consoles = g_strdupv((GStrv)(void *)consoles),
        .screen_savers = g_strdupv((GStrv)(void *)savers),
        .tell = g_strdup("coarse"),
        .utmp = g_strdup("/var/run/utmp"),
        .input = g_strdup("/dev/input"),
        .imd_port = DEFAULT_RMD_IMD_PORT,
        .idle_priority = true,
    };
    config_common_init(&o->common);
}

static int complain(char *error, const char *text)
{
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s", text);
    return -EINVAL;
}

/* "none" switches a source off. */
static void drop_none(char **text)
{
    if (*text && strcmp(*text, "none") == 0)
        g_clear_pointer(text, g_free);
}

static int check_pool(RmdOptions *o, char *error)
{
    if (strcmp(o->pool, "auto") == 0)
        o->pool_max_bytes = UINT64_MAX;
    else if (parse_size(o->pool, &o->pool_max_bytes) != 0 || o->pool_max_bytes < 64 << 10 ||
             o->pool_max_bytes > 1ull << 48)
        return complain(error, "--pool (pool in [rmd]): expected auto, or a size such as 64M or "
                               "1.5G, 64 KiB to 256 TiB");
    return 0;
}

int rmd_options_check(RmdOptions *o, char error[CONFIG_ERROR_MAX])
{
    drop_none(&o->utmp);
    drop_none(&o->input);
    drop_none(&o->session_bus);
    drop_none(&o->display);
    drop_none(&o->cgroup);
    if (o->consoles && o->consoles[0] && !o->consoles[1] && strcmp(o->consoles[0], "none") == 0)
        g_clear_pointer(&o->consoles, g_strfreev);
    if (check_pool(o, error) != 0)
        return -EINVAL;
    if (strcmp(o->tell, "full") != 0 && strcmp(o->tell, "coarse") != 0 &&
        strcmp(o->tell, "off") != 0)
        return complain(error, "explain in [rmd]: expected full, coarse or off");
    if (o->check || o->explain || o->survey) /* these need no cluster */
        return 0;
    if (o->common.manager.kind == ADDR_NONE)
        return complain(error,
                        "--manager ADDR:PORT is needed, here or as [dodo] manager in the config "
                        "file");
    if (o->listen.kind == ADDR_NONE)
        return complain(error,
                        "--listen ADDR is needed, here or as [rmd] listen in the config file");
    if (o->common.manager.kind != o->listen.kind)
        return complain(error, "--manager and --listen must both be IPv4 or both IPv6 addresses");
    return 0;
}
