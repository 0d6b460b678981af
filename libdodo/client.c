/* SPDX-License-Identifier: MIT */
/* The process's shared state: the region table (the paper's 4.4), claims, lost hosts, the queue of
 * offered fills. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defaults.h"
#include "dodo/dodo.h"
#include "libdodo/core_private.h"
#include "libdodo/story.h"

void client_lock(Client *c)
{
    if (c->hooks.lock)
        c->hooks.lock(c->hooks.ctx);
}

void client_unlock(Client *c)
{
    if (c->hooks.unlock)
        c->hooks.unlock(c->hooks.ctx);
}

bool client_logs(Client *c, int level)
{
    return c->hooks.log && (!c->hooks.log_wanted || c->hooks.log_wanted(c->hooks.ctx, level));
}

void client_log(Client *c, int level, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!client_logs(c, level))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->hooks.log(c->hooks.ctx, level, text);
}

Client *client_new(const ClientConfig *config, const Env *env, const ClientHooks *hooks)
{
    Client *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->config = *config;
    if (c->config.regions_max > REGIONS_MAX)
        c->config.regions_max = REGIONS_MAX;
    c->env = *env;
    c->hooks = *hooks;
    if (c->config.stripe_bytes == 0)
        c->config.stripe_bytes = DEFAULT_CLIENT_STRIPE_BYTES;
    list_init(&c->regions);
    list_init(&c->idle);
    list_init(&c->fills);
    request_ids_init(&c->ids);
    credit_init(&c->credit, config->credit_cap_bytes);
    return c;
}

/* The kernel counts its own overhead, about as much again as the data; and some room must stay for
 * what else comes in. */
void client_receive_granted(Client *c, size_t bytes)
{
    credit_init(&c->credit, bytes / 4);
}

Client *client_free(Client *c)
{
    if (!c)
        return NULL;
    LIST_FOREACH(node, &c->fills)
    free(CONTAINER_OF(node, FillItem, link));
    while (!list_empty(&c->regions)) { /* the first is no stripe: those come after theirs */
        Region *r = CONTAINER_OF(c->regions.next, Region, link);
        client_region_remove(c, r);
        client_region_free(c, r);
    }
    free(c->table);
    free(c->generations);
    free(c);
    return NULL;
}

void client_stop(Client *c, uint64_t now_ns)
{
    c->stopped = true;
    client_lock(c);
    LIST_FOREACH(node, &c->regions)
    client_region_deactivate(c, CONTAINER_OF(node, Region, link), now_ns);
    client_unlock(c);
}

/* ---- table ---------------------------------------------------------------------------------- */

Region *client_region(Client *c, int rd)
{
    unsigned index = (unsigned)rd & (REGIONS_MAX - 1);
    if (rd < 0 || index >= c->table_size || !c->table[index] || c->table[index]->rd != rd)
        return NULL;
    return c->table[index];
}

Region *client_user_region(Client *c, int rd)
{
    Region *r = client_region(c, rd);
    return r && !r->closing && !r->parent ? r : NULL;
}

static int table_grow(Client *c)
{
    unsigned size = c->table_size ? c->table_size * 2 : 64;
    if (size > c->config.regions_max)
        size = c->config.regions_max;
    if (size <= c->table_size)
        return -EMFILE;
    Region **table = realloc(c->table, size * sizeof *table);
    if (!table)
        return -ENOMEM;
    c->table = table;
    uint16_t *generations = realloc(c->generations, size * sizeof *generations);
    if (!generations)
        return -ENOMEM;
    c->generations = generations;
    for (unsigned i = c->table_size; i < size; i++) {
        c->table[i] = NULL;
        c->generations[i] = (uint16_t)(c->config.generation % RD_GENERATIONS);
    }
    c->table_size = size;
    return 0;
}

unsigned client_generation(const Client *c)
{
    unsigned latest = 0, first = c->config.generation % RD_GENERATIONS;
    for (unsigned i = 0; i < c->table_size; i++) {
        unsigned given = (c->generations[i] + RD_GENERATIONS - first) % RD_GENERATIONS;
        latest = given > latest ? given : latest;
    }
    return (first + latest) % RD_GENERATIONS;
}

