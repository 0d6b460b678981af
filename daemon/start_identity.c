/* SPDX-License-Identifier: MIT */
/* What of a start stands on keys and sockets, for programs that speak to the cluster themselves. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "proto/conf/defaults.h"
#include "daemon/log.h"
#include "daemon/start.h"

int start_read_keys(const CommonOptions *o, ClusterKeys *ret, char error[CONFIG_ERROR_MAX])
{
    *ret = (ClusterKeys){.count = 0};
    if (!o->key)
        return 0;
    int res = cluster_key_read(o->key, ret->keys, &ret->count, error, CONFIG_ERROR_MAX);
    if (res == -ENOENT)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "there is no key file %s; make it with: dodo keygen %s", o->key, o->key);
    return res;
}

static int read_keys(const CommonOptions *o, EndpointConfig *ret, char *error)
{
    ClusterKeys keys;
    int res = start_read_keys(o, &keys, error);
    ret->keys_count = keys.count;
    memcpy(ret->keys, keys.keys, sizeof keys.keys);
    explicit_bzero(&keys, sizeof keys);
    return res;
}

int start_identity(const CommonOptions *o, const Addr *const *addresses, unsigned count,
                   EndpointConfig *ret, char error[CONFIG_ERROR_MAX])
{
    char text[ADDR_TEXT_MAX];
    *ret = (EndpointConfig){.cluster = cluster_number(o->cluster),
                            .half_open_max = DEFAULT_HALF_OPEN_MAX,
                            .hello_retry_ns = o->hello_retry_ns};
    if (o->key)
        return read_keys(o, ret, error);
    for (unsigned i = 0; i < count; i++) {
        if (o->insecure || addr_is_loopback(addresses[i]))
            continue;
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "%s is not a loopback address: give --key FILE (dodo keygen makes one), or "
                       "--insecure if everyone on that network may read and write guests' data",
                       addr_format(addresses[i], text, sizeof text));
        return -EACCES;
    }
    return 0;
}

/* fe80::/10, on a link that is not named: the kernel says "Invalid argument". */
static bool lacks_its_link(const Addr *a)
{
    return a->kind == ADDR_IP6 && a->scope == 0 && a->host[0] == 0xfe &&
           (a->host[1] & 0xc0) == 0x80;
}

int start_listen_check(const Addr *listen, char error[CONFIG_ERROR_MAX])
{
    char text[ADDR_TEXT_MAX];
    const char *fault = NULL;
    if (addr_is_any(listen))
        fault = "name the one address of this host that the others reach it at";
    else if (addr_is_many(listen))
        fault = "no answer can come from it; name the one address of this host that the others "
                "reach it at";
    else if (lacks_its_link(listen))
        fault = "an address of one link, which others would have to name as this host does; give "
                "one of another kind (see ip addr)";
    if (!fault)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX, "cannot listen on %s: %s",
                   addr_format(listen, text, sizeof text), fault);
    return -EINVAL;
}

int start_member_identity(const CommonOptions *o, const Addr *listen, const Places *places,
                          EndpointConfig *ret, char error[CONFIG_ERROR_MAX])
{
    const Addr *all[1 + PLACES_MAX] = {listen};
    Addr manager[PLACES_MAX];
    const unsigned count = places_addresses(places, manager);
    int res = start_listen_check(listen, error);
    if (res < 0)
        return res; /* no key would help */
    for (unsigned i = 0; i < count; i++)
        all[1 + i] = &manager[i];
    return start_identity(o, all, 1 + count, ret, error);
}

/* ---- the manager ----------------------------------------------------------------------------- */

bool start_places(const CommonOptions *o, Places *ret)
{
    *ret = (Places){.count = 0};
    return o->manager && places_parse(o->manager, DEFAULT_CMD_PORT, ret) == 0;
}

bool start_is_bound(const CommonOptions *o)
{
    return !o->key && !o->insecure;
}

int start_manager(const CommonOptions *o, const Addr *listen, Places *ret,
                  char error[CONFIG_ERROR_MAX])
{
    if (!start_places(o, ret)) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--manager HOST:PORT is needed, here or as [dodo] manager in the config "
                       "file");
        return -EINVAL;
    }
    for (unsigned i = 0; i < ret->count; i++) {
        if (!listen || listen->kind == ADDR_NONE || *ret->of[i].name ||
            ret->of[i].addr.kind == listen->kind)
            continue;
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--manager and --listen must both be IPv4 or both IPv6 addresses");
        return -EINVAL;
    }
    return 0;
}

