/* SPDX-License-Identifier: MIT */
/* Settings that change while imd runs: read by the process that may read the key, or told by rmd.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "daemon/start.h"
#include "imd/shell_private.h"

void imd_ask_reloader(Imd *imd)
{
    int res = reloader_ask(&imd->reloader);
    if (res < 0)
        start_log_not_reloaded(res == -EAGAIN
                                   ? "it is being read already"
                                   : "the process that reads the key has ended: start imd again");
}

static void move_manager(Imd *imd, const char *manager)
{
    Places places;
    if (strcmp(manager, imd->manager) == 0 || !resolver_follow(&imd->resolver, manager, &places))
        return;
    (void)snprintf(imd->manager, sizeof imd->manager, "%s", manager);
    member_move(&imd->member, &places);
    member_expire(&imd->member, os_now_ns());
}

/* What needs no file counts at once, also where none can be read. */
void imd_take_told(Imd *imd)
{
    const OwnerReload *told = &imd->member.owner.reload;
    imd->told = true;
    imd_threads_cap(&imd->threads, told->rate_bytes, told->rate_packets);
    log_set_level(told->log_level);
    if (*told->manager)
        move_manager(imd, told->manager);
    imd_ask_reloader(imd);
}

static void take_settings(Imd *imd, const ImdSettings *s)
{
    char error[CONFIG_ERROR_MAX] = "", text[256];
    ConfigChanges changes = s->changes;
    const int res = start_set_keys(imd->port.endpoint, &s->keys, os_now_ns(), error);
    if (res < 0) {
        start_log_not_reloaded(error);
        return;
    }
    if (res > 0)
        config_changes_key(&changes);
    imd_threads_reload(&imd->threads, &s->keys, s->rate_bytes, s->rate_packets);
    move_manager(imd, s->manager);
    log_set_level(s->log_level);
    (void)snprintf(text, sizeof text,
                   "keys=%u log_level=%s rate_bytes=%" PRIu64 " rate_packets=%" PRIu64,
                   s->keys.count, log_level_text(s->log_level), s->rate_bytes, s->rate_packets);
    start_log_reload(&changes, text);
}

void imd_on_reloader(void *ctx)
{
    Imd *imd = ctx;
    char error[CONFIG_ERROR_MAX] = "";
    ImdSettings s;
    int res = reloader_take(&imd->reloader, &s, error);
    if (res == 0 && imd->told) {
        const OwnerReload *told = &imd->member.owner.reload;
        s.log_level = told->log_level;
        s.rate_bytes = told->rate_bytes;
        s.rate_packets = told->rate_packets;
        if (*told->manager)
            (void)snprintf(s.manager, sizeof s.manager, "%s", told->manager);
    }
    if (res == 0)
        take_settings(imd, &s);
    else if (res != -EAGAIN)
        start_log_not_reloaded(error);
    if (res == -EPIPE) {
        loop_unwatch(imd->loop, imd->reloader.fd);
        reloader_close(&imd->reloader);
    }
    explicit_bzero(&s, sizeof s);
    imd_settle(imd, os_now_ns());
}
