/* SPDX-License-Identifier: MIT */
/* The process that reads input devices, what it tells rmd, and an rmd that hears from a hostile
 * one. Pipes stand for devices. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/input.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "daemon/log.h"
#include "daemon/sandbox.h"
#include "rmd/input_helper.h"
#include "rmd/source_report.h"
#include "tests/lib/case.h"
#include "tests/lib/child.h"
#include "tests/lib/needs.h"
#include "tests/lib/tmpdir_case.h"

#define AWAKE (100000 * NS_PER_S)

/* ---- what is written ------------------------------------------------------------------------- */

TEST(report__there_and_back)
{
    const InputReport r = {.devices = 64, .error = 13, .refused = 7, .idle_s = 86400};
    uint8_t bytes[INPUT_REPORT_BYTES];
    uint32_t number = 0;
    InputReport got;
    input_report_encode(&r, 0xfedcba98, bytes);
    assert_int_equal(input_report_decode(bytes, sizeof bytes, &number, &got), 0);
    assert_true(number == 0xfedcba98);
    assert_int_equal(got.devices, 64);
    assert_int_equal(got.error, 13);
    assert_int_equal(got.refused, 7);
    assert_int_equal(got.idle_s, 86400);
}

TEST(report__whatever_comes)
{
    uint8_t bytes[INPUT_REPORT_BYTES + 1];
    uint32_t number;
    InputReport r;
    for (size_t len = 0; len <= sizeof bytes; len++) {
        memset(bytes, 0, sizeof bytes);
        assert_int_equal(input_report_decode(bytes, len, &number, &r),
                         len == INPUT_REPORT_BYTES ? 0 : -EBADMSG);
    }
    for (unsigned i = 0; i < 100000; i++) {
        os_random(NULL, bytes, sizeof bytes);
        if (i % 2) /* most would have too many devices */
            memset(bytes + 8, 0, 1 + i % 8);
        if (input_report_decode(bytes, INPUT_REPORT_BYTES, &number, &r) == 0)
            assert_true(r.devices <= INPUT_DEVICES_MAX && r.error <= INPUT_ERROR_MAX);
    }
}

/* ---- a hostile process ----------------------------------------------------------------------- */

static void pair_make(InputHelper *h, int *ret_peer)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    *h = (InputHelper){.channel = pair[0]};
    *ret_peer = pair[1];
}

static void answer(int peer, uint32_t number, uint16_t devices)
{
    uint8_t bytes[INPUT_REPORT_BYTES];
    input_report_encode(&(InputReport){.devices = devices}, number, bytes);
    assert_int_equal(send(peer, bytes, sizeof bytes, MSG_DONTWAIT), sizeof bytes);
}

/* Answers that wait before they were asked for, of all kinds; the right one is among them. */
TEST(hostile__other_answers)
{
    static const uint8_t junk[300];
    InputHelper h;
    InputReport r;
    int peer;
    pair_make(&h, &peer);
    answer(peer, 0, 9);
    answer(peer, 2, 9);
    assert_int_equal(send(peer, junk, 1, 0), 1);
    assert_int_equal(send(peer, junk, sizeof junk, 0), sizeof junk);
    answer(peer, 1, INPUT_DEVICES_MAX + 1);
    answer(peer, 1, 3);
    assert_int_equal(input_helper_ask(&h, 0, &r), 0);
    assert_int_equal(r.devices, 3);
    input_helper_stop(&h);
    (void)close(peer);
}

