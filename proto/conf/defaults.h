/* SPDX-License-Identifier: MIT */
/* Every constant that someone may want to tune: its key in the config file ([group] key), its
 * default, its unit. The table in docs/dodo.conf.5 says the same. Limits of the wire format are in
 * proto/wire.h and cannot be tuned.
 *
 * They depend on each other: a peer is silent only after several missed keep-alives (beat, alive,
 * against host_dead, client_dead); cmd gives one host up before the client gives cmd up, so that
 * the next host can be asked (request_deadline of both); grace is longer than all that it waits
 * for. */
#ifndef DODO_PROTO_CONF_DEFAULTS_H
#define DODO_PROTO_CONF_DEFAULTS_H

#include <stdint.h>

#include "base/time.h"

/* ---- all ------------------------------------------------------------------------------------ */

/* --config, DODO_CONFIG */
#define DEFAULT_CONFIG_PATH "/etc/dodo/dodo.conf"
/* [dodo] cluster: name, see cluster_number() */
#define DEFAULT_CLUSTER "dodo"
/* [cmd] listen, [dodo] manager: UDP port */
#define DEFAULT_CMD_PORT 7700
/* [imd] listen: UDP port of the control socket */
#define DEFAULT_IMD_PORT 7701
/* [rmd] listen: UDP port of the owner's resource monitor */
#define DEFAULT_RMD_PORT 7702
/* [cmd] metrics: TCP port */
#define DEFAULT_CMD_METRICS_PORT 7710
/* [imd] metrics: TCP port */
#define DEFAULT_IMD_METRICS_PORT 7711
/* [rmd] metrics: TCP port */
#define DEFAULT_RMD_METRICS_PORT 7712
/* [imd] data_port: UDP port of the first data thread, the others follow; 0: any that are free, as
 * without a value where the control socket takes any */
#define DEFAULT_DATA_PORT 7720
/* [dodo] hello_retry: first repetition of an unanswered HELLO [ns]; doubles up to 8 times */
#define DEFAULT_HELLO_RETRY_NS (50 * NS_PER_MS)
/* Half-open sessions a socket; the oldest is replaced */
#define DEFAULT_HALF_OPEN_MAX 1024

/* ---- client --------------------------------------------------------------------------------- */

/* [client] alive: between keep-alives to cmd [ns] */
#define DEFAULT_ALIVE_NS (5 * NS_PER_S)
/* [client] refraction: after a failed mopen, none asks cmd for so long [ns] */
#define DEFAULT_REFRACTION_NS (5 * NS_PER_S)
/* [client] transfer_deadline: silence of an imd under probes after which it is dead [ns] */
#define DEFAULT_TRANSFER_DEADLINE_NS (1 * NS_PER_S)
/* [client] reopen: DODO_FALLBACK regions, between tries to establish them again [ns] */
#define DEFAULT_REOPEN_NS (5 * NS_PER_S)
/* [client] request_retry: first repetition of a request to cmd [ns]; doubles */
#define DEFAULT_CLIENT_REQUEST_RETRY_NS (50 * NS_PER_MS)
/* [client] request_retry_max: it doubles up to this [ns] */
#define DEFAULT_CLIENT_REQUEST_RETRY_MAX_NS (2 * NS_PER_S)
/* [client] request_deadline: then cmd counts as unreachable [ns] */
#define DEFAULT_CLIENT_REQUEST_DEADLINE_NS (5 * NS_PER_S)
/* [client] poll, DODO_POLL: a thread that waits polls so long after traffic [ns]; 0: never */
#define DEFAULT_CLIENT_POLL_NS (1 * NS_PER_MS)
/* [client] poll_share, [imd] poll_share: of all polling threads of a process [% of a processor] */
#define DEFAULT_POLL_SHARE 100
/* [client] regions_max: open regions of a process */
#define DEFAULT_CLIENT_REGIONS_MAX 65536
/* [client] fill_queue: data read from the file that waits to be offered [bytes] */
#define DEFAULT_CLIENT_FILL_QUEUE_BYTES (4ull << 20)
/* [client] stripe: length of a stripe of a DODO_STRIPE region [bytes], rounded up to whole blocks
 * and further where a region would have more than 1024 */
#define DEFAULT_CLIENT_STRIPE_BYTES (16ull << 20)
/* [client] receive_buffer: SO_RCVBUF wanted [bytes]; half of what is granted bounds the credit */
#define DEFAULT_CLIENT_RECEIVE_BYTES (4ull << 20)

/* ---- manage --------------------------------------------------------------------------------- */

/* [manage] cache_size, DODO_CACHE_SIZE: local memory of a program's region cache [bytes] */
#define DEFAULT_MANAGE_CACHE_BYTES (64ull << 20)

/* ---- imd ------------------------------------------------------------------------------------ */

