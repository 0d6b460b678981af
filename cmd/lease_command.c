/* SPDX-License-Identifier: MIT */
#include "cmd/lease_command.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/printable.h"
#include "base/time.h"
#include "daemon/helper.h"
#include "daemon/start.h"

/* First byte of a message. */
enum {
    SAY_START = 'S',
    SAY_END = 'E',
    SAY_TICK = 'T',
    SAY_OUTPUT = 'O', /* text follows */
    SAY_ENDED = 'X',
    SAY_STATUS = 'W', /* text follows */
};
/* After SIGTERM the command has so long. */
static const uint64_t KILL_NS = 1 * NS_PER_S;

/* ---- the process beside the manager ---------------------------------------------------------- */

typedef struct Runner {
    int channel, signals;
    char **words;
    pid_t pid;         /* of the command and its process group; 0: it does not run */
    int in, out;       /* its standard input, which only ever ends, and output */
    size_t passed;     /* bytes of its output that the manager got */
    uint64_t seen;     /* when the manager last showed that it runs */
    uint64_t still_ns; /* so long after that its command is ended */
} Runner;

/* The manager has gone when nobody takes it. */
static void say(const Runner *r, char what, const char *text, size_t len)
{
    char message[1 + LEASE_OUTPUT_MAX] = {what};
    memcpy(message + 1, text, len);
    (void)send(r->channel, message, 1 + len, MSG_NOSIGNAL);
}

__attribute__((noreturn)) static void be_command(const Runner *r, int in, int out)
{
    static const int changed[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < G_N_ELEMENTS(changed); i++)
        (void)signal(changed[i], SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
        closefrom(STDERR_FILENO + 1); /* also where the kernel has no close_range() */
        (void)execv(r->words[0], r->words);
    }
    (void)dprintf(STDERR_FILENO, "cmd: lease: cannot run %s: %s\n", r->words[0], strerror(errno));
    _exit(127);
}

static int open_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) == 0)
        return 0;
    const int res = -errno;
    (void)close(in[0]);
    (void)close(in[1]);
    return res;
}

/* The command was never there. */
static void say_not_started(const Runner *r, int error)
{
    const char *why = strerror(error);
    say(r, SAY_ENDED, "", 0);
    say(r, SAY_STATUS, why, strnlen(why, LEASE_OUTPUT_MAX));
}

static void say_status(const Runner *r, int status)
{
    char text[32];
    const bool killed = WIFSIGNALED(status);
    say(r, SAY_STATUS, text,
        (size_t)snprintf(text, sizeof text, "%s %d", killed ? "signal" : "exit",
                         killed ? WTERMSIG(status) : WEXITSTATUS(status)));
}

static void start_command(Runner *r)
{
    int in[2], out[2];
    if (r->pid != 0)
        return;
    int res = open_pipes(in, out);
    if (res < 0) {
        say_not_started(r, -res);
        return;
    }
    r->pid = helper_copy("dodo-lease-run");
    if (r->pid == 0)
        be_command(r, in[0], out[1]);
    (void)close(in[0]);
    (void)close(out[1]);
    r->in = in[1];
    r->out = out[0];
    r->passed = 0;
    r->seen = os_now_ns();
    if (r->pid > 0) {
        (void)setpgid(r->pid, r->pid);
        return;
    }
    res = (int)r->pid;
    r->pid = 0;
    (void)close(r->in);
    (void)close(r->out);
    r->in = r->out = -1;
    say_not_started(r, -res);
}

static void drain(int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) > 0)
        ;
}

static bool has_ended(const Runner *r)
{
    siginfo_t end = {.si_pid = 0};
    return waitid(P_PID, (id_t)r->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           end.si_pid == r->pid;
}

static void wait_for_end(const Runner *r, uint64_t within_ns)
{
    struct pollfd p = {.fd = r->signals, .events = POLLIN};
    const uint64_t until = time_add(os_now_ns(), within_ns);
    for (uint64_t now; !has_ended(r) && (now = os_now_ns()) < until;) {
        (void)poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1);
        drain(r->signals);
    }
}

/* The manager hears of it first: it stands by before another one can have the lock. All that the
 * command has started ends with it, as far as it is in its process group; nobody else can get the
 * group's number before its leader is waited for. */
static void end_command(Runner *r)
{
    int status = 0;
    if (r->pid == 0)
        return;
    say(r, SAY_ENDED, "", 0);
    (void)close(r->in);
    (void)close(r->out);
    r->in = r->out = -1;
    (void)kill(-r->pid, SIGTERM);
    wait_for_end(r, KILL_NS);
    (void)kill(-r->pid, SIGKILL);
    (void)waitpid(r->pid, &status, 0);
    r->pid = 0;
    say_status(r, status);
}

/* False: the manager has gone. */
static bool take_order(Runner *r)
{
    char order;
    const ssize_t n = recv(r->channel, &order, 1, 0);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    r->seen = os_now_ns();
    if (order == SAY_START)
        start_command(r);
    else if (order == SAY_END)
        end_command(r);
    return true;
}

