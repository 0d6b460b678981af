/* SPDX-License-Identifier: MIT */
/* The command that holds the lease, and the process that runs it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/lease_command.h"
#include "tests/lib/case.h"

enum { PATIENCE_MS = 20000 };

static LeaseCommand opened_for(const char *text, uint64_t still_ns)
{
    char error[CONFIG_ERROR_MAX] = "";
    LeaseCommand c;
    assert_int_equal(lease_command_open(&c, text, still_ns, error), 0);
    return c;
}

static LeaseCommand opened(const char *text)
{
    return opened_for(text, LEASE_STILL_NS);
}

/* The next that comes, waited for. */
static enum LeaseEvent next(const LeaseCommand *c, char text[LEASE_OUTPUT_MAX + 1])
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    size_t len = 0;
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    const enum LeaseEvent event = lease_command_take(c, text, &len);
    text[len] = '\0';
    return event;
}

TEST(command__is_split_as_by_a_shell_and_no_more)
{
    char error[CONFIG_ERROR_MAX] = "";
    assert_int_equal(lease_command_check("/bin/sh -c 'echo 1; cat'", error), 0);
    assert_int_equal(lease_command_check("/usr/bin/flock \"/srv/a b\" /x\\ y", error), 0);
    static const char *const wrong[] = {"", "  ", "flock /x", "./flock", "/bin/sh 'a"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        *error = '\0';
        assert_int_not_equal(lease_command_check(wrong[i], error), 0);
        assert_memory_equal(error, "lease: ", 7);
    }
}

TEST(command__its_output_and_its_end_are_told)
{
    char text[LEASE_OUTPUT_MAX + 1];
    LeaseCommand c = opened("/bin/sh -c 'echo 7 \"$0\" \"$1\"' '*' '$HOME'");
    struct pollfd p = {.fd = c.fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0); /* it is not started by itself */
    for (unsigned i = 0; i < 2; i++) {   /* and may be started again */
        lease_command_start(&c);
        assert_int_equal(next(&c, text), LEASE_EVENT_OUTPUT);
        assert_string_equal(text, "7 * $HOME\n"); /* no pattern, no variable */
        assert_int_equal(next(&c, text), LEASE_EVENT_ENDED);
        assert_int_equal(next(&c, text), LEASE_EVENT_STATUS);
        assert_string_equal(text, "exit 0");
    }
    lease_command_close(&c);
}

TEST(command__its_status_follows_its_end)
{
    static const char *const cases[][2] = {{"/bin/false", "exit 1"},
                                           {"/nonexistent/program", "exit 127"},
                                           {"/bin/sh -c 'kill -9 $$'", "signal 9"}};
    char text[LEASE_OUTPUT_MAX + 1];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        LeaseCommand c = opened(cases[i][0]);
        lease_command_start(&c);
        assert_int_equal(next(&c, text), LEASE_EVENT_ENDED);
        assert_int_equal(next(&c, text), LEASE_EVENT_STATUS);
        assert_string_equal(text, cases[i][1]);
        lease_command_close(&c);
    }
}

TEST(command__that_closes_its_output_is_ended)
{
    char text[LEASE_OUTPUT_MAX + 1];
    LeaseCommand c = opened("/bin/sh -c 'echo 7; exec sleep 1000 >/dev/null'");
    lease_command_start(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_OUTPUT);
    assert_int_equal(next(&c, text), LEASE_EVENT_ENDED);
    lease_command_close(&c);
}

/* Who started the manager may ignore the ends of children, and a program inherits that. */
TEST(command__its_end_is_seen_where_those_of_children_are_ignored)
{
    char text[LEASE_OUTPUT_MAX + 1];
    void (*const before)(int) = signal(SIGCHLD, SIG_IGN);
    LeaseCommand c = opened("/bin/sh -c 'echo 7; sleep 1000 & exit 3'");
    lease_command_start(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_OUTPUT);
    assert_int_equal(next(&c, text), LEASE_EVENT_ENDED); /* though its output goes on */
    assert_int_equal(next(&c, text), LEASE_EVENT_STATUS);
    assert_string_equal(text, "exit 3");
    lease_command_close(&c);
    (void)signal(SIGCHLD, before);
}

