/* SPDX-License-Identifier: MIT */
/* What rmd starts and takes the end of, where rmd itself was started by somebody careless. The
 * program is /bin/false where that it ends is all that is wanted of it, or this one. */
#include <dirent.h>
#include <glib.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/places.h"
#include "base/time.h"
#include "daemon/log.h"
#include "rmd/child.h"
#include "tests/lib/case.h"
#include "tests/lib/stderr_text.h"
#include "tests/lib/tmpdir.h"

enum { PATIENCE_MS = 150000, CYCLES = 300 };

typedef struct Ends {
    unsigned count, ready, used;
    char how[CHILD_HOW_MAX];
} Ends;

static void on_ready(void *ctx, uint64_t epoch, uint64_t pool_bytes)
{
    Ends *e = ctx;
    e->ready++;
}

static void on_used(void *ctx, uint64_t used_bytes, uint64_t limit_bytes)
{
    Ends *e = ctx;
    e->used++;
}

static void on_ended(void *ctx, const char *how)
{
    Ends *e = ctx;
    e->count++;
    (void)snprintf(e->how, sizeof e->how, "%s", how);
}

static const ChildOps ops = {.ready = on_ready, .used = on_used, .ended = on_ended};

static void cycle(Child *c, Ends *e)
{
    unsigned before = e->count;
    assert_int_equal(child_start(c, 1 << 20, 1 << 20), 0);
    struct pollfd at = {.fd = c->fd, .events = POLLIN};
    /* Its channel may end first. */
    for (unsigned i = 0; i < 10 && e->count == before; i++) {
        assert_int_equal(poll(&at, 1, PATIENCE_MS), 1);
        child_take(c);
    }
    assert_int_equal(e->count, before + 1);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        count++;
    (void)closedir(d);
    return count;
}

static void run(RmdOptions *o, void (*body)(Child *c, Ends *e))
{
    Child c;
    Ends ends = {.count = 0};
    log_init("test", LOG_LEVEL_ERROR);
    rmd_options_init(o);
    o->imd.program = g_strdup("/bin/false");
    o->imd.idle_priority = false; /* this machine may have much else to do */
    o->common.manager = g_strdup("127.0.0.1:7");
    o->at = (Addr){.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, 1}};
    assert_int_equal(child_open(&c, o, &ops, &ends), 0);
    body(&c, &ends);
    child_close(&c);
    config_clear(&rmd_program, o);
}

static void many(Child *c, Ends *e)
{
    cycle(c, e);
    unsigned before = descriptors();
    for (unsigned i = 0; i < CYCLES; i++)
        cycle(c, e);
    assert_int_equal(descriptors(), before);
    assert_string_equal(e->how, "status 1");
}

TEST(test_nothing_is_left_behind)
{
    RmdOptions o;
    run(&o, many);
}

/* Then the kernel would keep no ended process for us to wait for. */
TEST(test_signal_was_ignored)
{
    RmdOptions o;
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    run(&o, cycle);
    (void)signal(SIGCHLD, SIG_DFL);
}

/* Somebody else has waited for it. */
static void taken(Child *c, Ends *e)
{
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    cycle(c, e);
    assert_string_equal(e->how, "unknown");
    (void)signal(SIGCHLD, SIG_DFL);
}

TEST(test_end_that_was_taken)
{
    RmdOptions o;
    run(&o, taken);
}

/* @script is the program to start, in @dir. */
static void run_script(Child *c, TmpDir *dir, const char *script)
{
    char path[256];
    tmpdir_text(dir, "imd", script);
    assert_int_equal(chmod(tmpdir_path(dir, "imd", path), 0700), 0);
    g_free(c->program);
    c->program = g_strdup(path);
}

/* What rmd starts gives way to everybody: a session of its own, SCHED_IDLE (5), and where sessions
 * have a priority, the lowest. */
static const char least_program[] =
    "#!/bin/sh\n"
    "[ \"$(cut -d' ' -f6 /proc/$$/stat)\" = $$ ] || exit 2\n"
    "[ \"$(cut -d' ' -f41 /proc/$$/stat)\" = 5 ] || exit 3\n"
    "[ ! -w /proc/$$/autogroup ] || grep -q 'nice 19$' /proc/$$/autogroup || exit 4\n";

static RmdOptions least_options;

static void least(Child *c, Ends *e)
{
    TmpDir dir;
    tmpdir_make(&dir);
    run_script(c, &dir, least_program);
    least_options.imd.idle_priority = true;
    cycle(c, e);
    assert_string_equal(e->how, "status 0");
    tmpdir_remove(&dir);
}

