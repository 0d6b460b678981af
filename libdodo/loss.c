/* SPDX-License-Identifier: MIT */
/* Regions and hosts that are lost: who notices, what follows, and what the manager hears of it. */
#include "dodo/dodo.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/region.h"
#include "libdodo/sharing.h"
#include "libdodo/story.h"

/* Its close has been asked for: that the host has no such region any more is what was wanted. A
 * fill may notice before the close is answered. */
static bool is_given_back(const Region *r, enum Loss loss)
{
    const Region *top = r->stripe.parent ? r->stripe.parent : r;
    return loss == LOSS_DROPPED && top->closing && top->refs == 0;
}

/* False: that address is not the region's any more, or it is no loss. */
static bool region_drop(Client *c, int rd, const RegionAddress *address, enum Loss loss,
                        uint64_t now_ns)
{
    StoryLoss story = {.loss = loss};
    client_lock(c);
    Region *r = client_region(c, rd);
    bool lost = r && r->active && region_address_equal(&r->memory.address, address) &&
                !is_given_back(r, loss);
    bool left = lost && r->sharing.guest && loss == LOSS_DROPPED;
    if (left) { /* the process that had opened it has closed it */
        client_region_retire(c, r, now_ns);
        share_waits(c, r, now_ns);
    } else if (lost) {
        client_region_deactivate(c, r, now_ns);
        story_loss_add(&story, r);
        story_loss_end(&story);
    }
    client_unlock(c);
    if (!lost)
        return false;
    if (!left)
        story_region_lost(c, &story, now_ns);
    c->hooks.wake_background(c->hooks.ctx);
    return true;
}

void client_region_lost(Client *c, int rd, const RegionAddress *address, enum Loss loss,
                        uint64_t now_ns)
{
    (void)region_drop(c, rd, address, loss, now_ns);
}

/* The manager may reach a host that we cannot (a one-way cut, a firewall): the next OPENs name
 * that host, for a refraction period. Its place in Client.faults.lost. */
static unsigned client_avoid(Client *c, uint64_t epoch, uint64_t now_ns)
{
    unsigned at = c->faults.lost_next;
    for (unsigned i = 0; i < OPEN_AVOID_MAX; i++)
        if (c->faults.lost[i].epoch == epoch)
            at = i;
    if (at == c->faults.lost_next)
        c->faults.lost_next = (c->faults.lost_next + 1) % OPEN_AVOID_MAX;
    if (c->faults.lost[at].epoch != epoch || now_ns >= c->faults.lost[at].until_ns)
        c->faults.lost[at].logged = 0;
    c->faults.lost[at].epoch = epoch;
    c->faults.lost[at].until_ns = time_add(now_ns, c->config.refraction_ns);
    return at;
}

void client_report(Client *c, uint64_t epoch, uint8_t fault)
{
    for (unsigned i = 0; i < c->faults.reports_count; i++)
        if (c->faults.reports[i].epoch == epoch)
            return;
    if (c->faults.reports_count < REPORTS_MAX)
        c->faults.reports[c->faults.reports_count++] = (OpReport){.epoch = epoch, .fault = fault};
}

/* The first line of a host's fault in a refraction period; those of its regions follow. */
static void region_blame(Client *c, int rd, const RegionAddress *address, uint8_t fault,
                         const char *event, const char *more, uint64_t now_ns)
{
    char text[ADDR_TEXT_MAX];
    bool corrupt = fault == HOST_FAULT_CORRUPT;
    client_lock(c);
    unsigned at = client_avoid(c, address->epoch, now_ns);
    client_report(c, address->epoch, fault);
    c->stats.corrupt += corrupt;
    const Region *r = client_region(c, rd);
    bool news = r && region_address_equal(&r->memory.address, address) &&
                !(c->faults.lost[at].logged >> fault & 1);
    Addr host = news ? client_region_named(r) : (Addr){0};
    c->faults.lost[at].logged |= (unsigned)news << fault;
    client_unlock(c);
    if (news)
        client_log(c, DODO_LOG_WARN, "%s host=%s %s", event, addr_format(&host, text, sizeof text),
                   more);
    if (!region_drop(c, rd, address, corrupt ? LOSS_CORRUPT : LOSS_SLOW, now_ns))
        c->hooks.wake_background(c->hooks.ctx); /* for the report */
}

void client_region_corrupt(Client *c, int rd, const RegionAddress *address, uint64_t now_ns)
{
    region_blame(c, rd, address, HOST_FAULT_CORRUPT, "host_corrupt",
                 "seen=\"it returned other bytes than it was given\" fix=\"check its memory\"",
                 now_ns);
}

void client_region_slow(Client *c, int rd, const RegionAddress *address, uint64_t now_ns)
{
    region_blame(c, rd, address, HOST_FAULT_SLOW, "host_slow",
                 "seen=\"it answers, but a transfer does not end\"", now_ns);
}

/* "The library drops all the descriptors for memory regions stored on that node" (paper 3.1). */
void client_host_lost(Client *c, uint64_t epoch, enum Loss loss, uint64_t now_ns)
{
    StoryLoss story = {.loss = loss};
    client_lock(c);
    (void)client_avoid(c, epoch, now_ns);
    LIST_FOREACH(node, &c->regions.all) {
        Region *r = CONTAINER_OF(node, Region, link);
        bool there = r->active && r->memory.address.epoch == epoch;
        if (there && (story.regions == 0 || RULE(HOST_DEATH))) {
            client_region_deactivate(c, r, now_ns);
            story_loss_add(&story, r);
        }
    }
    story_loss_end(&story);
    c->stats.hosts_lost += story.regions > 0;
    client_unlock(c);
    if (story.regions == 0)
        return;
    story_host_lost(c, &story);
    c->hooks.wake_background(c->hooks.ctx);
}

void client_blame(Client *c, int rd, const RegionAddress *address, enum Loss loss, uint64_t now_ns)
{
    if (loss_of_host(loss))
        client_host_lost(c, address->epoch, loss, now_ns);
    else if (loss == LOSS_SLOW)
        client_region_slow(c, rd, address, now_ns);
    else if (loss == LOSS_DROPPED)
        client_region_lost(c, rd, address, loss, now_ns);
}
