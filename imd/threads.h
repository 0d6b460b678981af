/* SPDX-License-Identifier: MIT */
/* All threads of imd but the one that decides: those that serve data, and the one that gives memory
 * back. What the control thread orders goes to one of them, and comes back in a mailbox. */
#ifndef DODO_IMD_THREADS_H
#define DODO_IMD_THREADS_H

#include "imd/memory.h"
#include "imd/options.h"
#include "imd/purger.h"
#include "imd/thread.h"

typedef struct ImdThreads {
    unsigned count;
    ImdThread *of;
    Purger purger;
    Mailbox done;                                  /* orders that were carried out */
    Pace pace;                                     /* of all together */
    uint64_t rate_bytes, rate_packets, slow_bytes; /* as set; ... and for a while; 0: no cap */
} ImdThreads;

typedef struct ImdThreadsConfig {
    const ImdOptions *options;      /* borrowed while they are opened */
    const EndpointConfig *identity; /* likewise */
    const PoolMemory *pool;         /* kept */
    uint64_t epoch;
    Addr listen;
    bool owned; /* a range is given back as soon as nobody reads it */
} ImdThreadsConfig;

/* 0, or -errno: nothing is to be ended then. */
int imd_threads_init(ImdThreads *t, const ImdOptions *o, char error[CONFIG_ERROR_MAX]);
/* Their sockets; none runs yet. 0, or -errno. */
int imd_threads_open(ImdThreads *t, const ImdThreadsConfig *config, char error[CONFIG_ERROR_MAX]);
int imd_threads_start(ImdThreads *t, const PoolMemory *pool, char error[CONFIG_ERROR_MAX]);
void imd_threads_order(ImdThreads *t, const ImdCommand *command);
/* The whole pool, as fast as possible. */
void imd_threads_give_all_back(ImdThreads *t);
void imd_threads_hurry(const ImdThreads *t, bool on);
/* Another cap from now on. */
void imd_threads_cap(ImdThreads *t, uint64_t rate_bytes, uint64_t rate_packets);
/* The same, and other keys. */
void imd_threads_reload(ImdThreads *t, const ClusterKeys *keys, uint64_t rate_bytes,
                        uint64_t rate_packets);
/* No more than that a second from now on, whatever else is set. */
void imd_threads_slow(ImdThreads *t, uint64_t rate_bytes);
void imd_threads_served(const ImdThreads *t, Served *ret);
void imd_threads_counts(const ImdThreads *t, ImdMetrics *sum);
void imd_threads_stop(ImdThreads *t);
/* After that: orders that came back, and nobody took, are lost. */
void imd_threads_deinit(ImdThreads *t);

#endif