TEST(test_gives_way_to_everybody)
{
    run(&least_options, least);
}

/* A daemon ignores signals that other programs rely on. */
static void signalled(Child *c, Ends *e)
{
    TmpDir dir;
    tmpdir_make(&dir);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    run_script(c, &dir, "#!/bin/sh\nulimit -c 0\nkill -XFSZ $$\n");
    cycle(c, e);
    assert_string_equal(e->how, "signal 25");
    run_script(c, &dir, "#!/bin/sh\nkill -PIPE $$\n");
    cycle(c, e);
    assert_string_equal(e->how, "signal 13");
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    tmpdir_remove(&dir);
}

TEST(test_signals_are_as_usual)
{
    RmdOptions o;
    run(&o, signalled);
}

/* imd has no business with the groups that rmd looks at the console with, nor with the service
 * manager, nor can it become more than it is. Groups are root's to drop. */
static const char modest_program[] =
    "#!/bin/sh\n"
    "grep -qx 'NoNewPrivs:.1' /proc/$$/status || exit 2\n"
    "[ \"$(id -u)\" != 0 ] || grep -qx 'Groups:[[:space:]]*' /proc/$$/status || exit 3\n"
    "[ -z \"${NOTIFY_SOCKET+set}\" ] || exit 4\n";

static void modest(Child *c, Ends *e)
{
    const gid_t groups[] = {4242, 4243};
    TmpDir dir;
    if (geteuid() == 0)
        assert_int_equal(setgroups(2, groups), 0);
    tmpdir_make(&dir);
    run_script(c, &dir, modest_program);
    assert_int_equal(setenv("NOTIFY_SOCKET", "@dodo-test-nobody", 1), 0);
    cycle(c, e);
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    assert_string_equal(e->how, "status 0");
    tmpdir_remove(&dir);
}

TEST(test_has_no_groups_and_gets_no_rights)
{
    RmdOptions o;
    run(&o, modest);
}

static RmdOptions poll_options;

/* Where somebody works, imd does not poll, unless the host's configuration wants it. */
static void polls(Child *c, Ends *e)
{
    static const struct {
        bool dedicated;
        uint64_t set_ns;
        const char *wanted;
    } cases[] = {{false, UINT64_MAX, "0ns"},
                 {true, UINT64_MAX, "1000000ns"},
                 {false, 5000, "5000ns"},
                 {true, 0, "0ns"}};
    TmpDir dir;
    tmpdir_make(&dir);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char script[128];
        (void)snprintf(script, sizeof script,
                       "#!/bin/sh\ncase \"$*\" in *\"--poll %s\"*) exit 0 ;; esac\nexit 2\n",
                       cases[i].wanted);
        run_script(c, &dir, script);
        poll_options.dedicated = cases[i].dedicated;
        poll_options.imd.poll_ns = cases[i].set_ns;
        cycle(c, e);
        assert_string_equal(e->how, "status 0");
    }
    tmpdir_remove(&dir);
}

TEST(test_polls_where_nobody_works)
{
    run(&poll_options, polls);
}

