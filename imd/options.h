/* SPDX-License-Identifier: MIT */
/* The settings of imd: command line, environment, config file. */
#ifndef DODO_IMD_OPTIONS_H
#define DODO_IMD_OPTIONS_H

#include "daemon/config.h"
#include "daemon/metrics_http.h"

typedef struct ImdOptions {
    CommonOptions common; /* first */
    Listen listen;
    uint64_t pool_bytes; /* 0: not given */
    bool populate;       /* takes all of it at once */
    uint64_t threads;    /* 0: as many as cores, up to DEFAULT_IMD_THREADS_MAX */
    uint64_t data_port;  /* 0: any; UINT64_MAX: not given */
    uint64_t nice;
    uint64_t regions_max, writes_max, fills_max, sessions_max;
    uint64_t receive_bytes, send_bytes;
    char *transport, *interface;       /* "udp" or "raw"; for raw frames, NULL: none */
    uint64_t rate_bytes, rate_packets; /* of all traffic, a second; 0: no cap */
    uint64_t poll_ns;                  /* of a data thread, after traffic; 0: never */
    uint64_t poll_share;               /* of all of them; percent of a processor */
    uint64_t owner_fd;                 /* of rmd's socket; UINT64_MAX: none */
    uint64_t owner_silence_ns;         /* of rmd, before imd leaves */
    uint64_t manager_dead_ns, write_age_ns;
    uint64_t beat_ns, retained_age_ns, leave_deadline_ns;
    MetricsOptions metrics;
} ImdOptions;

extern const ConfigProgram imd_program;
void imd_options_init(ImdOptions *o); /* defaults */
/* Data travels by raw frames, too. */
bool imd_options_raw(const ImdOptions *o);
/* After config_load(): what must be given is, and fits together. Fills in threads. 0, -EINVAL. */
int imd_options_check(ImdOptions *o, char error[CONFIG_ERROR_MAX]);

#endif
