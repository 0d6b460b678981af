/* SPDX-License-Identifier: MIT */
/* Memory that is lost and that comes back, in the log. A host may hold thousands of regions: its
 * loss is one line that counts them. Where regions are lost or come back one by one, the first is
 * logged alone; those after it within a refraction period are counted, and give one line at its
 * end. */

#include <inttypes.h>
#include <stdio.h>

#include "dodo/dodo.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"
#include "libdodo/run.h"
#include "libdodo/story.h"

static const struct {
    const char *log, *call; /* in the log; behind the errno of a call */
} losses[] = {
    [LOSS_SILENT] = {"no answer", "the region's host does not answer"},
    [LOSS_RESTARTED] = {"restarted", "the region's host was restarted"},
    [LOSS_LEAVING] = {"leaving: its owner is back, or imd was stopped",
                      "the region's host is leaving"},
    [LOSS_SLOW] = {"too slow", "the region's host is too slow to be of use"},
    [LOSS_CORRUPT] = {"returned other bytes than it was given",
                      "the region's host returned other bytes than it was given"},
    [LOSS_DROPPED] = {"dropped by its host", "the region's host has dropped it"},
    [LOSS_REFUSED] = {"refused by its host", "the region's host refuses to serve it"},
    [LOSS_WRITE] = {"a write failed", "a write to the region failed"},
    [LOSS_SYNC] = {"the file could not be synced", "the file could not be synced"},
};

enum Loss loss_of(enum RunResult result, uint16_t status)
{
    if (result == RUN_TIMED_OUT)
        return LOSS_SILENT;
    if (result == RUN_HOST_CHANGED || status == STATUS_EPOCH)
        return LOSS_RESTARTED;
    return status == STATUS_LEAVING ? LOSS_LEAVING
           : status == STATUS_BUSY  ? LOSS_SLOW
           : status == STATUS_GONE  ? LOSS_DROPPED
                                    : LOSS_REFUSED;
}

bool loss_of_host(enum Loss loss)
{
    return loss == LOSS_SILENT || loss == LOSS_RESTARTED || loss == LOSS_LEAVING;
}

const char *loss_text(enum Loss loss)
{
    return losses[loss].call;
}

/* ---- what is lost at once ---------------------------------------------------------------------
 */

static bool still_served(const Region *top)
{
    return (top->flags & DODO_FALLBACK) || region_active(top);
}

void story_loss_add(StoryLoss *l, const Region *r)
{
    const Region *top = r->stripe.parent ? r->stripe.parent : r;
    bool copied = mirror_other(r);
    l->host = client_region_named(r);
    if (top == l->last) {
        l->last_copied &= copied;
        return;
    }
    story_loss_end(l);
    l->last = top;
    l->last_copied = copied;
    l->stripe = story_stripe(r);
    if (l->regions < STORY_RDS_MAX)
        l->rds[l->regions] = top->rd;
    l->regions++;
}

void story_loss_end(StoryLoss *l)
{
    l->failing += l->last && !still_served(l->last);
    l->copied += l->last && l->last_copied;
    l->last = NULL;
}

void story_host_lost(Client *c, const StoryLoss *l)
{
    char host[ADDR_TEXT_MAX], rds[STORY_RDS_MAX * 12 + 8], copies[32] = "";
    size_t n = 0;
    for (unsigned i = 0; i < l->regions && i < STORY_RDS_MAX; i++)
        n += (size_t)snprintf(rds + n, sizeof rds - n, "%s%d", i ? "," : "", l->rds[i]);
    if (l->regions > STORY_RDS_MAX)
        (void)snprintf(rds + n, sizeof rds - n, ",...");
    if (l->copied)
        (void)snprintf(copies, sizeof copies, " reads_copy=%u", l->copied);
    client_log(c, DODO_LOG_WARN,
               "host_lost host=%s reason=\"%s\" regions=%u rds=%s reads_file=%u reads_enomem=%u%s",
               addr_format(&l->host, host, sizeof host), losses[l->loss].log, l->regions, rds,
               l->regions - l->failing - l->copied, l->failing, copies);
}

/* ---- what happens one by one ------------------------------------------------------------------
 */

