/* SPDX-License-Identifier: MIT */
/* dodo rekey: another key for the cluster, in steps, while it works. It changes the key file of
 * this host; people copy it. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "daemon/start.h"
#include "proto/conf/defaults.h"
#include "tools/cluster_status.h"
#include "tools/command.h"
#include "tools/probe.h"
#include "tools/rekey_judge.h"

typedef struct RekeyOptions {
    ToolOptions tool; /* first */
    bool begin, status, finish, force;
} RekeyOptions;

#define FIELD(name) offsetof(RekeyOptions, name)
static const ConfigKey keys[] = {
    {NULL, "begin", "Make the next key, beside the one in use", NULL, FIELD(begin), CONFIG_BOOL},
    {NULL, "status", "Say who has it", NULL, FIELD(status), CONFIG_BOOL},
    {NULL, "finish", "When all have it: drop the old one", NULL, FIELD(finish), CONFIG_BOOL},
    {NULL, "force", "With --finish: though some lack it", NULL, FIELD(force), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo rekey",
    .reader = CONF_TOOL,
    .summary = "Changes the cluster's key in steps, while the cluster works: --begin, --status, "
               "--finish. It\nchanges the key file of this host alone, and sends nothing secret: "
               "people copy the file.",
    .tables = {&own, &tool_timeout, &config_manager, &config_common},
};

typedef struct Rekey {
    RekeyOptions *o;
    ClusterKeys keys; /* the old one, and the next; or one */
    char *old_path;
    RekeyFacts facts;
    GArray *hosts; /* of RekeyHost */
} Rekey;

/* ---- the file -------------------------------------------------------------------------------- */

static int write_text(int fd, const ClusterKey *all, unsigned count)
{
    char line[CLUSTER_KEY_LINE];
    int res = 0;
    for (unsigned i = 0; i < count && res == 0; i++) {
        cluster_key_line(&all[i], line);
        if (write(fd, line, sizeof line) != sizeof line)
            res = errno ? -errno : -EIO;
    }
    explicit_bzero(line, sizeof line);
    return res < 0 || fsync(fd) == 0 ? res : -errno;
}

/* With owner and mode of the file @like; another file takes the name when it is whole: its own one,
 * where @path is a link. */
static int write_keys(const char *path, const char *like, const ClusterKey *all, unsigned count,
                      char *error)
{
    CLEANUP_FREE char *target = realpath(path, NULL); /* NULL: it is not there yet */
    path = target ? target : path;
    g_autofree char *next = g_strconcat(path, ".new", NULL);
    struct stat st;
    CLEANUP_CLOSE int fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int res = fd < 0 || stat(like, &st) != 0 ? -errno : 0;
    if (res == 0 && (fchown(fd, st.st_uid, st.st_gid) != 0 || fchmod(fd, st.st_mode & 0640) != 0))
        res = -errno;
    if (res == 0)
        res = write_text(fd, all, count);
    if (res == 0 && rename(next, path) != 0)
        res = -errno;
    if (res < 0 && fd >= 0)
        (void)unlink(next);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot write %s: %s%s", fd < 0 ? next : path,
                       strerror(-res),
                       res == -EEXIST ? "; remove it, if no other dodo rekey is at work" : "");
    return res;
}

static int complain(char *error, const char *text)
{
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s", text);
    return -EINVAL;
}

/* ---- who has which --------------------------------------------------------------------------- */

static void add_host(Rekey *r, const Addr *address, bool manager)
{
    const RekeyHost h = {.address = *address, .manager = manager};
    g_array_append_val(r->hosts, h);
}

/* Every manager that the options name: one that stands by needs the key as well. A name counts
 * once, by the address that is @active, or by its first one. */
static int list_managers(Rekey *r, const Addr *active, char *error)
{
    Places all;
    if (places_parse(r->o->tool.common.manager, DEFAULT_CMD_PORT, &all) != 0)
        return complain(error, "--manager: that is no list of managers");
    for (unsigned i = 0; i < all.count; i++) {
        const Places one = {.count = 1, .of = {all.of[i]}};
        Resolved found;
        const Addr *at = found.found;
        resolve_places(&one, active->kind, false, &found);
        if (found.count == 0) {
            (void)snprintf(error, CONFIG_ERROR_MAX, "%s", found.error);
            return -ENOENT;
        }
        for (unsigned k = 0; k < found.count; k++)
            if (addr_equal(&found.found[k], active))
                at = active;
        add_host(r, at, true);
    }
    return 0;
}

