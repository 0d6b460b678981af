/* SPDX-License-Identifier: MIT */
/* What the files of the shell share: shell.c, what comes in; effects.c, what goes out; reload.c;
 * setup.c, its start and end. */
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
    bool from_owner; /* who asked it last: what rmd has said counts more than the files */
};

/* shell.c */
extern const PortOps imd_port_ops;
int imd_open_loop(Imd *imd, char *error);
/* Call it after each event: it sends queued messages, and stops the loop once imd has to end. */
void imd_settle(Imd *imd, uint64_t now_ns);
void imd_close_owner(Imd *imd);

/* effects.c */
ImdMemberSink imd_member_sink(Imd *imd);

/* reload.c */
void imd_ask_reloader(Imd *imd, bool from_owner);
void imd_on_reloader(void *ctx);

#endif