const char *start_manager_text(const CommonOptions *o, const Addr *peer, char buf[ADDR_TEXT_MAX])
{
    return peer->kind == ADDR_NONE ? o->manager : addr_format(peer, buf, ADDR_TEXT_MAX);
}

/* ---- what it reads again --------------------------------------------------------------------- */

int start_set_keys(Endpoint *endpoint, const ClusterKeys *keys, uint64_t now_ns,
                   char error[CONFIG_ERROR_MAX])
{
    const bool others = !endpoint_has_keys(endpoint, keys->keys, keys->count);
    int res = endpoint_keys_set(endpoint, keys->keys, keys->count, now_ns);
    if (res == -EINVAL)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "to begin with a key, or to do without, the daemon must be started again");
    else if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s", strerror(-res));
    return res < 0 ? res : others;
}

int start_reload(const CommonOptions *o, Endpoint *endpoint, uint64_t now_ns,
                 char error[CONFIG_ERROR_MAX])
{
    ClusterKeys keys;
    int res = start_read_keys(o, &keys, error);
    if (res == 0)
        res = start_set_keys(endpoint, &keys, now_ns, error);
    explicit_bzero(&keys, sizeof keys);
    if (res >= 0)
        log_set_level(o->log_level);
    return res;
}

void start_log_reload(const ConfigChanges *changes, const char *more)
{
    log_event(LOG_LEVEL_INFO, "reloaded", "%s changed=\"%s\"", more,
              *changes->taken ? changes->taken : "nothing");
    if (*changes->waiting)
        log_event(LOG_LEVEL_WARN, "needs_restart",
                  "keys=\"%s\" fix=\"start the daemon again; until then the old values count\"",
                  changes->waiting);
}

void start_log_not_reloaded(const char *error)
{
    char text[2 * CONFIG_ERROR_MAX];
    log_event(LOG_LEVEL_ERROR, "not_reloaded", "error=\"%s\"",
              log_quoted(error, text, sizeof text));
}

void start_take_text(char **field, char **read)
{
    char *old = *field;
    *field = *read;
    *read = old;
}

/* @raw: NULL: no raw frames. */
static int listen_at(const Addr *listen, const TransportOptions *options, const TransportRaw *raw,
                     Transport **ret, int *ret_raw, char *error)
{
    char text[ADDR_TEXT_MAX];
    int res = start_listen_check(listen, error);
    if (res < 0)
        return res;
    (void)addr_format(listen, text, sizeof text);
    TransportOptions late = options ? *options : (TransportOptions){0};
    late.free_bind = true;
    res = raw ? transport_raw_open(listen, &late, raw, ret, ret_raw)
              : transport_udp_open(listen, &late, ret);
    if (res == 0 && (*ret)->late)
        log_event(LOG_LEVEL_WARN, "address_not_there",
                  "listen=%s fix=\"not an address of this host (see ip addr): waiting for it\"",
                  text);
    if (res == -EADDRINUSE)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "cannot listen on %s: the port is in use; choose another, or 0 for any",
                       text);
    else if (res == -EADDRNOTAVAIL)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "cannot listen on %s: not an address of this host (see ip addr)", text);
    else if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot listen on %s: %s", text, strerror(-res));
    return res;
}

int start_listen(const Addr *listen, const TransportOptions *options, Transport **ret,
                 char error[CONFIG_ERROR_MAX])
{
    return listen_at(listen, options, NULL, ret, NULL, error);
}

int start_listen_raw(const Addr *listen, const TransportOptions *options, const TransportRaw *raw,
                     Transport **ret, int *ret_raw, char error[CONFIG_ERROR_MAX])
{
    return listen_at(listen, options, raw, ret, ret_raw, error);
}

int start_port(Port *p, const Addr *listen, const TransportOptions *options,
               const EndpointConfig *config, const PortOps *ops, void *ctx,
               char error[CONFIG_ERROR_MAX])
{
    const PortConfig port = {.endpoint = config, .env = os_env()};
    Transport *t;
    int res = start_listen(listen, options, &t, error);
    if (res < 0)
        return res;
    res = port_open(p, t, &port, ops, ctx);
    if (res < 0) {
        t = transport_close(t);
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the socket");
    }
    return res;
}
