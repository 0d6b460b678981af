/* SPDX-License-Identifier: MIT */
#include "rmd/owner_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/time.h"

enum { HOUR_S = 3600, HOUR_MS = HOUR_S * 1000, LINE_MAX_BYTES = 256 };
static const uint64_t SAVE_EVERY_NS = 15 * 60 * NS_PER_S;
static const uint64_t MIB_MS_MAX = (1ull << 24) * HOUR_MS; /* 16 TiB for an hour */

/* ---- pauses ---------------------------------------------------------------------------------- */

static void drop(OwnerRecord *r, unsigned i)
{
    r->pauses[i] = r->pauses[--r->pauses_count];
}

static void drop_over(OwnerRecord *r, uint64_t now_s)
{
    for (unsigned i = r->pauses_count; i-- > 0;)
        if (r->pauses[i].until_s <= now_s)
            drop(r, i);
}

int owner_record_pause(OwnerRecord *r, uint32_t uid, uint64_t until_s, uint64_t now_s)
{
    unsigned i = 0, users = 0;
    drop_over(r, now_s);
    while (i < r->pauses_count && r->pauses[i].uid != uid)
        users += r->pauses[i++].uid != 0;
    if (i == r->pauses_count && uid != 0 && users == OWNER_PAUSES_MAX - 1)
        return -ENOSPC;
    const OwnerPause p = {.uid = uid, .until_s = until_s, .asked = r->clock_s > 0};
    const OwnerPause *had = i < r->pauses_count ? &r->pauses[i] : NULL;
    if (had && had->until_s == p.until_s && had->asked == p.asked)
        return 1;
    r->pauses[i] = p;
    r->pauses_count += !had;
    drop_over(r, now_s);
    return 0;
}

bool owner_record_resume(OwnerRecord *r, uint32_t uid, uint64_t now_s)
{
    drop_over(r, now_s);
    for (unsigned i = r->pauses_count; i-- > 0;) {
        if (r->pauses[i].uid != uid)
            continue;
        drop(r, i);
        return true;
    }
    return false;
}

void owner_record_resume_all(OwnerRecord *r)
{
    r->pauses_count = 0;
    r->unknown = false;
}

uint64_t owner_record_paused_until(const OwnerRecord *r, uint64_t now_s)
{
    uint64_t until = 0;
    for (unsigned i = 0; i < r->pauses_count; i++)
        if (r->pauses[i].until_s > now_s)
            until = max_u64(until, r->pauses[i].until_s);
    return until;
}

/* Clocks that are not read at one instant differ by a second. */
bool owner_record_clock(OwnerRecord *r, uint64_t clock_s)
{
    const bool known = r->clock_s > 0;
    const int64_t by_s = (int64_t)(clock_s - r->clock_s);
    bool moved = false;
    if (known && by_s >= -1 && by_s <= 1)
        return false;
    for (unsigned i = 0; known && i < r->pauses_count; i++) {
        OwnerPause *p = &r->pauses[i];
        if (!p->asked || p->until_s == OWNER_FOREVER)
            continue;
        p->until_s += (uint64_t)by_s;
        moved = true;
    }
    r->clock_s = clock_s;
    return moved;
}

/* ---- hours ----------------------------------------------------------------------------------- */

static bool is_of_the_week(uint64_t hour, uint64_t now_s)
{
    const uint64_t now = now_s / HOUR_S;
    return hour > 0 && hour <= now && now - hour < OWNER_HOURS;
}

const OwnerHour *owner_record_hour(const OwnerRecord *r, uint64_t hour, uint64_t now_s)
{
    const OwnerHour *h = &r->hours[hour % OWNER_HOURS];
    return h->hour == hour && is_of_the_week(hour, now_s) ? h : NULL;
}

static OwnerHour *hour_at(OwnerRecord *r, uint64_t hour)
{
    OwnerHour *h = &r->hours[hour % OWNER_HOURS];
    if (h->hour != hour)
        *h = (OwnerHour){.hour = hour};
    return h;
}

void owner_record_note(OwnerRecord *r, uint64_t now_s, uint64_t ms, enum MonitorWhy why,
                       uint64_t lent_bytes)
{
    OwnerHour *h = hour_at(r, now_s / HOUR_S);
    uint64_t sum = 0;
    if (now_s < HOUR_S || why >= MONITOR_WHY_MAX)
        return;
    for (unsigned i = 0; i < MONITOR_WHY_MAX; i++)
        sum += h->ms[i];
    ms = min_u64(ms, HOUR_MS - min_u64(sum, HOUR_MS)); /* the clock may have been set */
    h->ms[why] += ms;
    if (why == MONITOR_WHY_LENT)
        h->mib_ms = min_u64(h->mib_ms + min_u64(lent_bytes >> 20, 1 << 24) * ms, MIB_MS_MAX);
}

/* ---- when ------------------------------------------------------------------------------------ */

unsigned owner_turn(OwnerTurn *t, uint64_t gap_ns, uint64_t now_ns, uint64_t *ret_ms)
{
    const uint64_t passed_ns = sub_u64(now_ns, t->noted_ns);
    if (passed_ns < NS_PER_MS)
        return 0;
    t->noted_ns = now_ns;
    *ret_ms = passed_ns / NS_PER_MS;
    return (passed_ns < gap_ns ? OWNER_NOTES : 0) |
           (now_ns - t->saved_ns >= SAVE_EVERY_NS ? OWNER_SAVES : 0);
}

