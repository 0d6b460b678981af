/* SPDX-License-Identifier: MIT */
/* What the files of the shell share: shell.c, the loop; host.c and network.c, what comes in from
 * there; effects.c, what goes out; reload.c; setup.c, its start and end. */
#ifndef DODO_RMD_SHELL_PRIVATE_H
#define DODO_RMD_SHELL_PRIVATE_H

#include "daemon/loop.h"
#include "daemon/member_place.h"
#include "rmd/child.h"
#include "rmd/explainer.h"
#include "rmd/looker.h"
#include "rmd/node.h"
#include "rmd/owner_desk.h"
#include "rmd/pressure.h"
#include "rmd/shell.h"
#include "rmd/sleep_watch.h"
#include "rmd/survey_file.h"
#include "rmd/verdicts.h"

struct Rmd {
    RmdOptions *options; /* borrowed; a reload changes them */
    InputHelper *input;  /* likewise; NULL: none */
    Loop *loop;
    Mailbox mailbox;
    Looker *looker;
    Node node;
    Verdicts verdicts;
    Pressure pressure;
    Child child;
    Observation *seen; /* the last one, or NULL */
    SurveyFile *survey;
    SleepWatch *sleep; /* NULL: none */
    OwnerDesk desk;
    MetricsHttp *metrics; /* NULL: none */

    bool has_port; /* not when it only watches */
    Port port;
    ManagerLink link;
    Resolver resolver;
    AddressWatch address;
    Explainer explainer;
};

/* shell.c */
extern const LoopOps rmd_loop_ops;
/* After anything that happened. */
void rmd_settle(Rmd *rmd, uint64_t now_ns);
void rmd_leave(void *ctx);
size_t rmd_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap);

/* effects.c */
NodeSink rmd_node_sink(Rmd *rmd);

/* host.c */
extern const ChildOps rmd_child_ops;
int rmd_host_watch(Rmd *rmd); /* 0, -ENOMEM */

/* network.c */
int rmd_network_open(Rmd *rmd, char *error); /* 0, -errno */
int rmd_network_watch(Rmd *rmd);             /* 0, -ENOMEM */

/* reload.c */
void rmd_on_reload(void *ctx);

#endif
