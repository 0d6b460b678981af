/* SPDX-License-Identifier: MIT */
#include "cmd/metrics.h"

#include "base/cleanup.h"
#include "cmd/manager_private.h"

#define AT(field) offsetof(CmdMetrics, field)
#define GAUGE(name, help, field)                                          \
    {                                                                     \
        "dodo_cmd_" name, METRIC_GAUGE, NULL, help, NULL, NULL, AT(field) \
    }
#define BYTES(name, help, field)                                                      \
    {                                                                                 \
        "dodo_cmd_" name "_bytes", METRIC_GAUGE, "bytes", help, NULL, NULL, AT(field) \
    }
#define COUNTER(name, help, field)                                                \
    {                                                                             \
        "dodo_cmd_" name, METRIC_COUNTER, NULL, help, NULL, NULL, AT(stats.field) \
    }
#define HOSTS(state, help)                                                     \
    {                                                                          \
        "dodo_cmd_hosts", METRIC_GAUGE, NULL, help, "state", #state, AT(state) \
    }

/* clang-format off */
static const Metric rows[] = {
    METRICS_COMMON("dodo_cmd", CmdMetrics),
    GAUGE("active", "1 if this is the active manager, 0 while it stands by", active),
    GAUGE("lease", "number of the lease by which it is active; 0: it has none", lease),
    HOSTS(idle, "hosts that lend memory, by state: idle, silent (not heard for host_dead), leaving (or being drained)"),
    HOSTS(silent, NULL),
    HOSTS(leaving, NULL),
    GAUGE("draining_hosts", "of the hosts, those that are being drained", draining),
    BYTES("pool", "memory that all hosts together lend", pool_bytes),
    BYTES("free", "of it, what no region has", free_bytes),
    GAUGE("monitors", "hosts whose resource monitor reports", monitors),
    GAUGE("monitors_busy", "of them, those whose owner is there", busy),
    GAUGE("clients", "programs that have regions open, or had until just now", stats.clients),
    GAUGE("regions", "regions in the directory", stats.regions),
    GAUGE("retained_regions", "of them, those that no program has open and that wait for the next run", retained),
    GAUGE("opens_under_way", "requests for a region that are not answered yet", opening),
    GAUGE("calls_under_way", "requests to hosts that are not answered yet", calls),
    COUNTER("opens", "regions that programs got", opens),
    COUNTER("opens_reused", "of them, those that were retained from an earlier run", opens_reused),
    COUNTER("opens_failed", "requests for a region for which no host had room", opens_failed),
    COUNTER("opens_refused", "requests for a region beyond the share of the client", opens_refused),
    COUNTER("retries_next_host", "times that a host refused a region or did not answer, and the next one was asked", retries_next_host),
    COUNTER("closes", "regions that programs gave back", closes),
    COUNTER("reclaimed_clients", "programs that were silent for client_dead", reclaimed_clients),
    COUNTER("reclaimed_regions", "regions that programs left behind without closing them", reclaimed_regions),
    COUNTER("lost_hosts", "hosts that went without a word, with all regions there", lost_hosts),
    COUNTER("reported_hosts", "hosts set aside because a program reported them", reported_hosts),
    COUNTER("reconciled", "regions entered, corrected or removed because a list of a host or a program said so", reconciled),
};
/* clang-format on */
const MetricTable cmd_metrics = {rows, ARRAY_SIZE(rows)};

void cmd_metrics_read(CmdMetrics *ret, const Manager *m)
{
    manager_stats(m, &ret->stats);
    ret->active = m->number != MANAGER_STANDBY;
    ret->lease = ret->active ? m->number : 0;
    LIST_FOREACH(at, &m->hosts.order) {
        const Host *h = CONTAINER_OF(at, Host, in_order);
        ret->pool_bytes += h->said.pool_bytes;
        ret->free_bytes += h->said.hint.free_bytes;
        const bool silent = !h->leaving && cmd_host_silent(m, h);
        ret->leaving += h->leaving || (h->drain.on && !silent);
        ret->silent += silent;
        ret->draining += h->drain.on;
    }
    ret->idle = ret->stats.hosts - ret->leaving - ret->silent;
    LIST_FOREACH(at, &m->owners.order) {
        ret->monitors++;
        ret->busy += CONTAINER_OF(at, Owner, in_order)->state == HOST_OWNER_BUSY;
    }
    ret->retained = m->regions.kept.count;
    ret->opening = m->tasks.opens;
    ret->calls = m->calls;
}
