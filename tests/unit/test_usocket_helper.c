/* SPDX-License-Identifier: MIT */
/* The helper as a program: what it gives, what it refuses, and what a restart keeps. Run by
 * tests/net/usocket.sh, on the interface ua: test-usocket_helper PROGRAM [CASE...] */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tmpdir.h"
#include "tests/unit/usocket_fixture.h"
#include "usocket/helper/grants.h"
#include "usocket/helper/server.h"
#include "usocket/raw/grant.h"

static const char *program;
static TmpDir dir;
static pid_t helper;

/* ---- the program ----------------------------------------------------------------------------- */

/* Starts it with these options; what it prints to be read from *ret_out. */
static pid_t start(const char *const options[], int *ret_out)
{
    const char *argv[16] = {program};
    int out[2];
    for (int i = 0; options[i]; i++)
        argv[i + 1] = options[i];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(out[1], STDERR_FILENO);
        (void)execv(program, (char *const *)argv);
        _exit(127);
    }
    assert_int_equal(close(out[1]), 0);
    *ret_out = out[0];
    return pid;
}

static int status_of(pid_t pid)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char began[2048]; /* what the helper said until it was ready */

/* The helper of ua, ready, which keeps its state. What it says later nobody reads: it goes on. */
static void helper_start(void)
{
    char path[256], state[256];
    const char *const options[] = {"--interface", "ua",
                                   "--socket",    tmpdir_path(&dir, "ua", path),
                                   "--state",     tmpdir_path(&dir, "state", state),
                                   "--group",     "0",
                                   NULL};
    int out;
    helper = start(options, &out);
    memset(began, 0, sizeof began);
    for (size_t n = 0; !strstr(began, "dodo-socket ready: interface=ua socket=");) {
        ssize_t got = n < sizeof began - 1 ? read(out, began + n, sizeof began - 1 - n) : 0;
        if (got <= 0)
            fail_msg("the helper has not started: %s", began);
        n += (size_t)got;
    }
    assert_int_equal(close(out), 0);
}

static void helper_stop(void)
{
    char path[256];
    assert_int_equal(kill(helper, SIGTERM), 0);
    assert_int_equal(status_of(helper), 0);
    assert_int_equal(access(tmpdir_path(&dir, "ua", path), F_OK), -1);
}

static int with_helper(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    helper_start();
    return setenv("DODO_SOCKET_DIR", dir.path, 1);
}

static int without_helper(void **state)
{
    (void)state;
    helper_stop();
    tmpdir_remove(&dir);
    return 0;
}

#define TEST_HELPER(name) TEST_WITH(name, with_helper, without_helper)

/* ---- a connection of our own ----------------------------------------------------------------- */

static int helper_connect(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char path[256];
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%.100s", tmpdir_path(&dir, "ua", path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* The errno that it answers with; -1: it hangs up. */
static int reply_error(int fd)
{
    uint8_t bytes[GRANT_MESSAGE + 1];
    GrantReply r;
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n <= 0)
        return -1;
    assert_int_equal(grant_reply_decode(bytes, (size_t)n, &r), 0);
    return r.error;
}

static int ask(const void *bytes, size_t len)
{
    int fd = helper_connect();
    assert_int_equal(send(fd, bytes, len, 0), len);
    int error = reply_error(fd);
    assert_int_equal(close(fd), 0);
    return error;
}

static int bind_port(unsigned port)
{
    char text[32];
    (void)snprintf(text, sizeof text, "any/%u%%ua", port);
    int s = u_socket(0, 0);
    macaddr_t a = u_aton(text);
    if (u_bind(s, &a, 1) == 0)
        return s;
    int error = errno;
    assert_int_equal(u_close(s), 0);
    return -error;
}

/* ---- what it gives --------------------------------------------------------------------------- */

TEST_HELPER(give__only_its_interface)
{
    uint8_t bytes[GRANT_MESSAGE];
    grant_request_encode(&(GrantRequest){.port = 7, .interface = "ub"}, bytes);
    assert_int_equal(ask(bytes, sizeof bytes), ENODEV);
    grant_request_encode(&(GrantRequest){.port = 7, .interface = "ua"}, bytes);
    assert_int_equal(ask(bytes, sizeof bytes), 0);
    grant_request_encode(&(GrantRequest){.port = 7, .interface = "ua", .mac = {2, 9}}, bytes);
    assert_int_equal(ask(bytes, sizeof bytes), EADDRNOTAVAIL);
}

