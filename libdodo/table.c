/* SPDX-License-Identifier: MIT */
/* Reaching the shared state: its lock, its log, and the table of regions (the paper's 4.4). */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"

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

void client_settle(Client *c, uint64_t id)
{
    client_lock(c);
    numbers_end(&c->ids, id);
    client_unlock(c);
    c->hooks.wake(c->hooks.ctx);
}

Region *client_region(Client *c, int rd)
{
    unsigned index = (unsigned)rd & (REGIONS_MAX - 1);
    if (rd < 0 || index >= c->regions.size || !c->regions.of[index] ||
        c->regions.of[index]->rd != rd)
        return NULL;
    return c->regions.of[index];
}

Region *client_user_region(Client *c, int rd)
{
    Region *r = client_region(c, rd);
    return r && !r->closing && !r->stripe.parent ? r : NULL;
}

unsigned client_generation(const Client *c)
{
    unsigned latest = 0, first = c->config.generation % RD_GENERATIONS;
    for (unsigned i = 0; i < c->regions.size; i++) {
        unsigned given = (c->regions.generations[i] + RD_GENERATIONS - first) % RD_GENERATIONS;
        latest = given > latest ? given : latest;
    }
    return (first + latest) % RD_GENERATIONS;
}

int client_region_next(Client *c, int rd)
{
    int next = -1;
    client_lock(c);
    unsigned index = rd < 0 ? 0 : ((unsigned)rd & (REGIONS_MAX - 1)) + 1;
    for (; index < c->regions.size && next < 0; index++)
        if (c->regions.of[index] && !c->regions.of[index]->closing &&
            !c->regions.of[index]->stripe.parent)
            next = c->regions.of[index]->rd;
    client_unlock(c);
    return next;
}

Addr client_region_named(const Region *r)
{
    Addr named = r->memory.host;
    named.port = r->memory.control_port;
    return named;
}

bool region_write_overlaps(const Region *r, uint64_t first_block, uint64_t last_block)
{
    const Region *home = region_home(r);
    LIST_FOREACH(node, &home->writes) {
        const WriteRecord *w = CONTAINER_OF(node, WriteRecord, link);
        if (w->first_block <= last_block && first_block <= w->last_block)
            return true;
    }
    return false;
}

Region *region_part(Region *r, uint64_t offset, uint64_t *ret_inner)
{
    *ret_inner = offset;
    if (!r->stripe.of)
        return r;
    uint64_t i = offset / r->stripe.len;
    assert(i < r->stripe.count);
    *ret_inner = offset - i * r->stripe.len;
    return r->stripe.of[i];
}
