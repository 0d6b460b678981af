/* SPDX-License-Identifier: MIT */
/* What the files of the shell share: shell.c, the loop; network.c and owner_socket.c, what comes in
 * from cmd and from rmd; effects.c, what goes out; reload.c; setup.c, its start and end. */
#ifndef DODO_IMD_SHELL_PRIVATE_H
#define DODO_IMD_SHELL_PRIVATE_H

#include "daemon/loop.h"
#include "daemon/member_place.h"
#include "imd/member.h"
#include "imd/memory.h"
#include "imd/reloader.h"
#include "imd/shell.h"
#include "imd/threads.h"

struct Imd {
    const ImdOptions *options; /* borrowed */
    uint64_t epoch;
    PoolMemory pool;
    Loop *loop;
    Port port; /* to cmd */
    ImdMember member;
    int owner; /* the socket to rmd; -1: there is none */
    ImdThreads threads;
    Reloader reloader;
    AddressWatch address; /* where it serves */
    Resolver resolver;
    char manager[PLACES_TEXT_MAX]; /* where it is looked for */
    MetricsHttp *metrics;          /* NULL: none */
    bool told;                     /* rmd has said settings: they count more than the files */
};

/* network.c */
int imd_network_open(Imd *imd, const EndpointConfig *identity, char *error); /* 0, -errno */
int imd_network_watch(Imd *imd);                                             /* 0, -ENOMEM */
/* What the data threads have served counts before what the manager says. */
void imd_add_served(Imd *imd);
/* Call it after each event: it sends queued messages, and stops the loop once imd has to end. */
void imd_settle(Imd *imd, uint64_t now_ns);

/* owner_socket.c */
int imd_owner_watch(Imd *imd); /* 0, -ENOMEM */
void imd_hear_owner(Imd *imd, uint64_t now_ns);
void imd_close_owner(Imd *imd);

/* shell.c */
extern const LoopOps imd_loop_ops;
void imd_on_done(void *ctx); /* data threads have carried out orders */
size_t imd_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap);

/* effects.c */
ImdMemberSink imd_member_sink(Imd *imd);

/* reload.c */
void imd_ask_reloader(Imd *imd);
void imd_take_told(Imd *imd); /* rmd has said settings */
void imd_on_reloader(void *ctx);

#endif
