/* SPDX-License-Identifier: MIT */
/* The control core's life, dispatch and clock. */
#include "imd/control.h"

#include <stdlib.h>

#include "imd/control_priv.h"

ImdControl *imd_control_new(const ImdControlConfig *config, const Env *env,
                            const ImdControlSink *sink, uint64_t now_ns)
{
    ImdControl *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->config = *config;
    c->env = *env;
    c->sink = *sink;
    c->next_ns = c->now_ns = now_ns;
    list_init(&c->commanded);
    list_init(&c->waiting);
    reply_cache_init(&c->replies);
    control_manager_init(c);
    if (directory_init(&c->directory, env, config->epoch, config->pool_bytes, config->extent_bytes,
                       config->ports, config->threads, config->regions_max) < 0) {
        reply_cache_deinit(&c->replies);
        free(c);
        return NULL;
    }
    return c;
}

ImdControl *imd_control_free(ImdControl *c)
{
    if (!c)
        return NULL;
    control_jobs_deinit(c);
    control_limit_deinit(c);
    control_manager_deinit(c);
    directory_deinit(&c->directory);
    reply_cache_deinit(&c->replies);
    free(c);
    return NULL;
}

void imd_control_up(ImdControl *c, const Id128 *manager, uint64_t now_ns)
{
    bool same = c->up && id128_equal(&c->manager, manager);
    if (!same) {
        /* Another instance counts its requests from 1 again; what the old one asked for is lost. */
        c->manager = *manager;
        c->manager_count++;
        reply_cache_deinit(&c->replies);
        reply_cache_init(&c->replies);
        control_jobs_forget(c);
    }
    c->up = true;
    control_manager_up(c, same, now_ns);
    control_manager_run(c, now_ns);
}

void imd_control_input(ImdControl *c, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    WireRequest request;
    WireReply reply;
    if (!c->up)
        return;
    c->now_ns = now_ns;
    if (type == WIRE_REQUEST && wire_request_decode(payload, len, &request) == 0)
        control_request(c, &request);
    else if (type == WIRE_REPLY && wire_reply_decode(payload, len, &reply) == 0)
        control_manager_reply(c, &reply, now_ns);
    control_manager_run(c, now_ns);
}

void imd_control_done(ImdControl *c, uint64_t command, int result, uint64_t now_ns)
{
    c->now_ns = now_ns;
    if (!control_command_done(c, command, result, now_ns))
        return;
    control_limit_keep(c);
    control_manager_run(c, now_ns);
}

void imd_control_limit(ImdControl *c, uint64_t bytes, uint64_t now_ns)
{
    c->now_ns = now_ns;
    control_trace(c, "limit", bytes);
    directory_limit(&c->directory, bytes - bytes % POOL_ALIGN);
    control_limit_keep(c);
    control_manager_hurry(c);
    control_manager_run(c, now_ns);
}

void imd_control_served(ImdControl *c, const Served *served)
{
    c->served = *served;
}

void imd_control_leave(ImdControl *c, uint64_t now_ns)
{
    if (c->leaving)
        return;
    c->leaving = true;
    control_jobs_refuse(c);
    for (unsigned i = 0; i < c->config.threads; i++) {
        ImdCommand command = {.kind = IMD_LEAVE, .thread = i};
        c->sink.command(c->sink.ctx, &command);
    }
    control_manager_part(c, now_ns);
    control_manager_run(c, now_ns);
}

bool imd_control_finished(const ImdControl *c)
{
    return c->leaving && c->parted;
}

uint64_t imd_control_deadline(const ImdControl *c)
{
    return min_u64(control_manager_deadline(c), control_aged_ns(c));
}

void imd_control_expire(ImdControl *c, uint64_t now_ns)
{
    control_drop_aged(c, now_ns);
    control_limit_renew(c, now_ns);
    control_manager_run(c, now_ns);
}

bool imd_control_joined(const ImdControl *c)
{
    return c->joined;
}

uint64_t imd_control_managers(const ImdControl *c)
{
    return c->manager_count;
}

bool imd_control_lost(ImdControl *c)
{
    bool lost = c->lost;
    c->lost = false;
    return lost;
}

size_t imd_control_regions(const ImdControl *c)
{
    return c->directory.by_region.count;
}

uint64_t imd_control_free_bytes(const ImdControl *c)
{
    return pool_free_bytes(c->directory.pool);
}

bool imd_control_region_at(const ImdControl *c, size_t index, RegionListing *ret)
{
    size_t i = 0;
    RegionListing l;
    LIST_FOREACH(node, &c->directory.entries) {
        const Entry *e = CONTAINER_OF(node, Entry, in_order);
        if (directory_listing(&c->directory, e, &l) && i++ == index) {
            *ret = l;
            return true;
        }
    }
    return false;
}

bool imd_control_check(const ImdControl *c)
{
    return directory_check(&c->directory) && control_jobs_check(c) && control_limit_check(c);
}