/* As many messages as the channel holds: rmd reads some of them, and does not believe one. */
TEST(hostile__a_flood)
{
    uint8_t bytes[INPUT_REPORT_BYTES];
    unsigned sent = 0, left = 0;
    InputHelper h;
    InputReport r;
    int peer;
    pair_make(&h, &peer);
    input_report_encode(&(InputReport){.devices = 1}, 77, bytes);
    while (send(peer, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        sent++;
    assert_true(sent > 32);
    assert_int_equal(input_helper_ask(&h, AWAKE, &r), -ETIMEDOUT);
    while (recv(h.channel, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        left++;
    assert_true(left >= sent - 16);
    input_helper_stop(&h);
    (void)close(peer);
}

/* It is left alone for a while, and then asked again. */
TEST(silent__asked_again)
{
    InputHelper h;
    InputReport r;
    uint32_t number;
    int peer;
    pair_make(&h, &peer);
    assert_int_equal(input_helper_ask(&h, AWAKE, &r), -ETIMEDOUT);
    assert_int_equal(recv(peer, &number, sizeof number, MSG_DONTWAIT), sizeof number);
    assert_int_equal(number, 1);
    assert_int_equal(input_helper_ask(&h, AWAKE + SOURCE_RETRY_NS - 1, &r), -EAGAIN);
    assert_int_equal(recv(peer, &number, sizeof number, MSG_DONTWAIT), -1);
    answer(peer, 1, 1); /* late: it does not count */
    answer(peer, 2, 2);
    assert_int_equal(input_helper_ask(&h, AWAKE + SOURCE_RETRY_NS, &r), 0);
    assert_int_equal(r.devices, 2);
    (void)close(peer);
    assert_int_equal(input_helper_ask(&h, AWAKE + 2 * SOURCE_RETRY_NS, &r), -EPIPE);
    input_helper_stop(&h);
}

/* ---- the process itself ---------------------------------------------------------------------- */

static const CommonOptions nobody;
static void pipe_make(const char *name)
{
    char path[256];
    assert_int_equal(mkfifo(tmpdir_path(&dir, name, path), 0600), 0);
}

static void touch(const char *name)
{
    char path[256];
    const struct input_event e = {.type = EV_KEY, .code = 30, .value = 1};
    CLEANUP_CLOSE int fd = open(tmpdir_path(&dir, name, path), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0); /* it is open for reading */
    assert_int_equal(write(fd, &e, sizeof e), sizeof e);
}

static void start(InputHelper *h, uint64_t every_ns)
{
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(input_helper_start(h, &nobody, dir.path, every_ns, error), 0);
}

/* Asks until it answers: a loaded machine may start it late, or again. */
static void ask(InputHelper *h, InputReport *ret)
{
    for (unsigned i = 0; i < 600; i++) {
        h->retry_ns = 0;
        if (input_helper_ask(h, os_now_ns(), ret) == 0)
            return;
    }
    fail_msg("no answer");
}

#define CASE(name) TEST_WITH(name, dir_set_up, dir_tear_down)

CASE(helper__sees_what_is_touched)
{
    InputHelper h;
    InputReport r;
    pipe_make("event0");
    start(&h, 0);
    ask(&h, &r);
    assert_int_equal(r.devices, 1);
    assert_int_equal(r.error, 0);
    while (r.idle_s < 1)
        ask(&h, &r);
    touch("event0");
    ask(&h, &r);
    assert_int_equal(r.idle_s, 0);
    input_helper_stop(&h);
}

/* Who asks all the time does not learn when a key is touched. */
CASE(helper__tells_no_exact_times)
{
    InputHelper h;
    InputReport first, r;
    pipe_make("event0");
    start(&h, TIME_NEVER / 2);
    ask(&h, &first);
    touch("event0");
    for (unsigned i = 0; i < 100; i++) {
        ask(&h, &r);
        assert_int_equal(r.idle_s, first.idle_s);
        assert_int_equal(r.devices, first.devices);
    }
    input_helper_stop(&h);
}

static int count_of(const char *path)
{
    int count = 0;
    DIR *d = opendir(path);
    while (d && readdir(d))
        count++;
    if (d)
        (void)closedir(d);
    return count;
}

/* The process of @pid has a child: that one, or 0. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%d", &child) != 1)
        child = 0;
    if (f)
        (void)fclose(f);
    return child;
}

CASE(helper__starts_again)
{
    InputHelper h;
    InputReport r;
    pipe_make("event0");
    start(&h, 0);
    ask(&h, &r);
    pid_t keeper = h.pid, watcher = child_of(keeper);
    assert_true(keeper > 0 && watcher > 0);
    assert_int_equal(kill(watcher, SIGKILL), 0);
    ask(&h, &r);
    assert_int_equal(r.devices, 1);
    assert_int_equal(r.idle_s, 0); /* of what was before it knows nothing */
    assert_true(child_of(keeper) > 0 && child_of(keeper) != watcher);
    (void)close(h.channel);
    h.channel = -1;
    assert_int_equal(waitpid(keeper, NULL, 0), keeper); /* that nobody asks any more ends both */
}

/* Nobody is left who could start it again: that is said, and does not pass for silence. */
CASE(helper__its_keeper_is_killed)
{
    InputHelper h;
    InputReport r;
    pipe_make("event0");
    start(&h, 0);
    ask(&h, &r);
    assert_int_equal(kill(h.pid, SIGKILL), 0);
    assert_int_equal(waitpid(h.pid, NULL, 0), h.pid);
    h.pid = 0;
    uint64_t awake_ns = AWAKE;
    int res = input_helper_ask(&h, awake_ns, &r);
    for (unsigned i = 0; i < 100 && (res == 0 || res == -ETIMEDOUT); i++) {
        /* until the process below it has ended, too */
        awake_ns += SOURCE_RETRY_NS;
        res = input_helper_ask(&h, awake_ns, &r);
    }
    assert_int_equal(res, -EPIPE);
    assert_int_equal(input_helper_ask(&h, awake_ns, &r), -EPIPE); /* at once, and for good */
    input_helper_stop(&h);
}

/* A directory that was not there when it started. */
CASE(helper__devices_come_later)
{
    char path[256];
    char error[CONFIG_ERROR_MAX];
    InputHelper h;
    InputReport r;
    (void)snprintf(path, sizeof path, "%s/later", dir.path);
    assert_int_equal(input_helper_start(&h, &nobody, path, 0, error), 0);
    ask(&h, &r);
    assert_int_equal(r.devices, 0);
    assert_int_equal(r.error, 0);
    pipe_make("later/event0");
    ask(&h, &r);
    while (r.devices == 0)
        ask(&h, &r);
    assert_int_equal(r.error, 0);
    input_helper_stop(&h);
}

/* It has the standard descriptors, the channel and the device, whatever we have. */
CASE(helper__inherits_nothing)
{
    char path[64];
    InputHelper h;
    InputReport r;
    CLEANUP_CLOSE int secret = open("/dev/null", O_RDONLY);
    pipe_make("event0");
    assert_true(secret >= 0);
    start(&h, 0);
    ask(&h, &r);
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)h.pid);
    assert_int_equal(count_of(path), 2 + 4);
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)child_of(h.pid));
    assert_int_equal(count_of(path), 2 + 5);
    input_helper_stop(&h);
}

