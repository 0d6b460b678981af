/* SPDX-License-Identifier: MIT */
#include "tools/top_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/parse.h"
#include "base/time.h"
#include "tools/duty_words.h"

enum {
    HOST_WIDTH = 23, /* of 80 columns */
    WIDTH = 80,
    HEAD_LINES = 4,
    SHORT_MAX = 8,
    ROW_MAX = 512
};

typedef struct Row {
    const HostStatus *host;
    bool rated;                       /* the two are known */
    uint64_t read_bytes, write_bytes; /* by the second; or since its start */
} Row;

typedef struct Sum {
    unsigned states[HOST_STATE_MAX];
    uint64_t pool_bytes, used_bytes, read_bytes, write_bytes;
} Sum;

/* "12K", "1.2G": at most four digits. */
static const char *short_size(uint64_t bytes, char buf[SHORT_MAX])
{
    static const char units[] = "BKMGTPE";
    unsigned unit = 0;
    uint64_t rest = 0;
    for (; bytes >= 1024; bytes /= 1024, unit++)
        rest = bytes % 1024;
    if (unit > 0 && bytes < 10)
        (void)snprintf(buf, SHORT_MAX, "%u.%u%c", (unsigned)bytes, (unsigned)(rest * 10 / 1024),
                       units[unit]);
    else
        (void)snprintf(buf, SHORT_MAX, "%u%c", (unsigned)bytes, units[unit]);
    return buf;
}

