/* SPDX-License-Identifier: MIT */
#include "libdodo/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/defaults.h"
#include "base/parse.h"

typedef struct TimeKey {
    const char *name;
    size_t offset;
} TimeKey;

static const TimeKey client_times[] = {
    {"alive", offsetof(Settings, alive_ns)},
    {"refraction", offsetof(Settings, refraction_ns)},
    {"transfer_deadline", offsetof(Settings, transfer_deadline_ns)},
    {"reopen", offsetof(Settings, reopen_ns)},
    {"request_retry", offsetof(Settings, request_retry_ns)},
    {"request_retry_max", offsetof(Settings, request_retry_max_ns)},
    {"request_deadline", offsetof(Settings, request_deadline_ns)},
};

static int set_text(char *out, size_t cap, const char *value)
{
    size_t n = strlen(value);
    if (n >= cap)
        return -EINVAL;
    memcpy(out, value, n + 1);
    return 0;
}

/* "0x65735546, 0x6969": more file systems whose time stamps can be trusted. */
static int set_filesystems(Settings *s, const char *value)
{
    s->filesystems_count = 0;
    for (const char *at = value; *at;) {
        char *end;
        long long type = strtoll(at, &end, 16);
        if (end == at || s->filesystems_count == SETTINGS_FILESYSTEMS_MAX)
            return -EINVAL;
        s->filesystems[s->filesystems_count++] = type;
        at = end + strspn(end, " \t");
        if (*at == ',')
            at += 1 + strspn(at + 1, " \t");
        else if (*at)
            return -EINVAL;
    }
    return 0;
}

static int set_dodo(Settings *s, const char *key, const char *value)
{
    if (strcmp(key, "manager") == 0)
        return addr_parse(value, DEFAULT_CMD_PORT, &s->manager);
    if (strcmp(key, "key") == 0)
        return set_text(s->key, sizeof s->key, value);
    if (strcmp(key, "insecure") == 0)
        return parse_bool(value, &s->insecure);
    if (strcmp(key, "hello_retry") == 0)
        return parse_time(value, &s->hello_retry_ns);
    if (strcmp(key, "cluster") == 0)
        s->cluster = cluster_number(value);
    else if (strcmp(key, "log_level") != 0) /* the daemons' */
        return -ENOENT;
    return 0;
}

static int set_client(Settings *s, const char *key, const char *value)
{
    for (size_t i = 0; i < ARRAY_SIZE(client_times); i++) {
        uint64_t ns;
        if (strcmp(key, client_times[i].name) != 0)
            continue;
        if (parse_time(value, &ns) < 0 || ns == 0)
            return -EINVAL;
        memcpy((char *)s + client_times[i].offset, &ns, sizeof ns);
        return 0;
    }
    if (strcmp(key, "spin") == 0)
        return parse_time(value, &s->spin_ns);
    if (strcmp(key, "verify") == 0)
        return parse_bool(value, &s->verify);
    if (strcmp(key, "regions_max") == 0)
        return parse_u64(value, 1, 1 << 20, &s->regions_max);
    if (strcmp(key, "fill_queue") == 0)
        return parse_size(value, &s->fill_queue_bytes);
    if (strcmp(key, "stripe") == 0)
        return parse_size(value, &s->stripe_bytes);
    if (strcmp(key, "receive_buffer") == 0)
        return parse_size(value, &s->receive_bytes);
    if (strcmp(key, "honest_filesystems") == 0)
        return set_filesystems(s, value);
    return -ENOENT;
}

static int on_key(void *ctx, const char *group, const char *key, const char *value, char *error,
                  size_t cap)
{
    int result = 0;
    if (strcmp(group, "dodo") == 0)
        result = set_dodo(ctx, key, value);
    else if (strcmp(group, "client") == 0)
        result = set_client(ctx, key, value);
    if (result == -ENOENT)
        (void)snprintf(error, cap, "unknown key \"%s\" in [%s]; see dodo.conf(5)", key, group);
    else if (result < 0)
        (void)snprintf(error, cap, "bad value for %s: \"%s\"; see dodo.conf(5)", key, value);
    return result < 0 ? -EINVAL : 0;
}