/* A lot of output is not the manager's concern, and holds nobody up. */
TEST(command__that_prints_without_end_is_ended_all_the_same)
{
    char text[LEASE_OUTPUT_MAX + 1];
    size_t seen = 0;
    LeaseCommand c = opened("/bin/sh -c 'yes 7'");
    lease_command_start(&c);
    while (seen < LEASE_OUTPUT_MAX && next(&c, text) == LEASE_EVENT_OUTPUT)
        seen += strlen(text);
    lease_command_end(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_ENDED);
    lease_command_close(&c);
}

/* What the command starts ends with it: its end of a pipe is open in all of them. */
typedef struct Watched {
    char dir[32], path[48];
    int fd;
} Watched;

static Watched watched(void)
{
    Watched w = {.dir = "/tmp/dodo-lease-XXXXXX"};
    assert_non_null(mkdtemp(w.dir));
    (void)snprintf(w.path, sizeof w.path, "%s/pipe", w.dir);
    assert_int_equal(mkfifo(w.path, 0600), 0);
    w.fd = open(w.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(w.fd >= 0);
    return w;
}

static LeaseCommand with_children(const Watched *w)
{
    char command[200], text[LEASE_OUTPUT_MAX + 1];
    (void)snprintf(command, sizeof command, "/bin/sh -c 'exec 5>%s; sleep 1000 & echo 7; wait'",
                   w->path);
    LeaseCommand c = opened(command);
    lease_command_start(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_OUTPUT);
    return c;
}

static void assert_ended(const Watched *w)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    assert_int_equal(read(w->fd, &byte, 1), 0);
    (void)close(w->fd);
    (void)unlink(w->path);
    (void)rmdir(w->dir);
}

/* One that does not mind SIGTERM is killed. */
static LeaseCommand stubborn(const Watched *w)
{
    char command[200], text[LEASE_OUTPUT_MAX + 1];
    (void)snprintf(command, sizeof command,
                   "/bin/sh -c 'trap \"\" TERM; exec 5>%s; echo 7; while :; do read x; done'",
                   w->path);
    LeaseCommand c = opened(command);
    lease_command_start(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_OUTPUT);
    return c;
}

TEST(command__that_minds_no_signal_is_killed)
{
    char text[LEASE_OUTPUT_MAX + 1];
    const Watched w = watched();
    LeaseCommand c = stubborn(&w);
    lease_command_end(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_ENDED);
    assert_ended(&w);
    lease_command_close(&c);
}

TEST(command__ends_with_all_its_children)
{
    char text[LEASE_OUTPUT_MAX + 1];
    const Watched w = watched();
    LeaseCommand c = with_children(&w);
    lease_command_end(&c);
    assert_int_equal(next(&c, text), LEASE_EVENT_ENDED);
    assert_ended(&w);
    lease_command_close(&c);
}

/* Stopped, swapped out, or its machine asleep: another one may take its place. */
TEST(command__ends_when_the_manager_stands_still)
{
    char text[LEASE_OUTPUT_MAX + 1];
    LeaseCommand c = opened_for("/bin/sh -c 'echo 7; exec sleep 1000'", NS_PER_MS);
    lease_command_start(&c);
    enum LeaseEvent event = next(&c, text);
    if (event == LEASE_EVENT_OUTPUT) /* it was fast enough for that */
        event = next(&c, text);
    assert_int_equal(event, LEASE_EVENT_ENDED);
    lease_command_close(&c);
}

/* The manager is killed: its helper finds the channel closed. */
TEST(command__ends_when_the_manager_is_killed)
{
    const Watched w = watched();
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    const pid_t manager = fork();
    if (manager == 0) {
        (void)with_children(&w);
        (void)!write(ready[1], "r", 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(manager, SIGKILL), 0);
    assert_int_equal(waitpid(manager, NULL, 0), manager);
    assert_ended(&w);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* The lock must not stay taken: the command goes with it, whatever signals it minds. */
TEST(helper__whose_end_is_not_missed)
{
    char text[LEASE_OUTPUT_MAX + 1];
    const Watched w = watched();
    LeaseCommand c = stubborn(&w);
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    assert_int_equal(next(&c, text), LEASE_EVENT_BROKEN);
    assert_ended(&w);
    lease_command_close(&c);
}
