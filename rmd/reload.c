/* SPDX-License-Identifier: MIT */
/* Settings that change while rmd runs. */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "daemon/start.h"
#include "rmd/shell_private.h"

/* True: where the file says is where it is looked for now. */
static bool move_manager(Rmd *rmd, const char *manager)
{
    Places places;
    if (!rmd->has_port || strcmp(rmd->options->common.manager, manager) == 0)
        return true;
    if (!resolver_follow(&rmd->resolver, manager, &places))
        return false;
    manager_link_move(&rmd->link, &places);
    return true;
}

/* What can change while rmd runs; all else stays until the next start. */
static void take_options(Rmd *rmd, RmdOptions *read)
{
    RmdOptions *o = rmd->options;
    start_take_text(&o->common.key, &read->common.key);
    if (move_manager(rmd, read->common.manager))
        start_take_text(&o->common.manager, &read->common.manager);
    o->common.log_level = read->common.log_level;
    o->idle_after_ns = read->idle_after_ns;
    o->load_below = read->load_below;
    o->pool_max_bytes = read->pool_max_bytes;
    o->save_bytes = read->save_bytes;
    o->save_within_ns = read->save_within_ns;
    o->imd.rate_bytes = read->imd.rate_bytes;
    o->imd.rate_packets = read->imd.rate_packets;
    o->imd.own_rate_bytes = read->imd.own_rate_bytes;
    o->imd.own_rate_packets = read->imd.own_rate_packets;
    const MonitorConfig config = rmd_monitor_config(o);
    monitor_configure(rmd->node.monitor, &config, os_now_ns());
}

/* An imd that runs reads the key by itself. */
static void reloaded(Rmd *rmd, RmdOptions *read, bool other_keys)
{
    const RmdOptions before = *rmd->options, wanted = *read;
    ConfigChanges changes;
    take_options(rmd, read);
    config_changes(&rmd_program, &before, rmd->options, &wanted, &changes);
    if (other_keys)
        config_changes_key(&changes);
    start_log_reload(&changes, !rmd->child.pid                           ? "imd=none"
                               : child_reload(&rmd->child, rmd->options) ? "imd=told"
                                                                         : "imd=deaf");
    rmd_settle(rmd, os_now_ns());
}

void rmd_on_reload(void *ctx)
{
    Rmd *rmd = ctx;
    char error[CONFIG_ERROR_MAX] = "";
    RmdOptions o;
    rmd_options_init(&o);
    int res = config_reload(&rmd_program, &o, error) == CONFIG_OK ? rmd_options_check(&o, error)
                                                                  : -EINVAL;
    if (res == 0 && rmd->has_port)
        res = start_reload(&o.common, rmd->port.endpoint, os_now_ns(), error);
    if (res < 0)
        start_log_not_reloaded(error);
    else
        reloaded(rmd, &o, res > 0);
    config_clear(&rmd_program, &o);
}