int client_region_new(Client *c, Region **ret)
{
    unsigned index = c->free_hint;
    while (index < c->table_size && c->table[index])
        index++;
    if (index >= c->table_size) {
        int r = table_grow(c);
        if (r < 0)
            return r;
    }
    Region *region = calloc(1, sizeof *region);
    if (!region)
        return -ENOMEM;
    region->rd = (int)((unsigned)c->generations[index] << RD_INDEX_BITS | index);
    list_init(&region->writes);
    list_init(&region->idle);
    list_push_back(&c->regions, &region->link);
    c->table[index] = region;
    c->free_hint = index + 1;
    c->count++;
    *ret = region;
    return 0;
}

void client_region_remove(Client *c, Region *r)
{
    unsigned index = (unsigned)r->rd & (REGIONS_MAX - 1);
    for (unsigned i = 0; i < r->stripes_count; i++)
        client_region_remove(c, r->stripes[i]);
    client_region_unclaim(c, r);
    list_remove(&r->idle);
    c->table[index] = NULL;
    c->generations[index] = (uint16_t)((c->generations[index] + 1) % RD_GENERATIONS);
    if (index < c->free_hint)
        c->free_hint = index;
    list_remove(&r->link);
    c->count--;
}

void client_region_free(Client *c, Region *r)
{
    for (unsigned i = 0; i < r->stripes_count; i++)
        client_region_free(c, r->stripes[i]);
    if (r->file && !r->parent)
        c->hooks.file_release(c->hooks.ctx, r->file);
    free(r->stripes);
    free(r->filled);
    checks_end(r);
    free(r);
}

/* ---- claims --------------------------------------------------------------------------------- */

static uint64_t region_claim(const Region *r)
{
    RegionName name = {r->address.epoch, r->address.region, r->address.opening};
    return region_digest(&name);
}

void client_region_unclaim(Client *c, Region *r)
{
    if (!r->claimed)
        return;
    r->claimed = false;
    r->active = false;
    if (r->parent)
        r->parent->stripes_active--;
    c->digest ^= region_claim(r);
    c->claimed--;
    c->alive_due = true;
}

Addr client_region_named(const Region *r)
{
    Addr named = r->host;
    named.port = r->control_port;
    return named;
}