/* The newest limit is said again until it is heard; that it was not is said to the log once. */
TEST(test_limit_to_the_deaf)
{
    int pair[2];
    char text[64], last[64] = "";
    const RmdOptions o = {.common = {.log_level = LOG_LEVEL_INFO}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Child c = {.options = &o, .channel = pair[0], .cgroup = {.procs = -1}};
    log_init("test", LOG_LEVEL_INFO);
    StderrText s = stderr_catch();
    for (uint64_t limit = 1; !c.untold; limit++)
        child_limit(&c, limit);
    for (unsigned i = 0; i < 10; i++)
        child_remind(&c);
    child_limit(&c, 1 << 20);
    assert_int_equal(stderr_lines(&s, "imd_deaf"), 1);
    assert_true(c.untold);
    while (recv(pair[1], text, sizeof text, MSG_DONTWAIT) > 0)
        ;
    child_remind(&c);
    assert_false(c.untold);
    child_remind(&c); /* it has heard */
    assert_true(recv(pair[1], last, sizeof last - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(last, "limit 1048576");
    assert_int_equal(recv(pair[1], text, sizeof text, MSG_DONTWAIT), -1);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* In words that imd understands: see imd/owner.h. One that does not listen is known not to. */
TEST(test_save_is_reported)
{
    int pair[2];
    char text[64] = "";
    const RmdOptions o = {.common = {.log_level = LOG_LEVEL_INFO}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Child c = {.options = &o, .channel = pair[0], .cgroup = {.procs = -1}};
    assert_true(child_save(&c, 4096, 1500 * NS_PER_MS));
    assert_true(recv(pair[1], text, sizeof text - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(text, "save 4096 1500");
    while (child_save(&c, 4096, NS_PER_S))
        ;
    c.channel = -1;
    assert_false(child_save(&c, 4096, NS_PER_S));
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* In words that imd understands: see imd/owner.h. */
TEST(test_reload_is_reported)
{
    int pair[2];
    char text[64] = "", manager[] = "m:7";
    const RmdOptions o = {.common = {.log_level = LOG_LEVEL_DEBUG, .manager = manager},
                          .imd.rate_bytes = 1 << 20};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Child c = {.channel = pair[0]};
    assert_true(child_reload(&c, &o));
    assert_true(recv(pair[1], text, sizeof text - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(text, "reload 3 1048576 0 m:7");
    (void)close(pair[1]);
    assert_false(child_reload(&c, &o));
    (void)close(pair[0]);
    c.channel = -1;
    assert_false(child_reload(&c, &o));
}

/* A cap of its own holds on, where rmd's configuration has none to take its place. */
TEST(test_reload_lifts_no_cap)
{
    int pair[2];
    char text[64] = "", manager[] = "m:7";
    RmdOptions o = {.common = {.log_level = LOG_LEVEL_DEBUG, .manager = manager},
                    .imd = {.own_rate_bytes = 3 << 20, .own_rate_packets = 700}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Child c = {.channel = pair[0]};
    assert_true(child_reload(&c, &o));
    assert_true(recv(pair[1], text, sizeof text - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(text, "reload 3 3145728 700 m:7");
    o.imd.rate_packets = 9000;
    memset(text, 0, sizeof text);
    assert_true(child_reload(&c, &o));
    assert_true(recv(pair[1], text, sizeof text - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(text, "reload 3 3145728 9000 m:7");
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* As long as a configuration may name managers. */
TEST(test_reload_has_room_for_all_managers)
{
    enum { FIRST = 13, LONGEST = PLACES_TEXT_MAX - 1 };
    int pair[2];
    char text[2 * PLACES_TEXT_MAX] = "", manager[PLACES_TEXT_MAX] = "";
    const RmdOptions o = {.common = {.log_level = LOG_LEVEL_INFO, .manager = manager}};
    memset(manager, 'm', LONGEST);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Child c = {.channel = pair[0]};
    assert_true(child_reload(&c, &o));
    assert_int_equal(recv(pair[1], text, sizeof text - 1, MSG_DONTWAIT), FIRST + LONGEST);
    assert_string_equal(text + FIRST, manager);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* ---- an imd that says more than it should ---------------------------------------------------- */

enum { POOL = 1 << 20, SAYS = 3 };

/* It lies there before imd runs: rmd may hang before it says more. */
static bool hears_a_beat(int fd)
{
    char text[64];
    for (ssize_t n; (n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT)) > 0;) {
        text[n] = '\0';
        if (strcmp(text, "beat") == 0)
            return true;
    }
    return false;
}

/* This program as imd: when it is asked to leave, it still says that it keeps to its limit; three
 * times. */
static int be_imd(int fd)
{
    static const char ready[] = "ready epoch=1 pool=1048576", used[] = "used 4096 limit 1048576";
    sigset_t leave;
    int signal;
    (void)sigemptyset(&leave);
    (void)sigaddset(&leave, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &leave, NULL);
    if (!hears_a_beat(fd) || send(fd, ready, sizeof ready - 1, 0) < 0)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < SAYS; i++)
        if (sigwait(&leave, &signal) != 0 || send(fd, used, sizeof used - 1, 0) < 0)
            return EXIT_FAILURE;
    (void)sigprocmask(SIG_UNBLOCK, &leave, NULL); /* the end of a test that fails is its end, too */
    for (;;)
        (void)pause();
}

static void take_until(Child *c, const unsigned *count)
{
    struct pollfd at = {.fd = c->fd, .events = POLLIN};
    for (unsigned i = 0; i < 10 && *count == 0; i++) {
        assert_int_equal(poll(&at, 1, PATIENCE_MS), 1);
        child_take(c);
    }
    assert_int_equal(*count, 1);
}

static RmdOptions group_options;

/* It has a part of a processor, but while the owner waits for its memory: to its end. */
static void leaves_unhindered(Child *c, Ends *e)
{
    static const char *const files[] = {"memory.max", "cpu.max", "cgroup.procs"};
    TmpDir dir;
    char name[64], text[64] = "", path[256];
    tmpdir_make(&dir);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "imd-%d/%s", (int)getpid(), files[i]);
        tmpdir_text(&dir, name, "");
    }
    g_free(c->program);
    c->program = g_strdup("/proc/self/exe");
    group_options.imd.cgroup = dir.path;
    group_options.imd.cpu_percent = 25;
    assert_int_equal(child_start(c, POOL, POOL), 0);
    take_until(c, &e->ready);
    child_terminate(c);
    take_until(c, &e->used);
    (void)snprintf(name, sizeof name, "imd-%d/cpu.max", (int)getpid());
    FILE *f = fopen(tmpdir_path(&dir, name, path), "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%63s", text), 1);
    (void)fclose(f);
    assert_string_equal(text, "max");
    child_kill(c);
    take_until(c, &e->count);
    group_options.imd.cgroup = NULL;
    tmpdir_remove(&dir);
}

TEST(test_leaves_unhindered)
{
    run(&group_options, leaves_unhindered);
}

/* What the group's cpu.max begins with. */
static void expect_share(TmpDir *dir, const char *want)
{
    char name[64], text[64] = "", path[256];
    (void)snprintf(name, sizeof name, "imd-%d/cpu.max", (int)getpid());
    FILE *f = fopen(tmpdir_path(dir, name, path), "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%63s", text), 1);
    (void)fclose(f);
    assert_string_equal(text, want);
}

/* The imd says what it said of its first limit. */
static void let_it_say(Child *c, Ends *e)
{
    e->used = 0;
    assert_int_equal(kill(c->pid, SIGTERM), 0);
    take_until(c, &e->used);
}

/* It hurries until it has reached the limit that it has now; also one that is not the first. */
static void hurries_while_it_owes(Child *c, Ends *e)
{
    static const char *const files[] = {"memory.max", "cpu.max", "cgroup.procs"};
    TmpDir dir;
    char name[64], path[256];
    tmpdir_make(&dir);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "imd-%d/%s", (int)getpid(), files[i]);
        tmpdir_text(&dir, name, "");
    }
    (void)snprintf(name, sizeof name, "imd-%d/cpu.max", (int)getpid());
    g_free(c->program);
    c->program = g_strdup("/proc/self/exe");
    group_options.imd.cgroup = dir.path;
    group_options.imd.cpu_percent = 25;
    for (unsigned i = 0; i < 2; i++) {
        *e = (Ends){.count = 0};
        assert_int_equal(truncate(tmpdir_path(&dir, name, path), 0), 0);
        assert_int_equal(child_start(c, POOL, POOL), 0);
        take_until(c, &e->ready);
        expect_share(&dir, "25000");
        let_it_say(c, e);
        child_limit(c, POOL / 1024);
        expect_share(&dir, "max");
        let_it_say(c, e);
        expect_share(&dir, "max");
        child_limit(c, POOL);
        let_it_say(c, e);
        expect_share(&dir, "25000");
        child_terminate(c);
        take_until(c, &e->count);
    }
    group_options.imd.cgroup = NULL;
    tmpdir_remove(&dir);
}

TEST(test_hurries_while_it_owes)
{
    run(&group_options, hurries_while_it_owes);
}

/* ---- an rmd that is killed ------------------------------------------------------------------- */

static RmdOptions killed_options;

/* As rmd: starts one that hangs, and says which. */
static void start_and_tell(Child *c, Ends *e)
{
    g_free(c->program);
    c->program = g_strdup("/proc/self/exe");
    killed_options.leave_deadline_ns = 200 * NS_PER_MS;
    assert_int_equal(child_start(c, POOL, POOL), 0);
    take_until(c, &e->ready);
    assert_int_equal(kill(c->pid, SIGSTOP), 0);
    assert_int_equal(write(STDOUT_FILENO, &c->pid, sizeof c->pid), sizeof c->pid);
    for (;;)
        (void)pause();
}

/* What cannot leave, or does not, is killed all the same, and its port is free for the next. */
TEST(test_does_not_outlive_rmd)
{
    int ends[2];
    pid_t imd = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t rmd = fork();
    if (rmd == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        run(&killed_options, start_and_tell);
        _exit(EXIT_FAILURE);
    }
    assert_int_equal(read(ends[0], &imd, sizeof imd), sizeof imd);
    CLEANUP_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, imd, 0);
    assert_true(pidfd >= 0);
    assert_int_equal(kill(rmd, SIGKILL), 0);
    assert_int_equal(waitpid(rmd, NULL, 0), rmd);
    struct pollfd at = {.fd = pidfd, .events = POLLIN};
    assert_int_equal(poll(&at, 1, PATIENCE_MS), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--owner-fd") == 0)
            return be_imd(atoi(argv[i + 1]));
    return cases_run(NULL, NULL);
}
