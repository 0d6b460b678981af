/* SPDX-License-Identifier: MIT */
/* A data thread of the idle memory daemon: a blocking loop around what it decides (serve.h), with a
 * socket of its own for clients and a mailbox for the control thread's commands. While it serves it
 * takes no lock and allocates nothing, except what the core keeps of a write under way. */
#ifndef DODO_IMD_THREAD_H
#define DODO_IMD_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/polling.h"
#include "daemon/mailbox.h"
#include "daemon/start.h"
#include "imd/control.h"
#include "imd/data.h"
#include "imd/metrics.h"
#include "imd/serve.h"
#include "usocket/burst_send.h"
#include "usocket/port.h"

/* A command on its way to the thread, and back with its result. */
typedef struct ImdOrder {
    Letter letter; /* first */
    ImdCommand command;
    bool stop;         /* instead of a command: end the thread; does not come back */
    bool unasked;      /* nobody waits for it: does not come back */
    ClusterKeys *keys; /* instead of a command: new ones, the order's; does not come back either */
    uint32_t pace_bytes; /* with them, as in ImdDataConfig */
    int result;
} ImdOrder;

typedef struct ImdThreadConfig {
    EndpointConfig endpoint;
    ImdDataConfig data;         /* but for grant_bytes, which follows from the socket */
    int nice;                   /* CPU priority of the thread */
    uint64_t poll_ns;           /* it polls so long after traffic before it falls asleep */
    uint64_t leave_deadline_ns; /* from IMD_LEAVE to the good-byes at most */
    Mailbox *done;              /* orders come back there; kept */
    bool counts;                /* somebody wants to know more than what it has served */
    Pace *pace;                 /* of all threads; kept; NULL: no cap ever */
    /* An IMD_DROP or IMD_UNFILL is carried out: nobody reads or writes that memory any more. Called
     * by the thread. NULL: nobody wants to know before the order comes back. */
    void (*dropped)(void *ctx, const ImdCommand *command);
    void *ctx;
} ImdThreadConfig;

typedef struct ImdThread {
    pthread_t thread;
    bool running;
    int policy;      /* of scheduling, inherited */
    _Atomic int tid; /* 0: it has not come to its first turn */
    Port port;
    ImdServe serve;
    Mailbox orders;
    BurstScratch *scratch;
    ImdThreadConfig config;
    ImdOrder *leave; /* goes back when all is said */
    bool stop;
    unsigned turns;
    Polling polling;
    bool idle;           /* nothing came while it slept */
    _Atomic bool asleep; /* in the receiving call: who gives an order nudges the socket */
    _Atomic uint64_t served[IMD_SERVED_WORDS]; /* a Served so far, for the control thread */
    _Atomic uint64_t counts[IMD_COUNTS_WORDS]; /* an ImdCounts, likewise; if config.counts */
} ImdThread;

/* @transport is the thread's from now on, unless it fails. 0, or -errno. */
int imd_thread_init(ImdThread *t, const ImdThreadConfig *config, Transport *transport);
int imd_thread_start(ImdThread *t); /* 0, or -errno */
/* Takes the thread off its lowest priority, if that is allowed, or puts it back. From any
 * thread. */
void imd_thread_hurry(const ImdThread *t, bool on);
/* One round of the thread: waits if there is nothing to do, receives what has come, answers a
 * little. Alone for tests. */
void imd_thread_turn(ImdThread *t);
/* Adds what it had served at the end of its last turn. From any thread. */
void imd_thread_served(const ImdThread *t, Served *sum);
/* What it had counted then, if config.counts. From any thread. */
void imd_thread_counts(const ImdThread *t, ImdCounts *ret);
/* Ends the thread if it runs, then frees all; also of a zeroed ImdThread. */
void imd_thread_deinit(ImdThread *t);
/* New keys and another cap's share, from now on. */
void imd_thread_reload(ImdThread *t, const ClusterKeys *keys, uint32_t pace_bytes);
/* @order was made by g_new; the thread sends it back to config.done. */
void imd_thread_order(ImdThread *t, ImdOrder *order);

#endif