void client_region_activate(Client *c, Region *r, const OpOpenReply *reply, bool reused)
{
    client_region_unclaim(c, r);
    r->host = reply->host;
    r->control_port = reply->control_port;
    r->address = reply->address;
    r->active = true;
    r->claimed = true;
    if (r->parent)
        r->parent->stripes_active++;
    list_remove(&r->idle);
    r->reused = reused;
    r->counter = 0;
    r->unfinished = 1;
    r->finished = 0;
    c->digest ^= region_claim(r);
    c->claimed++;
    uint64_t blocks = (r->len + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE;
    free(r->filled);
    r->filled = calloc((blocks + 63) / 64, sizeof *r->filled); /* without it filled_bytes is 0 */
    r->filled_blocks = 0;
    checks_begin(c, r);
}

void client_region_idle(Client *c, Region *r, uint64_t now_ns)
{
    r->reopen_ns = time_add(now_ns, c->config.reopen_ns);
    list_remove(&r->idle);
    if (region_wants_memory(r))
        list_push_back(&c->idle, &r->idle);
}

void client_region_ask(Client *c, Region *r, uint64_t now_ns)
{
    client_region_idle(c, r, now_ns);
    r->reopen_ns = now_ns;
    list_remove(&r->idle);
    if (region_wants_memory(r))
        list_push_front(&c->idle, &r->idle);
}

void client_refract(Client *c, uint64_t now_ns)
{
    uint64_t twice = time_add(c->refraction_ns, c->refraction_ns);
    if (c->refraction_ns < c->config.refraction_ns)
        c->refraction_ns = c->config.refraction_ns;
    else if (c->refraction_ns < c->config.refraction_max_ns)
        c->refraction_ns = time_min(twice, c->config.refraction_max_ns);
    c->refraction_until_ns = time_add(now_ns, c->refraction_ns);
    c->stats.refractions++;
}

void client_refract_end(Client *c)
{
    c->refraction_ns = 0;
}

bool region_wants_memory(const Region *r)
{
    return !r->active && !r->stripes && !(r->parent ? r->parent->closing : r->closing) &&
           region_file_serves(r);
}

bool region_active(const Region *r)
{
    return r->active || r->stripes_active > 0;
}

/* A lost stripe is not its region's death as long as there is another. */
bool region_file_serves(const Region *r)
{
    return (r->flags & DODO_FALLBACK) || (r->parent && r->parent->stripes_active > 0);
}

void client_region_deactivate(Client *c, Region *r, uint64_t now_ns)
{
    if (!r->active)
        return;
    client_region_unclaim(c, r);
    client_region_idle(c, r, now_ns);
    r->filled_blocks = 0;
    free(r->filled);
    r->filled = NULL;
    checks_end(r);
    c->stats.regions_lost++;
    c->losses++;
}

/* Its close has been asked for: that the host has no such region any more is what was wanted. A
 * fill may notice before the close is answered. */
static bool is_given_back(const Region *r, enum Loss loss)
{
    const Region *top = r->parent ? r->parent : r;
    return loss == LOSS_DROPPED && top->closing && top->refs == 0;
}

/* False: that address is not the region's any more, or it is no loss. */
static bool region_drop(Client *c, int rd, const RegionAddress *address, enum Loss loss,
                        uint64_t now_ns)
{
    StoryLoss story = {.loss = loss};
    client_lock(c);
    Region *r = client_region(c, rd);
    bool lost =
        r && r->active && region_address_equal(&r->address, address) && !is_given_back(r, loss);
    if (lost) {
        client_region_deactivate(c, r, now_ns);
        story_loss_add(&story, r);
        story_loss_end(&story);
    }
    client_unlock(c);
    if (!lost)
        return false;
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
 * that host, for a refraction period. Its place in Client.lost. */
static unsigned client_avoid(Client *c, uint64_t epoch, uint64_t now_ns)
{
    unsigned at = c->lost_next;
    for (unsigned i = 0; i < OPEN_AVOID_MAX; i++)
        if (c->lost[i].epoch == epoch)
            at = i;
    if (at == c->lost_next)
        c->lost_next = (c->lost_next + 1) % OPEN_AVOID_MAX;
    if (c->lost[at].epoch != epoch || now_ns >= c->lost[at].until_ns)
        c->lost[at].logged = 0;
    c->lost[at].epoch = epoch;
    c->lost[at].until_ns = time_add(now_ns, c->config.refraction_ns);
    return at;
}

void client_report(Client *c, uint64_t epoch, uint8_t fault)
{
    for (unsigned i = 0; i < c->reports_count; i++)
        if (c->reports[i].epoch == epoch)
            return;
    if (c->reports_count < REPORTS_MAX)
        c->reports[c->reports_count++] = (OpReport){.epoch = epoch, .fault = fault};
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
    bool news =
        r && region_address_equal(&r->address, address) && !(c->lost[at].logged >> fault & 1);
    Addr host = news ? client_region_named(r) : (Addr){0};
    c->lost[at].logged |= (unsigned)news << fault;
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
    LIST_FOREACH(node, &c->regions)
    {
        Region *r = CONTAINER_OF(node, Region, link);
        if (!r->active || r->address.epoch != epoch)
            continue;
        client_region_deactivate(c, r, now_ns);
        story_loss_add(&story, r);
        if (!RULE(HOST_DEATH))
            break;
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

bool region_write_overlaps(const Region *r, uint64_t first_block, uint64_t last_block)
{
    LIST_FOREACH(node, &r->writes)
    {
        const WriteRecord *w = CONTAINER_OF(node, WriteRecord, link);
        if (w->first_block <= last_block && first_block <= w->last_block)
            return true;
    }
    return false;
}

void region_saw_filled(Region *r, uint64_t block, bool filled)
{
    if (!r->filled)
        return;
    uint64_t bit = (uint64_t)1 << (block % 64), *word = &r->filled[block / 64];
    if (filled && !(*word & bit))
        r->filled_blocks++;
    else if (!filled && (*word & bit))
        r->filled_blocks--;
    *word = filled ? *word | bit : *word & ~bit;
}

/* ---- fills ---------------------------------------------------------------------------------- */

static bool client_fill_offer(Client *c, FillItem *item, const BlockSums *sums)
{
    client_lock(c);
    Region *r = client_region(c, item->rd);
    if (r && r->active && region_address_equal(&r->address, &item->address)) {
        checks_want(c, r);
        checks_read(r, sums, item->counter);
    }
    bool taken = c->fill_bytes + item->cap <= c->config.fill_queue_bytes;
    if (taken) {
        list_push_back(&c->fills, &item->link);
        c->fill_bytes += item->cap;
        c->stats.fills_offered++;
    } else {
        c->stats.fills_dropped++;
    }
    client_unlock(c);
    if (taken)
        c->hooks.wake_background(c->hooks.ctx);
    else
        free(item);
    return taken;
}

void client_fill_read(Client *c, FillItem *item, size_t count)
{
    if (count < item->len) {
        if (RULE(END_OF_FILE))
            item->len = count / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
        else
            memset(item->data + count, 0, item->len - count);
    }
    if (item->len == 0) {
        free(item);
        return;
    }
    BlockSums sums;
    block_sums(c, item->region_len, item->seed, item->offset, item->data, item->len, &sums);
    (void)client_fill_offer(c, item, &sums);
}

/* ---- statistics ----------------------------------------------------------------------------- */

void client_stats(Client *c, ClientStats *ret)
{
    client_lock(c);
    *ret = c->stats;
    ret->regions = c->count;
    ret->active = c->claimed;
    ret->requests = c->ids.next - 1;
    client_unlock(c);
}

static void info_add(ClientRegionInfo *i, const Region *r)
{
    uint64_t filled = r->filled_blocks * WIRE_BLOCK_SIZE;
    i->filled_bytes += filled < r->len ? filled : r->len;
    i->hits += r->hits;
    i->misses += r->misses;
    i->written += r->written_bytes;
    if (r->active && !i->active) {
        i->host = r->host;
        i->named = client_region_named(r);
        i->address = r->address;
        i->active = true;
    }
    i->reused |= r->reused;
}

int client_region_info(Client *c, int rd, ClientRegionInfo *ret)
{
    client_lock(c);
    const Region *r = client_user_region(c, rd);
    if (r) {
        *ret = (ClientRegionInfo){.len = r->len, .flags = r->flags, .stripes = r->stripes_count};
        for (unsigned i = 0; i < r->stripes_count; i++)
            info_add(ret, r->stripes[i]);
        if (!r->stripes)
            info_add(ret, r);
    }
    client_unlock(c);
    return r ? 0 : -EINVAL;
}

int client_stripe_info(Client *c, int rd, unsigned stripe, ClientRegionInfo *ret)
{
    client_lock(c);
    const Region *r = client_user_region(c, rd);
    if (r && stripe >= (r->stripes ? r->stripes_count : 1))
        r = NULL;
    if (r && r->stripes)
        r = r->stripes[stripe];
    if (r) {
        *ret = (ClientRegionInfo){.len = r->len, .flags = r->flags};
        info_add(ret, r);
    }
    client_unlock(c);
    return r ? 0 : -EINVAL;
}

int client_region_next(Client *c, int rd)
{
    int next = -1;
    client_lock(c);
    unsigned index = rd < 0 ? 0 : ((unsigned)rd & (REGIONS_MAX - 1)) + 1;
    for (; index < c->table_size && next < 0; index++)
        if (c->table[index] && !c->table[index]->closing && !c->table[index]->parent)
            next = c->table[index]->rd;
    client_unlock(c);
    return next;
}

static bool stripes_good(const Region *r)
{
    unsigned active = 0;
    for (unsigned i = 0; i < r->stripes_count; i++) {
        if (r->stripes[i]->parent != r || r->stripes[i]->refs)
            return false;
        active += r->stripes[i]->active;
    }
    return active == r->stripes_active;
}

bool client_check(Client *c)
{
    uint64_t digest = 0;
    unsigned count = 0, claimed = 0;
    size_t fill_bytes = 0;
    bool good = true;
    client_lock(c);
    LIST_FOREACH(node, &c->regions)
    {
        Region *r = CONTAINER_OF(node, Region, link);
        count++;
        good &= client_region(c, r->rd) == r;
        good &= !r->active || r->claimed;
        good &= r->counter + 1 - r->unfinished <= WRITE_NUMBERS;
        good &= !r->stripes || (!r->active && stripes_good(r));
        if (r->claimed) {
            claimed++;
            digest ^= region_claim(r);
        }
    }
    LIST_FOREACH(node, &c->fills)
    fill_bytes += CONTAINER_OF(node, FillItem, link)->cap;
    good &= count == c->count && claimed == c->claimed && digest == c->digest;
    good &= fill_bytes <= c->fill_bytes; /* one may be on its way */
    client_unlock(c);
    return good;
}
