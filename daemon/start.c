/* SPDX-License-Identifier: MIT */
#include "daemon/start.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/notify.h"
#include "base/parse.h"
#include "proto/conf/defaults.h"
#include "daemon/log.h"

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

/* ---- who it is ------------------------------------------------------------------------------- */

static bool is_among(gid_t group, const gid_t *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return false;
}

/* Our supplementary groups, less those of @without; how many those are. They are on the heap. */
static int groups_left(const gid_t *without, size_t without_count, gid_t **ret, int *ret_count)
{
    int count = getgroups(0, NULL), left = 0;
    gid_t *groups = calloc(count > 0 ? (size_t)count : 1, sizeof *groups);
    count = groups ? getgroups(count, groups) : -1;
    for (int i = 0; i < count; i++)
        if (!is_among(groups[i], without, without_count))
            groups[left++] = groups[i];
    *ret = groups;
    *ret_count = left;
    return count - left;
}

bool start_has_group(const gid_t *groups, size_t count)
{
    CLEANUP_FREE gid_t *left = NULL;
    int left_count;
    return is_among(getegid(), groups, count) || groups_left(groups, count, &left, &left_count) > 0;
}

/* Who may not is left as it is. */
static void drop_groups(const gid_t *without, size_t count)
{
    CLEANUP_FREE gid_t *left = NULL;
    int left_count;
    if (groups_left(without, count, &left, &left_count) > 0)
        (void)setgroups((size_t)left_count, left);
}

/* The user that we become may lock the pool, too. */
static int become(const struct passwd *user, const gid_t *without, size_t count)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    (void)setrlimit(RLIMIT_MEMLOCK, &all);
    if (initgroups(user->pw_name, user->pw_gid) != 0)
        return -errno;
    drop_groups(without, count);
    return setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
                   setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0
               ? 0
               : -errno;
}

int start_as_user_without(const CommonOptions *o, const gid_t *groups, size_t count,
                          char error[CONFIG_ERROR_MAX])
{
    const struct passwd *user = o->user ? getpwnam(o->user) : NULL;
    if (!o->user || (user && user->pw_uid == geteuid())) {
        drop_groups(groups, count);
        return 0;
    }
    int res = !user ? -ENOENT : geteuid() != 0 ? -EPERM : become(user, groups, count);
    if (res == -ENOENT)
        (void)snprintf(error, CONFIG_ERROR_MAX, "--user %s: there is no such user", o->user);
    else if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "--user %s: %s; only root can become another user",
                       o->user, strerror(-res));
    return res;
}

int start_as_user(const CommonOptions *o, char error[CONFIG_ERROR_MAX])
{
    return start_as_user_without(o, NULL, 0, error);
}

/* ---- what it reads again --------------------------------------------------------------------- */

int start_set_keys(Endpoint *endpoint, const ClusterKeys *keys, uint64_t now_ns,
                   char error[CONFIG_ERROR_MAX])
{
    int res = endpoint_keys_set(endpoint, keys->keys, keys->count, now_ns);
    if (res == -EINVAL)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "to begin with a key, or to do without, the daemon must be started again");
    else if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s", strerror(-res));
    return res;
}

int start_reload(const CommonOptions *o, Endpoint *endpoint, uint64_t now_ns,
                 char error[CONFIG_ERROR_MAX])
{
    ClusterKeys keys;
    int res = start_read_keys(o, &keys, error);
    if (res == 0)
        res = start_set_keys(endpoint, &keys, now_ns, error);
    explicit_bzero(&keys, sizeof keys);
    if (res == 0)
        log_set_level(o->log_level);
    return res;
}

int start_listen(const Addr *listen, const TransportOptions *options, Transport **ret,
                 char error[CONFIG_ERROR_MAX])
{
    char text[ADDR_TEXT_MAX];
    (void)addr_format(listen, text, sizeof text);
    if (addr_is_any(listen)) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "cannot listen on %s: name the one address of this host that the others "
                       "reach it at",
                       text);
        return -EINVAL;
    }
    TransportOptions late = options ? *options : (TransportOptions){0};
    late.free_bind = true;
    int res = transport_udp_open(listen, &late, ret);
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

static int notifier = -1; /* kept open; -1: it is opened when it is needed */

void start_keep_notifier(void)
{
    if (notifier < 0)
        notifier = notify_open();
}

void start_tell_library(const CommonOptions *o)
{
    char text[ADDR_TEXT_MAX];
    if (o->manager.kind != ADDR_NONE)
        (void)setenv("DODO_MANAGER", addr_format(&o->manager, text, sizeof text), 1);
    (void)setenv("DODO_CLUSTER", o->cluster, 1);
    (void)setenv("DODO_INSECURE", o->insecure ? "yes" : "no", 1);
    if (o->key)
        (void)setenv("DODO_KEY", o->key, 1);
    if (o->config)
        (void)setenv("DODO_CONFIG", o->config, 1);
    if (o->log_level != LOG_LEVEL_WARN)
        (void)setenv("DODO_LOG", log_level_text(o->log_level), 1);
}

__attribute__((format(printf, 1, 0))) static void announce(const char *format, va_list args)
{
    char line[1024];
    int n = vsnprintf(line, sizeof line - 1, format, args);
    size_t len = n < 0 ? 0 : n < (int)sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[len] = '\n';
    (void)fflush(stdout);
    (void)log_write(STDOUT_FILENO, line, len + 1); /* who does not read it does not want it */
    notify(notifier, "READY=1", NOTIFY_READY_WAIT_S);
}

void start_announce(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    announce(format, args);
    va_end(args);
}

void start_ready(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    announce(format, args);
    va_end(args);
    if (geteuid() == 0)
        log_event(LOG_LEVEL_WARN, "runs_as_root",
                  "fix=\"give --user NAME, or [daemon] user: no daemon needs to be root\"");
}

void start_stopping(void)
{
    notify(notifier, "STOPPING=1", 0);
}

void start_forbid_dumps(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none); /* lowering a limit is always allowed */
    (void)prctl(PR_SET_DUMPABLE, 0);
}

void start_allow_dumps(void)
{
    (void)prctl(PR_SET_DUMPABLE, 1);
}

char *start_size(uint64_t bytes, char *buf, size_t cap)
{
    static const char suffixes[] = " KMGT";
    unsigned i = 0;
    for (; bytes && bytes % 1024 == 0 && suffixes[i + 1]; i++)
        bytes /= 1024;
    (void)snprintf(buf, cap, "%" PRIu64 "%.*s", bytes, i > 0, &suffixes[i]);
    return buf;
}

int start_failed(const ConfigProgram *program, int status, const char *error)
{
    (void)fprintf(stderr, "%s: %s\n", program->name, error);
    return status;
}

int start_config_failed(const ConfigProgram *program, enum ConfigOutcome outcome, const char *error)
{
    if (outcome == CONFIG_DONE)
        return EXIT_SUCCESS;
    return start_failed(program, outcome == CONFIG_USAGE ? EXIT_USAGE : EXIT_START, error);
}
