/* SPDX-License-Identifier: MIT */
#include "rmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/places.h"
#include "base/time.h"
#include "daemon/log.h"
#include "daemon/program.h"
#include "proto/conf/defaults.h"
#include "proto/conf/imd_room.h"

#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

enum {
    MESSAGE_MAX = PLACES_TEXT_MAX + 64, /* imd takes as much */
    MESSAGES_AT_ONCE = 64,
    IOPRIO_WHO_PROCESS = 1,
    IOPRIO_IDLE = 3 << 13,
    EXIT_EXEC = 127,
};

/* ---- the command line ------------------------------------------------------------------------ */

static void add(GPtrArray *a, const char *option, const char *value)
{
    if (!value)
        return;
    g_ptr_array_add(a, g_strdup(option));
    g_ptr_array_add(a, g_strdup(value));
}

static void add_number(GPtrArray *a, const char *option, uint64_t value)
{
    g_autofree char *text = g_strdup_printf("%" PRIu64, value);
    add(a, option, text);
}

static void add_poll(GPtrArray *a, const RmdOptions *o)
{
    uint64_t ns = o->imd.poll_ns;
    if (ns == UINT64_MAX)
        ns = o->dedicated ? DEFAULT_IMD_POLL_DEDICATED_NS : 0;
    g_autofree char *text = g_strdup_printf("%" PRIu64 "ns", ns);
    add(a, "--poll", text);
}

/* NULL at the end. */
static GStrv make_arguments(const Child *c, uint64_t pool_bytes, int channel)
{
    const RmdOptions *o = c->options;
    const CommonOptions *common = &o->common;
    char text[ADDR_TEXT_MAX];
    Addr listen = o->at;
    GPtrArray *a = g_ptr_array_new();
    g_ptr_array_add(a, g_strdup(c->program));
    add(a, "--config", common->config);
    add(a, "--manager", common->manager);
    listen.port = (uint16_t)o->imd.port;
    add(a, "--listen", addr_format(&listen, text, sizeof text));
    add_number(a, "--pool", pool_bytes);
    add_number(a, "--owner-fd", (uint64_t)channel);
    add(a, "--key", common->key);
    add(a, "--log-level", log_level_text(common->log_level));
    if (common->insecure)
        g_ptr_array_add(a, g_strdup("--insecure"));
    if (o->imd.rate_bytes)
        add_number(a, "--rate-bytes", o->imd.rate_bytes);
    if (o->imd.rate_packets)
        add_number(a, "--rate-packets", o->imd.rate_packets);
    add_number(a, "--nice", o->imd.idle_priority ? 19 : 0);
    add_poll(a, o);
    g_ptr_array_add(a, NULL);
    return (GStrv)(void *)g_ptr_array_free(a, FALSE);
}

/* ---- between fork and exec ------------------------------------------------------------------- */

/* Only what a signal handler may call, too: other threads may have held locks. What fails is done
 * without, but for the end with rmd's. */

