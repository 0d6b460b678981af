/* SPDX-License-Identifier: MIT */
/* dodo run PROGRAM ARGUMENT...: the program sees directories through `dodo mount`, in a mount
 * namespace of its own, and knows nothing of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/run/targets.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/program.h"
#include "daemon/start.h"

/* As env(1) has them: our own failure; the program cannot be run; there is none. */
enum { EXIT_OURS = 125, EXIT_CANNOT = 126, EXIT_NONE = 127 };

typedef struct Options {
    CommonOptions common;
    char **dirs, **only, **never;
    char *min_size, *cache_size, *how;
    bool local, verbose;
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
     OPTION(min_size), CONFIG_TEXT},
    {NULL, "only", "Cache only files whose path below DIR matches; may be repeated", "GLOB",
     OPTION(only), CONFIG_LIST},
    {NULL, "never", "Do not cache files whose path below DIR matches; may be repeated", "GLOB",
     OPTION(never), CONFIG_LIST},
    {NULL, "cache_size", "Local memory of the cache; as DODO_CACHE_SIZE says if not given", "SIZE",
     OPTION(cache_size), CONFIG_TEXT},
    {NULL, "local", "No other host writes these files, whatever their file system is", NULL,
     OPTION(local), CONFIG_BOOL},
    {NULL, "verbose", "Say what is seen through the cache", NULL, OPTION(verbose), CONFIG_BOOL},
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

/* ---- the namespace ----------------------------------------------------------------------------
 */

static bool write_text(const char *path, const char *text)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* In a user namespace this user stays who it is; files of all others look like nobody's. */
static bool map_user(uid_t uid, gid_t gid)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", text))
        return false;
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)gid, (unsigned)gid);
    return write_text("/proc/self/gid_map", text);
}

static bool enter_namespace(bool user)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)) < 0 || (user && !map_user(uid, gid)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | (user ? MS_SLAVE : MS_PRIVATE), NULL) == 0;
}

/* A program that we run keeps the right to mount in our user namespace. */
static void keep_mounting(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) < 0)
        return;
    data[0].inheritable |= 1u << CAP_SYS_ADMIN;
    (void)syscall(SYS_capset, &header, data);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0);
}

/* ---- mounts -----------------------------------------------------------------------------------
 */

static void add_option(GPtrArray *argv, const char *name, const char *value)
{
    if (value)
        g_ptr_array_add(argv, g_strdup_printf("--%s=%s", name, value));
}

static GPtrArray *mount_arguments(const Options *o, const char *dir)
{
    static const char *const places[] = {"../mount/dodo-mount", "dodo-mount",
                                         DODO_LIBEXEC "/dodo-mount", NULL};
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, program_find(places));
    add_option(argv, "min-size", o->min_size);
    add_option(argv, "cache-size", o->cache_size);
    for (char **p = o->only; p && *p; p++)
        add_option(argv, "only", *p);
    for (char **p = o->never; p && *p; p++)
        add_option(argv, "never", *p);
    if (o->local)
        g_ptr_array_add(argv, g_strdup("--local"));
    g_ptr_array_add(argv, g_strdup("--"));
    g_ptr_array_add(argv, g_strdup(dir));
    g_ptr_array_add(argv, g_strdup(dir));
    g_ptr_array_add(argv, NULL);
    return argv;
}

/* Its standard output is @ready. It is no part of the program's session: what the terminal sends
 * does not end it before the program. */
static void become_mount(const Options *o, const char *dir, int ready, pid_t parent)
{
    g_autoptr(GPtrArray) argv = mount_arguments(o, dir);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_OURS);
    (void)setsid();
    (void)dup2(ready, STDOUT_FILENO);
    keep_mounting();
    (void)execv(argv->pdata[0], (char **)argv->pdata);
    _exit(failed(argv->pdata[0]));
}

/* A mount of @dir over itself: its process when it is ready, or -1. */
static pid_t mount_start(const Options *o, const char *dir)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_mount(o, dir, ready[1], parent);
    (void)close(ready[1]);
    ssize_t n = pid < 0 ? -1 : read(ready[0], &byte, 1);
    (void)close(ready[0]);
    if (n == 1)
        return pid;
    if (pid > 0)
        (void)waitpid(pid, NULL, 0); /* it has said why */
    return -1;
}

