/* SPDX-License-Identifier: MIT */
/* The socket at which users ask their rmd, and the file that survives it. */
#include "rmd/owner_desk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/os.h"
#include "daemon/log.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

enum { OTHER_UID = 65534, TEXT_MAX = 512 };

static TmpDir dir;
static char socket_path[256], file_path[256];
static RmdOptions options;
static OwnerDesk desk;
static Monitor *monitor;

static void on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    (void)ctx, (void)pool_bytes, (void)limit_bytes;
}
static void on_any(void *ctx)
{
    (void)ctx;
}

static void begin(void)
{
    static const MonitorSink sink = {
        .start = on_start, .terminate = on_any, .kill = on_any, .changed = on_any};
    const MonitorConfig config = {.idle_after_ns = NS_PER_S, .poll_ns = NS_PER_S};
    monitor = monitor_new(&config, &sink, os_now_ns());
    assert_non_null(monitor);
    owner_desk_open(&desk, &options);
    owner_desk_step(&desk, monitor);
}

static void end(void)
{
    owner_desk_close(&desk);
    monitor = monitor_free(monitor);
}

static int set_up(void **state)
{
    (void)state;
    log_init("test", LOG_LEVEL_ERROR);
    g_unsetenv("STATE_DIRECTORY");
    g_unsetenv("RUNTIME_DIRECTORY");
    tmpdir_make(&dir);
    options = (RmdOptions){.owner_socket = tmpdir_path(&dir, "socket", socket_path),
                           .owner_file = tmpdir_path(&dir, "file", file_path)};
    begin();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    end();
    tmpdir_remove(&dir);
    return 0;
}
#define CASE(name) TEST_WITH(name, set_up, tear_down)