/* [imd] beat: between keep-alives to cmd [ns] */
#define DEFAULT_BEAT_NS (5 * NS_PER_S)
/* [imd] manager_dead: no BEAT is answered for so long: the manager is lost; as host_dead [ns] */
#define DEFAULT_MANAGER_DEAD_NS (15 * NS_PER_S)
/* [imd] retained_age: released regions older than it go [ns]; 0: no limit */
#define DEFAULT_RETAINED_AGE_NS (24 * 3600 * NS_PER_S)
/* [imd] owner_silence: an rmd that is not heard so long hangs: imd leaves [ns] */
#define DEFAULT_OWNER_SILENCE_NS (10 * NS_PER_S)
/* [imd] leave_deadline: from SIGTERM to the exit at most; no longer than rmd's [ns] */
#define DEFAULT_LEAVE_DEADLINE_NS (1 * NS_PER_S)
/* With [rmd] dedicated, [imd] poll is this [ns]; else 0, because the owner comes first */
#define DEFAULT_IMD_POLL_DEDICATED_NS (1 * NS_PER_MS)
/* [imd] threads: as many data threads as cores, but at most this */
#define DEFAULT_IMD_THREADS_MAX 4
/* [imd] regions_max: more are refused (no memory) */
#define DEFAULT_IMD_REGIONS_MAX 262144
/* [imd] writes_max: open writes a data thread */
#define DEFAULT_IMD_WRITES_MAX 4096
/* [imd] write_age: an open write not heard for so long gives way; as [cmd] client_dead [ns] */
#define DEFAULT_IMD_WRITE_AGE_NS (30 * NS_PER_S)
/* [imd] fills_max: open fills a data thread */
#define DEFAULT_IMD_FILLS_MAX 4096
/* [imd] sessions_max: clients a data thread; the least recently heard is forgotten */
#define DEFAULT_IMD_SESSIONS_MAX 8192
/* [imd] receive_buffer: SO_RCVBUF wanted, a data thread [bytes] */
#define DEFAULT_IMD_RECEIVE_BYTES (4ull << 20)
/* [imd] send_buffer: SO_SNDBUF wanted, a data thread [bytes] */
#define DEFAULT_IMD_SEND_BYTES (4ull << 20)

/* [imd] rate_bytes: of all its traffic with clients, a second [bytes]; 0: no cap */
#define DEFAULT_IMD_RATE_BYTES 0
/* [imd] rate_packets: datagrams of it, a second; 0: no cap */
#define DEFAULT_IMD_RATE_PACKETS 0

/* ---- cmd ------------------------------------------------------------------------------------ */

/* [cmd] client_dead: silence after which a client's regions are reclaimed [ns] */
#define DEFAULT_CLIENT_DEAD_NS (30 * NS_PER_S)
/* [cmd] host_dead: silence after which an imd is dropped [ns] */
#define DEFAULT_HOST_DEAD_NS (15 * NS_PER_S)
/* [cmd] distrust: a host that a client reported gets no new regions for so long [ns] */
#define DEFAULT_DISTRUST_NS (600 * NS_PER_S)
/* [cmd] grace: after cmd's own start, before it frees what nobody claims [ns] */
#define DEFAULT_GRACE_NS (45 * NS_PER_S)
/* [cmd] request_retry: first repetition of a request to an imd [ns]; doubles */
#define DEFAULT_CMD_REQUEST_RETRY_NS (50 * NS_PER_MS)
/* [cmd] request_retry_max: it doubles up to this [ns] */
#define DEFAULT_CMD_REQUEST_RETRY_MAX_NS (2 * NS_PER_S)
/* [cmd] request_deadline: then the next host is asked [ns] */
#define DEFAULT_CMD_REQUEST_DEADLINE_NS (2 * NS_PER_S)
/* [cmd] hosts_max */
#define DEFAULT_CMD_HOSTS_MAX 4096
/* [cmd] clients_max */
#define DEFAULT_CMD_CLIENTS_MAX 16384
/* [cmd] regions_max */
#define DEFAULT_CMD_REGIONS_MAX 4194304
/* [cmd] opens_max: mopens under way at once */
#define DEFAULT_CMD_OPENS_MAX 4096
/* [cmd] sessions_max: clients, imds and tools */
#define DEFAULT_CMD_SESSIONS_MAX 32768
/* [cmd] receive_buffer: SO_RCVBUF wanted [bytes] */
#define DEFAULT_CMD_RECEIVE_BYTES (4ull << 20)

/* ---- rmd ------------------------------------------------------------------------------------ */

/* [rmd] idle_after: so long must console and load have been quiet before a host is lent [ns] */
#define DEFAULT_IDLE_AFTER_NS (300 * NS_PER_S)
/* [rmd] load_below: the load counts as quiet below this */
#define DEFAULT_LOAD_BELOW 0.3
/* [rmd] poll: between looks at the host [ns] */
#define DEFAULT_POLL_NS (1 * NS_PER_S)
/* [rmd] leave_deadline: from the owner's return to the kill of an imd that does not leave [ns] */
#define DEFAULT_RMD_LEAVE_DEADLINE_NS (1 * NS_PER_S)
/* [rmd] save: what was used last moves to other hosts when the owner is back, so much at most:
 * about what programs copy over a line of 1 Gbit/s in save_within; 0: nothing does [bytes] */
#define DEFAULT_SAVE_BYTES (256ull << 20)
/* [rmd] save_within: so long at most [ns] */
#define DEFAULT_SAVE_WITHIN_NS (10 * NS_PER_S)
/* [rmd] beat: between rmd's reports to cmd while nothing changes [ns] */
#define DEFAULT_RMD_BEAT_NS (5 * NS_PER_S)
/* [rmd] imd_port: UDP port of imd's control socket; 0: any that is free */
#define DEFAULT_RMD_IMD_PORT 7701

/* ---- tools ---------------------------------------------------------------------------------- */

/* --timeout of dodo(1): how long it waits for an answer [ns] */
#define DEFAULT_TOOL_TIMEOUT_NS (5 * NS_PER_S)

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
