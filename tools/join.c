/* SPDX-License-Identifier: MIT */
/* dodo join: what a host lacks to join the cluster of a manager. It changes and fetches nothing. */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/host_address.h"
#include "base/memory_limit.h"
#include "daemon/start.h"
#include "proto/conf/defaults.h"
#include "rmd/monitor.h"
#include "tools/check_look.h"
#include "tools/command.h"
#include "tools/join_judge.h"

static const ConfigKey keys[] = {
    {NULL, "json", "Print JSON", NULL, offsetof(ToolOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo join",
    .reader = CONF_TOOL,
    .arguments = "MANAGER[:PORT]",
    .summary =
        "Says what this host lacks to join a cluster: key, ports, limits, memory. Exits with 1 "
        "if something\nis wrong. It changes nothing, and fetches no key.",
    .tables = {&own, &tool_timeout, &config_manager_unused, &config_common},
};
static const char key_path[] = "/etc/dodo/key";

/* ---- its ports ------------------------------------------------------------------------------- */

/* Whether the manager's answer comes in at this address and port. */
static enum JoinPortState ask_from(const ToolOptions *o, const Addr *local, const Addr *manager)
{
    char error[CONFIG_ERROR_MAX];
    ToolOptions from = *o;
    ToolClient c;
    from.local = *local;
    const int res = tool_client_open(&c, &from, manager, NULL, error);
    if (res == 0)
        tool_client_close(&c);
    return res == 0                ? JOIN_PORT_ANSWERED
           : res == -ETIMEDOUT     ? JOIN_PORT_SILENT
           : res == -EADDRINUSE    ? JOIN_PORT_IN_USE
           : res == -EADDRNOTAVAIL ? JOIN_PORT_NOT_HERE
                                   : JOIN_PORT_NOT_BOUND;
}

static void add_port(JoinFacts *f, const char *whose, const Addr *listen, uint64_t port)
{
    JoinPort *p = &f->ports[f->ports_count];
    if (listen->kind != f->check.manager.address.kind || port == 0 || port > UINT16_MAX ||
        f->ports_count == JOIN_TRIES_MAX)
        return;
    *p = (JoinPort){.whose = whose, .address = *listen};
    p->address.port = (uint16_t)port;
    f->ports_count++;
}

/* As imd will choose them; none where it takes any that are free. */
static void add_data_ports(JoinFacts *f, const Parts *p, const Addr *at, uint64_t control_port)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t usual = cores > 0 ? min_u64((uint64_t)cores, DEFAULT_IMD_THREADS_MAX) : 1;
    const uint64_t first = p->data_port != UINT64_MAX ? p->data_port
                           : control_port             ? DEFAULT_DATA_PORT
                                                      : 0;
    for (uint64_t i = 0; first && i < (p->threads ? p->threads : usual); i++)
        add_port(f, "imd, data", at, first + i);
}

/* Where a daemon will serve. */
static Addr serves_at(const JoinFacts *f, const Listen *listen)
{
    const AddressWish wish = {.listen = *listen, .kind = f->check.manager.address.kind};
    char error[HOST_ADDRESS_ERROR_MAX];
    Addr at = f->local;
    if (!listen_is_open(listen) && host_address_find(&wish, &at, error) < 0)
        at.kind = ADDR_NONE;
    return at;
}

/* Those of the daemons that are set up here; of rmd, and of the imd that it starts, if none is. */
static void look_at_ports(JoinFacts *f, const ToolOptions *o, const Parts *p)
{
    const bool alone = p->imd && !p->rmd;
    const Listen *listen = alone ? &p->imd_listen : &p->rmd_listen;
    const Addr at = serves_at(f, listen);
    if (!alone)
        add_port(f, "rmd", &at, listen->addr.port);
    const uint64_t imd_port = alone ? listen->addr.port : p->imd_port;
    add_port(f, "imd", &at, imd_port);
    add_data_ports(f, p, &at, imd_port);
    if (!f->check.manager.asked || *f->check.manager.error)
        return;
    for (unsigned i = 0; i < f->ports_count; i++) {
        JoinPort *port = &f->ports[i];
        port->state = ask_from(o, &port->address, &f->check.manager.address);
        if (port->state == JOIN_PORT_NOT_HERE) /* nor are the others */
            f->ports_count = i + 1;
    }
}

/* ---- what it could lend ---------------------------------------------------------------------- */

/* As rmd reckons it while nothing is lent. */
static void look_at_memory(JoinFacts *f, const Parts *p)
{
    g_autofree char *meminfo = NULL, *zoneinfo = NULL;
    MemoryState m;
    MemoryLimit limit;
    f->cap_bytes = p->rmd_pool_bytes;
    f->least_bytes = MONITOR_POOL_MIN_BYTES;
    f->memory_known =
        g_file_get_contents("/proc/meminfo", &meminfo, NULL, NULL) &&
        g_file_get_contents("/proc/zoneinfo", &zoneinfo, NULL, NULL) &&
        memory_state_parse(meminfo, zoneinfo, (uint64_t)sysconf(_SC_PAGESIZE), &m) == 0;
    if (!f->memory_known)
        return;
    memory_limit("", &limit);
    memory_state_limit(&m, limit.bytes, limit.left_bytes);
    f->total_bytes = m.total_bytes;
    f->lendable_bytes = memory_lendable_bytes(&m, 0);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void look(JoinFacts *f, ToolOptions *o)
{
    Parts parts = {.rmd_pool_bytes = UINT64_MAX,
                   .imd_port = DEFAULT_RMD_IMD_PORT,
                   .data_port = UINT64_MAX,
                   .imd_listen.addr.port = DEFAULT_IMD_PORT,
                   .rmd_listen.addr.port = DEFAULT_RMD_PORT};
    CheckFacts *c = &f->check;
    c->config = config_file(&o->common);
    look_at_config(c, &parts);
    if (!o->common.key && access(key_path, F_OK) == 0)
        o->common.key = g_strdup(key_path);
    look_at_key(&c->key, &o->common);
    look_at_cluster(c, o);
    f->manager = o->common.manager;
    f->key_path = key_path;
    f->imd = parts.imd;
    f->rmd = parts.rmd;
    f->local = resolve_route(&c->manager.address);
    look_at_ports(f, o, &parts);
    look_at_limits(&c->limits, &parts);
    look_at_memory(f, &parts);
}

static int join(ToolOptions *o, JoinFacts *f)
{
    unsigned faults;
    look(f, o);
    if (o->json) {
        g_autoptr(GString) lines = g_string_new(NULL);
        faults = join_judge(f, check_add_json, lines);
        printf("{\"checks\":[%s],\"faults\":%u}\n", lines->str, faults);
    } else {
        faults = join_judge(f, check_print_line, NULL);
    }
    return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The manager that is named here counts, not another one of the file. */
static enum ConfigOutcome take_manager(ToolOptions *o, JoinFacts *f, int argc, char **argv,
                                       char *error)
{
    Places places;
    if (argc != 2 || places_parse(argv[1], DEFAULT_CMD_PORT, &places) != 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "which manager? give its name or address, such as manager.example or "
                       "10.0.0.1:7700");
        return CONFIG_USAGE;
    }
    f->configured = o->common.manager != NULL;
    g_free(o->common.manager);
    o->common.manager = g_strdup(argv[1]);
    return CONFIG_OK;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    JoinFacts f = {.imd = false};
    int status;
    tool_options_init(&o);
    o.common.log_level = LOG_LEVEL_ERROR;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, f.check.config_error);
    if (outcome == CONFIG_OK || outcome == CONFIG_BAD) {
        const enum ConfigOutcome named = take_manager(&o, &f, argc, argv, error);
        status = named == CONFIG_OK ? join(&o, &f) : start_config_failed(&program, named, error);
    } else {
        status = start_config_failed(&program, outcome, f.check.config_error);
    }
    g_free((void *)f.check.hosts);
    config_clear(&program, &o);
    return status;
}

const Command command_join = {"join", "Say what this host lacks to join a cluster", run};
