/* SPDX-License-Identifier: MIT */
/* What dodo join says of a host that is to join a cluster. Pure: facts in, lines out. */
#ifndef DODO_TOOLS_JOIN_JUDGE_H
#define DODO_TOOLS_JOIN_JUDGE_H

#include "tools/check_judge.h"

enum JoinPortState {
    JOIN_PORT_ANSWERED,  /* the manager's answer came in */
    JOIN_PORT_SILENT,    /* it did not */
    JOIN_PORT_IN_USE,    /* a daemon runs there */
    JOIN_PORT_NOT_HERE,  /* no address of this host */
    JOIN_PORT_NOT_BOUND, /* for another reason */
};

typedef struct JoinPort {
    const char *whose; /* "rmd" */
    Addr address;
    enum JoinPortState state;
} JoinPort;

enum { JOIN_TRIES_MAX = 2 + 64 }; /* rmd, imd, and its data threads */

typedef struct JoinFacts {
    CheckFacts check;
    const char *manager;  /* as it was given */
    const char *key_path; /* where a key belongs */
    Addr local;           /* of this host, as the way to the manager has it; ADDR_NONE: no way */
    bool imd, rmd;        /* has settings in the file */
    bool configured;      /* it names a manager */
    JoinPort ports[JOIN_TRIES_MAX];
    unsigned ports_count;
    bool memory_known;
    uint64_t total_bytes;
    uint64_t lendable_bytes; /* now, by rmd's rule, in whole MiB, before the cap */
    uint64_t cap_bytes;      /* [rmd] pool; UINT64_MAX: none */
    uint64_t least_bytes;    /* less is not lent */
} JoinFacts;

/* Calls @fn for each line, in order. How many are faults. */
unsigned join_judge(const JoinFacts *f, CheckLineFn *fn, void *ctx);

#endif