/* ---- what rmd gives up ----------------------------------------------------------------------- */

static int read_hidden(void)
{
    char device[256], other[256], error[CONFIG_ERROR_MAX];
    (void)tmpdir_path(&dir, "input/event0", device);
    (void)tmpdir_path(&dir, "other/file", other);
    if (input_give_up(&nobody, tmpdir_path(&dir, "input", (char[256]){0}), error) != 0)
        return 2;
    if (open(device, O_RDONLY | O_NONBLOCK) >= 0 || errno != EACCES)
        return 3;
    return open(other, O_RDWR | O_CLOEXEC) >= 0 && open("/proc/self/stat", O_RDONLY) >= 0 &&
                   open("/etc/passwd", O_RDONLY) >= 0
               ? 0
               : 4;
}

CASE(given_up__reading_devices)
{
    pipe_make("input/event0");
    tmpdir_text(&dir, "other/file", "");
    assert_int_equal(in_a_child(read_hidden), 0);
}

/* Nor by another name that lies beside it. */
static int read_hidden_by_a_link(void)
{
    char device[256], input[256], error[CONFIG_ERROR_MAX];
    (void)tmpdir_path(&dir, "link/event0", device);
    if (input_give_up(&nobody, tmpdir_path(&dir, "input", input), error) != 0)
        return 2;
    return open(device, O_RDONLY | O_NONBLOCK) < 0 && errno == EACCES ? 0 : 3;
}

CASE(given_up__devices_that_a_link_leads_to)
{
    char from[256], to[256];
    pipe_make("input/event0");
    assert_int_equal(symlink(tmpdir_path(&dir, "input", from), tmpdir_path(&dir, "link", to)), 0);
    assert_int_equal(in_a_child(read_hidden_by_a_link), 0);
}

/* Also where the directory comes later. */
static int read_hidden_later(void)
{
    char device[256], error[CONFIG_ERROR_MAX];
    (void)snprintf(device, sizeof device, "%s/input", dir.path);
    if (input_give_up(&nobody, device, error) != 0)
        return 2;
    if (mkfifo(tmpdir_path(&dir, "input/event0", device), 0600) != 0)
        return 3;
    return open(device, O_RDONLY | O_NONBLOCK) < 0 && errno == EACCES ? 0 : 4;
}

CASE(given_up__devices_that_come_later)
{
    assert_int_equal(in_a_child(read_hidden_later), 0);
}

static int keep_groups(void)
{
    const gid_t groups[] = {4242, 4243, 4244};
    gid_t left[8];
    char path[256], error[CONFIG_ERROR_MAX];
    if (setgroups(3, groups) != 0 || chown(tmpdir_path(&dir, "event0", path), 0, 4243) != 0)
        return 2;
    if (input_give_up(&nobody, dir.path, error) != 0)
        return 3;
    return getgroups(8, left) == 2 && left[0] == 4242 && left[1] == 4244 ? 0 : 4;
}

CASE(given_up__groups_of_the_devices)
{
    pipe_make("event0");
    assert_int_equal(in_a_child(keep_groups), 0);
}

static int hide(void)
{
    return sandbox_hide("/dev/input") == 0 ? 0 : 1;
}

int main(void)
{
    log_init("test", LOG_LEVEL_ERROR);
    const bool root = geteuid() == 0, hides = in_a_child(hide) == 0;
    case_if(hides, given_up__reading_devices, "no Landlock");
    case_if(hides, given_up__devices_that_a_link_leads_to, "no Landlock");
    case_if(hides, given_up__devices_that_come_later, "no Landlock");
    case_if(root, given_up__groups_of_the_devices, "no root");
    return cases_run(NULL, NULL);
}