static int client_open(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const sa_family_t own = AF_UNIX;
    (void)strcpy(at.sun_path, socket_path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return bind(fd, (void *)&own, sizeof own) == 0 && connect(fd, (void *)&at, sizeof at) == 0 ? fd
                                                                                               : -1;
}

/* All of the answer that fits. */
static void ask_all(const char *question, char answer[TEXT_MAX])
{
    int fd = client_open();
    assert_true(fd >= 0);
    assert_int_equal(send(fd, question, strlen(question), 0), strlen(question));
    owner_desk_take(&desk, monitor);
    ssize_t n = recv(fd, answer, TEXT_MAX - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    answer[n] = '\0';
    (void)close(fd);
}

/* The first line of it. */
static void ask(const char *question, char answer[TEXT_MAX])
{
    ask_all(question, answer);
    answer[strcspn(answer, "\n")] = '\0';
}

/* Whether pauses outlast rmd, as it says. */
static void assert_kept(const char *want)
{
    char answer[TEXT_MAX];
    ask_all("status", answer);
    if (!strstr(answer, want))
        fail_msg("%s", answer);
}

static void assert_answer(const char *question, const char *want)
{
    char answer[TEXT_MAX];
    ask(question, answer);
    if (strncmp(answer, want, strlen(want)) != 0)
        fail_msg("%s: \"%s\"", question, answer);
}

/* As another user, in a process of its own; the desk hears it here. */
static void send_as_other(const char *question)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(setuid(OTHER_UID) == 0 && send(client_open(), question, strlen(question), 0) > 0 ? 0
                                                                                               : 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    owner_desk_take(&desk, monitor);
}

static uint64_t paused_until(void)
{
    return owner_record_paused_until(&desk.record, (uint64_t)time(NULL));
}

static const char *reason(void)
{
    static MonitorStatus s;
    monitor_status(monitor, os_now_ns(), &s);
    return s.reason;
}

CASE(pause__counts_at_once_and_survives)
{
    assert_answer("status", "dodo-owner 1 ok");
    assert_int_equal(paused_until(), 0);
    assert_answer("pause 600", "dodo-owner 1 ok");
    assert_in_range(paused_until(), (uint64_t)time(NULL) + 500, (uint64_t)time(NULL) + 600);
    assert_non_null(strstr(reason(), "a user of the host has paused the lending, "));
    end();
    begin(); /* rmd starts again */
    assert_true(paused_until() > 0);
    assert_non_null(strstr(reason(), "a user of the host has paused the lending, "));
    assert_answer("resume", "dodo-owner 1 ok");
    assert_null(strstr(reason(), "paused"));
    end();
    begin();
    assert_int_equal(paused_until(), 0);
}

/* Everybody may ask it while memory is lent, as often as he likes. */
CASE(allow__that_changes_nothing_waits_for_no_disk)
{
    assert_answer("allow", "dodo-owner 1 ok");
    assert_int_equal(access(file_path, F_OK), -1);
    assert_answer("pause 600", "dodo-owner 1 ok");
    assert_int_equal(unlink(file_path), 0);
    assert_answer("allow", "dodo-owner 1 ok");
    assert_int_equal(access(file_path, F_OK), 0);
}

CASE(pause__that_changes_nothing_waits_for_no_disk)
{
    assert_answer("pause forever", "dodo-owner 1 ok");
    assert_int_equal(unlink(file_path), 0);
    assert_answer("pause forever", "dodo-owner 1 ok");
    assert_int_equal(access(file_path, F_OK), -1);
    assert_int_equal(paused_until(), OWNER_FOREVER);
    assert_answer("pause 600", "dodo-owner 1 ok"); /* another one */
    assert_int_equal(access(file_path, F_OK), 0);
}

CASE(question__that_is_none)
{
    static const struct {
        const char *question, *answer;
    } rows[] = {
        {"pause 0", "dodo-owner 1 error a pause takes"},
        {"pause 99999999999", "dodo-owner 1 error a pause takes"},
        {"pause -1", "dodo-owner 1 error a pause takes"},
        {"pause", "dodo-owner 1 error that is not understood"},
        {"rubbish", "dodo-owner 1 error that is not understood"},
        {"resume", "dodo-owner 1 error you have not paused"},
        {"pause 600 and much more text that does not fit into what is read of a question",
         "dodo-owner 1 error a pause takes"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        assert_answer(rows[i].question, rows[i].answer);
    assert_int_equal(paused_until(), 0);
}

/* The kernel says who it is, whatever is written. */
CASE(pause__of_another_user_is_his)
{
    struct stat st;
    assert_int_equal(stat(socket_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    assert_int_equal(chmod(dir.path, 0755), 0);
    send_as_other("pause forever");
    assert_int_equal(paused_until(), OWNER_FOREVER);
    assert_int_equal(desk.record.pauses[0].uid, OTHER_UID);
    assert_answer("pause 600", "dodo-owner 1 ok");
    send_as_other("resume");
    assert_true(paused_until() > 0 && paused_until() != OWNER_FOREVER); /* root's stays */
    send_as_other("pause forever");
    assert_answer("resume", "dodo-owner 1 ok"); /* root's own */
    assert_int_equal(paused_until(), OWNER_FOREVER);
    assert_answer("resume", "dodo-owner 1 error you have not paused");
    assert_answer("allow", "dodo-owner 1 ok"); /* however often */
    assert_int_equal(paused_until(), OWNER_FOREVER);
    (void)owner_record_pause(&desk.record, 1000, OWNER_FOREVER, (uint64_t)time(NULL));
    send_as_other("resume all"); /* is refused */
    send_as_other("allow");      /* ends his own */
    assert_int_equal(paused_until(), OWNER_FOREVER);
    assert_answer("resume all", "dodo-owner 1 ok");
    assert_int_equal(paused_until(), 0);
}

CASE(socket__of_an_rmd_that_was_killed_is_no_hindrance)
{
    OwnerDesk second;
    owner_desk_open(&second, &options); /* the first one lives */
    assert_int_equal(second.fd, -1);
    owner_desk_close(&second);
    (void)close(desk.fd); /* killed: nothing is removed */
    g_free(desk.socket_path);
    g_free(desk.file);
    owner_desk_open(&desk, &options);
    assert_true(desk.fd >= 0);
    assert_answer("status", "dodo-owner 1 ok");
}

/* What somebody else serves, or what is no socket, stays. */
CASE(socket__of_somebody_else_stays)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    end();
    tmpdir_text(&dir, "socket", "a file");
    begin();
    assert_int_equal(desk.fd, -1);
    assert_int_equal(stat(socket_path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    end();
    assert_int_equal(unlink(socket_path), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)strcpy(at.sun_path, socket_path);
    assert_int_equal(bind(fd, (void *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    begin();
    assert_int_equal(desk.fd, -1);
    assert_int_equal(stat(socket_path, &st), 0);
    (void)close(fd);
}

static uint64_t known_ms(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OWNER_HOURS; i++)
        for (unsigned why = 0; why < MONITOR_WHY_MAX; why++)
            sum += desk.record.hours[i].ms[why];
    return sum;
}

/* How it was since the last look; not while rmd did not run. */
CASE(step__notes_what_passed)
{
    const uint64_t before = known_ms();
    desk.turn.noted_ns = os_now_ns() - NS_PER_S;
    owner_desk_step(&desk, monitor);
    assert_in_range(known_ms(), before + 1000, before + 60000);
    const uint64_t noted = known_ms();
    desk.turn.noted_ns -= 1000 * NS_PER_S;
    owner_desk_step(&desk, monitor);
    assert_int_equal(known_ms(), noted);
}

CASE(step__saves_now_and_then)
{
    desk.turn.noted_ns = os_now_ns() - NS_PER_S;
    owner_desk_step(&desk, monitor);
    assert_int_equal(access(file_path, F_OK), -1);
    desk.turn.saved_ns = os_now_ns() - 16 * 60 * NS_PER_S;
    desk.turn.noted_ns = os_now_ns() - NS_PER_S;
    owner_desk_step(&desk, monitor);
    assert_int_equal(access(file_path, F_OK), 0);
}

/* A pause counts where its file cannot be written, too. */
CASE(pause__without_its_file)
{
    char path[256];
    end();
    options.owner_file = tmpdir_path(&dir, "missing/file", file_path);
    file_path[strlen(file_path) - strlen("/file")] = '\0';
    assert_int_equal(rmdir(file_path), 0);
    file_path[strlen(file_path)] = '/';
    begin();
    assert_answer("pause 600", "dodo-owner 1 ok");
    assert_true(paused_until() > 0);
    assert_true(desk.unsaved && desk.lost);
    assert_kept("\nkept no\n"); /* who has paused hears that */
    assert_int_equal(mkdir(tmpdir_path(&dir, "missing", path), 0700), 0);
    assert_answer("pause 601", "dodo-owner 1 ok");
    assert_kept("\nkept yes\n");
    assert_int_equal(unlink(options.owner_file), 0);
    assert_int_equal(rmdir(path), 0);
}

/* A crash while it is written leaves the one before, whose pauses count. */
CASE(file__is_another_one_when_it_is_whole)
{
    static const char *const questions[] = {"pause 600", "resume"};
    for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
        struct stat before, after;
        assert_answer(questions[i], "dodo-owner 1 ok");
        int held = open(file_path, O_RDONLY | O_CLOEXEC); /* its number stays in use */
        assert_int_equal(fstat(held, &before), 0);
        desk.turn.saved_ns = os_now_ns() - 16 * 60 * NS_PER_S;
        desk.turn.noted_ns = os_now_ns() - NS_PER_S;
        owner_desk_step(&desk, monitor);
        assert_int_equal(stat(file_path, &after), 0);
        (void)close(held);
        assert_true(before.st_ino != after.st_ino);
    }
}

static bool lends_unless_unknown(void)
{
    return !strstr(reason(), "not known: its file could not be read");
}

/* What users have asked for may be in it. It stays, under another name. */
CASE(file__that_is_damaged_lets_nothing_be_lent)
{
    static const char *const texts[] = {
        "", "pause 0 forev", "pause 1000 forever", "rubbish\n", "pauses 1\n", "hour 1 x\n",
    };
    char aside[sizeof file_path + 16], path[256];
    (void)snprintf(aside, sizeof aside, "%s.damaged", file_path);
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *kept = NULL;
        end();
        tmpdir_text(&dir, "file", texts[i]);
        begin();
        if (lends_unless_unknown())
            fail_msg("lent: %s", texts[i]);
        assert_true(g_file_get_contents(aside, &kept, NULL, NULL));
        assert_string_equal(kept, texts[i]);
        assert_kept("\nkept yes\n");
        assert_kept("\nunknown\n");
        end();
        begin(); /* it is not forgotten */
        assert_answer("pause 600", "dodo-owner 1 ok");
        assert_answer("allow", "dodo-owner 1 ok"); /* ends root's own pause, and no more */
        assert_false(lends_unless_unknown());
        assert_answer("resume all", "dodo-owner 1 ok");
        assert_true(lends_unless_unknown());
        end();
        begin();
        assert_true(lends_unless_unknown());
    }
    assert_int_equal(unlink(tmpdir_path(&dir, "file.damaged", path)), 0);
}

CASE(file__with_a_zero_in_it_is_damaged)
{
    end();
    assert_true(g_file_set_contents(file_path, "pauses 0\n\0\n", 11, NULL));
    begin();
    assert_false(lends_unless_unknown());
}

/* Nothing is waited for, and nothing that is no file is moved or replaced. */
CASE(file__that_is_none)
{
    struct stat st;
    end(); /* saves what has passed, if it was a while */
    (void)unlink(file_path);
    assert_int_equal(mkfifo(file_path, 0600), 0);
    begin();
    assert_false(lends_unless_unknown());
    assert_kept("\nkept no\n");
    assert_answer("pause 600", "dodo-owner 1 ok");
    end();
    assert_int_equal(lstat(file_path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(unlink(file_path), 0);
    assert_int_equal(symlink("/dev/zero", file_path), 0);
    begin();
    assert_false(lends_unless_unknown());
    end();
    assert_int_equal(lstat(file_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(unlink(file_path), 0);
    begin();
    assert_true(lends_unless_unknown());
}

/* How often a file has got or lost the name, as @watch wants to know, since that was made. */
static unsigned files_named(int watch, const char *name)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } u;
    unsigned count = 0;
    ssize_t n = read(watch, u.bytes, sizeof u.bytes);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(u.bytes + at);
        count += strcmp(e->name, name) == 0;
        at += (ssize_t)(sizeof *e + e->len);
    }
    return count;
}

/* The desk takes what has come together: the file is written once, and each has an answer. */
CASE(asks__that_come_together)
{
    static const struct {
        const char *ask, *answer;
    } cases[] = {{"resume", "dodo-owner 1 error"}, {"pause 600", "dodo-owner 1 ok"},
                 {"resume", "dodo-owner 1 ok"},    {"nonsense", "dodo-owner 1 error"},
                 {"pause 60", "dodo-owner 1 ok"},  {"status", "dodo-owner 1 ok"}};
    int fds[ARRAY_SIZE(cases)];
    char answer[TEXT_MAX];
    CLEANUP_CLOSE int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, dir.path, IN_MOVED_TO) >= 0);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        fds[i] = client_open();
        assert_true(send(fds[i], cases[i].ask, strlen(cases[i].ask), MSG_DONTWAIT) > 0);
    }
    owner_desk_take(&desk, monitor);
    assert_int_equal(files_named(watch, "file"), 1);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        ssize_t n = recv(fds[i], answer, TEXT_MAX - 1, MSG_DONTWAIT);
        assert_true(n > 0);
        if (strncmp(answer, cases[i].answer, strlen(cases[i].answer)) != 0)
            fail_msg("%s: \"%.*s\"", cases[i].ask, (int)n, answer);
        (void)close(fds[i]);
    }
    uint64_t now = (uint64_t)time(NULL);
    assert_in_range(paused_until(), now + 50, now + 60);
    end();
    begin();
    assert_in_range(paused_until(), now + 50, now + 60);
}

/* Whether the disk is waited for when it saves now and then: then another file, which GLib names,
 * becomes the file. */
static bool waits_for_disk(void)
{
    CLEANUP_CLOSE int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, dir.path, IN_MOVED_FROM) >= 0);
    desk.turn.saved_ns = os_now_ns() - 16 * 60 * NS_PER_S;
    desk.turn.noted_ns = os_now_ns() - NS_PER_S;
    owner_desk_step(&desk, monitor);
    assert_false(desk.unsaved);
    return files_named(watch, "file.new") == 0;
}

/* Who looks at the host must not wait for a disk while memory may be lent. */
CASE(step__waits_for_the_disk_only_while_users_pause)
{
    assert_false(waits_for_disk());
    assert_answer("pause 600", "dodo-owner 1 ok");
    assert_true(waits_for_disk());
    desk.record.pauses[0].until_s = (uint64_t)time(NULL) - 1; /* it is over, and nobody asks */
    assert_false(waits_for_disk());
    assert_answer("pause forever", "dodo-owner 1 ok");
    assert_true(waits_for_disk());
}

CASE(directories__of_the_unit)
{
    char path[256];
    end();
    options = (RmdOptions){.owner_socket = NULL};
    g_setenv("STATE_DIRECTORY", dir.path, TRUE);
    begin();
    assert_int_equal(desk.fd, -1);
    assert_string_equal(desk.file, tmpdir_path(&dir, "owner", path));
    g_unsetenv("STATE_DIRECTORY");
    end();
    options = (RmdOptions){.owner_socket = tmpdir_path(&dir, "socket", socket_path)};
    begin();
    assert_kept("\nkept no\n"); /* it has no file */
}

int main(void)
{
    case_if(geteuid() == 0, pause__of_another_user_is_his, "no root");
    return cases_run(NULL, NULL);
}
