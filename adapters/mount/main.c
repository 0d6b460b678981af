/* SPDX-License-Identifier: MIT */
/* dodo mount DIRECTORY MOUNTPOINT: the directory's files, read through the region cache. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "adapters/mount/cache.h"
#include "adapters/mount/device.h"
#include "adapters/mount/mount.h"
#include "adapters/mount/program.h"
#include "adapters/mount/refused.h"
#include "adapters/paths.h"
#include "base/cleanup.h"
#include "base/written.h"
#include "daemon/start.h"

typedef struct Options {
    CommonOptions common;
    MountOptions mount;
} Options;
#define OPTION(field) offsetof(Options, field)

static const ConfigKey keys[] = {
    {NULL, "min_size", "Leave smaller files to the kernel alone; 16M if not given", "SIZE",
     OPTION(mount.min_bytes), CONFIG_SIZE, 1, (uint64_t)1 << 60},
    {NULL, "only", "Cache only files whose path below DIRECTORY matches; may be repeated", "GLOB",
     OPTION(mount.only), CONFIG_LIST},
    {NULL, "never", "Do not cache files whose path below DIRECTORY matches; may be repeated",
     "GLOB", OPTION(mount.never), CONFIG_LIST},
    {NULL, "cache_size", "Local memory of the cache; as DODO_CACHE_SIZE says if not given", "SIZE",
     OPTION(mount.cache_bytes), CONFIG_SIZE, 0, (uint64_t)1 << 60},
    {NULL, "local", "No other host, and nobody below an overlayfs, writes these files", NULL,
     OPTION(mount.local), CONFIG_BOOL},
    {NULL, "read_only", "Refuse all changes through MOUNTPOINT", NULL, OPTION(mount.read_only),
     CONFIG_BOOL},
    {NULL, "report", "At the end, append to FILE what was read, and what was cached or why not",
     "FILE", OPTION(mount.report), CONFIG_TEXT},
    {NULL, "allow_other", "Let other users in, as their rights allow; so it is for root", NULL,
     OPTION(mount.allow_other), CONFIG_BOOL},
    {NULL, "no_passthrough", "Serve all reads and writes here, even what the kernel could itself",
     NULL, OPTION(mount.no_passthrough), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo mount",
    .arguments = "DIRECTORY MOUNTPOINT",
    .reader = CONF_TOOL,
    .summary = "Shows DIRECTORY at MOUNTPOINT, and keeps what is read there in a cache and in the "
               "idle\nmemory of other hosts, until SIGTERM or SIGINT.",
    .tables = {&own, &config_manager, &config_common},
};

/* How many requests are answered at once: each may wait for a drive or another host. */
enum { THREADS_MAX = 64 };

/* ---- the session --------------------------------------------------------------------------- */

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
    conn->want |= conn->capable & (FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK);
    /* Who writes or truncates takes set-user-id bits away: the kernel asks for that by itself, by
     * all that it knows of the caller. */
    conn->want &= ~(unsigned)(FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_ATOMIC_O_TRUNC);
    conn->max_background = THREADS_MAX;
    conn->congestion_threshold = THREADS_MAX;
    passthrough_offer(userdata);
}

static int serve(Mount *m)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
    fuse_loop_cfg_set_idle_threads(config, THREADS_MAX);
    int res = fuse_session_loop_mt(m->session, config);
    fuse_loop_cfg_destroy(config);
    return res < 0 ? res : 0;
}

/* What the directory's own mount forbids, this one does, too; what it allows needs root. */
static void add_flags(const Mount *m, GString *settings)
{
    struct statvfs st = {.f_flag = ST_NOSUID | ST_NODEV};
    (void)fstatvfs(m->root.fd, &st);
    if (st.f_flag & ST_RDONLY)
        g_string_append(settings, ",ro");
    if (st.f_flag & ST_NOEXEC)
        g_string_append(settings, ",noexec");
    if (geteuid() == 0 && !(st.f_flag & ST_NOSUID))
        g_string_append(settings, ",suid");
    if (geteuid() == 0 && !(st.f_flag & ST_NODEV))
        g_string_append(settings, ",dev");
}

static struct fuse_session *session_new(Mount *m)
{
    const MountOptions *o = m->options;
    static const struct fuse_lowlevel_ops empty;
    struct fuse_lowlevel_ops ops = empty;
    g_autoptr(GString) settings = g_string_new("-ofsname=dodo,subtype=dodo,default_permissions");
    char program_name[] = "dodo-mount";
    if (o->allow_other)
        g_string_append(settings, ",allow_other");
    if (o->read_only)
        g_string_append(settings, ",ro");
    add_flags(m, settings);
    char *argv[] = {program_name, settings->str, NULL};
    struct fuse_args args = {.argc = 2, .argv = argv};
    ops.init = on_init;
    ops_names(&ops);
    ops_attributes(&ops);
    ops_data(&ops);
    ops_directories(&ops);
    ops_locks(&ops);
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, m);
    fuse_opt_free_args(&args);
    return session;
}

static bool has_helper(void)
{
    g_autofree char *path = g_find_program_in_path("fusermount3");
    return path || access("/usr/bin/fusermount3", X_OK) == 0;
}

/* Without the device, libfuse is not even asked: fusermount3 opens it as the user, too. */
static int mount_at(Mount *m, const char *mountpoint, char *error)
{
    char text[CONFIG_ERROR_MAX / 2];
    const Refused facts = {device_try(), geteuid() == 0, has_helper()};
    if (facts.device_error == 0 && fuse_session_mount(m->session, m->mountpoint) == 0)
        return 0;
    refused_text(&facts, text, sizeof text);
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s: %s", mountpoint, text);
    return -EPERM;
}

