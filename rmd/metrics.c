/* SPDX-License-Identifier: MIT */
#include "rmd/metrics.h"

#include "base/cleanup.h"
#include "rmd/monitor_private.h"

#define AT(field) offsetof(RmdMetrics, field)
#define STATE(word, help)                                                              \
    {                                                                                  \
        "dodo_rmd_state", METRIC_STATES, NULL, help, "dodo_rmd_state", #word, AT(word) \
    }
#define BYTES(name, help, field)                                                      \
    {                                                                                 \
        "dodo_rmd_" name "_bytes", METRIC_GAUGE, "bytes", help, NULL, NULL, AT(field) \
    }
#define COUNTER(name, help, field)                                                 \
    {                                                                              \
        "dodo_rmd_" name, METRIC_COUNTER, NULL, help, NULL, NULL, AT(counts.field) \
    }
#define PAGES(name, help, field)                                                        \
    {                                                                                   \
        "dodo_rmd_" name "_bytes", METRIC_COUNTER, "bytes", help, NULL, NULL, AT(field) \
    }
#define PAUSE(word, help, field)                                                          \
    {                                                                                     \
        "dodo_rmd_pause_seconds", METRIC_GAUGE, "seconds", help, "after", word, AT(field) \
    }

/* clang-format off */
static const Metric rows[] = {
    METRICS_COMMON("dodo_rmd", RmdMetrics),
    STATE(busy, "busy: the host is its owner's; starting: imd is; lending: its memory is lent; saving: its owner is back, and what programs used last moves to other hosts"),
    STATE(starting, NULL),
    STATE(lending, NULL),
    STATE(saving, NULL),
    BYTES("lendable", "what may be lent now, or could be while nothing is", lendable_bytes),
    BYTES("used", "what programs use of the pool, as imd said last", used_bytes),
    BYTES("held", "memory of the host that imd has", held_bytes),
    BYTES("owed", "given back in this lending for what the host's own programs lost to swap or read again", owed_bytes),
    PAGES("evicted", "what all programs of this host lost to swap or read again soon, since it began to run, as the kernel counts it", evicted_bytes),
    PAGES("reclaimed", "what the kernel took from programs and file cache for want of free memory, since the host began to run", reclaimed_bytes),
    COUNTER("lendings", "times that imd was started", starts),
    COUNTER("reclaims", "times that imd was asked to leave, for whatever reason", reclaims),
    COUNTER("saves", "of them, those in which what programs used last might move to other hosts first", saves),
    COUNTER("shortages", "of them, those because memory was short", shortages),
    COUNTER("kills", "times that imd was killed, because it did not leave in time", kills),
    COUNTER("crashes", "times that imd ended by itself, was never ready, or gave back no memory", crashes),
    PAUSE("shortage", "how long nothing will be lent, because memory was short or imd ended by itself (crash)", memory_pause_ns),
    PAUSE("crash", NULL, crash_pause_ns),
    {"dodo_rmd_manager_answers", METRIC_GAUGE, NULL, "1 while the manager answers reports, else 0", NULL, NULL, AT(manager_answers)},
};
/* clang-format on */
const MetricTable rmd_metrics = {rows, ARRAY_SIZE(rows)};

void rmd_metrics_read(RmdMetrics *ret, const Monitor *m, uint64_t now_ns)
{
    MonitorStatus s;
    monitor_status(m, now_ns, &s);
    ret->busy = s.state == MONITOR_BUSY;
    ret->starting = s.state == MONITOR_STARTING;
    ret->lending = s.state == MONITOR_LENDING;
    ret->saving = s.state == MONITOR_SAVING;
    ret->lendable_bytes = s.lendable_bytes;
    ret->used_bytes = s.used_bytes;
    ret->held_bytes = m->lending.held_bytes;
    ret->owed_bytes = m->lending.loss.owed_bytes;
    ret->evicted_bytes = m->lending.loss.evicted_bytes;
    ret->reclaimed_bytes = m->lending.loss.reclaimed_bytes;
    ret->memory_pause_ns = sub_u64(m->pressure.until_ns, now_ns);
    ret->crash_pause_ns = sub_u64(m->crash.until_ns, now_ns);
    ret->counts = m->counts;
}
