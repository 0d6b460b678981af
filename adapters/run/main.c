/* SPDX-License-Identifier: MIT */
/* dodo run PROGRAM ARGUMENT..., which is loaded by `dodo`: the program sees directories through
 * `dodo mount`, in a mount namespace of its own, and knows nothing of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/run/check.h"
#include "adapters/run/child.h"
#include "adapters/run/mounts.h"
#include "adapters/run/namespace.h"
#include "adapters/run/report.h"
#include "adapters/run/targets.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "daemon/start.h"

typedef struct Options {
    CommonOptions common;
    MountOptions mount;
    char **dirs, *how;
    bool check, stats, verbose;
} Options;
#define OPTION(field) offsetof(Options, field)

static const ConfigKey keys[] = {
    {NULL, "dir",
     "A directory to see through the cache; may be repeated. If not given: those that "
     "the arguments name or whose large files they name, or else the working directory",
     "DIR", OPTION(dirs), CONFIG_LIST},
    {NULL, "how", "namespace (for root), user-namespace, or auto: the one that this user may have",
     "WAY", OPTION(how), CONFIG_TEXT},
    {NULL, "min_size", "Leave smaller files to the kernel alone; 16M if not given", "SIZE",
     OPTION(mount.min_bytes), CONFIG_SIZE, 1, (uint64_t)1 << 60},
    {NULL, "only", "Cache only files whose path below DIR matches; may be repeated", "GLOB",
     OPTION(mount.only), CONFIG_LIST},
    {NULL, "never", "Do not cache files whose path below DIR matches; may be repeated", "GLOB",
     OPTION(mount.never), CONFIG_LIST},
    {NULL, "cache_size", "Local memory of the cache; as DODO_CACHE_SIZE says if not given", "SIZE",
     OPTION(mount.cache_bytes), CONFIG_SIZE, 0, (uint64_t)1 << 60},
    {NULL, "local", "No other host writes these files, whatever their file system is", NULL,
     OPTION(mount.local), CONFIG_BOOL},
    {NULL, "check", "Do not run PROGRAM: say whether it would run, which way, or why not", NULL,
     OPTION(check), CONFIG_BOOL},
    {NULL, "stats", "At the end, say in a line what was read, from where, and how long it took",
     NULL, OPTION(stats), CONFIG_BOOL},
    {NULL, "verbose",
     "Say what is seen through the cache, and of each file that was read whether it was cached, or "
     "why not",
     NULL, OPTION(verbose), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo run",
    .arguments = "PROGRAM [ARGUMENT...]",
    .runs_another = true,
    .reader = CONF_TOOL,
    .summary = "Runs PROGRAM, which reads its files through a cache and the idle memory of other "
               "hosts.\nIts output and exit status are its own.",
    .tables = {&own, &config_manager, &config_common},
};

static int failed(const char *what)
{
    (void)fprintf(stderr, "dodo run: %s: %s\n", what, strerror(errno));
    return EXIT_OURS;
}

/* Root's way, or an ordinary user's; -1 for a word that is neither. */
static int wants_user_namespace(const Options *o)
{
    if (!o->how || strcmp(o->how, "auto") == 0)
        return geteuid() != 0;
    if (strcmp(o->how, "user-namespace") == 0)
        return 1;
    return strcmp(o->how, "namespace") == 0 ? 0 : -1;
}

static int run(Options *o, GPtrArray *dirs, char **argv)
{
    g_autofree StartedMount *mounts = g_new0(StartedMount, dirs->len + 1);
    char *cwd CLEANUP_FREE = realpath(".", NULL);
    guint count = 0;
    int report = o->stats || o->verbose ? report_make() : -1;
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", report);
    o->mount.report = report >= 0 ? path : NULL;
    if (!namespace_enter(wants_user_namespace(o) == 1))
        return failed("no mount namespace (root may have one, and other users where the system "
                      "allows user namespaces)");
    for (; count < dirs->len; count++) {
        if (o->verbose)
            (void)fprintf(stderr, "dodo run: through the cache: %s\n", (char *)dirs->pdata[count]);
        if (!mounts_start(&o->mount, dirs->pdata[count], &mounts[count]))
            break;
    }
    uint64_t began_ns = os_now_ns();
    int status = count == dirs->len ? child_run(argv, cwd ? cwd : "/") : -1;
    uint64_t elapsed_ns = os_now_ns() - began_ns;
    mounts_end(mounts, count);
    if (count == dirs->len && report >= 0)
        report_print(report, count, o->verbose, o->stats, elapsed_ns);
    return child_end_like(status);
}

static int check(const Options *o, const GPtrArray *dirs, const char *name)
{
    bool good = check_program(&o->mount, wants_user_namespace(o) == 1, dirs, name);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

__attribute__((visibility("default"))) int dodo_run_main(int argc, char **argv);
int dodo_run_main(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    Options o = {.common = {0}};
    mount_options_init(&o.mount);
    log_init("dodo-run", LOG_LEVEL_WARN);
    config_common_init(&o.common);
    o.common.log_level = LOG_LEVEL_WARN;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && argc > 1 && strcmp(argv[1], "--") == 0) {
        argc--;
        argv++;
    }
    if (outcome == CONFIG_OK && (argc < 2 || wants_user_namespace(&o) < 0)) {
        (void)snprintf(error, sizeof error, "%s",
                       argc < 2 ? "expected a program to run"
                                : "--how is namespace, user-namespace or auto");
        outcome = CONFIG_USAGE;
    }
    if (outcome == CONFIG_DONE)
        return EXIT_SUCCESS;
    if (outcome != CONFIG_OK)
        return start_config_failed(&program, outcome, error), EXIT_OURS;
    g_autoptr(GPtrArray) dirs =
        targets_choose(o.dirs, argv + 2, o.mount.min_bytes, error, sizeof error);
    if (!dirs)
        return start_failed(&program, EXIT_OURS, error);
    start_tell_library(&o.common);
    int status = o.check ? check(&o, dirs, argv[1]) : run(&o, dirs, argv + 1);
    config_clear(&program, &o);
    return status;
}
