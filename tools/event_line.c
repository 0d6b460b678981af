/* SPDX-License-Identifier: MIT */
#include "tools/event_line.h"

#include <inttypes.h>

#include "base/json.h"

enum { JSON_MAX = 2048 }; /* six times REASON_MAX, and the rest */

static char *time_text(const EventEntry *e, gint64 now_ms, bool json)
{
    const gint64 at = (now_ms - (gint64)MIN(e->age_ms, (uint64_t)MAX(now_ms, 0))) / 1000;
    g_autoptr(GDateTime) time =
        json ? g_date_time_new_from_unix_utc(at) : g_date_time_new_from_unix_local(at);
    char *text = time ? g_date_time_format(time, json ? "%Y-%m-%dT%H:%M:%SZ" : "%F %T") : NULL;
    return text ? text : g_strdup("-");
}

static char *json_line(const EventEntry *e, const char *time, const char *address)
{
    char buf[JSON_MAX];
    Json j = {.buf = buf, .cap = sizeof buf};
    json_add(&j, "{\"number\":%" PRIu64 ",\"time\":\"%s\",\"age_ms\":%" PRIu64 ",\"kind\":\"%s\"",
             e->number, time, e->age_ms, event_kind_text(e->kind));
    json_add(&j,
             ",\"address\":\"%s\",\"id\":\"%016" PRIx64 "\",\"regions\":%" PRIu64 ",\"reason\":",
             address, e->id, e->regions);
    json_string(&j, e->reason.text);
    json_add(&j, "}\n");
    return g_strdup(buf);
}

char *event_line(const EventEntry *e, gint64 now_ms, bool json)
{
    char address[ADDR_TEXT_MAX] = "";
    g_autofree char *time = time_text(e, now_ms, json), *regions = NULL;
    if (e->address.kind != ADDR_NONE)
        (void)addr_format(&e->address, address, sizeof address);
    if (json)
        return json_line(e, time, address);
    if (e->regions > 0)
        regions = g_strdup_printf(" (%" PRIu64 " %s)", e->regions,
                                  e->regions == 1 ? "region" : "regions");
    return g_strdup_printf("%s  %-15s  %-21s  %s%s\n", time, event_kind_text(e->kind),
                           *address ? address : "-", e->reason.text, regions ? regions : "");
}