static void write_to(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

static void be_least(const Child *c)
{
    const struct rlimit none = {0, 0};
    const struct sched_param param = {0};
    (void)prctl(PR_SET_DUMPABLE, 1); /* or the next file would be root's; imd sees to it itself */
    write_to("/proc/self/oom_score_adj", "1000");
    (void)setrlimit(RLIMIT_CORE, &none);
    if (!c->options->imd.idle_priority)
        return;
    write_to("/proc/self/autogroup", "19"); /* of this session: else the next counts in it alone */
    (void)setpriority(PRIO_PROCESS, 0, 19);
    (void)sched_setscheduler(0, SCHED_IDLE, &param);
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

/* Groups such as input are rmd's alone; only root may drop them, and imd, which opens nothing once
 * it serves, has no use for them. The C library's setgroups() takes a lock. */
static void be_modest(void)
{
    if (geteuid() == 0)
        (void)syscall(SYS_setgroups, 0, NULL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

__attribute__((noreturn)) static void become_imd(const Child *c, GStrv arguments, GStrv env,
                                                 int channel, pid_t parent)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)setsid();
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
        _exit(EXIT_EXEC);
    be_least(c);
    be_modest();
    if (c->cgroup.procs >= 0)
        (void)!write(c->cgroup.procs, "0", 1);
    /* That it is ready is for the log: rmd's own line has been printed. */
    if (fcntl(channel, F_SETFD, 0) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        (void)execve(c->program, arguments, env);
    _exit(EXIT_EXEC);
}

static void ask_whether_it_saves(const Child *c);

/* ---- starting -------------------------------------------------------------------------------- */

static int watch(const Child *c, int fd)
{
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(c->fd, EPOLL_CTL_ADD, fd, &wanted) < 0 ? -errno : 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* Copies of us may hold it open for a moment, so that closing alone would not end the watch. */
static void close_watched(const Child *c, int *fd)
{
    if (*fd >= 0)
        (void)epoll_ctl(c->fd, EPOLL_CTL_DEL, *fd, NULL);
    close_one(fd);
}

static void make_group(Child *c, uint64_t pool_bytes)
{
    const RmdOptions *o = c->options;
    if (!o->imd.cgroup)
        return;
    int res =
        cgroup_make(&c->cgroup, o->imd.cgroup, pool_bytes + IMD_ROOM_BYTES, o->imd.cpu_percent);
    if (res < 0)
        log_event(LOG_LEVEL_WARN, "no_control_group", "parent=%s error=\"%s\"", o->imd.cgroup,
                  strerror(-res));
    else if (!c->cgroup.memory || c->cgroup.cpu_percent != o->imd.cpu_percent)
        log_event(LOG_LEVEL_WARN, "not_limited", "parent=%s what=%s", o->imd.cgroup,
                  c->cgroup.memory ? "processors" : "memory");
}

static int spawn(Child *c, uint64_t pool_bytes, int theirs)
{
    g_auto(GStrv) arguments = make_arguments(c, pool_bytes, theirs);
    /* The service manager listens to rmd alone. */
    g_auto(GStrv) env = g_environ_unsetenv(g_get_environ(), "NOTIFY_SOCKET");
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        become_imd(c, arguments, env, theirs, parent);
    c->pid = pid;
    /* Once more, since nobody hears of it if imd cannot do it itself. */
    int joined = cgroup_join(&c->cgroup, pid);
    if (joined < 0 && joined != -ESRCH)
        log_event(LOG_LEVEL_WARN, "not_limited", "group=%s error=\"%s\"", c->cgroup.path,
                  strerror(-joined));
    c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int res = c->pidfd < 0 ? -errno : watch(c, c->pidfd);
    return res < 0 ? res : watch(c, c->channel);
}

static void watch_over(Child *c)
{
    int res = guard_start(&c->guard, c->pidfd, c->options->leave_deadline_ns);
    if (res < 0)
        log_event(LOG_LEVEL_WARN, "no_guard", "error=\"%s\"", strerror(-res));
}

int child_start(Child *c, uint64_t pool_bytes, uint64_t limit_bytes)
{
    int pair[2];
    if (c->pid)
        return -EBUSY;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    c->channel = pair[0];
    c->untold = c->leaving = false;
    c->used_bytes = 0;
    child_limit(c, limit_bytes); /* the first thing that it reads */
    child_beat(c);               /* it leaves, should we hang from now on */
    make_group(c, pool_bytes);
    int res = spawn(c, pool_bytes, pair[1]);
    (void)close(pair[1]);
    if (res == 0) {
        watch_over(c);
        ask_whether_it_saves(c);
        return 0;
    }
    if (c->pid) {
        (void)kill(c->pid, SIGKILL);
        (void)waitpid(c->pid, NULL, 0);
        c->pid = 0;
    }
    close_watched(c, &c->pidfd);
    close_watched(c, &c->channel);
    cgroup_remove(&c->cgroup);
    return res;
}

/* ---- its priority ---------------------------------------------------------------------------- */

/* imd hurries by itself once it runs, but that may take it long where nobody leaves it a processor.
 * Who may not do this has to wait for that. The thread that listens to us is the first one. */
static void hurry(Child *c)
{
    char path[64];
    cgroup_hurry(&c->cgroup, true);
    if (!c->pid || !c->options->imd.idle_priority)
        return;
    (void)snprintf(path, sizeof path, "/proc/%d/autogroup", (int)c->pid);
    write_to(path, "0");
    (void)sched_setscheduler(c->pid, SCHED_OTHER, &(struct sched_param){0});
    (void)setpriority(PRIO_PROCESS, (id_t)c->pid, 0);
}

/* ---- what is said ---------------------------------------------------------------------------- */

void child_limit(Child *c, uint64_t limit_bytes)
{
    char text[MESSAGE_MAX];
    int len = snprintf(text, sizeof text, "limit %" PRIu64, limit_bytes);
    bool before = c->untold;
    c->limit_bytes = limit_bytes;
    if (limit_bytes < c->used_bytes)
        hurry(c);
    c->untold =
        c->channel >= 0 && send(c->channel, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) != len;
    if (c->untold && !before)
        log_event(LOG_LEVEL_WARN, "imd_deaf", "message=limit");
}

void child_remind(Child *c)
{
    if (c->untold)
        child_limit(c, c->limit_bytes);
}

static bool say(const Child *c, const char *text, int len)
{
    return c->channel >= 0 && len < MESSAGE_MAX &&
           send(c->channel, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len;
}

bool child_save(Child *c, uint64_t bytes, uint64_t within_ns)
{
    char text[MESSAGE_MAX];
    const uint64_t ms = within_ns / NS_PER_MS;
    int len = snprintf(text, sizeof text, "save %" PRIu64 " %" PRIu64, bytes, ms);
    c->limit_bytes = bytes;
    c->untold = false;
    if (bytes < c->used_bytes)
        hurry(c);
    return say(c, text, len);
}

/* The caps in it take the place of those that imd has found itself. */
bool child_reload(Child *c, const RmdOptions *o)
{
    char text[MESSAGE_MAX];
    const RmdImd *i = &o->imd;
    const uint64_t bytes = i->rate_bytes ? i->rate_bytes : i->own_rate_bytes;
    const uint64_t packets = i->rate_packets ? i->rate_packets : i->own_rate_packets;
    int len = snprintf(text, sizeof text, "reload %d %" PRIu64 " %" PRIu64 " %s",
                       o->common.log_level, bytes, packets, o->common.manager);
    return say(c, text, len);
}

void child_beat(Child *c)
{
    static const char text[] = "beat";
    (void)say(c, text, sizeof text - 1);
}

/* An older imd does not understand that, and goes on. */
static void ask_whether_it_saves(const Child *c)
{
    static const char text[] = "saves?";
    (void)say(c, text, sizeof text - 1);
}

static void take_used(Child *c, uint64_t used_bytes, uint64_t limit_bytes)
{
    c->used_bytes = used_bytes;
    if (used_bytes <= limit_bytes && limit_bytes == c->limit_bytes && !c->leaving)
        cgroup_hurry(&c->cgroup, false);
    c->ops->used(c->ctx, used_bytes, limit_bytes);
}

static void understand(Child *c, const char *text)
{
    uint64_t a, b;
    int end = 0;
    if (sscanf(text, "ready epoch=%" SCNx64 " pool=%" SCNu64 "%n", &a, &b, &end) == 2 &&
        text[end] == '\0')
        c->ops->ready(c->ctx, a, b);
    else if (sscanf(text, "used %" SCNu64 " limit %" SCNu64 "%n", &a, &b, &end) == 2 &&
             text[end] == '\0')
        take_used(c, a, b);
    else if (strcmp(text, "saves") == 0)
        c->ops->saves(c->ctx);
    else
        log_event(LOG_LEVEL_WARN, "imd_not_understood", "bytes=%zu", strlen(text));
}

static void take_messages(Child *c)
{
    char text[MESSAGE_MAX + 1];
    for (unsigned i = 0; i < MESSAGES_AT_ONCE && c->channel >= 0; i++) {
        ssize_t n = recv(c->channel, text, MESSAGE_MAX, MSG_DONTWAIT);
        if (n < 0)
            return;
        if (n == 0) { /* it ends; that it is gone the other descriptor says */
            close_watched(c, &c->channel);
            return;
        }
        text[n] = '\0';
        understand(c, text);
    }
}

/* ---- its end --------------------------------------------------------------------------------- */

static void send_signal(const Child *c, int signal)
{
    if (c->pid)
        (void)syscall(SYS_pidfd_send_signal, c->pidfd, signal, NULL, 0);
}

void child_terminate(Child *c)
{
    c->leaving = true; /* whatever it has still to say */
    hurry(c);
    send_signal(c, SIGTERM);
}

void child_kill(Child *c)
{
    if (!c->pid)
        return;
    send_signal(c, SIGKILL);
    (void)syscall(SYS_process_mrelease, c->pidfd, 0); /* since Linux 5.15; else it goes by itself */
}

static void describe_end(int status, char how[CHILD_HOW_MAX])
{
    if (WIFSIGNALED(status))
        (void)snprintf(how, CHILD_HOW_MAX, "signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == EXIT_EXEC)
        (void)snprintf(how, CHILD_HOW_MAX, "no program to run");
    else
        (void)snprintf(how, CHILD_HOW_MAX, "status %d", WEXITSTATUS(status));
}

static void take_end(Child *c)
{
    char how[CHILD_HOW_MAX] = "unknown"; /* somebody else has waited for it */
    int status;
    pid_t pid = c->pid ? waitpid(c->pid, &status, WNOHANG) : 0;
    if (pid == 0 || (pid < 0 && errno != ECHILD))
        return;
    c->pid = 0;
    guard_end(&c->guard);
    close_watched(c, &c->pidfd);
    close_watched(c, &c->channel);
    cgroup_remove(&c->cgroup);
    if (pid > 0)
        describe_end(status, how);
    c->ops->ended(c->ctx, how);
}

void child_take(Child *c)
{
    take_messages(c); /* the last ones come before the end */
    take_end(c);
}

uint64_t child_held_bytes(const Child *c)
{
    char path[64], text[128];
    unsigned long long pages = 0;
    if (!c->pid)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)c->pid);
    (void)os_text_read(AT_FDCWD, path, text, sizeof text);
    if (sscanf(text, "%*u %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- life ------------------------------------------------------------------------------------ */

static char *find_imd(const RmdOptions *o)
{
    static const char *const places[] = {"../imd/imd", DODO_LIBEXEC_FROM_SBIN "/imd",
                                         DODO_LIBEXEC "/imd", NULL};
    return o->imd.program ? g_strdup(o->imd.program) : program_find(places);
}

int child_open(Child *c, const RmdOptions *options, const ChildOps *ops, void *ctx)
{
    *c = (Child){.options = options,
                 .ops = ops,
                 .ctx = ctx,
                 .fd = epoll_create1(EPOLL_CLOEXEC),
                 .pidfd = -1,
                 .channel = -1,
                 .cgroup = {.procs = -1}};
    if (c->fd < 0)
        return -errno;
    c->program = find_imd(options);
    /* We may have inherited that it is ignored, and then no end is kept to be waited for. */
    (void)signal(SIGCHLD, SIG_DFL);
    return 0;
}

void child_close(Child *c)
{
    if (c->pid) {
        child_kill(c);
        (void)waitpid(c->pid, NULL, 0);
        c->pid = 0;
    }
    guard_end(&c->guard);
    close_watched(c, &c->pidfd);
    close_watched(c, &c->channel);
    close_one(&c->fd);
    cgroup_remove(&c->cgroup);
    g_clear_pointer(&c->program, g_free);
}
