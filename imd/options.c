/* SPDX-License-Identifier: MIT */
#include "imd/options.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/defaults.h"
#include "imd/pace.h"
#include "imd/pool.h"
#include "proto/wire.h"

#define FIELD(name) offsetof(ImdOptions, name)
#define DAY (24 * 3600 * NS_PER_S)

enum { RATE_BYTES_MIN = 256 << 10 }; /* a chunk takes a quarter of a second */

static const ConfigKey keys[] = {
    {"imd", "listen", NULL, "Address of this host to serve at", "ADDR[:PORT]", CONFIG_ADDR,
     FIELD(listen), DEFAULT_IMD_PORT, 0},
    {"imd", "pool", NULL, "Memory to lend, as 64M or 1.5G", "SIZE", CONFIG_SIZE, FIELD(pool_bytes),
     64 << 10, 1ull << 48},
    {"imd", "populate", NULL, "Take all of the pool from the host at once, and keep it to the end",
     NULL, CONFIG_BOOL, FIELD(populate), 0, 0},
    {"imd", "threads", NULL, "Data threads; as many as cores, at most 4, if not given", "N",
     CONFIG_COUNT, FIELD(threads), 1, JOIN_PORTS_MAX},
    {"imd", "nice", NULL, "CPU priority, 0 to 19; 19, the lowest, if not given", "N", CONFIG_COUNT,
     FIELD(nice), 0, 19},
    {NULL, "owner_fd", NULL, "Descriptor of the socket to rmd, which started it", "N", CONFIG_COUNT,
     FIELD(owner_fd), 0, INT32_MAX},
    {"imd", "spin", "DODO_IMD_SPIN", NULL, NULL, CONFIG_TIME, FIELD(spin_ns), 0, NS_PER_S},
    {"imd", "data_port", NULL, NULL, NULL, CONFIG_COUNT, FIELD(data_port), 0, 65535},
    {"imd", "regions_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(regions_max), 1, 1 << 24},
    {"imd", "writes_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(writes_max), 1, 1 << 20},
    {"imd", "write_age", NULL, NULL, NULL, CONFIG_TIME, FIELD(write_age_ns), 0, DAY},
    {"imd", "fills_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(fills_max), 1, 1 << 20},
    {"imd", "sessions_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(sessions_max), 1, 1 << 20},
    {"imd", "receive_buffer", NULL, NULL, NULL, CONFIG_SIZE, FIELD(receive_bytes), 64 << 10,
     1 << 30},
    {"imd", "send_buffer", NULL, NULL, NULL, CONFIG_SIZE, FIELD(send_bytes), 64 << 10, 1 << 30},
    {"imd", "rate_bytes", NULL, "At most so much traffic a second, as 50M; no cap if not given",
     "SIZE", CONFIG_SIZE, FIELD(rate_bytes), 0, 1ull << 40},
    {"imd", "rate_packets", NULL, "At most so many datagrams a second; no cap if not given", "N",
     CONFIG_COUNT, FIELD(rate_packets), 0, 1 << 30},
    {"imd", "beat", NULL, NULL, NULL, CONFIG_TIME, FIELD(beat_ns), NS_PER_MS, DAY},
    {"imd", "manager_dead", NULL, NULL, NULL, CONFIG_TIME, FIELD(manager_dead_ns), NS_PER_MS, DAY},
    {"imd", "retained_age", NULL, NULL, NULL, CONFIG_TIME, FIELD(retained_age_ns), 0, 36500 * DAY},
    {"imd", "owner_silence", NULL, NULL, NULL, CONFIG_TIME, FIELD(owner_silence_ns), 2 * NS_PER_S,
     DAY},
    {"imd", "leave_deadline", NULL, NULL, NULL, CONFIG_TIME, FIELD(leave_deadline_ns), NS_PER_MS,
     DAY},
};

static const ConfigTable own = CONFIG_TABLE(keys);

const ConfigProgram imd_program = {
    .name = "imd",
    .summary = "The idle memory daemon of Dodo: lends this host's memory to the cluster.",
    .tables = {&config_manager, &own, &config_common, &config_daemon},
};

void imd_options_init(ImdOptions *o)
{
    *o = (ImdOptions){
        .data_port = DEFAULT_DATA_PORT,
        .owner_fd = UINT64_MAX,
        .owner_silence_ns = DEFAULT_OWNER_SILENCE_NS,
        .nice = 19,
        .spin_ns = DEFAULT_IMD_SPIN_NS,
        .regions_max = DEFAULT_IMD_REGIONS_MAX,
        .writes_max = DEFAULT_IMD_WRITES_MAX,
        .write_age_ns = DEFAULT_IMD_WRITE_AGE_NS,
        .fills_max = DEFAULT_IMD_FILLS_MAX,
        .sessions_max = DEFAULT_IMD_SESSIONS_MAX,
        .receive_bytes = DEFAULT_IMD_RECEIVE_BYTES,
        .send_bytes = DEFAULT_IMD_SEND_BYTES,
        .rate_bytes = DEFAULT_IMD_RATE_BYTES,
        .rate_packets = DEFAULT_IMD_RATE_PACKETS,
        .beat_ns = DEFAULT_BEAT_NS,
        .manager_dead_ns = DEFAULT_MANAGER_DEAD_NS,
        .retained_age_ns = DEFAULT_RETAINED_AGE_NS,
        .leave_deadline_ns = DEFAULT_LEAVE_DEADLINE_NS,
    };
    config_common_init(&o->common);
}

static int missing(const char *option, const char *key, char *error)
{
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s is needed, here or as %s in the config file",
                   option, key);
    return -EINVAL;
}

int imd_options_check(ImdOptions *o, char error[CONFIG_ERROR_MAX])
{
    if (o->common.manager.kind == ADDR_NONE)
        return missing("--manager ADDR:PORT", "[dodo] manager", error);
    if (o->listen.kind == ADDR_NONE)
        return missing("--listen ADDR[:PORT]", "[imd] listen", error);
    if (o->pool_bytes == 0)
        return missing("--pool SIZE", "[imd] pool", error);
    if (o->populate && o->owner_fd != UINT64_MAX) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "[imd] populate is for hosts without an owner: what rmd lends must be there "
                       "to be given back");
        return -EINVAL;
    }
    if (o->common.manager.kind != o->listen.kind) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--manager and --listen must both be IPv4 or both IPv6 addresses");
        return -EINVAL;
    }
    if (o->threads == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        o->threads = cores < 1                         ? 1
                     : cores > DEFAULT_IMD_THREADS_MAX ? DEFAULT_IMD_THREADS_MAX
                                                       : (uint64_t)cores;
    }
    if (o->data_port && o->data_port + o->threads > 65536) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "[imd] data_port: the ports of all %u threads must be below 65536",
                       (unsigned)o->threads);
        return -EINVAL;
    }
    if ((o->rate_bytes && o->rate_bytes < RATE_BYTES_MIN) ||
        (o->rate_packets && o->rate_packets < PACE_PACKETS_MIN)) {
        (void)snprintf(
            error, CONFIG_ERROR_MAX,
            "--rate-bytes must be 256K or more, --rate-packets %d or more, or 0 for none",
            PACE_PACKETS_MIN);
        return -EINVAL;
    }
    o->pool_bytes -= o->pool_bytes % POOL_ALIGN;
    return 0;
}