uint64_t owner_turn_rest_ns(uint64_t from_ns, uint64_t now_ns)
{
    enum { SHARE = 10 };
    return min_u64((SHARE - 1) * sub_u64(now_ns, from_ns), NS_PER_S); /* rmd may have stood still */
}

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct Out {
    char *buf;
    size_t cap, len;
} Out;

__attribute__((format(printf, 2, 3))) static void add(Out *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(o->buf + o->len, o->cap - o->len, format, args);
    va_end(args);
    if (n > 0)
        o->len += min_u64((uint64_t)n, o->cap - o->len - 1);
}

size_t owner_record_write(const OwnerRecord *r, uint64_t now_s, char *buf, size_t cap)
{
    Out o = {.buf = buf, .cap = cap};
    unsigned left = 0;
    for (unsigned i = 0; i < r->pauses_count; i++)
        left += r->pauses[i].until_s > now_s;
    add(&o, "pauses %u\n%s", left, r->unknown ? "unknown\n" : "");
    for (unsigned i = 0; i < r->pauses_count; i++) {
        const OwnerPause *p = &r->pauses[i];
        if (p->until_s == OWNER_FOREVER)
            add(&o, "pause %" PRIu32 " forever\n", p->uid);
        else if (p->until_s > now_s)
            add(&o, "pause %" PRIu32 " %" PRIu64 "\n", p->uid, p->until_s);
    }
    const uint64_t last = now_s / HOUR_S;
    for (uint64_t hour = sub_u64(last, OWNER_HOURS - 1); hour <= last; hour++) {
        const OwnerHour *h = owner_record_hour(r, hour, now_s);
        if (!h)
            continue;
        add(&o, "hour %" PRIu64 " %" PRIu64, hour, h->mib_ms);
        for (unsigned i = 0; i < MONITOR_WHY_MAX; i++)
            add(&o, " %" PRIu64, h->ms[i]);
        add(&o, "\n");
    }
    return o.len;
}

/* A number and the blank before it. */
static bool read_number(const char **at, uint64_t *ret)
{
    uint64_t v = 0;
    const char *p = *at;
    if (*p++ != ' ' || *p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (v > (UINT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    *at = p;
    *ret = v;
    return true;
}

static bool read_pause(OwnerRecord *r, const char *at, uint64_t now_s)
{
    uint64_t uid, until = OWNER_FOREVER;
    if (!read_number(&at, &uid) || uid > UINT32_MAX)
        return false;
    if (strcmp(at, " forever") != 0 && (!read_number(&at, &until) || *at))
        return false;
    return owner_record_pause(r, (uint32_t)uid, until, now_s) >= 0;
}

/* Another version's hour may have more reasons, or less. */
static bool read_hour(OwnerRecord *r, const char *at, uint64_t now_s)
{
    uint64_t v[2 + MONITOR_WHY_MAX] = {0}, sum = 0, more;
    unsigned n = 0;
    OwnerHour h = {.hour = 0};
    while (*at) {
        if (!read_number(&at, n < ARRAY_SIZE(v) ? &v[n] : &more))
            return false;
        n++;
    }
    bool good = n == ARRAY_SIZE(v) && v[1] <= MIB_MS_MAX && is_of_the_week(v[0], now_s);
    for (unsigned i = 0; i < MONITOR_WHY_MAX; i++) {
        good = good && v[2 + i] <= HOUR_MS;
        h.ms[i] = v[2 + i];
        sum += good ? h.ms[i] : 0;
    }
    h.hour = v[0];
    h.mib_ms = v[1];
    if (good && sum <= HOUR_MS)
        r->hours[h.hour % OWNER_HOURS] = h;
    return true;
}

/* How many pauses the text has, and how many it says that it has. */
typedef struct PauseCount {
    uint64_t read, said; /* said: UINT64_MAX: it does not say */
} PauseCount;

static bool read_line(OwnerRecord *r, const char *line, uint64_t now_s, PauseCount *count)
{
    if (strncmp(line, "pause ", 6) == 0) {
        count->read++;
        return read_pause(r, line + 5, now_s);
    }
    if (strncmp(line, "hour ", 5) == 0)
        return read_hour(r, line + 4, now_s);
    if (strncmp(line, "pauses ", 7) == 0) {
        line += 6;
        return read_number(&line, &count->said) && !*line;
    }
    const bool unknown = strcmp(line, "unknown") == 0;
    r->unknown |= unknown;
    return unknown;
}

bool owner_record_read(OwnerRecord *r, const char *text, uint64_t now_s)
{
    char line[LINE_MAX_BYTES];
    PauseCount count = {.said = UINT64_MAX};
    bool good = *text != '\0';
    *r = (OwnerRecord){.pauses_count = 0};
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        good = good && text[len] == '\n' && len < sizeof line;
        if (len >= sizeof line)
            continue;
        memcpy(line, text, len);
        line[len] = '\0';
        good = read_line(r, line, now_s, &count) && good;
    }
    return good && (count.said == UINT64_MAX || count.said == count.read);
}