static uint64_t used_bytes(const HostStatus *h)
{
    return sub_u64(h->pool_bytes, h->free_bytes);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static guint host_hash(gconstpointer host)
{
    return (guint)addr_hash(&((const HostStatus *)host)->address);
}

static gboolean host_equal(gconstpointer a, gconstpointer b)
{
    return addr_equal(&((const HostStatus *)a)->address, &((const HostStatus *)b)->address);
}

static uint64_t by_second(uint64_t now, uint64_t before, uint64_t ns)
{
    const double rate = (double)(now - before) * NS_PER_S / (double)ns;
    return rate < (double)INT64_MAX ? (uint64_t)rate : INT64_MAX;
}

/* What another start of it has counted is no difference. */
static void rate(Row *r, const HostStatus *before, uint64_t ns)
{
    const HostStatus *now = r->host;
    r->rated = before && before->epoch == now->epoch && now->read_bytes >= before->read_bytes &&
               now->write_bytes >= before->write_bytes && ns > 0;
    if (!r->rated)
        return;
    r->read_bytes = by_second(now->read_bytes, before->read_bytes, ns);
    r->write_bytes = by_second(now->write_bytes, before->write_bytes, ns);
}

static Row *rows_new(const TopView *v)
{
    Row *rows = g_new0(Row, v->now.count + 1);
    g_autoptr(GHashTable) before = g_hash_table_new(host_hash, host_equal);
    for (size_t i = 0; i < v->before.count; i++)
        g_hash_table_add(before, (gpointer)&v->before.hosts[i]);
    for (size_t i = 0; i < v->now.count; i++) {
        const HostStatus *h = &v->now.hosts[i];
        rows[i] = (Row){.host = h,
                        .rated = v->before.at_ns == 0,
                        .read_bytes = h->read_bytes,
                        .write_bytes = h->write_bytes};
        if (v->before.at_ns > 0)
            rate(&rows[i], g_hash_table_lookup(before, h), sub_u64(v->now.at_ns, v->before.at_ns));
    }
    return rows;
}

/* Traffic first, then memory in use, then the manager's order. */
static int compare(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    const uint64_t traffic[2] = {x->rated ? x->read_bytes + x->write_bytes : 0,
                                 y->rated ? y->read_bytes + y->write_bytes : 0};
    if (traffic[0] != traffic[1])
        return traffic[0] > traffic[1] ? -1 : 1;
    if (used_bytes(x->host) != used_bytes(y->host))
        return used_bytes(x->host) > used_bytes(y->host) ? -1 : 1;
    return (x->host > y->host) - (x->host < y->host);
}

/* Of memory that is lent now. */
static Sum sum_up(const Row *rows, size_t count)
{
    Sum s = {.pool_bytes = 0};
    for (size_t i = 0; i < count; i++) {
        const HostStatus *h = rows[i].host;
        s.states[h->state < HOST_STATE_MAX ? h->state : HOST_SILENT]++;
        if (h->state == HOST_IDLE) {
            s.pool_bytes += h->pool_bytes;
            s.used_bytes += used_bytes(h);
        }
        s.read_bytes += rows[i].rated ? rows[i].read_bytes : 0;
        s.write_bytes += rows[i].rated ? rows[i].write_bytes : 0;
    }
    return s;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
add(GString *out, const TopView *v, const char *format, ...)
{
    char line[ROW_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t len = min_u64(min_u64(n > 0 ? (uint64_t)n : 0, sizeof line - 1), v->width);
    for (size_t i = 0; i < len; i++)
        g_string_append_c(out, line[i] < ' ' || line[i] > '~' ? '?' : line[i]);
    g_string_append_c(out, '\n');
}

static void add_head(GString *out, const TopView *v, const Sum *s)
{
    char text[ADDR_TEXT_MAX], uptime[32], duty[DUTY_TEXT_MAX], size[4][SHORT_MAX];
    const char *by = v->before.at_ns > 0 ? "/s" : "";
    add(out, v, "manager %s, %s %s: %" PRIu64 " regions, %" PRIu64 " clients",
        addr_format(v->manager, text, sizeof text), duty_format(v->now.number, duty),
        format_time(v->now.uptime_ms / 1000 * NS_PER_S, uptime, sizeof uptime), v->now.regions,
        v->now.clients);
    add(out, v, "%zu host%s: %u idle, %u busy, %u silent, %u leaving", v->now.count,
        v->now.count == 1 ? "" : "s", s->states[HOST_IDLE], s->states[HOST_BUSY],
        s->states[HOST_SILENT], s->states[HOST_LEAVING]);
    if (v->fault)
        add(out, v, "%s", v->fault);
    else
        add(out, v, "lent %s, used %s; read %s%s, written %s%s", short_size(s->pool_bytes, size[0]),
            short_size(s->used_bytes, size[1]), short_size(s->read_bytes, size[2]), by,
            short_size(s->write_bytes, size[3]), by);
}

static unsigned host_width(const TopView *v)
{
    return HOST_WIDTH + (unsigned)min_u64(sub_u64(v->width, WIDTH), ADDR_TEXT_MAX - HOST_WIDTH);
}

/* A name that is cut ends with a plus. */
static void add_row(GString *out, const TopView *v, const Row *r)
{
    char host[ADDR_TEXT_MAX + 1], size[4][SHORT_MAX];
    const HostStatus *h = r->host;
    const unsigned width = host_width(v);
    if (strlen(addr_format(&h->address, host, sizeof host)) > width)
        (void)strcpy(host + width - 1, "+");
    if (h->state == HOST_BUSY)
        add(out, v, "%-*s %-7s %s", width, host, host_state_text(h->state), h->reason.text);
    else
        add(out, v, "%-*s %-7s %9s %9s %8" PRIu64 " %9s %9s", width, host,
            host_state_text(h->state), short_size(h->pool_bytes, size[0]),
            short_size(used_bytes(h), size[1]), h->regions,
            r->rated ? short_size(r->read_bytes, size[2]) : "-",
            r->rated ? short_size(r->write_bytes, size[3]) : "-");
}

GString *top_frame(const TopView *v)
{
    GString *out = g_string_new(NULL);
    g_autofree Row *rows = rows_new(v);
    const Sum sum = sum_up(rows, v->now.count);
    const bool rates = v->before.at_ns > 0;
    size_t room = v->height > 0 ? (size_t)sub_u64(v->height, HEAD_LINES) : SIZE_MAX;
    size_t shown = v->now.count <= room ? v->now.count : (size_t)sub_u64(room, 1);
    if (v->height > 0)
        qsort(rows, v->now.count, sizeof *rows, compare);
    add_head(out, v, &sum);
    add(out, v, "%-*s %-7s %9s %9s %8s %9s %9s", host_width(v), "HOST", "STATE", "LENT", "USED",
        "REGIONS", rates ? "READ/s" : "READ", rates ? "WRITE/s" : "WRITTEN");
    for (size_t i = 0; i < shown; i++)
        add_row(out, v, &rows[i]);
    if (shown < v->now.count)
        add(out, v, "and %zu more", v->now.count - shown);
    return out;
}