/* From the last to the first. */
static void mounts_end(const pid_t *pids, guint count)
{
    while (count-- > 0) {
        (void)kill(pids[count], SIGTERM);
        (void)waitpid(pids[count], NULL, 0);
    }
}

/* ---- the program ------------------------------------------------------------------------------
 */

static volatile sig_atomic_t child_pid;

static void pass_on(int number)
{
    if (child_pid > 0)
        (void)kill((pid_t)child_pid, number);
}

/* The terminal's signals reach the program by themselves; those that are sent to us are for it. */
static void signals_take(void)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        (void)sigaction(passed[i], &action, NULL);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
}

static void become_program(char **argv, const char *cwd, const struct sigaction *before)
{
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &before[i], NULL);
    (void)!chdir(cwd); /* through the mount, if it is below one */
    (void)execvp(argv[0], argv);
    int status = errno == ENOENT ? EXIT_NONE : EXIT_CANNOT;
    (void)failed(argv[0]);
    _exit(status);
}

/* Its status as waitpid(2) has it, or -1. */
static int program_run(char **argv, const char *cwd)
{
    struct sigaction before[NSIG];
    int status;
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, NULL, &before[i]);
    signals_take();
    pid_t pid = fork();
    if (pid == 0)
        become_program(argv, cwd, before);
    child_pid = pid;
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    child_pid = 0;
    return status;
}

/* Ends as the program did. */
static int end_like(int status)
{
    if (status >= 0 && WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none); /* the program's own core is enough */
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    return status < 0 ? EXIT_OURS : WEXITSTATUS(status);
}

/* ---- ------------------------------------------------------------------------------------------
 */

/* Root's way, or an ordinary user's; -1 for a word that is neither. */
static int wants_user_namespace(const Options *o)
{
    if (!o->how || strcmp(o->how, "auto") == 0)
        return geteuid() != 0;
    if (strcmp(o->how, "user-namespace") == 0)
        return 1;
    return strcmp(o->how, "namespace") == 0 ? 0 : -1;
}

static int run(const Options *o, GPtrArray *dirs, char **argv)
{
    g_autofree pid_t *pids = g_new0(pid_t, dirs->len + 1);
    char *cwd CLEANUP_FREE = realpath(".", NULL);
    guint count = 0;
    if (!enter_namespace(wants_user_namespace(o) == 1))
        return failed("no mount namespace (root may have one, and other users where the system "
                      "allows user namespaces)");
    for (; count < dirs->len; count++) {
        if (o->verbose)
            (void)fprintf(stderr, "dodo run: through the cache: %s\n", (char *)dirs->pdata[count]);
        pids[count] = mount_start(o, dirs->pdata[count]);
        if (pids[count] < 0)
            break;
    }
    int status = count == dirs->len ? program_run(argv, cwd ? cwd : "/") : -1;
    mounts_end(pids, count);
    return end_like(status);
}

int main(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    Options o = {0};
    uint64_t min_bytes = 16 << 20;
    log_init("dodo-run", LOG_LEVEL_WARN);
    config_common_init(&o.common);
    o.common.log_level = LOG_LEVEL_WARN;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && argc > 1 && strcmp(argv[1], "--") == 0) {
        argc--;
        argv++;
    }
    if (outcome == CONFIG_OK && (argc < 2 || wants_user_namespace(&o) < 0 ||
                                 (o.min_size && parse_size(o.min_size, &min_bytes) < 0))) {
        (void)snprintf(error, sizeof error, "%s",
                       argc < 2 ? "expected a program to run"
                                : "--how is namespace, user-namespace or auto, and --min-size a "
                                  "size such as 16M");
        outcome = CONFIG_USAGE;
    }
    if (outcome == CONFIG_DONE)
        return EXIT_SUCCESS;
    if (outcome != CONFIG_OK)
        return start_config_failed(&program, outcome, error), EXIT_OURS;
    g_autoptr(GPtrArray) dirs = targets_choose(o.dirs, argv + 2, min_bytes, error, sizeof error);
    if (!dirs)
        return start_failed(&program, EXIT_OURS, error);
    start_tell_library(&o.common);
    int status = run(&o, dirs, argv + 1);
    config_clear(&program, &o);
    return status;
}