static int load_environment(Settings *s, char *error)
{
    static const char *const names[][2] = {{"DODO_MANAGER", "manager"},
                                           {"DODO_KEY", "key"},
                                           {"DODO_CLUSTER", "cluster"},
                                           {"DODO_INSECURE", "insecure"}};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = secure_getenv(names[i][0]);
        if (value && *value && set_dodo(s, names[i][1], value) < 0) {
            (void)snprintf(error, SETTINGS_ERROR_MAX, "%s: bad value \"%s\"", names[i][0], value);
            return -EINVAL;
        }
    }
    static const char *const client_names[][2] = {{"DODO_SPIN", "spin"}, {"DODO_VERIFY", "verify"}};
    for (size_t i = 0; i < ARRAY_SIZE(client_names); i++) {
        const char *value = secure_getenv(client_names[i][0]);
        if (value && *value && set_client(s, client_names[i][1], value) < 0) {
            (void)snprintf(error, SETTINGS_ERROR_MAX, "%s: bad value \"%s\"", client_names[i][0],
                           value);
            return -EINVAL;
        }
    }
    return 0;
}

static int load_keys(Settings *s, char *error)
{
    uint8_t keys[KEYS_MAX][KEY_BYTES];
    if (!*s->key) {
        if (s->manager.kind == ADDR_NONE || addr_is_loopback(&s->manager) || s->insecure)
            return 0;
        (void)snprintf(error, SETTINGS_ERROR_MAX,
                       "no cluster key: name one with DODO_KEY=FILE (or set DODO_INSECURE=1)");
        return -EACCES;
    }
    int result = cluster_key_read(s->key, keys, &s->keys_count, error, SETTINGS_ERROR_MAX);
    if (result < 0)
        return result;
    for (unsigned i = 0; i < s->keys_count; i++)
        memcpy(s->keys[i].bytes, keys[i], KEY_BYTES);
    explicit_bzero(keys, sizeof keys);
    return 0;
}

int settings_load(Settings *s, char error[SETTINGS_ERROR_MAX])
{
    *s = (Settings){
        .cluster = cluster_number(DEFAULT_CLUSTER),
        .hello_retry_ns = DEFAULT_HELLO_RETRY_NS,
        .alive_ns = DEFAULT_ALIVE_NS,
        .refraction_ns = DEFAULT_REFRACTION_NS,
        .transfer_deadline_ns = DEFAULT_TRANSFER_DEADLINE_NS,
        .reopen_ns = DEFAULT_REOPEN_NS,
        .request_retry_ns = DEFAULT_CLIENT_REQUEST_RETRY_NS,
        .request_retry_max_ns = DEFAULT_CLIENT_REQUEST_RETRY_MAX_NS,
        .request_deadline_ns = DEFAULT_CLIENT_REQUEST_DEADLINE_NS,
        .spin_ns = DEFAULT_CLIENT_SPIN_NS,
        .verify = true,
        .regions_max = DEFAULT_CLIENT_REGIONS_MAX,
        .fill_queue_bytes = DEFAULT_CLIENT_FILL_QUEUE_BYTES,
        .stripe_bytes = DEFAULT_CLIENT_STRIPE_BYTES,
        .receive_bytes = DEFAULT_CLIENT_RECEIVE_BYTES,
    };
    const char *path = secure_getenv("DODO_CONFIG");
    bool asked = path && *path;
    int result =
        key_file_read(asked ? path : DEFAULT_CONFIG_PATH, on_key, s, error, SETTINGS_ERROR_MAX);
    if (result < 0 && (asked || result != -ENOENT))
        return result;
    result = load_environment(s, error);
    return result < 0 ? result : load_keys(s, error);
}