/* A port is in use as long as its socket lives, wherever that went. */
TEST_HELPER(give__a_port_as_long_as_the_socket_lives)
{
    int go_on[2], s = bind_port(7);
    char c;
    assert_true(s >= 0);
    assert_int_equal(pipe2(go_on, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) { /* has it, too, until it may end */
        (void)close(go_on[1]);
        _exit(read(go_on[0], &c, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(u_close(s), 0);
    assert_int_equal(bind_port(7), -EADDRINUSE);
    assert_int_equal(close(go_on[1]), 0);
    assert_int_equal(status_of(child), 0);
    s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
    assert_int_equal(close(go_on[0]), 0);
}

TEST_HELPER(give__so_many_to_a_user)
{
    static int sockets[GRANTS_USER_MAX];
    for (unsigned i = 0; i < GRANTS_USER_MAX; i++) {
        sockets[i] = bind_port(0);
        if (sockets[i] < 0)
            fail_msg("socket %u: %s", i, dodo_u_last_error());
    }
    assert_int_equal(bind_port(0), -EDQUOT);
    assert_int_equal(u_close(sockets[5]), 0);
    sockets[5] = bind_port(0); /* there is room again */
    assert_true(sockets[5] >= 0);
    for (unsigned i = 0; i < GRANTS_USER_MAX; i++)
        assert_int_equal(u_close(sockets[i]), 0);
}

TEST_HELPER(restart__knows_what_was_given)
{
    int s = bind_port(7), t = bind_port(8);
    assert_true(s >= 0 && t >= 0);
    helper_stop();
    assert_int_equal(bind_port(9), -ECONNREFUSED);
    assert_int_equal(u_close(t), 0);
    helper_start();
    assert_int_equal(bind_port(7), -EADDRINUSE);
    t = bind_port(8);
    assert_true(t >= 0);
    assert_int_equal(u_close(s), 0);
    assert_int_equal(u_close(t), 0);
}

/* Of a state file that is none, the helper says so and goes on. */
TEST_HELPER(restart__with_a_spoilt_state)
{
    helper_stop();
    tmpdir_text(&dir, "state", "2 7 what is this\n");
    helper_start();
    assert_non_null(strstr(began, "warn dodo-socket: state_not_read file="));
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
}

/* A helper that was killed leaves its socket file; the next one takes its place. */
TEST_HELPER(restart__after_it_was_killed)
{
    assert_int_equal(kill(helper, SIGKILL), 0);
    assert_int_equal(status_of(helper), 128 + SIGKILL);
    assert_int_equal(bind_port(7), -ECONNREFUSED);
    helper_start();
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
}

/* ---- who does not behave --------------------------------------------------------------------- */

TEST_HELPER(requests__that_are_none)
{
    uint8_t bytes[200];
    for (size_t len = 1; len < sizeof bytes; len++) {
        memset(bytes, (int)len, sizeof bytes);
        assert_int_equal(ask(bytes, len), EPROTO);
    }
    int fd = helper_connect(); /* hangs up without a word */
    assert_int_equal(close(fd), 0);
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
}

/* Who connects and says nothing is put out when others need the room. */
TEST_HELPER(requests__of_the_silent)
{
    enum { SILENT = 3 * SERVER_CLIENTS_MAX };
    static int fds[SILENT];
    uint8_t bytes[GRANT_MESSAGE];
    for (int i = 0; i < SILENT; i++) {
        fds[i] = helper_connect();
        int s = bind_port(7);
        assert_true(s >= 0);
        assert_int_equal(u_close(s), 0);
    }
    grant_request_encode(&(GrantRequest){.port = 7, .interface = "ua"}, bytes);
    assert_int_equal(reply_error(fds[0]), -1);
    assert_int_equal(send(fds[SILENT - 1], bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(reply_error(fds[SILENT - 1]), 0); /* late, but served */
    for (int i = 0; i < SILENT; i++)
        assert_int_equal(close(fds[i]), 0);
}

/* Also where it began with fewer descriptors than that takes. */
TEST_HELPER(requests__of_the_silent_with_few_descriptors)
{
    static int fds[SERVER_CLIENTS_MAX];
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 32;
    helper_stop();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    helper_start();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
        fds[i] = helper_connect();
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
    for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
        assert_int_equal(close(fds[i]), 0);
}

/* How often the helper has fallen asleep. */
static unsigned long helper_sleeps(void)
{
    static const char key[] = "\nvoluntary_ctxt_switches:";
    char path[64], text[4096] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/status", helper);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtoul(at + sizeof key - 1, NULL, 10);
}

/* Without a descriptor for who connects it sleeps and tries again; he is served when there is one.
 */
TEST_HELPER(requests__while_no_descriptor_is_free)
{
    enum { ENOUGH_SLEEPS = 5 };
    struct rlimit before, none;
    struct pollfd clock = {.fd = -1};
    uint8_t bytes[GRANT_MESSAGE];
    assert_int_equal(prlimit(helper, RLIMIT_NOFILE, NULL, &before), 0);
    none = (struct rlimit){3, before.rlim_max};
    assert_int_equal(prlimit(helper, RLIMIT_NOFILE, &none, NULL), 0);
    int fd = helper_connect();
    const unsigned long begun = helper_sleeps();
    for (int ms = 0; helper_sleeps() < begun + ENOUGH_SLEEPS; ms++) {
        if (ms == ENOUGH_MS)
            fail_msg("it does not sleep: %lu", helper_sleeps() - begun);
        (void)poll(&clock, 1, 1);
    }
    assert_int_equal(prlimit(helper, RLIMIT_NOFILE, &before, NULL), 0);
    grant_request_encode(&(GrantRequest){.port = 7, .interface = "ua"}, bytes);
    assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(reply_error(fd), 0);
    assert_int_equal(close(fd), 0);
}

/* Who does not read the reply loses the socket, and the port is free again. */
TEST_HELPER(requests__whose_reply_nobody_takes)
{
    uint8_t bytes[GRANT_MESSAGE];
    grant_request_encode(&(GrantRequest){.port = 7, .interface = "ua"}, bytes);
    int fd = helper_connect();
    assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, ENOUGH_MS), 1);
    assert_int_equal(bind_port(7), -EADDRINUSE); /* it waits in the connection */
    assert_int_equal(close(fd), 0);
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
}

/* ---- start-up -------------------------------------------------------------------------------- */

/* Its status, and what it says. */
static int refuses(const char *const options[], const char *wanted)
{
    char said[2048] = "";
    int out;
    pid_t pid = start(options, &out);
    for (size_t n = 0; n < sizeof said - 1;) {
        ssize_t got = read(out, said + n, sizeof said - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    assert_int_equal(close(out), 0);
    if (!strstr(said, wanted))
        fail_msg("it says: %s", said);
    return status_of(pid);
}

TEST_HELPER(start__says_what_to_fix)
{
    char path[256];
    tmpdir_path(&dir, "ua", path);
    assert_int_equal(refuses((const char *[]){NULL}, "give --interface NAME"), 2);
    assert_int_equal(refuses((const char *[]){"--interface", "a/b", NULL}, "--interface"), 2);
    assert_int_equal(
        refuses((const char *[]){"--interface=ua", "--log-level=loud", NULL},
                "loud is no level: expected error, warn, info or debug; see dodo-socket --help"),
        2);
    assert_int_equal(
        refuses((const char *[]){"--interface=ua", "more", NULL},
                "more is no option, and nothing else is taken; see dodo-socket --help"),
        2);
    assert_int_equal(refuses((const char *[]){"--interface=ua", "-hx", NULL}, "Usage"), 0);
    assert_int_equal(refuses((const char *[]){"--interface=ua", "-\x1b[31m", NULL},
                             "dodo-socket: -?[31m is not understood; see"),
                     2);
    assert_int_equal(refuses((const char *[]){"--interface=ua", "--bogus", NULL},
                             "dodo-socket: --bogus is not understood; see"),
                     2);
    assert_int_equal(refuses((const char *[]){"--interface", NULL},
                             "dodo-socket: --interface needs a value; see"),
                     2);
    assert_int_equal(refuses((const char *[]){"--interface=ua", "--socket=", NULL},
                             "dodo-socket: --socket needs a value; see"),
                     2);
    assert_int_equal(refuses((const char *[]){"--interface=ua", "--state=", NULL},
                             "dodo-socket: --state needs a value; see"),
                     2);
    assert_int_equal(refuses((const char *[]){"--help", NULL}, "--state=FILE"), 0);
    assert_int_equal(refuses((const char *[]){"--version", NULL}, "dodo-socket "), 0);
    assert_int_equal(
        refuses((const char *[]){"--interface=nothere", NULL}, "nothere: No such device; give"), 1);
    assert_int_equal(refuses((const char *[]){"--interface=lo", NULL}, "lo: No such device; give"),
                     1);
    const char *const taken[] = {"--interface", "ua", "--socket", path, NULL};
    assert_int_equal(refuses(taken, "in use"), 1); /* another helper is there: it stays */
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
}

/* Programs would ask by its own name, and find nobody. The other name is of tests/net/usocket.sh.
 */
TEST_HELPER(start__wants_the_own_name_of_an_interface)
{
    char path[256];
    tmpdir_path(&dir, "other", path);
    const char *const options[] = {"--interface", "ua-other", "--socket", path, NULL};
    assert_int_equal(refuses(options, "ua-other is another name of ua: give --interface ua\n"), 1);
    assert_int_equal(access(path, F_OK), -1);
}

/* It would wait for the writer of a FIFO, and put a file in the place of a device. */
TEST_HELPER(start__keeps_its_state_in_a_file_only)
{
    char path[256], fifo[256];
    tmpdir_path(&dir, "other", path);
    assert_int_equal(mkfifo(tmpdir_path(&dir, "fifo", fifo), 0600), 0);
    const char *const wrong[] = {fifo, dir.path, "/dev/null"};
    for (unsigned i = 0; i < 3; i++) {
        const char *const options[] = {"--interface", "ua",     "--socket", path,
                                       "--state",     wrong[i], NULL};
        assert_int_equal(refuses(options, "; give --state a file\n"), 1);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(unlink(fifo), 0);
}

/* What stands where the new state is written first keeps nobody waiting. */
TEST_HELPER(give__with_a_fifo_for_the_next_state)
{
    char fifo[256];
    assert_int_equal(mkfifo(tmpdir_path(&dir, "state.new", fifo), 0600), 0);
    int s = bind_port(7);
    assert_true(s >= 0);
    assert_int_equal(u_close(s), 0);
    assert_int_equal(unlink(fifo), 0);
}

TEST_HELPER(start__wants_enough_descriptors)
{
    const struct rlimit few = {20, 20};
    const char *const options[] = {"--interface=ua", NULL};
    pid_t pid = fork(); /* who has lowered its limit cannot raise it again */
    if (pid == 0)
        _exit(setrlimit(RLIMIT_NOFILE, &few) == 0 ? refuses(options, "needs 80: raise ulimit -n")
                                                  : 255);
    assert_int_equal(status_of(pid), 1);
}

/* What it needs no more is given up. */
TEST_HELPER(start__keeps_one_capability)
{
    char path[64], line[256];
    unsigned found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", helper);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "CapPrm:", 7) == 0 || strncmp(line, "CapEff:", 7) == 0) {
            assert_int_equal(strtoull(line + 7, NULL, 16), 1u << 13); /* CAP_NET_RAW */
            found++;
        }
        if (strncmp(line, "NoNewPrivs:", 11) == 0) {
            assert_int_equal(atoi(line + 11), 1);
            found++;
        }
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(found, 3);
}

TEST_HELPER(start__socket_is_for_its_group)
{
    struct stat st;
    char path[256];
    assert_int_equal(stat(tmpdir_path(&dir, "ua", path), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_int_equal(st.st_gid, 0);
}

/* ---- */

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s PROGRAM\n", argv[0]);
        return 2;
    }
    program = argv[1];
    return cases_run(NULL, NULL);
}
