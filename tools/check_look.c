/* SPDX-License-Identifier: MIT */
#include "tools/check_look.h"

#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/printable.h"
#include "proto/conf/defaults.h"
#include "daemon/start.h"
#include "tools/cluster_status.h"
#include "tools/json_text.h"
#include "tools/probe.h"

/* ---- the configuration ----------------------------------------------------------------------- */

static int on_value(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    Parts *p = ctx;
    if (k->kind == CONFIG_LISTEN && strcmp(k->group, "cmd") != 0)
        *(strcmp(k->group, "rmd") == 0 ? &p->rmd_listen : &p->imd_listen) = v->listen;
    p->rmd |= strcmp(k->group, "rmd") == 0;
    const struct {
        const char *group, *name;
        bool *flag;
        uint64_t *count;
    } wanted[] = {
        {"cmd", "listen", &p->cmd, NULL},
        {"imd", "listen", &p->imd, NULL},
        {"imd", "pool", &p->imd, &p->pool_bytes},
        {"rmd", "pool", NULL, &p->rmd_pool_bytes},
        {"rmd", "imd_port", NULL, &p->imd_port},
        {"imd", "data_port", NULL, &p->data_port},
        {"imd", "threads", NULL, &p->threads},
        {"cmd", "receive_buffer", NULL, &p->cmd_receive_bytes},
        {"imd", "receive_buffer", NULL, &p->imd_receive_bytes},
        {"client", "receive_buffer", NULL, &p->client_receive_bytes},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        if (strcmp(wanted[i].group, k->group) != 0 || strcmp(wanted[i].name, k->name) != 0)
            continue;
        if (wanted[i].flag)
            *wanted[i].flag = true;
        if (wanted[i].count)
            *wanted[i].count = v->count;
    }
    return 0;
}

static const char *path_of(const CheckFacts *f)
{
    return strcmp(f->config, DEFAULT_CONFIG_PATH) == 0 ? NULL : f->config;
}

static void look_at_files(CheckFacts *f, unsigned reader, ConfFn fn, Parts *p)
{
    char error[sizeof f->config_error];
    if (conf_file_read(path_of(f), reader, fn, p, error, sizeof error) < 0)
        memcpy(f->config_error, error, sizeof error);
}

/* A ConfFn: that they are values is all that is to be known. */
static int on_variable(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    (void)ctx;
    (void)k;
    (void)v;
    (void)error;
    (void)cap;
    return 0;
}

static void look_at_environment(CheckFacts *f)
{
    char error[sizeof f->config_error];
    if (!*f->config_error &&
        conf_env_read(CONF_TOOL | CONF_CMD | CONF_IMD | CONF_RMD | CONF_CLIENT | CONF_MANAGE,
                      getenv, on_variable, NULL, error, sizeof error) < 0)
        memcpy(f->config_error, error, sizeof error);
    if (!*f->config_error && conf_file_variables(path_of(f), getenv, error, sizeof error) < 0)
        memcpy(f->config_error, error, sizeof error);
}

static void look_at_all_files(CheckFacts *f, Parts *p)
{
    char error[sizeof f->config_error];
    ConfFiles files;
    const int res = conf_files_find(f->config, &files, error, sizeof error);
    f->config_found = res < 0 || files.count > 1 || access(f->config, F_OK) == 0;
    conf_files_free(&files);
    if (!f->config_found)
        return;
    look_at_files(f, CONF_CMD | CONF_IMD | CONF_RMD | CONF_CLIENT, on_value, p);
    if (p->rmd)
        look_at_files(f, CONF_RMD, NULL, NULL);
    if (!conf_file_doubt(path_of(f), f->config_doubt, sizeof f->config_doubt))
        *f->config_doubt = '\0';
}

void look_at_config(CheckFacts *f, Parts *p)
{
    look_at_all_files(f, p);
    look_at_environment(f);
}

/* ---- the key --------------------------------------------------------------------------------- */

static void look_at_owner(CheckKey *k)
{
    struct stat st;
    if (stat(k->path, &st) != 0)
        return;
    const struct passwd *user = getpwuid(st.st_uid);
    const struct group *group = getgrgid(st.st_gid);
    g_autofree char *uid = g_strdup_printf("%u", st.st_uid);
    g_autofree char *gid = g_strdup_printf("%u", st.st_gid);
    k->mode = st.st_mode & 07777;
    (void)snprintf(k->owner, sizeof k->owner, "%s:%s", user ? user->pw_name : uid,
                   group ? group->gr_name : gid);
}

