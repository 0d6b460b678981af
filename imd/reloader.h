/* SPDX-License-Identifier: MIT */
/* The process that reads the configuration and the key file for a running imd, which can open no
 * file any more. It can open only what is in the directories of these two, has no network, and
 * reads only when imd asks. */
#ifndef DODO_IMD_RELOADER_H
#define DODO_IMD_RELOADER_H

#include "daemon/resolver.h"
#include "daemon/start.h"
#include "imd/options.h"

/* What may change while imd runs. */
typedef struct ImdSettings {
    ClusterKeys keys;
    uint32_t log_level; /* enum LogLevel */
    uint64_t rate_bytes, rate_packets;
    char manager[PLACES_TEXT_MAX];
    ConfigChanges changes; /* since the last time, by the files alone */
} ImdSettings;

typedef struct Reloader {
    int fd; /* its end of the channel; -1: there is none */
} Reloader;

/* Before threads, sockets and keys are there. The process changes its copies of @o, the options in
 * effect, and of @resolver, which says where the manager may be looked for. 0, -errno. */
int reloader_start(Reloader *r, ImdOptions *o, Resolver *resolver, char error[CONFIG_ERROR_MAX]);
void reloader_close(Reloader *r);
/* The answer makes the descriptor readable. 0, -errno: nobody reads. */
int reloader_ask(const Reloader *r);
/* The answer. 0; -EAGAIN: none has come yet; -EPIPE: the other process has ended; other -errno:
 * @error says what is wrong. Wipe it after use. */
int reloader_take(const Reloader *r, ImdSettings *ret, char error[CONFIG_ERROR_MAX]);

#endif
