/* SPDX-License-Identifier: MIT */
/* What a daemon may and may not do once it has given up the rest, each in a process of its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/input.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "daemon/log.h"
#include "daemon/sandbox.h"
#include "imd/memory.h"
#include "imd/priority.h"
#include "tests/lib/case.h"
#include "tests/lib/child.h"
#include "tests/lib/needs.h"
#include "tests/lib/tmpdir.h"
#include "usocket/transport.h"

static char missing[SANDBOX_TEXT_MAX];

/* What is missing where all can be done; 0: nothing. */
static int enter(void)
{
    sandbox_enter(SANDBOX_SERVE, NULL, missing, sizeof missing);
    return *missing ? 1 : 0;
}

static bool is_refused(long res)
{
    return res < 0 && (errno == EPERM || errno == EACCES);
}

static int open_files(void)
{
    int dir = open("/", O_RDONLY | O_DIRECTORY);
    if (enter())
        return 1;
    if (!is_refused(open("/etc/passwd", O_RDONLY)))
        return 2;
    if (!is_refused(openat(dir, "etc/passwd", O_RDONLY)))
        return 3;
    if (!is_refused(unlink("/tmp/none-of-this-name")))
        return 4;
    return is_refused(fopen("/proc/self/status", "r") ? 0 : -1) ? 0 : 5;
}

static int open_sockets(void)
{
    if (enter())
        return 1;
    if (!is_refused(socket(AF_INET, SOCK_DGRAM, 0)))
        return 2;
    return is_refused(socket(AF_UNIX, SOCK_STREAM, 0)) ? 0 : 3;
}

static int make_processes(void)
{
    if (enter())
        return 1;
    if (!is_refused(kill(getppid(), 0)))
        return 2;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return is_refused(pid) ? 0 : 3;
}

static int run_memory(void)
{
    if (enter())
        return 1;
    void *p =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED)
        return 2;
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && is_refused(mprotect(p, 4096, PROT_READ | PROT_EXEC)) ? 0 : 3;
}

static int run_program(void)
{
    static char name[] = "true";
    char *const arguments[] = {name, NULL};
    if (enter())
        return 1;
    (void)execv("/bin/true", arguments);
    return 2;
}

/* Whether the kernel says this of us: a line of an open /proc/self/status. */
static bool status_has(int file, const char *line)
{
    char text[4096];
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, line);
}

static int keep_groups(void)
{
    const gid_t groups[] = {4242, 4243};
    int file = open("/proc/self/status", O_RDONLY);
    if (setgroups(2, groups) != 0 || !status_has(file, "\nGroups:\t4242 4243"))
        return 1;
    sandbox_enter(SANDBOX_SERVE, NULL, missing, sizeof missing);
    return status_has(file, "\nGroups:\t \n") ? 0 : 2;
}

static int keep_groups_that_stay(void)
{
    const gid_t groups[] = {4242, 4243};
    if (setgroups(2, groups) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    sandbox_enter(SANDBOX_SERVE, NULL, missing, sizeof missing);
    return strstr(missing, "groups(2 remain") ? 0 : 2;
}

static int gain_privileges(void)
{
    int file = open("/proc/self/status", O_RDONLY);
    sandbox_enter(SANDBOX_SERVE, NULL, missing, sizeof missing);
    return status_has(file, "\nNoNewPrivs:\t1\n") ? 0 : 2;
}

/* ---- what it goes on doing ------------------------------------------------------------------- */

static void *touch(void *arg)
{
    memset(arg, 1, 4096);
    return arg;
}

static int serve_memory(void)
{
    PoolMemory m;
    char error[256];
    if (pool_memory_map(&m, 4 << 20, false, error, sizeof error) != 0 || enter())
        return 1;
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, m.base) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    pool_memory_give_back(&m, 0, 2 << 20);
    if (m.base[0] != 0)
        return 3;
    m.base[0] = 1;
    m.processors = 2;
    pool_memory_give_back_all(&m);
    if (m.base[0] != 0)
        return 4;
    char *big = malloc(64 << 20); /* by mmap(), and back */
    if (!big)
        return 5;
    free(big);
    pool_memory_unmap(&m);
    return 0;
}

static int serve_network(void)
{
    uint8_t byte = 7, *room = malloc(TRANSPORT_RECV_MAX);
    Transport *t;
    const Addr any = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    if (!room || transport_udp_open(&any, NULL, &t) != 0 || enter())
        return 1;
    struct iovec iov = {&byte, 1};
    TransportSend send = {.to = &t->local, .iov = &iov, .iov_count = 1};
    TransportReceive receive = {.buf = room, .cap = TRANSPORT_RECV_MAX};
    if (t->ops->send(t, &send, 1) != 0 || t->ops->receive_asleep(t, &receive, 1) != 1)
        return 2;
    t->ops->nudge(t);
    if (t->ops->receive_asleep(t, &receive, 1) != 1)
        return 3;
    t = transport_close(t);
    free(room);
    return 0;
}

/* A TCP socket of loopback that listens, and one that has connected to it. */
static int listen_and_connect(int *ret_listener)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    *ret_listener = listener;
    return bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0 &&
                   getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
                   connect(client, (struct sockaddr *)&at, len) == 0
               ? client
               : -1;
}

static int accept_connections(void)
{
    int listener, count;
    int client = listen_and_connect(&listener);
    sandbox_enter(SANDBOX_SERVE | SANDBOX_ACCEPT, NULL, missing, sizeof missing);
    if (client < 0 || *missing)
        return 1;
    int taken = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (taken < 0 || write(client, "x", 1) != 1 || ioctl(taken, FIONREAD, &count) != 0)
        return 2;
    if (!is_refused(socket(AF_INET, SOCK_STREAM, 0)) || !is_refused(ioctl(taken, TIOCSTI, "x")))
        return 3;
    return is_refused(connect(taken, NULL, 0)) ? 0 : 4;
}