/* From mounting to unmounting. 0, -errno with @error. */
static int session_run(Mount *m, const char *mountpoint, char *error)
{
    int res = fresh_init(m);
    if (res == 0)
        res = locks_init(m);
    if (res == 0)
        res = stop_init(m);
    if (res < 0)
        return res;
    if (m->report || cache_calls_if_loaded())
        unwind_load();
    res = mount_at(m, mountpoint, error);
    if (res < 0)
        return res;
    res = passthrough_init(m);
    if (res == 0)
        res = mirror_set_mount(m->mirror);
    if (res == 0) {
        start_announce("dodo mount: ready at %s", mountpoint);
        res = serve(m);
    }
    stop_in_order(m);
    start_stopping();
    fuse_session_unmount(m->session);
    return res;
}

/* ---- the mount ----------------------------------------------------------------------------- */

/* Each file that the kernel knows takes a descriptor. How long files may become, the kernel asks of
 * the program that writes: our own limit is not for others, and ends nobody's mount. */
static void raise_limits(void)
{
    static const int raised[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
    struct rlimit limit;
    for (size_t i = 0; i < ARRAY_SIZE(raised); i++) {
        if (getrlimit(raised[i], &limit) < 0)
            continue;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(raised[i], &limit);
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* beyond what we may, a write fails */
}

/* Why @path is no directory, as an errno; 0: it is one. A mount whose process was killed is none.
 */
static int directory_error(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return errno;
    return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

static int directories_check(const char *directory, const char *mountpoint, Mount *m, char *error)
{
    m->path = realpath(directory, NULL);
    if (m->path)
        m->mountpoint = realpath(mountpoint, NULL);
    const char *bad = !m->path ? directory : !m->mountpoint ? mountpoint : NULL;
    const char *why = strerror(errno);
    int unfit = bad ? 0 : directory_error(m->mountpoint);
    if (unfit != 0) {
        bad = mountpoint;
        why = strerror(unfit);
    }
    if (bad) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s: %s", bad, why);
        return -EINVAL;
    }
    const char *below = path_below(m->path, m->mountpoint);
    if (below && *below) { /* it would show the mount in itself */
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "%s is inside %s: give a mount point outside, or the directory itself",
                       mountpoint, directory);
        return -EINVAL;
    }
    return 0;
}

static void forget(Mount *m, Inode *inode)
{
    report_file(m, inode);
    fresh_forget(m, inode);
    handles_forget(inode);
    passthrough_forget(m, inode);
    locks_forget(inode);
}

static void mount_parts_end(Mount *m)
{
    if (m->stop)
        stop_end(m);
    fresh_end(m);
    mirror_end(m->mirror);
    if (m->locks)
        locks_end(m);
    room_end(m);
    directories_end(m);
    inodes_end(m);
    report_close(m->report);
    fuse_session_destroy(m->session);
    free(m->path);
    free(m->mountpoint);
}

static int report_start(Mount *m, const char *path, char *error)
{
    m->report = path ? report_open(path) : NULL;
    if (!path || m->report)
        return 0;
    int res = -errno;
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s: %s", path, strerror(-res));
    return res;
}

static int mount_and_serve(const MountOptions *o, const char *directory, const char *mountpoint,
                           char *error)
{
    static Mount m;
    m = (Mount){.options = o, .change_owner = geteuid() == 0, .forget = forget};
    int res = directories_check(directory, mountpoint, &m, error);
    m.mirror = res == 0 ? mirror_new(m.mountpoint) : NULL;
    if (res == 0)
        cache_prepare(m.mountpoint, o->cache_bytes);
    if (res == 0)
        res = report_start(&m, o->report, error);
    if (res < 0)
        return res;
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s: %s", directory, strerror(errno));
        return -errno;
    }
    room_init(&m);
    list_init(&m.directories);
    res = inodes_init(&m, fd);
    m.session = res == 0 ? session_new(&m) : NULL;
    if (!m.session)
        return res < 0 ? res : -EINVAL;
    res = session_run(&m, mountpoint, error);
    mount_parts_end(&m);
    return res;
}

int mount_run(const MountOptions *o, const char *directory, const char *mountpoint)
{
    char error[CONFIG_ERROR_MAX] = "";
    log_init("dodo-mount", LOG_LEVEL_WARN);
    (void)umask(0); /* the caller's counts: caller_mode() */
    raise_limits();
    int res = mount_and_serve(o, directory, mountpoint, error);
    return res < 0 ? start_failed(&program, EXIT_START, *error ? error : strerror(-res))
                   : EXIT_SUCCESS;
}

/* ---- the command line ---------------------------------------------------------------------- */

void mount_options_init(MountOptions *o)
{
    *o = (MountOptions){.min_bytes = MOUNT_MIN_BYTES,
                        .cache_bytes = CACHE_AS_CONFIGURED,
                        .allow_other = geteuid() == 0};
}

int mount_main(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    Options o = {.common = {0}};
    log_init("dodo-mount", LOG_LEVEL_WARN);
    mount_options_init(&o.mount);
    config_common_init(&o.common);
    o.common.log_level = LOG_LEVEL_WARN;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && argc != 3) {
        (void)snprintf(error, sizeof error, "expected a directory and a mount point");
        outcome = CONFIG_USAGE;
    }
    int status = EXIT_SUCCESS;
    if (outcome == CONFIG_OK) {
        start_tell_library(&o.common);
        status = mount_run(&o.mount, argv[1], argv[2]);
    } else {
        status = written_check(program.name, start_config_failed(&program, outcome, error));
    }
    config_clear(&program, &o);
    return status;
}
