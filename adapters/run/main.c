/* SPDX-License-Identifier: MIT */
/* dodo run PROGRAM ARGUMENT..., which is loaded by `dodo`: the program has its reads redirected by
 * libdodo-preload.so, or sees directories through `dodo mount`, in a mount namespace of its own,
 * and knows nothing of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/run/check.h"
#include "adapters/run/child.h"
#include "adapters/run/mounts.h"
#include "adapters/run/namespace.h"
#include "adapters/run/preload.h"
#include "adapters/run/report.h"
#include "adapters/run/surroundings.h"
#include "adapters/run/targets.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/written.h"
#include "daemon/start.h"

typedef struct Options {
    CommonOptions common;
    MountOptions mount;
    char **dirs, *how_text;
    enum How how;
    bool check, stats, verbose;
} Options;
#define OPTION(field) offsetof(Options, field)

static const ConfigKey keys[] = {
    {NULL, "dir",
     "A directory to see through the cache; may be repeated. If not given: all that the library "
     "in the program sees; of a mount those that the arguments name or whose large files they "
     "name, or else the working directory",
     "DIR", OPTION(dirs), CONFIG_LIST},
    {NULL, "how",
     "preload (a library in the program), mount, namespace (a mount for root), user-namespace (one "
     "for others), or auto: the first of them that reaches the program",
     "WAY", OPTION(how_text), CONFIG_TEXT},
    {NULL, "min_size", "Leave smaller files to the kernel alone; 16M if not given", "SIZE",
     OPTION(mount.min_bytes), CONFIG_SIZE, 1, (uint64_t)1 << 60},
    {NULL, "only", "Cache only files whose path below DIR matches; may be repeated", "GLOB",
     OPTION(mount.only), CONFIG_LIST},
    {NULL, "never", "Do not cache files whose path below DIR matches; may be repeated", "GLOB",
     OPTION(mount.never), CONFIG_LIST},
    {NULL, "cache_size", "Local memory of the cache; as DODO_CACHE_SIZE says if not given", "SIZE",
     OPTION(mount.cache_bytes), CONFIG_SIZE, 0, (uint64_t)1 << 60},
    {NULL, "local", "No other host, and nobody below an overlayfs, writes these files", NULL,
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

/* ---- through mounts ------------------------------------------------------------------------ */

static void tell_dirs(const GPtrArray *dirs)
{
    for (guint i = 0; i < dirs->len; i++) {
        g_autofree char *shown = printable(g_strdup(dirs->pdata[i]));
        (void)fprintf(stderr, "dodo run: through the cache: %s\n", shown);
    }
}

static int run_mounts(Options *o, bool user, GPtrArray *dirs, char **argv)
{
    g_autofree StartedMount *mounts = g_new0(StartedMount, dirs->len + 1);
    char *cwd CLEANUP_FREE = realpath(".", NULL);
    guint count = 0;
    int report = o->stats || o->verbose ? report_make() : -1;
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", report);
    o->mount.report = report >= 0 ? path : NULL;
    if (!namespace_enter(user))
        return failed("no mount namespace (root may have one, and other users where the system "
                      "allows user namespaces)");
    if (o->verbose)
        tell_dirs(dirs);
    while (count < dirs->len && mounts_start(&o->mount, dirs->pdata[count], &mounts[count]))
        count++;
    uint64_t began_ns = os_now_ns();
    int status = count == dirs->len ? child_run(argv, cwd ? cwd : ".") : -1;
    uint64_t elapsed_ns = os_now_ns() - began_ns;
    mounts_end(mounts, count);
    if (count == dirs->len && report >= 0)
        report_print(report, &(ReportAsk){o->verbose, o->stats, .mounts = count}, elapsed_ns);
    return child_end_like(status);
}

/* ---- through a library in the program ------------------------------------------------------ */

static void tell_preload(const Options *o, const GPtrArray *dirs, const char *name)
{
    Executable e;
    Surroundings s = {.uid = geteuid(), .gid = getegid()};
    executable_look(name, getenv("PATH"), &e);
    const char *unreached = e.error == 0 ? verdict_unreached(&e, &s) : NULL;
    if (unreached)
        (void)fprintf(stderr, "dodo run: %s %s: it reads plainly\n", e.binary, unreached);
    else if (o->verbose && o->dirs)
        tell_dirs(dirs);
    else if (o->verbose)
        (void)fprintf(stderr, "dodo run: through the cache: large files of all directories\n");
}

/* Nobody waits for a program of which nothing is to be said. */
static int run_preload(Options *o, const GPtrArray *dirs, char **argv)
{
    char error[CONFIG_ERROR_MAX], path[64];
    char *library CLEANUP_FREE = preload_library();
    int report = o->stats || o->verbose ? report_make() : -1;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), report);
    o->mount.report = report >= 0 ? path : NULL;
    if (!library)
        return failed("libdodo-preload.so");
    if (!preload_set(library, &o->mount, o->dirs ? dirs : NULL, error, sizeof error))
        return start_failed(&program, EXIT_OURS, error);
    if (report < 0)
        return child_become(argv);
    tell_preload(o, dirs, argv[0]);
    uint64_t began_ns = os_now_ns();
    int status = child_run(argv, ".");
    report_print(report, &(ReportAsk){o->verbose, o->stats, .library = true},
                 os_now_ns() - began_ns);
    return child_end_like(status);
}

/* ---- which of them ------------------------------------------------------------------------- */

static enum Way choose_way(const Options *o, const char *name)
{
    Executable e = {0};
    Surroundings s;
    surroundings_look(o->how, &s);
    if (o->how == HOW_AUTO)
        executable_look(name, getenv("PATH"), &e);
    return verdict_way(&e, &s);
}

static int run(Options *o, GPtrArray *dirs, char **argv)
{
    enum Way way = choose_way(o, argv[0]);
    return way == WAY_PRELOAD ? run_preload(o, dirs, argv)
                              : run_mounts(o, way == WAY_USER_NAMESPACE, dirs, argv);
}

/* What the command line has beside options is right, too. */
static bool take_words(Options *o, int *argc, char ***argv, char error[CONFIG_ERROR_MAX])
{
    if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
        (*argc)--;
        (*argv)++;
    }
    bool known = !o->how_text || verdict_how(o->how_text, &o->how);
    if (!known || *argc < 2)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s",
                       known ? "expected a program to run"
                             : "--how is preload, mount, namespace, user-namespace or auto");
    return known && *argc >= 2;
}

/* @argv is the program's. */
static int start(Options *o, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    g_autoptr(GPtrArray) dirs =
        targets_choose(o->dirs, argv + 1, o->mount.min_bytes, error, sizeof error);
    if (!dirs)
        return start_failed(&program, EXIT_OURS, error);
    start_tell_library(&o->common);
    if (!o->check)
        return run(o, dirs, argv);
    return check_program(&o->mount, o->how, dirs, o->dirs != NULL, argv[0]) ? EXIT_SUCCESS
                                                                            : EXIT_FAILURE;
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
    if (outcome == CONFIG_OK && !take_words(&o, &argc, &argv, error))
        outcome = CONFIG_USAGE;
    int status = EXIT_SUCCESS;
    if (outcome == CONFIG_OK)
        status = start(&o, argv + 1);
    else if (written_check(program.name, start_config_failed(&program, outcome, error)) !=
             EXIT_SUCCESS)
        status = EXIT_OURS;
    config_clear(&program, &o);
    return status;
}