/* Only its beginning: the manager needs no more, and may stand still. */
static void pass_output(Runner *r, const char *text, size_t len)
{
    const size_t room = LEASE_OUTPUT_MAX - r->passed;
    if (room > 0)
        say(r, SAY_OUTPUT, text, len < room ? len : room);
    r->passed += len < room ? len : room;
}

static void take_output(Runner *r)
{
    char text[LEASE_OUTPUT_MAX];
    const ssize_t n = read(r->out, text, sizeof text);
    if (n > 0)
        pass_output(r, text, (size_t)n);
    else if (n == 0 || errno != EINTR)
        end_command(r);
}

static void take_signal(Runner *r)
{
    drain(r->signals);
    if (r->pid != 0 && has_ended(r))
        end_command(r);
}

static int patience_ms(const Runner *r)
{
    if (r->pid == 0)
        return -1;
    const uint64_t due = time_add(r->seen, r->still_ns), now = os_now_ns();
    return due > now ? (int)((due - now) / NS_PER_MS) + 1 : 0;
}

__attribute__((noreturn)) static void serve(Runner *r)
{
    for (;;) {
        struct pollfd p[] = {{.fd = r->channel, .events = POLLIN},
                             {.fd = r->signals, .events = POLLIN},
                             {.fd = r->out, .events = POLLIN}};
        const int n = poll(p, G_N_ELEMENTS(p), patience_ms(r));
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0 && p[0].revents && !take_order(r))
            break;
        if (n > 0 && p[2].revents && r->out == p[2].fd)
            take_output(r);
        if (n > 0 && p[1].revents)
            take_signal(r);
        if (patience_ms(r) == 0) /* the manager stands still: another one may take its place */
            end_command(r);
    }
    end_command(r);
    _exit(EXIT_SUCCESS);
}

/* It outlives the manager, to end the command. */
__attribute__((noreturn)) static void begin(int channel, char **words, uint64_t still_ns)
{
    Runner r = {.channel = channel, .words = words, .in = -1, .out = -1, .still_ns = still_ns};
    sigset_t child;
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, its end would be no news */
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    r.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r.signals < 0)
        _exit(EXIT_FAILURE);
    serve(&r);
}

/* ---- the manager's side ---------------------------------------------------------------------- */

static char **words_of(const char *text, char *error)
{
    g_autoptr(GError) why = NULL;
    char **words = NULL, shown[128];
    if (!g_shell_parse_argv(text, NULL, &words, &why)) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "lease: %s: give a program's path and its arguments, quoted as in a shell",
                       printable_short(why->message, shown, sizeof shown));
    } else if (words[0][0] != '/') {
        (void)snprintf(error, CONFIG_ERROR_MAX, "lease: %s: give the program's absolute path",
                       printable_short(words[0], shown, sizeof shown));
        g_strfreev(words);
        words = NULL;
    }
    return words;
}

int lease_command_check(const char *text, char error[CONFIG_ERROR_MAX])
{
    g_auto(GStrv) words = words_of(text, error);
    return words ? 0 : -EINVAL;
}

int lease_command_open(LeaseCommand *c, const char *text, uint64_t still_ns,
                       char error[CONFIG_ERROR_MAX])
{
    *c = (LeaseCommand){.fd = -1};
    g_auto(GStrv) words = words_of(text, error);
    if (!words)
        return -EINVAL;
    c->pid = helper_fork("dodo-lease", &c->fd);
    if (c->pid == 0)
        begin(c->fd, words, still_ns);
    if (c->pid > 0)
        return 0;
    c->fd = -1;
    start_explain((int)c->pid, "the process that runs the lease", error);
    return (int)c->pid;
}

void lease_command_close(LeaseCommand *c)
{
    if (c->fd < 0)
        return;
    (void)close(c->fd);
    c->fd = -1;
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void order(const LeaseCommand *c, char what)
{
    (void)send(c->fd, &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void lease_command_start(const LeaseCommand *c)
{
    order(c, SAY_START);
}

void lease_command_end(const LeaseCommand *c)
{
    order(c, SAY_END);
}

void lease_command_tick(LeaseCommand *c, uint64_t now_ns)
{
    if (c->fd < 0 || now_ns < c->tick_ns)
        return;
    c->tick_ns = time_add(now_ns, LEASE_TICK_NS);
    order(c, SAY_TICK);
}

enum LeaseEvent lease_command_take(const LeaseCommand *c, char text[LEASE_OUTPUT_MAX],
                                   size_t *ret_len)
{
    char message[1 + LEASE_OUTPUT_MAX];
    const ssize_t n = recv(c->fd, message, sizeof message, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return LEASE_EVENT_NONE;
    if (n <= 0)
        return LEASE_EVENT_BROKEN;
    if (message[0] == SAY_ENDED)
        return LEASE_EVENT_ENDED;
    *ret_len = (size_t)n - 1;
    memcpy(text, message + 1, *ret_len);
    return message[0] == SAY_STATUS ? LEASE_EVENT_STATUS : LEASE_EVENT_OUTPUT;
}
