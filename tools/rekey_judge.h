/* SPDX-License-Identifier: MIT */
/* What dodo rekey says of a change of the cluster's key. Pure: facts in, text out. */
#ifndef DODO_TOOLS_REKEY_JUDGE_H
#define DODO_TOOLS_REKEY_JUDGE_H

#include <glib.h>

#include "base/addr.h"

enum RekeyStage {
    REKEY_IDLE,     /* one key */
    REKEY_BEGUN,    /* two: the old one, and the next */
    REKEY_FINISHED, /* one, and the old one is kept beside it */
};

/* A daemon, and with which of the keys it answers. */
typedef struct RekeyHost {
    Addr address;
    bool manager;
    bool takes_old, takes_next; /* REKEY_IDLE: takes_next is that of the one key */
} RekeyHost;

typedef struct RekeyFacts {
    enum RekeyStage stage;
    const char *path, *old_path;   /* of the key, and of the old one */
    uint32_t old_print, new_print; /* fingerprints; REKEY_IDLE: only the second */
    const RekeyHost *hosts;
    size_t hosts_count;
    uint64_t programs;
    uint64_t uptime_ms, known_ms; /* of the manager; when all hosts that live have reported to it */
} RekeyFacts;

/* Appends a line for each daemon, and what to do next. How many daemons are not where they should
 * be. */
unsigned rekey_judge(const RekeyFacts *f, GString *out);
/* Appends the steps that follow a change of the key file: which hosts get the file, and which
 * daemons are reloaded. */
void rekey_steps(const RekeyFacts *f, GString *out);

#endif