static int accept_none(void)
{
    int listener;
    int client = listen_and_connect(&listener);
    if (client < 0 || enter())
        return 1;
    return is_refused(accept4(listener, NULL, NULL, SOCK_CLOEXEC)) ? 0 : 2;
}

static volatile sig_atomic_t signals;
static void on_signal(int number)
{
    signals++;
}

static int serve_the_rest(void)
{
    eventfd_t count;
    uint64_t random;
    int event = eventfd(0, EFD_CLOEXEC), null = open("/dev/null", O_WRONLY);
    if (event < 0 || null < 0 || dup2(null, STDERR_FILENO) < 0 || enter())
        return 1;
    if (eventfd_write(event, 1) != 0 || eventfd_read(event, &count) != 0)
        return 2;
    os_random(NULL, &random, sizeof random);
    log_event(LOG_LEVEL_INFO, "test", "number=%d", 1);
    (void)signal(SIGTERM, on_signal);
    if (raise(SIGTERM) != 0 || signals != 1)
        return 3;
    hurry();
    return sched_getscheduler(0) == SCHED_OTHER && prctl(PR_SET_DUMPABLE, 1) == 0 ? 0 : 4;
}

static int abort_it(void)
{
    if (enter())
        return 1;
    abort();
}

/* ---- who goes on reading files --------------------------------------------------------------- */

static TmpDir readable;

static int enter_reading(unsigned more)
{
    const char *const paths[] = {readable.path, "/none-of-this-name", NULL};
    sandbox_enter(SANDBOX_READ | more, paths, missing, sizeof missing);
    return *missing ? 1 : 0;
}

/* Beneath what it may read, files that come later too. */
static int read_files(void)
{
    char path[256], later[256];
    CLEANUP_CLOSE int dir = open(readable.path, O_RDONLY | O_DIRECTORY);
    (void)tmpdir_path(&readable, "file", path);
    (void)tmpdir_path(&readable, "later", later);
    if (enter_reading(0))
        return 1;
    if (open(path, O_RDONLY | O_CLOEXEC) < 0 || !opendir(readable.path))
        return 2;
    if (!is_refused(open(path, O_RDWR)) || !is_refused(open(later, O_CREAT | O_WRONLY, 0600)) ||
        !is_refused(unlink(path)))
        return 3;
    if (!is_refused(open("/etc/passwd", O_RDONLY)) || !is_refused(openat(dir, "../..", O_RDONLY)))
        return 4;
    return is_refused(socket(AF_INET, SOCK_DGRAM, 0)) && is_refused(socket(AF_UNIX, SOCK_DGRAM, 0))
               ? 0
               : 5;
}

static int copy_itself(void)
{
    if (enter_reading(0))
        return 1;
    return is_refused(fork()) ? 0 : 2;
}

/* Nobody grabs a keyboard. */
static int ask_devices(void)
{
    char bits[8];
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (enter_reading(SANDBOX_INPUT))
        return 1;
    if (ioctl(null, EVIOCGPROP(sizeof bits), bits) == 0 || errno != ENOTTY)
        return 2;
    if (!is_refused(ioctl(null, EVIOCGRAB, 1)))
        return 3;
    return is_refused(ioctl(null, EVIOCGKEY(sizeof bits), bits)) ? 0 : 4;
}

/* ---- the cases ------------------------------------------------------------------------------- */

TEST(gone__files_sockets_processes_and_code)
{
    assert_int_equal(in_a_child(open_files), 0);
    assert_int_equal(in_a_child(open_sockets), 0);
    assert_int_equal(in_a_child(make_processes), 0);
    assert_int_equal(in_a_child(run_memory), 0);
}

static int signal_of(int (*body)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

TEST(gone__who_runs_a_program_is_killed)
{
    assert_int_equal(signal_of(run_program), SIGSYS);
}

TEST(gone__groups_where_it_may)
{
    assert_int_equal(in_a_child(keep_groups), 0);
    assert_int_equal(in_a_child(keep_groups_that_stay), 0);
}

TEST(gone__new_privileges)
{
    assert_int_equal(in_a_child(gain_privileges), 0);
}

TEST(left__memory_network_signals_and_the_end)
{
    assert_int_equal(in_a_child(serve_memory), 0);
    assert_int_equal(in_a_child(serve_network), 0);
    assert_int_equal(in_a_child(serve_the_rest), 0);
    assert_int_equal(signal_of(abort_it), SIGABRT);
}

TEST(accepts__connections_where_it_asked_for_that)
{
    assert_int_equal(in_a_child(accept_connections), 0);
    assert_int_equal(in_a_child(accept_none), 0);
}

TEST(reads__files_of_its_paths)
{
    tmpdir_make(&readable);
    tmpdir_text(&readable, "file", "text");
    assert_int_equal(in_a_child(read_files), 0);
    assert_int_equal(in_a_child(copy_itself), 0);
    assert_int_equal(in_a_child(ask_devices), 0);
    tmpdir_remove(&readable);
}

int main(void)
{
    static const char no[] = "processes cannot be confined here";
    const bool all = in_a_child(enter) == 0, root = geteuid() == 0;
    case_if(root, gone__groups_where_it_may, "no root");
    case_if(all, gone__files_sockets_processes_and_code, no);
    case_if(all, gone__who_runs_a_program_is_killed, no);
    case_if(all, left__memory_network_signals_and_the_end, no);
    case_if(all, accepts__connections_where_it_asked_for_that, no);
    case_if(all, reads__files_of_its_paths, no);
    return cases_run(NULL, NULL);
}
