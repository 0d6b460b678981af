/* SPDX-License-Identifier: MIT */
/* rmd's options, from the command line, the environment and the config file. */
#ifndef DODO_RMD_OPTIONS_H
#define DODO_RMD_OPTIONS_H

#include "daemon/config.h"
#include "daemon/metrics_http.h"
#include "rmd/monitor.h"

/* Where it looks for the owner; as SourceSettings has them. */
typedef struct RmdSources {
    char **consoles;
    char *utmp, *input, *bus, *session_bus, *display;
    char **screen_savers; /* names of programs */
} RmdSources;

/* How imd is run. */
typedef struct RmdImd {
    char *program; /* NULL: the one that belongs to this one */
    uint64_t port, cpu_percent;
    uint64_t rate_bytes, rate_packets;         /* 0: its own */
    uint64_t own_rate_bytes, own_rate_packets; /* as it finds them itself; 0: no cap */
    uint64_t poll_ns;                          /* UINT64_MAX: as the host is dedicated or not */
    bool idle_priority;                        /* SCHED_IDLE, nice 19, idle I/O */
    char *cgroup; /* directory to make its control groups in; NULL: none is made */
} RmdImd;

typedef struct RmdOptions {
    CommonOptions common; /* first */
    Listen listen;
    Addr at;                 /* where it serves: @listen, or what was found for it */
    uint64_t pool_max_bytes; /* the most to lend; UINT64_MAX: no cap */
    uint64_t idle_after_ns, poll_ns, leave_deadline_ns, beat_ns;
    uint64_t save_bytes, save_within_ns; /* what may move away when the owner is back */
    double load_below;
    bool dedicated;
    char *recruit_when, *reclaim_when; /* NULL: our own conditions */
    RmdSources sources;
    char *tell; /* "full", "coarse" or "off": what others learn */
    RmdImd imd;
    char *owner_file, *owner_socket; /* see OwnerDesk; NULL: in the unit's directories */
    MetricsOptions metrics;
    /* What to do instead of lending. */
    bool check, explain;
    char *survey;
} RmdOptions;

extern const ConfigProgram rmd_program;

/* Defaults. */
void rmd_options_init(RmdOptions *o);
/* After config_load(): 0, or -EINVAL and what is missing or does not fit. */
int rmd_options_check(RmdOptions *o, char error[CONFIG_ERROR_MAX]);
/* What of it the monitor decides by. */
MonitorConfig rmd_monitor_config(const RmdOptions *o);

#endif
