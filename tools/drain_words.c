/* SPDX-License-Identifier: MIT */
#include "tools/drain_words.h"

#include <inttypes.h>

#include "base/parse.h"
#include "base/time.h"

uint64_t drain_left_there(const OpDrainReply *r)
{
    return r->open_regions + r->kept_regions + r->busy_regions;
}

bool drain_is_done(const OpDrainReply *r)
{
    return r->listed && drain_left_there(r) == 0 && r->host_regions == 0 && r->silent_s == 0;
}

void drain_say_count(GString *out, uint64_t n, const char *one, const char *many)
{
    g_string_append_printf(out, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

void drain_say_size(GString *out, uint64_t bytes)
{
    char text[32];
    g_string_append(out, format_size(bytes, text, sizeof text));
}

static void say_speed(const DrainSpeed *s, GString *out)
{
    char text[32];
    if (s->to_copy_bytes == 0)
        return;
    g_string_append(out, "; ");
    drain_say_size(out, s->to_copy_bytes);
    g_string_append(out, " to copy");
    if (s->bytes_per_second == 0)
        return;
    g_string_append(out, ", ");
    drain_say_size(out, s->bytes_per_second);
    g_string_append_printf(out, "/s, %s",
                           format_time(s->seconds_left * NS_PER_S, text, sizeof text));
}

void drain_say_left(const OpDrainReply *r, const DrainSpeed *s, GString *out)
{
    drain_say_count(out, drain_left_there(r), "region left", "regions left");
    if (r->open_regions > 0) {
        g_string_append(out, " (");
        drain_say_size(out, r->open_bytes);
        g_string_append(out, " open, ");
        drain_say_count(out, r->clients, "program)", "programs)");
    }
    if (r->kept_regions > 0)
        g_string_append_printf(out, "; %" PRIu64 " kept", r->kept_regions);
    if (r->busy_regions > 0)
        g_string_append_printf(out, "; %" PRIu64 " under way", r->busy_regions);
    if (r->silent_s > 0)
        g_string_append_printf(out, "; the host is silent, for %" PRIu32 " s now", r->silent_s);
    say_speed(s, out);
}

void drain_say_members(const OpDrainReply *r, const DrainSpeed *s, GString *out)
{
    g_string_append_printf(out,
                           ",\"listed\":%s,\"open_regions\":%" PRIu64 ",\"open_bytes\":%" PRIu64
                           ",\"kept_regions\":%" PRIu64 ",\"kept_bytes\":%" PRIu64
                           ",\"busy_regions\":%" PRIu64 ",\"host_regions\":%" PRIu64,
                           r->listed ? "true" : "false", r->open_regions, r->open_bytes,
                           r->kept_regions, r->kept_bytes, r->busy_regions, r->host_regions);
    g_string_append_printf(out,
                           ",\"clients\":%" PRIu64 ",\"asking\":%" PRIu64 ",\"refused\":%" PRIu64
                           ",\"left_bytes\":%" PRIu64 ",\"copied_bytes\":%" PRIu64
                           ",\"bytes_per_second\":%" PRIu64 ",\"seconds_left\":%" PRIu64
                           ",\"silent_seconds\":%" PRIu32,
                           r->clients, r->asking, r->refused, r->left_bytes, r->copied_bytes,
                           s->bytes_per_second, s->seconds_left, r->silent_s);
}

/* ---- dodo status ------------------------------------------------------------------------------
 */

/* Which programs move what they have there, and which do not. */
static void say_programs(const OpDrainReply *r, GString *out)
{
    if (r->asking > 0) {
        g_string_append(out, "; ");
        drain_say_count(out, r->asking, "program moves its regions", "programs move their regions");
    }
    if (r->clients > r->asking) {
        g_string_append(out, "; ");
        drain_say_count(out, r->clients - r->asking, "program does not move its regions yet",
                        "programs do not move their regions yet");
    }
    if (r->refused > 0) {
        g_string_append(out, "; ");
        drain_say_count(out, r->refused, "finds no room", "find no room");
    }
}

static DrainSpeed speed(const DrainStatus *d)
{
    return (DrainSpeed){d->ahead, d->pace, d->seconds};
}

void drain_status_say(const DrainStatus *d, GString *out)
{
    char host[ADDR_TEXT_MAX], limit[32];
    const DrainSpeed fast = speed(d);
    g_string_append_printf(out, "%s is being drained: ", addr_format(&d->host, host, sizeof host));
    if (!d->progress.listed) {
        g_string_append(out, "the manager waits for the list of its regions");
        return;
    }
    drain_say_left(&d->progress, &fast, out);
    if (d->limit > 0)
        g_string_append_printf(out, " (at most %s/s)", format_size(d->limit, limit, sizeof limit));
    say_programs(&d->progress, out);
}

void drain_status_say_json(const DrainStatus *d, GString *out)
{
    char host[ADDR_TEXT_MAX];
    const OpDrainReply *r = &d->progress;
    const DrainSpeed fast = speed(d);
    const bool done = drain_is_done(r);
    g_string_append_printf(out, "{\"host\":\"%s\",\"state\":\"%s\",\"epoch\":\"%016" PRIx64 "\"",
                           addr_format(&d->host, host, sizeof host), done ? "done" : "draining",
                           r->epoch);
    drain_say_members(r, &fast, out);
    g_string_append_printf(out, ",\"to_copy_bytes\":%" PRIu64 ",\"rate\":%" PRIu64 "}", d->ahead,
                           d->limit);
}

/* ---- this host --------------------------------------------------------------------------------
 */

/* The same address may be there twice: of an imd that has just ended, and of its successor. */
static unsigned pick(const HostStatus *hosts, size_t count, bool lends,
                     bool (*is_here)(const Addr *a, const void *ctx), const void *ctx, Addr *ret)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        const HostStatus *h = &hosts[i];
        const bool counts = lends ? h->state == HOST_IDLE : h->state != HOST_BUSY;
        if (!counts || !is_here(&h->address, ctx) || (found && addr_equal(ret, &h->address)))
            continue;
        *ret = h->address;
        found++;
    }
    return found;
}

unsigned drain_pick_here(const HostStatus *hosts, size_t count,
                         bool (*is_here)(const Addr *a, const void *ctx), const void *ctx,
                         Addr *ret)
{
    const unsigned found = pick(hosts, count, true, is_here, ctx, ret);
    return found ? found : pick(hosts, count, false, is_here, ctx, ret);
}
