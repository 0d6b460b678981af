/* SPDX-License-Identifier: MIT */
#include "imd/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/conf/defaults.h"
#include "daemon/start.h"
#include "imd/pool.h"
#include "usocket/raw/mac.h"

#define FIELD(name) offsetof(ImdOptions, name)

static const ConfigKey keys[] = {
    {"imd", "listen", "Where to serve: address or interface; as the way to cmd, if not given",
     "ADDR[:PORT]", FIELD(listen)},
    {"imd", "pool", "Memory to lend, as 64M or 1.5G", "SIZE", FIELD(pool_bytes)},
    {"imd", "populate", "Take all of the pool from the host at once, and keep it to the end", NULL,
     FIELD(populate)},
    {"imd", "threads", "Data threads; as many as cores, at most 4, if not given", "N",
     FIELD(threads)},
    {"imd", "nice", "CPU priority, 0 to 19; 19, the lowest, if not given", "N", FIELD(nice)},
    {NULL, "owner_fd", "Descriptor of the socket to rmd, which started it", "N", FIELD(owner_fd),
     CONFIG_COUNT, 0, INT32_MAX},
    {"imd", "poll", "Data threads poll so long after traffic before they sleep, as 1ms", "TIME",
     FIELD(poll_ns)},
    {"imd", "poll_share", NULL, NULL, FIELD(poll_share)},
    {"imd", "data_port", NULL, NULL, FIELD(data_port)},
    {"imd", "regions_max", NULL, NULL, FIELD(regions_max)},
    {"imd", "writes_max", NULL, NULL, FIELD(writes_max)},
    {"imd", "write_age", NULL, NULL, FIELD(write_age_ns)},
    {"imd", "fills_max", NULL, NULL, FIELD(fills_max)},
    {"imd", "sessions_max", NULL, NULL, FIELD(sessions_max)},
    {"imd", "receive_buffer", NULL, NULL, FIELD(receive_bytes)},
    {"imd", "send_buffer", NULL, NULL, FIELD(send_bytes)},
    {"dodo", "transport", "How data travels: by UDP, or by raw frames of Ethernet where it can",
     "udp|raw", FIELD(transport)},
    {"dodo", "interface", "The interface of raw frames", "NAME", FIELD(interface)},
    {"imd", "rate_bytes", "At most so much traffic a second, as 50M; no cap if not given", "SIZE",
     FIELD(rate_bytes)},
    {"imd", "rate_packets", "At most so many datagrams a second; no cap if not given", "N",
     FIELD(rate_packets)},
    {"imd", "beat", NULL, NULL, FIELD(beat_ns)},
    {"imd", "manager_dead", NULL, NULL, FIELD(manager_dead_ns)},
    {"imd", "retained_age", NULL, NULL, FIELD(retained_age_ns)},
    {"imd", "owner_silence", NULL, NULL, FIELD(owner_silence_ns)},
    {"imd", "leave_deadline", NULL, NULL, FIELD(leave_deadline_ns)},
    {"imd", "metrics", "Serve metrics at this address, for Prometheus", "ADDR[:PORT]",
     FIELD(metrics.listen)},
    {"imd", "metrics_token_file", NULL, NULL, FIELD(metrics.token_file)},
};

static const ConfigTable own = CONFIG_TABLE(keys);

const ConfigProgram imd_program = {
    .name = "imd",
    .reader = CONF_IMD,
    .summary = "The idle memory daemon of Dodo: lends this host's memory to the cluster.",
    .tables = {&config_manager, &own, &config_common, &config_daemon},
};

void imd_options_init(ImdOptions *o)
{
    *o = (ImdOptions){
        .owner_fd = UINT64_MAX, .data_port = UINT64_MAX, .listen.addr.port = DEFAULT_IMD_PORT};
    config_common_init(&o->common);
    config_defaults(&own, o);
}

static int missing(const char *option, const char *key, char *error)
{
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s is needed, here or as %s in the config file",
                   option, key);
    return -EINVAL;
}

/* Where the control socket takes any port, there may be other imds at the address. */
static int check_data_port(ImdOptions *o, char *error)
{
    const uint16_t control = o->listen.addr.port;
    if (o->data_port == UINT64_MAX)
        o->data_port = control ? DEFAULT_DATA_PORT : 0;
    const uint64_t end = o->data_port + o->threads;
    const bool too_high = end > 65536, meets = control >= o->data_port && control < end;
    if (o->data_port == 0 || (!too_high && !meets))
        return 0;
    const size_t at = config_place(&o->common, "imd", "data_port", error);
    if (too_high)
        (void)snprintf(error + at, CONFIG_ERROR_MAX - at,
                       "[imd] data_port: the ports of all %u threads must be below 65536",
                       (unsigned)o->threads);
    else
        (void)snprintf(error + at, CONFIG_ERROR_MAX - at,
                       "[imd] data_port: %u, the port of --listen, is among those of the data "
                       "threads, %u to %u: choose another",
                       control, (unsigned)o->data_port, (unsigned)end - 1);
    return -EINVAL;
}

bool imd_options_raw(const ImdOptions *o)
{
    return strcmp(o->transport, "raw") == 0;
}

/* No firewall sees raw frames: only the key keeps strangers out. */
static int check_raw(const ImdOptions *o, char *error)
{
    if (!imd_options_raw(o))
        return 0;
    if (!o->interface || !interface_name_good(o->interface))
        return missing("With --transport raw, --interface NAME", "[dodo] interface", error);
    if (o->common.key || o->common.insecure)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "--transport raw needs a cluster key, as no firewall sees raw frames: give "
                   "--key FILE (dodo keygen makes one), or --insecure if everyone on that network "
                   "may read and write guests' data");
    return -EINVAL;
}

int imd_options_check(ImdOptions *o, char error[CONFIG_ERROR_MAX])
{
    Places places;
    if (!o->common.manager)
        return missing("--manager HOST:PORT", "[dodo] manager", error);
    if (o->pool_bytes == 0)
        return missing("--pool SIZE", "[imd] pool", error);
    if (o->populate && o->owner_fd != UINT64_MAX) {
        const size_t at = config_place(&o->common, "imd", "populate", error);
        (void)snprintf(error + at, CONFIG_ERROR_MAX - at,
                       "[imd] populate is for hosts without an owner: what rmd lends must be there "
                       "to be given back");
        return -EINVAL;
    }
    if (check_raw(o, error) < 0)
        return -EINVAL;
    if (start_manager(&o->common, &o->listen.addr, &places, error) < 0)
        return -EINVAL;
    if (o->threads == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        o->threads = cores < 1                         ? 1
                     : cores > DEFAULT_IMD_THREADS_MAX ? DEFAULT_IMD_THREADS_MAX
                                                       : (uint64_t)cores;
    }
    if (check_data_port(o, error) < 0)
        return -EINVAL;
    if (o->poll_ns == UINT64_MAX)
        o->poll_ns = 0; /* the owner comes first; rmd says so if there is none */
    o->pool_bytes -= o->pool_bytes % POOL_ALIGN;
    return 0;
}
