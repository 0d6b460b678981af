/* SPDX-License-Identifier: MIT */
#include "imd/reloader.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/helper.h"
#include "daemon/sandbox.h"
#include "daemon/start.h"

enum { ASK = 'r' };

typedef struct Answer {
    int32_t result;
    ImdSettings settings;
    char error[CONFIG_ERROR_MAX];
} Answer;

/* ---- the process ----------------------------------------------------------------------------- */

/* What can change while imd runs; all else stays until the next start. */
static void take_options(ImdOptions *now, Resolver *resolver, ImdOptions *read)
{
    Places places;
    start_take_text(&now->common.key, &read->common.key);
    if (start_places(&read->common, &places) && resolver_move(resolver, &places) == 0)
        start_take_text(&now->common.manager, &read->common.manager);
    now->common.log_level = read->common.log_level;
    now->rate_bytes = read->rate_bytes;
    now->rate_packets = read->rate_packets;
}

static void take(ImdOptions *now, Resolver *resolver, ImdOptions *read, ImdSettings *ret)
{
    const ImdOptions before = *now, wanted = *read;
    ret->log_level = read->common.log_level;
    ret->rate_bytes = read->rate_bytes;
    ret->rate_packets = read->rate_packets;
    take_options(now, resolver, read);
    (void)snprintf(ret->manager, sizeof ret->manager, "%s", now->common.manager);
    config_changes(&imd_program, &before, now, &wanted, &ret->changes);
}

static int read_all(ImdOptions *now, Resolver *resolver, ImdSettings *ret, char *error)
{
    ImdOptions o;
    imd_options_init(&o);
    *ret = (ImdSettings){.log_level = LOG_LEVEL_INFO};
    int res = config_reload(&imd_program, &o, error) == CONFIG_OK ? 0 : -EINVAL;
    if (res == 0)
        res = imd_options_check(&o, error);
    if (res == 0)
        res = start_read_keys(&o.common, &ret->keys, error);
    if (res == 0)
        take(now, resolver, &o, ret);
    config_clear(&imd_program, &o);
    return res;
}

static void answer(int channel, ImdOptions *now, Resolver *resolver)
{
    Answer a = {.result = 0};
    a.result = read_all(now, resolver, &a.settings, a.error);
    if (a.result < 0)
        explicit_bzero(&a.settings, sizeof a.settings);
    (void)send(channel, &a, sizeof a, MSG_NOSIGNAL);
    explicit_bzero(&a, sizeof a);
}

/* The directory that the file is in, and that of the file it is a link to: another file may take
 * the name in either. */
static void add_directories(GPtrArray *paths, const char *file)
{
    char real[PATH_MAX];
    if (!file)
        return;
    g_ptr_array_add(paths, g_path_get_dirname(file));
    if (realpath(file, real))
        g_ptr_array_add(paths, g_path_get_dirname(real));
}

/* The files beside it that add to it, and the directory where more of them may appear. */
static void add_config(GPtrArray *paths, const char *file)
{
    char error[CONFIG_ERROR_MAX];
    ConfFiles files;
    (void)conf_files_find(file, &files, error, sizeof error);
    for (unsigned i = 0; i < files.count; i++)
        add_directories(paths, files.paths[i]);
    conf_files_free(&files);
    g_ptr_array_add(paths, g_strconcat(file, ".d", NULL));
}

static void confine(const ImdOptions *o, char missing[SANDBOX_TEXT_MAX])
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    add_config(paths, config_file(&o->common));
    add_directories(paths, o->common.key);
    g_ptr_array_add(paths, NULL);
    const char *const *readable = (const char *const *)paths->pdata;
    sandbox_enter(SANDBOX_READ | SANDBOX_GROUPS, readable, missing, SANDBOX_TEXT_MAX);
}

/* Questions that wait are one. */
__attribute__((noreturn)) static void serve(int channel, ImdOptions *o, Resolver *resolver)
{
    char ask, missing[SANDBOX_TEXT_MAX];
    confine(o, missing);
    for (;;) {
        ssize_t n = recv(channel, &ask, sizeof ask, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(EXIT_SUCCESS);
        while (recv(channel, &ask, sizeof ask, MSG_DONTWAIT) > 0)
            ;
        if (*missing) /* not before imd has anything to reload: it may not even start */
            log_event(LOG_LEVEL_INFO, "not_all_confined", "process=reload missing=\"%s\"", missing);
        *missing = '\0';
        answer(channel, o, resolver);
    }
}

/* ---- imd's side ------------------------------------------------------------------------------ */

int reloader_start(Reloader *r, ImdOptions *o, Resolver *resolver, char error[CONFIG_ERROR_MAX])
{
    pid_t pid = helper_fork("imd-reload", &r->fd);
    if (pid == 0)
        serve(r->fd, o, resolver);
    if (pid > 0)
        return 0;
    r->fd = -1;
    start_explain((int)pid, "the process that reads the key", error);
    return (int)pid;
}

void reloader_close(Reloader *r)
{
    if (r->fd >= 0)
        (void)close(r->fd);
    r->fd = -1;
}

int reloader_ask(const Reloader *r)
{
    const char ask = ASK;
    if (r->fd < 0)
        return -EPIPE;
    return send(r->fd, &ask, sizeof ask, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Whatever it is that has answered. */
static int check(const Answer *a, size_t len)
{
    if (len != sizeof *a || a->result > 0 || memchr(a->error, '\0', sizeof a->error) == NULL)
        return -EBADMSG;
    if (a->result < 0)
        return a->result == -EAGAIN || a->result == -EPIPE ? -EIO : a->result;
    const ImdSettings *s = &a->settings;
    return s->keys.count > CLUSTER_KEYS_MAX || s->log_level > LOG_LEVEL_DEBUG ||
                   !memchr(s->manager, '\0', sizeof s->manager) ||
                   !memchr(s->changes.taken, '\0', sizeof s->changes.taken) ||
                   !memchr(s->changes.waiting, '\0', sizeof s->changes.waiting)
               ? -EBADMSG
               : 0;
}

int reloader_take(const Reloader *r, ImdSettings *ret, char error[CONFIG_ERROR_MAX])
{
    Answer a = {.result = 0};
    ssize_t n = r->fd < 0 ? 0 : recv(r->fd, &a, sizeof a, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    if (n <= 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "the process that reads the key has ended: start imd again");
        return -EPIPE;
    }
    int res = check(&a, (size_t)n);
    if (res == -EBADMSG)
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer of %zd bytes is not understood", n);
    else if (res < 0)
        memcpy(error, a.error, CONFIG_ERROR_MAX);
    else
        *ret = a.settings;
    explicit_bzero(&a, sizeof a);
    return res;
}