static const char reads_copy[] = "copy", reads_file[] = "file", reads_nothing[] = "ENOMEM";

static void sum_log(Client *c, const StorySum *s)
{
    char name[40], host[ADDR_TEXT_MAX];
    if (s->count == 1)
        story_name(s->rd, s->stripe, name, sizeof name);
    else
        (void)snprintf(name, sizeof name, "regions=%u", s->count);
    (void)addr_format(&s->host, host, sizeof host);
    if (s->back)
        client_log(c, DODO_LOG_INFO, "region_back %s host=%s", name, host);
    else
        client_log(c, s->reads == reads_nothing ? DODO_LOG_WARN : DODO_LOG_INFO,
                   "region_lost %s host=%s reason=\"%s\" reads=%s", name, host, losses[s->loss].log,
                   s->reads);
}

static bool sum_same(const StorySum *a, const StorySum *b)
{
    return a->until_ns && a->back == b->back && a->loss == b->loss && a->reads == b->reads &&
           addr_equal(&a->host, &b->host);
}

/* The one of this kind; otherwise the one whose period ends first makes room. */
static StorySum *sum_find(Client *c, const StorySum *like)
{
    StorySum *oldest = &c->story.sums[0];
    for (unsigned i = 0; i < STORY_SUMS_MAX; i++) {
        if (sum_same(&c->story.sums[i], like))
            return &c->story.sums[i];
        if (c->story.sums[i].until_ns < oldest->until_ns)
            oldest = &c->story.sums[i];
    }
    return oldest;
}

/* Under the lock. Counts @s, or begins a period with it: then it is logged, and so is *ret_before,
 * if it counts any. */
static bool sum_count(Client *c, const StorySum *s, StorySum *ret_before, uint64_t now_ns)
{
    StorySum *at = sum_find(c, s);
    *ret_before = (StorySum){0};
    if (sum_same(at, s) && now_ns < at->until_ns) {
        at->count++;
        at->rd = s->rd;
        at->stripe = s->stripe;
        return false;
    }
    *ret_before = *at;
    *at = *s;
    at->count = 0;
    at->until_ns = time_add(now_ns, c->config.refraction_ns);
    return true;
}

static void sum_add(Client *c, const StorySum *s, uint64_t now_ns)
{
    StorySum before;
    client_lock(c);
    bool begins = sum_count(c, s, &before, now_ns);
    client_unlock(c);
    if (before.count > 0)
        sum_log(c, &before);
    if (begins)
        sum_log(c, s);
}

uint64_t story_due(const Client *c)
{
    uint64_t due = TIME_NEVER;
    for (unsigned i = 0; i < STORY_SUMS_MAX; i++)
        if (c->story.sums[i].count > 0)
            due = min_u64(due, c->story.sums[i].until_ns);
    return due;
}

void story_step(Client *c, uint64_t now_ns)
{
    for (unsigned i = 0; i < STORY_SUMS_MAX; i++) {
        client_lock(c);
        StorySum *at = &c->story.sums[i], over = *at;
        bool due = over.count > 0 && now_ns >= over.until_ns;
        if (due) { /* the next period begins: a long series is one line a period */
            at->count = 0;
            at->until_ns = time_add(now_ns, c->config.refraction_ns);
        }
        client_unlock(c);
        if (due)
            sum_log(c, &over);
    }
}

void story_region_lost(Client *c, const StoryLoss *l, uint64_t now_ns)
{
    StorySum s = {.loss = (uint8_t)l->loss,
                  .reads = l->copied    ? reads_copy
                           : l->failing ? reads_nothing
                                        : reads_file,
                  .host = l->host,
                  .rd = l->rds[0],
                  .stripe = l->stripe,
                  .count = 1};
    sum_add(c, &s, now_ns);
}

void story_back(Client *c, int rd, uint64_t now_ns)
{
    StorySum s = {.back = true, .count = 1};
    client_lock(c);
    const Region *r = client_region(c, rd);
    bool active = r && r->active;
    if (active) {
        s.host = client_region_named(r);
        s.rd = r->stripe.parent ? r->stripe.parent->rd : r->rd;
        s.stripe = story_stripe(r);
    }
    client_unlock(c);
    if (active)
        sum_add(c, &s, now_ns);
}