/* A ConfFn. */
static int on_value(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    uint64_t *host_dead_ns = ctx;
    (void)error;
    (void)cap;
    if (strcmp(k->group, "cmd") == 0 && strcmp(k->name, "host_dead") == 0)
        *host_dead_ns = v->count;
    return 0;
}

/* A host that has not reported for host_dead is lost to the manager. */
static uint64_t known_ms(const CommonOptions *o)
{
    const char *config = config_file(o);
    char error[CONFIG_ERROR_MAX];
    uint64_t host_dead_ns = DEFAULT_HOST_DEAD_NS;
    (void)conf_file_read(strcmp(config, DEFAULT_CONFIG_PATH) == 0 ? NULL : config, CONF_CMD,
                         on_value, &host_dead_ns, error, sizeof error);
    return host_dead_ns / NS_PER_MS;
}

static int list_hosts(Rekey *r, char *error)
{
    const ToolOptions *o = &r->o->tool;
    ToolClient c;
    ClusterStatus s;
    int res = tool_client_open_manager(&c, o, NULL, error);
    if (res < 0)
        return res;
    if (tool_client_stands_by(&c)) {
        tool_client_close(&c);
        return complain(error, "no manager is active: nobody knows the hosts of the cluster");
    }
    cluster_status_init(&s);
    res = list_managers(r, &c.peer, error);
    if (res == 0)
        res = cluster_status_fetch(&s, &c, error);
    for (guint i = 0; res == 0 && i < s.hosts->len; i++) {
        const HostStatus *h = &g_array_index(s.hosts, HostStatus, i);
        if (h->state != HOST_LEAVING || h->regions > 0) /* one that is drained serves as ever */
            add_host(r, &h->address, false);
    }
    r->facts.programs = s.last.clients;
    r->facts.uptime_ms = s.last.uptime_ms;
    cluster_status_deinit(&s);
    tool_client_close(&c);
    return res;
}

/* A daemon that answers a HELLO made with this key alone has it: the next key, or the old one. */
static int ask_with(Rekey *r, const ClusterKey *key, bool next, char *error)
{
    ClusterKeys one = {.count = 1, .keys = {*key}};
    ToolOptions o = r->o->tool;
    g_autofree Probe *probes = g_new0(Probe, r->hosts->len);
    o.keys = &one;
    for (guint i = 0; i < r->hosts->len; i++)
        probes[i].peer = g_array_index(r->hosts, RekeyHost, i).address;
    int res = probe_all(&o, probes, r->hosts->len, error);
    for (guint i = 0; i < r->hosts->len; i++) {
        RekeyHost *h = &g_array_index(r->hosts, RekeyHost, i);
        *(next ? &h->takes_next : &h->takes_old) = probes[i].answers;
    }
    explicit_bzero(&one, sizeof one);
    return res;
}

static const ClusterKey *old_key(const Rekey *r)
{
    return &r->keys.keys[0];
}
static const ClusterKey *new_key(const Rekey *r)
{
    return &r->keys.keys[r->keys.count - 1];
}

static int look(Rekey *r, char *error)
{
    int res = list_hosts(r, error);
    r->facts.known_ms = known_ms(&r->o->tool.common);
    if (res == 0)
        res = ask_with(r, new_key(r), true, error);
    if (res == 0 && r->facts.stage != REKEY_IDLE)
        res = ask_with(r, old_key(r), false, error);
    r->facts.hosts = (const RekeyHost *)(const void *)r->hosts->data;
    r->facts.hosts_count = r->hosts->len;
    return res;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int begin(Rekey *r, GString *out, char *error)
{
    ClusterKeys *k = &r->keys;
    if (r->facts.stage == REKEY_BEGUN)
        return complain(error, "a change is under way: see dodo rekey --status; to begin again, "
                               "remove the second line of the key file");
    if (r->facts.stage == REKEY_FINISHED) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "the last change is not over: see dodo rekey --status, then remove %s",
                       r->old_path);
        return -EINVAL;
    }
    os_random(NULL, &k->keys[1], sizeof k->keys[1]);
    k->count = 2;
    r->facts.stage = REKEY_BEGUN;
    r->facts.old_print = cluster_key_id(old_key(r));
    r->facts.new_print = cluster_key_id(new_key(r));
    int res = write_keys(r->facts.path, r->facts.path, k->keys, 2, error);
    if (res == 0)
        rekey_steps(&r->facts, out);
    return res;
}

