/* SPDX-License-Identifier: MIT */
#include "daemon/start.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/notify.h"
#include "base/num.h"
#include "base/parse.h"
#include "base/printable.h"
#include "daemon/log.h"

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
    char shown[100];
    (void)printable_short(o->user, shown, sizeof shown);
    int res = !user ? -ENOENT : geteuid() != 0 ? -EPERM : become(user, groups, count);
    if (res == -ENOENT)
        (void)snprintf(
            error, CONFIG_ERROR_MAX,
            "--user %s: there is no such user; make it, or give another, here or as [daemon] user",
            shown);
    else if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "--user %s: %s; only root can become another user",
                       shown, strerror(-res));
    return res;
}

int start_as_user(const CommonOptions *o, char error[CONFIG_ERROR_MAX])
{
    return start_as_user_without(o, NULL, 0, error);
}

/* ---- that it is ready ------------------------------------------------------------------------ */

static int notifier = -1; /* kept open; -1: it is opened when it is needed */

void start_keep_notifier(void)
{
    if (notifier < 0)
        notifier = notify_open();
}

void start_tell_library(const CommonOptions *o)
{
    if (o->manager)
        (void)setenv("DODO_MANAGER", o->manager, 1);
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

void start_ignore_full_files(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

int start_stack(char error[CONFIG_ERROR_MAX])
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur / 1024 >= START_STACK_KIB)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "its stack may have only %" PRIuMAX " KiB, and needs %d: raise ulimit -s "
                   "(LimitSTACK=)",
                   (uintmax_t)(limit.rlim_cur / 1024), START_STACK_KIB);
    return -ENOMEM;
}

int start_descriptors(unsigned wanted, char error[CONFIG_ERROR_MAX])
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return 0;
    limit.rlim_cur = min_u64(limit.rlim_max, wanted);
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* up to the hard limit it is always allowed */
    if (limit.rlim_cur == wanted)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "it may have only %" PRIuMAX " files open, and needs %u: raise ulimit -n "
                   "(LimitNOFILE=)",
                   (uintmax_t)limit.rlim_cur, wanted);
    return -EMFILE;
}

void start_explain(int res, const char *what, char error[CONFIG_ERROR_MAX])
{
    const char *fix = "";
    if (res == -EAGAIN)
        fix = "; raise ulimit -u (LimitNPROC=, TasksMax=) or ulimit -v (LimitAS=)";
    else if (res == -ENOMEM)
        fix = "; raise ulimit -v (LimitAS=) or MemoryMax=, or free memory";
    else if (res == -EMFILE)
        fix = "; raise ulimit -n (LimitNOFILE=)";
    (void)snprintf(error, CONFIG_ERROR_MAX, "cannot start %s: %s%s", what, strerror(-res), fix);
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
    CLEANUP_FREE char *text = strdup(error);
    (void)fprintf(stderr, "%s: %s\n", program->name, text ? printable(text) : "no memory");
    return status;
}

int start_config_failed(const ConfigProgram *program, enum ConfigOutcome outcome, const char *error)
{
    if (outcome == CONFIG_DONE)
        return EXIT_SUCCESS;
    return start_failed(program, outcome == CONFIG_USAGE ? EXIT_USAGE : EXIT_START, error);
}