void look_at_key(CheckKey *k, const CommonOptions *o)
{
    ClusterKeys keys_read;
    k->path = o->key;
    k->insecure = o->insecure;
    if (!o->key)
        return;
    look_at_owner(k);
    if (start_read_keys(o, &keys_read, k->error) == 0) {
        k->count = keys_read.count;
        for (unsigned i = 0; i < k->count; i++)
            k->prints[i] = cluster_key_id(&keys_read.keys[i]);
    }
    explicit_bzero(&keys_read, sizeof keys_read);
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static int ask_manager(CheckManager *m, const ToolOptions *o, const Resolved *peers,
                       ClusterStatus *s)
{
    ToolClient c;
    uint64_t began = os_now_ns();
    int res = tool_client_open_any(&c, o, peers, NULL, m->error);
    if (res < 0)
        return res;
    m->address = c.peer;
    m->hello_ns = c.up_ns - began;
    m->sealed = endpoint_is_sealed(c.port.endpoint);
    res = tool_client_must_be_manager(&c, m->error);
    if (res == 0) {
        res = cluster_status_fetch(s, &c, m->error);
        m->uptime_ms = s->last.uptime_ms;
        m->standby = tool_client_stands_by(&c);
    }
    tool_client_close(&c);
    return res;
}

/* Each host that the manager lists, asked from here; but for those that have said good-bye: one
 * that is drained serves as ever what it has. */
static void ask_hosts(CheckFacts *f, const ToolOptions *o, const ClusterStatus *s)
{
    g_autofree Probe *probes = g_new0(Probe, s->hosts->len);
    CheckHost *hosts = g_new0(CheckHost, s->hosts->len);
    size_t count = 0;
    for (guint i = 0; i < s->hosts->len; i++) {
        const HostStatus *h = &g_array_index(s->hosts, HostStatus, i);
        if (h->state == HOST_LEAVING && h->regions == 0)
            continue;
        hosts[count] = (CheckHost){.address = h->address, .state = h->state};
        probes[count++].peer = h->address;
    }
    if (probe_all(o, probes, count, f->manager.error) == 0)
        f->hosts_count = count;
    for (size_t i = 0; i < count; i++) {
        hosts[i].answers = probes[i].answers;
        hosts[i].role = probes[i].role;
    }
    f->hosts = hosts;
}

void look_at_cluster(CheckFacts *f, const ToolOptions *o)
{
    CheckManager *m = &f->manager;
    ClusterStatus s;
    Resolved peers;
    if (o->common.manager && tool_find(o->common.manager, DEFAULT_CMD_PORT, &peers, m->error) == 0)
        m->address = peers.found[0];
    const bool keyed = f->key.path || f->key.insecure || addr_is_loopback(&m->address);
    m->asked = m->address.kind != ADDR_NONE && keyed && !*f->key.error;
    if (!m->asked)
        return;
    cluster_status_init(&s);
    if (ask_manager(m, o, &peers, &s) == 0)
        ask_hosts(f, o, &s);
    cluster_status_deinit(&s);
}

/* ---- what this host allows ------------------------------------------------------------------- */

static uint64_t memlock_bytes(void)
{
    struct rlimit limit;
    if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

static uint64_t receive_max_bytes(void)
{
    char text[64];
    uint64_t bytes;
    (void)os_text_read(AT_FDCWD, "/proc/sys/net/core/rmem_max", text, sizeof text);
    return parse_u64(g_strchomp(text), 0, UINT64_MAX, &bytes) == 0 ? bytes : UINT64_MAX;
}

/* Of those who ask for most. */
static void consider(CheckLimits *l, bool here, const char *group, uint64_t set_bytes)
{
    const uint64_t bytes = set_bytes ? set_bytes : conf_find(group, "receive_buffer")->count;
    if (!here || bytes <= l->receive_bytes)
        return;
    l->receive_bytes = bytes;
    l->receive_group = group;
    l->receive_set = set_bytes != 0;
}

void look_at_limits(CheckLimits *l, const Parts *p)
{
    l->pool_bytes = p->imd ? p->pool_bytes : 0;
    l->memlock_bytes = memlock_bytes();
    l->receive_max_bytes = receive_max_bytes();
    consider(l, true, "client", p->client_receive_bytes);
    consider(l, p->imd, "imd", p->imd_receive_bytes);
    consider(l, p->cmd, "cmd", p->cmd_receive_bytes);
}

/* ---- what is printed ------------------------------------------------------------------------- */

void check_print_line(void *ctx, const char *what, enum CheckState state, const char *text)
{
    g_autofree char *shown = printable(g_strdup(text));
    (void)ctx;
    printf("%-8s %-7s %s\n", what, check_state_text(state), shown);
}

void check_add_json(void *ctx, const char *what, enum CheckState state, const char *text)
{
    GString *json = ctx;
    g_string_append_printf(json,
                           "%s{\"check\":\"%s\",\"state\":\"%s\",\"text\":", json->len ? "," : "",
                           what, check_state_text(state));
    json_text_add(json, text);
    g_string_append_c(json, '}');
}
