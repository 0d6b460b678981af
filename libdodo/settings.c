/* SPDX-License-Identifier: MIT */
#include "libdodo/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/conf/conf.h"
#include "proto/conf/defaults.h"
#include "usocket/raw/mac.h"

#define FIELD(name) offsetof(Settings, name)

/* Where a value goes as it is. Those that are kept otherwise are in take_special(). */
typedef struct Field {
    const char *group, *name;
    size_t offset;
} Field;

static const Field fields[] = {
    {"dodo", "insecure", FIELD(insecure)},
    {"dodo", "hello_retry", FIELD(hello_retry_ns)},
    {"client", "alive", FIELD(alive_ns)},
    {"client", "refraction", FIELD(refraction_ns)},
    {"client", "transfer_deadline", FIELD(transfer_deadline_ns)},
    {"client", "reopen", FIELD(reopen_ns)},
    {"client", "request_retry", FIELD(request_retry_ns)},
    {"client", "request_retry_max", FIELD(request_retry_max_ns)},
    {"client", "request_deadline", FIELD(request_deadline_ns)},
    {"client", "poll", FIELD(poll_ns)},
    {"client", "poll_share", FIELD(poll_share)},
    {"client", "verify", FIELD(verify)},
    {"client", "share", FIELD(share)},
    {"client", "regions_max", FIELD(regions_max)},
    {"client", "fill_queue", FIELD(fill_queue_bytes)},
    {"client", "stripe", FIELD(stripe_bytes)},
    {"client", "mirror", FIELD(mirror)},
    {"client", "receive_buffer", FIELD(receive_bytes)},
};

static void put(void *field, uint8_t kind, const ConfValue *v)
{
    if (kind == CONFIG_BOOL)
        *(bool *)field = v->flag;
    else
        *(uint64_t *)field = v->count;
}

static bool is_key(const ConfKey *k, const char *group, const char *name)
{
    return strcmp(k->group, group) == 0 && strcmp(k->name, name) == 0;
}

static void take_special(Settings *s, const ConfKey *k, const ConfValue *v)
{
    if (is_key(k, "dodo", "key"))
        (void)snprintf(s->key, sizeof s->key, "%s", v->text);
    else if (is_key(k, "dodo", "transport"))
        s->raw = strcmp(v->text, "raw") == 0;
    else if (is_key(k, "dodo", "interface"))
        (void)snprintf(s->interface, sizeof s->interface, "%s", v->text);
    else if (is_key(k, "dodo", "manager"))
        (void)places_parse(v->text, DEFAULT_CMD_PORT, &s->managers);
    else if (is_key(k, "dodo", "cluster"))
        s->cluster = cluster_number(v->text);
    else if (is_key(k, "client", "honest_filesystems"))
        s->filesystems_count = (unsigned)conf_types(v->text, s->filesystems);
}

/* A ConfFn. */
static int take(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    Settings *s = ctx;
    (void)error;
    (void)cap;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (!is_key(k, fields[i].group, fields[i].name))
            continue;
        put((char *)s + fields[i].offset, k->kind, v);
        return 0;
    }
    take_special(s, k, v);
    return 0;
}

static void take_defaults(Settings *s)
{
    ConfValue v;
    *s = (Settings){0};
    for (size_t i = 0; i < conf_keys_count; i++)
        if ((conf_keys[i].readers & CONF_CLIENT) && conf_default(&conf_keys[i], &v) == 0)
            (void)take(s, &conf_keys[i], &v, NULL, 0);
}

/* One of the addresses is not of this host. What a name stands for is not known here; it is looked
 * at when it is. */
static bool is_beyond(const Places *managers)
{
    for (unsigned i = 0; i < managers->count; i++)
        if (!*managers->of[i].name && !addr_is_loopback(&managers->of[i].addr))
            return true;
    return false;
}

static int load_keys(Settings *s, char *error)
{
    if (!*s->key) {
        if (s->insecure || !is_beyond(&s->managers))
            return 0;
        (void)snprintf(error, SETTINGS_ERROR_MAX,
                       "no cluster key: name one with DODO_KEY=FILE (or set DODO_INSECURE=1)");
        return -EACCES;
    }
    return cluster_key_read(s->key, s->keys, &s->keys_count, error, SETTINGS_ERROR_MAX);
}

/* No firewall sees raw frames: only the key keeps strangers out. */
static int check_raw(const Settings *s, char *error)
{
    if (s->raw && !interface_name_good(s->interface)) {
        (void)snprintf(error, SETTINGS_ERROR_MAX,
                       "raw frames (DODO_TRANSPORT, or transport in dodo.conf) need the interface: "
                       "DODO_INTERFACE=NAME, or interface = NAME");
        return -EINVAL;
    }
    if (s->raw && !*s->key && !s->insecure) {
        (void)snprintf(
            error, SETTINGS_ERROR_MAX,
            "raw frames (DODO_TRANSPORT, or transport in dodo.conf) need a cluster key, as no "
            "firewall sees them: name one with DODO_KEY=FILE (or set DODO_INSECURE=1)");
        return -EACCES;
    }
    return 0;
}

int settings_load(Settings *s, char error[SETTINGS_ERROR_MAX])
{
    take_defaults(s);
    const char *path = secure_getenv("DODO_CONFIG");
    int result = conf_file_read(path && *path ? path : NULL, CONF_CLIENT, take, s, error,
                                SETTINGS_ERROR_MAX);
    if (result == 0)
        result = conf_env_read(CONF_CLIENT, secure_getenv, take, s, error, SETTINGS_ERROR_MAX);
    if (result == 0)
        result = check_raw(s, error);
    return result < 0 ? result : load_keys(s, error);
}
