/* SPDX-License-Identifier: MIT */
/* What imd takes at its start, in order, and gives back. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/polling.h"
#include "daemon/member_place.h"
#include "daemon/sandbox.h"
#include "daemon/start.h"
#include "imd/owner_socket.h"
#include "imd/shell_private.h"
#include "usocket/cipher.h"

static int open_loop(Imd *imd, char *error)
{
    imd->loop = loop_new(&imd_loop_ops, imd);
    if (imd->loop && imd_network_watch(imd) == 0 && imd_owner_watch(imd) == 0 &&
        loop_watch(imd->loop, imd->threads.done.fd, imd_on_done, imd) == 0 &&
        loop_watch(imd->loop, imd->reloader.fd, imd_on_reloader, imd) == 0)
        return metrics_http_open(imd->loop, &imd->options->metrics,
                                 &(MetricsContent){.metrics = imd_scrape, .ctx = imd},
                                 &imd->metrics, error);
    (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the control thread");
    return -ENOMEM;
}

static int open_core(Imd *imd, char *error)
{
    const ImdOptions *o = imd->options;
    const ImdMemberSink sink = imd_member_sink(imd);
    const Env env = os_env();
    ImdMemberConfig config = {.control = {.epoch = imd->epoch,
                                          .pool_bytes = imd->pool.bytes,
                                          .threads = imd->threads.count,
                                          .regions_max = (unsigned)o->regions_max,
                                          .extent_bytes = MEMORY_HUGE_PAGE,
                                          .beat_ns = o->beat_ns,
                                          .manager_dead_ns = o->manager_dead_ns,
                                          .retained_age_max_ns = o->retained_age_ns,
                                          .give_back = imd->owner >= 0},
                              .owned = imd->owner >= 0,
                              .owner_silence_ns = o->owner_silence_ns,
                              .leave_deadline_ns = o->leave_deadline_ns};
    for (unsigned i = 0; i < imd->threads.count; i++)
        config.control.ports[i] = imd->threads.of[i].port.transport->local.port;
    int res = member_init(&imd->member, &config, &env, imd->port.endpoint, &sink, os_now_ns());
    if (res < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the control thread");
        return res;
    }
    member_move(&imd->member, &imd->resolver.places);
    return open_loop(imd, error);
}

static int open_all(Imd *imd, char *error)
{
    const ImdOptions *o = imd->options;
    EndpointConfig identity;
    int res = start_member_identity(&o->common, &imd->address.at, &imd->resolver.places, &identity,
                                    error);
    if (res == 0 && o->owner_fd != UINT64_MAX)
        res = owner_socket_take((int)o->owner_fd, error, CONFIG_ERROR_MAX);
    if (res < 0)
        return res;
    imd->owner = o->owner_fd != UINT64_MAX ? (int)o->owner_fd : -1;
    identity.role = ROLE_IMD;
    identity.cipher = identity.keys_count > 0 ? cipher_fastest() : NULL;
    identity.epoch = imd->epoch;
    os_random(NULL, &identity.self, sizeof identity.self);
    res = imd_network_open(imd, &identity, error);
    if (res == 0)
        res = pool_memory_map(&imd->pool, o->pool_bytes, o->populate, error, CONFIG_ERROR_MAX);
    polling_setup((unsigned)o->poll_share);
    if (res == 0) {
        if (imd->owner >= 0)
            pool_memory_divide(&imd->pool);
        const ImdThreadsConfig threads = {.options = o,
                                          .identity = &identity,
                                          .pool = &imd->pool,
                                          .epoch = imd->epoch,
                                          .listen = imd->address.at,
                                          .owned = imd->owner >= 0};
        res = imd_threads_open(&imd->threads, &threads, error);
    }
    explicit_bzero(&identity, sizeof identity);
    return res < 0 ? res : open_core(imd, error);
}

/* All is open, and no thread runs yet. */
static void confine(const Imd *imd)
{
    char missing[SANDBOX_TEXT_MAX];
    start_keep_notifier();
    sandbox_enter(SANDBOX_SERVE | (imd->metrics ? SANDBOX_ACCEPT : 0), NULL, missing,
                  sizeof missing);
    if (*missing)
        log_event(LOG_LEVEL_INFO, "not_all_confined", "missing=\"%s\"", missing);
}

Imd *imd_new(ImdOptions *options, char error[CONFIG_ERROR_MAX])
{
    Imd *imd = g_new0(Imd, 1);
    imd->options = options;
    (void)snprintf(imd->manager, sizeof imd->manager, "%s", options->common.manager);
    imd->owner = imd->reloader.fd = imd->resolver.fd = imd->address.fd = -1;
    do
        os_random(NULL, &imd->epoch, sizeof imd->epoch);
    while (imd->epoch == 0);
    if (imd_threads_init(&imd->threads, options, error) < 0) {
        g_free(imd);
        return NULL;
    }
    Places manager;
    if (member_place_start(&options->common, &options->listen, &imd->address, &imd->resolver,
                           &manager, error) < 0 ||
        reloader_start(&imd->reloader, options, &imd->resolver, error) < 0 ||
        open_all(imd, error) < 0)
        return imd_free(imd);
    confine(imd);
    if (imd_threads_start(&imd->threads, &imd->pool, error) < 0)
        return imd_free(imd);
    return imd;
}

Imd *imd_free(Imd *imd)
{
    if (!imd)
        return NULL;
    imd_threads_stop(&imd->threads);
    imd->metrics = metrics_http_free(imd->metrics);
    imd->loop = loop_free(imd->loop);
    member_deinit(&imd->member);
    port_close(&imd->port);
    imd_threads_deinit(&imd->threads);
    imd_close_owner(imd);
    reloader_close(&imd->reloader);
    resolver_close(&imd->resolver);
    address_watch_close(&imd->address);
    pool_memory_unmap(&imd->pool);
    g_free(imd);
    return NULL;
}
