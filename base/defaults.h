/* SPDX-License-Identifier: MIT */
/* Every constant that someone may want to tune: its default, unit, and key in the config file
 * ([group] key). The table in docs/dodo.conf.5 says the same. Limits of the wire format stand in
 * proto/wire.h and are not tunable.
 *
 * They hang together: a peer is silent only after several missed keep-alives (beat, alive, against
 * host_dead, client_dead); cmd gives one host up before the client gives cmd up, so that the next
 * host can be asked (request_deadline of both); grace is longer than all that it waits for. */
#ifndef DODO_BASE_DEFAULTS_H
#define DODO_BASE_DEFAULTS_H

#include <stdint.h>

#include "base/time.h"

#define DEFAULT_CONFIG_PATH "/etc/dodo/dodo.conf" /* --config, DODO_CONFIG */
#define DEFAULT_CLUSTER "dodo"                    /* [dodo] cluster: name, see cluster_number() */
#define DEFAULT_CMD_PORT 7700                     /* UDP, in [cmd] listen and [dodo] manager */
#define DEFAULT_IMD_PORT 7701 /* UDP, in [imd] listen; its data threads take any free ports */
#define DEFAULT_DATA_PORT \
    0 /* [imd] data_port: the first data thread's, the others follow; 0: any */

/* All sessions. First repetition of an unanswered HELLO; doubles up to 8 times. [ns] */
#define DEFAULT_HELLO_RETRY_NS (50 * NS_PER_MS) /* [dodo] hello_retry */

/* ---- client ---------------------------------------------------------------------------------- */
#define DEFAULT_ALIVE_NS (5 * NS_PER_S) /* [client] alive: between keep-alives to cmd */
#define DEFAULT_REFRACTION_NS                                        \
    (5 * NS_PER_S) /* [client] refraction: no mopen asks cmd after a \
                      failed one */
#define DEFAULT_TRANSFER_DEADLINE_NS                                \
    (1 * NS_PER_S) /* [client] transfer_deadline: silence of an imd \
                      under probes after which it is dead */
#define DEFAULT_REOPEN_NS                                             \
    (5 * NS_PER_S) /* [client] reopen: DODO_FALLBACK regions: between \
                      tries to establish them anew */
#define DEFAULT_CLIENT_REQUEST_RETRY_NS \
    (50 * NS_PER_MS) /* [client] request_retry: first, doubles */
#define DEFAULT_CLIENT_REQUEST_RETRY_MAX_NS (2 * NS_PER_S) /* [client] request_retry_max */
#define DEFAULT_CLIENT_REQUEST_DEADLINE_NS                                                     \
    (5 * NS_PER_S)                                   /* [client] request_deadline: then cmd is \
                                                        taken for unreachable */
#define DEFAULT_CLIENT_REGIONS_MAX 65536             /* [client] regions_max: descriptors */
#define DEFAULT_CLIENT_FILL_QUEUE_BYTES (4ull << 20) /* [client] fill_queue: fills that wait */
#define DEFAULT_CLIENT_RECEIVE_BYTES                                \
    (4ull << 20) /* [client] receive_buffer: SO_RCVBUF wanted; half \
                    of what is granted bounds the credit */

/* ---- imd ------------------------------------------------------------------------------------- */
#define DEFAULT_BEAT_NS (5 * NS_PER_S) /* [imd] beat: between keep-alives to cmd */
#define DEFAULT_RETAINED_AGE_NS                                                                \
    (24 * 3600 * NS_PER_S)                       /* [imd] retained_age: released regions older \
                                                    than it go; 0: no limit */
#define DEFAULT_LEAVE_DEADLINE_NS (2 * NS_PER_S) /* [imd] leave_deadline: SIGTERM to exit at most \
                                                  */
#define DEFAULT_IMD_REGIONS_MAX 262144           /* [imd] regions_max */
#define DEFAULT_IMD_THREADS_MAX 4                /* [imd] threads: as many as cores, at most this */
#define DEFAULT_IMD_WRITES_MAX 4096              /* [imd] writes_max: open writes a data thread */
#define DEFAULT_IMD_FILLS_MAX 4096               /* [imd] fills_max: open fills a data thread */
#define DEFAULT_IMD_SESSIONS_MAX 8192            /* [imd] sessions_max: clients a data thread */
#define DEFAULT_IMD_RECEIVE_BYTES (4ull << 20)   /* [imd] receive_buffer: SO_RCVBUF wanted */
#define DEFAULT_IMD_SEND_BYTES (4ull << 20)      /* [imd] send_buffer: SO_SNDBUF wanted */

/* ---- cmd ------------------------------------------------------------------------------------- */
#define DEFAULT_CLIENT_DEAD_NS (30 * NS_PER_S) /* [cmd] client_dead: silence, then its regions go \
                                                */
#define DEFAULT_HOST_DEAD_NS (15 * NS_PER_S)   /* [cmd] host_dead: silence, then it is not chosen */
#define DEFAULT_GRACE_NS (45 * NS_PER_S) /* [cmd] grace: after cmd's start, for the unclaimed */
#define DEFAULT_CMD_REQUEST_RETRY_NS (50 * NS_PER_MS)   /* [cmd] request_retry: first, doubles */
#define DEFAULT_CMD_REQUEST_RETRY_MAX_NS (2 * NS_PER_S) /* [cmd] request_retry_max */
#define DEFAULT_CMD_REQUEST_DEADLINE_NS \
    (2 * NS_PER_S)                             /* [cmd] request_deadline: then the next host */
#define DEFAULT_CMD_HOSTS_MAX 4096             /* [cmd] hosts_max */
#define DEFAULT_CMD_CLIENTS_MAX 16384          /* [cmd] clients_max */
#define DEFAULT_CMD_REGIONS_MAX 4194304        /* [cmd] regions_max */
#define DEFAULT_CMD_OPENS_MAX 4096             /* [cmd] opens_max: under way at once */
#define DEFAULT_CMD_SESSIONS_MAX 32768         /* [cmd] sessions_max: clients, imds, tools */
#define DEFAULT_CMD_RECEIVE_BYTES (4ull << 20) /* [cmd] receive_buffer: SO_RCVBUF wanted */

#define DEFAULT_HALF_OPEN_MAX 1024 /* half-open sessions a socket; the oldest is replaced */

/* ---- tools ----------------------------------------------------------------------------------- */
#define DEFAULT_TOOL_TIMEOUT_NS (5 * NS_PER_S) /* --timeout of dodo(1) */

/* The number that stands for a cluster's name on the wire (FNV-1a), so that clusters on one
 * network leave each other alone. From the name and not from the key: keys are rotated. */
static inline uint32_t cluster_number(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

#endif