static int status(Rekey *r, GString *out, char *error)
{
    int res = look(r, error);
    return res < 0 ? res : rekey_judge(&r->facts, out) > 0;
}

static int finish(Rekey *r, GString *out, char *error)
{
    if (r->facts.stage != REKEY_BEGUN)
        return complain(error, "no change is under way: begin one with dodo rekey --begin");
    int res = r->o->force ? 0 : status(r, out, error);
    if (res > 0)
        return complain(error, "not all have the next key yet; --force finishes without them");
    if (res == 0)
        res = write_keys(r->old_path, r->facts.path, old_key(r), 1, error);
    if (res == 0)
        res = write_keys(r->facts.path, r->facts.path, new_key(r), 1, error);
    r->facts.stage = REKEY_FINISHED;
    g_string_truncate(out, 0);
    if (res == 0)
        rekey_steps(&r->facts, out);
    return res;
}

/* Where the change is, by the files. */
static int open_keys(Rekey *r, char *error)
{
    const CommonOptions *common = &r->o->tool.common;
    ClusterKeys old;
    if (!common->key)
        return complain(error, "which key file? give --key FILE, or [dodo] key");
    int res = start_read_keys(common, &r->keys, error);
    r->facts.path = common->key;
    r->facts.old_path = r->old_path = g_strconcat(common->key, ".old", NULL);
    if (res == 0 && r->keys.count == 1 && access(r->old_path, F_OK) == 0) {
        const CommonOptions its = {.key = r->old_path};
        res = start_read_keys(&its, &old, error);
        r->keys.keys[1] = r->keys.keys[0];
        r->keys.keys[0] = old.keys[0];
        r->keys.count = 2;
        r->facts.stage = REKEY_FINISHED;
        explicit_bzero(&old, sizeof old);
    } else if (r->keys.count == 2) {
        r->facts.stage = REKEY_BEGUN;
    }
    r->facts.old_print = cluster_key_id(old_key(r));
    r->facts.new_print = res < 0 ? 0 : cluster_key_id(new_key(r));
    return res;
}

static int rekey(RekeyOptions *o, char *error)
{
    g_autoptr(GString) out = g_string_new(NULL);
    Rekey r = {.o = o, .hosts = g_array_new(FALSE, TRUE, sizeof(RekeyHost))};
    int res = open_keys(&r, error);
    if (res == 0)
        res = o->begin    ? begin(&r, out, error)
              : o->finish ? finish(&r, out, error)
                          : status(&r, out, error);
    (void)fputs(out->str, stdout);
    explicit_bzero(&r.keys, sizeof r.keys);
    g_array_unref(r.hosts);
    g_free(r.old_path);
    return res;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const RekeyOptions *o)
{
    const unsigned steps = o->begin + o->status + o->finish;
    return steps == 0               ? "one of --begin, --status and --finish is needed"
           : steps > 1              ? "--begin, --status and --finish exclude each other"
           : o->force && !o->finish ? "--force goes with --finish"
                                    : NULL;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    RekeyOptions o = {.begin = false};
    tool_options_init(&o.tool);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    int res = 0;
    const char *wrong = outcome == CONFIG_OK ? misuse(&o) : NULL;
    if (wrong) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s (see dodo rekey --help)", wrong);
        outcome = CONFIG_USAGE;
    }
    if (outcome == CONFIG_OK)
        res = rekey(&o, error);
    int code = outcome != CONFIG_OK ? start_config_failed(&program, outcome, error)
               : res < 0            ? start_failed(&program, EXIT_START, error)
                                    : res > 0;
    config_clear(&program, &o);
    return code;
}

const Command command_rekey = {"rekey", "Change the cluster's key, in steps", run};
