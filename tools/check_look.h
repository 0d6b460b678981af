/* SPDX-License-Identifier: MIT */
/* What dodo check and dodo join look at: files, limits and daemons become facts. */
#ifndef DODO_TOOLS_CHECK_LOOK_H
#define DODO_TOOLS_CHECK_LOOK_H

#include "tools/check_judge.h"
#include "tools/client.h"

/* What other parts of this host take from the file. */
typedef struct Parts {
    bool cmd, imd, rmd;            /* are set up here */
    Listen imd_listen, rmd_listen; /* where they are to serve; kind ADDR_NONE: see @local */
    uint64_t pool_bytes;
    uint64_t rmd_pool_bytes; /* the owner's cap; UINT64_MAX: none */
    uint64_t imd_port;       /* of an imd that rmd starts */
    uint64_t data_port;      /* UINT64_MAX: the default */
    uint64_t threads;        /* 0: the default */
    uint64_t cmd_receive_bytes, imd_receive_bytes, client_receive_bytes; /* 0: the default */
} Parts;

/* @f's config is set. The error that a tool would report may be there already; others read more of
 * the file. */
void look_at_config(CheckFacts *f, Parts *p);
void look_at_key(CheckKey *k, const CommonOptions *o);
/* After the key: the manager, and each host that it lists; g_free() the facts' hosts. */
void look_at_cluster(CheckFacts *f, const ToolOptions *o);
void look_at_limits(CheckLimits *l, const Parts *p);

/* How the lines are printed. A CheckLineFn; the other adds to a GString, for JSON. */
void check_print_line(void *ctx, const char *what, enum CheckState state, const char *text);
void check_add_json(void *ctx, const char *what, enum CheckState state, const char *text);

#endif
