/* SPDX-License-Identifier: MIT */
/* The sources that look at files: devices, the file of sessions, input devices. The test says what
 * time it is. */
#include <linux/input.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <utmpx.h>

#include "base/cleanup.h"
#include "rmd/utmp.h"
#include "tests/lib/input_direct.h"
#include "tests/lib/tmpdir.h"
#include "tests/unit/source_fixture.h"

static TmpDir dir;
static InputWatch *watch;

static int dir_begin(void **state)
{
    tmpdir_make(&dir);
    return set_up(state);
}

static int dir_end(void **state)
{
    (void)tear_down(state);
    watch = input_watch_free(watch);
    tmpdir_remove(&dir);
    return 0;
}

TEST(not_wanted)
{
    static char *const none[] = {NULL};
    SourceSettings settings = {.consoles = none};
    assert_null(source_devices.open(&settings));
    settings.consoles = NULL;
    assert_null(source_devices.open(&settings));
    assert_null(source_utmp.open(&settings));
    assert_null(source_input.open(&settings));
    assert_null(source_x11.open(&settings));
    assert_null(source_desktop.open(&settings));
}

/* ---- devices -------------------------------------------------------------------------------- */

static void file_make(const char *name, uint64_t age_ns)
{
    tmpdir_text(&dir, name, "");
    tmpdir_touch(&dir, name, NOW - age_ns, NOW); /* written to just now: that says nothing */
}

#define CASE(name) TEST_WITH(name, dir_begin, dir_end)

CASE(devices__patterns)
{
    Fixture *f = *state;
    char ttys[256], pts[256];
    char *const consoles[] = {tmpdir_path(&dir, "tty[0-9]*", ttys), tmpdir_path(&dir, "pts/*", pts),
                              NULL};
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "no file is there that matches ");
    file_make("tty", 1 * S);
    file_make("ttyS0", 2 * S);
    look(f, 0);
    assert_unknown(f, " or the others");
    file_make("tty1", 900 * S);
    file_make("tty12", 700 * S);
    look(f, 0);
    assert_idle(f, 700 * S, "2 device files, last read 700s ago");
    look(f, 5 * S);
    assert_idle(f, 705 * S, "last read 705s ago");
    file_make("pts/0", 0);
    look(f, 6 * S);
    assert_idle(f, S - 1, "3 device files, last read 1s ago");
    tmpdir_touch(&dir, "tty1", NOW + 6 * S + S / 2, NOW);
    look(f, 7 * S);
    assert_idle(f, S / 2, "3 device files, last read 0s ago");
}

CASE(devices__one_that_is_missing)
{
    Fixture *f = *state;
    char mouse[256], ttys[256];
    char *const consoles[] = {tmpdir_path(&dir, "tty*", ttys), tmpdir_path(&dir, "mouse", mouse),
                              NULL};
    file_make("tty1", 900 * S);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "mouse: No such file or directory");
    file_make("mouse", 400 * S);
    look(f, S);
    assert_idle(f, 401 * S, "2 device files");
    tmpdir_delete(&dir, "mouse");
    look(f, 2 * S);
    assert_unknown(f, "mouse: No such file or directory");
}

CASE(devices__one_that_cannot_be_looked_at)
{
    Fixture *f = *state;
    char ttys[256], loop[256];
    char *const consoles[] = {tmpdir_path(&dir, "tty*", ttys), NULL};
    file_make("tty1", 900 * S);
    assert_int_equal(symlink("tty2", tmpdir_path(&dir, "tty2", loop)), 0);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "Too many levels of symbolic links");
}

/* What a program prints counts as read from the master of all pseudo-terminals. */
CASE(devices__without_ptmx)
{
    Fixture *f = *state;
    char all[256], link[256];
    char *const consoles[] = {tmpdir_path(&dir, "*", all), NULL};
    assert_int_equal(symlink("/dev/ptmx", tmpdir_path(&dir, "ptmx", link)), 0);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "no file is there that matches");
}

/* The time of an input device, or of /dev/zero here, stays what it was when the host started. */
CASE(devices__one_that_keeps_no_time)
{
    Fixture *f = *state;
    char all[256], link[256];
    char *const consoles[] = {tmpdir_path(&dir, "*", all), NULL};
    file_make("tty1", 900 * S);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_idle(f, 900 * S, "1 device file, ");
    assert_int_equal(symlink("/dev/zero", tmpdir_path(&dir, "mouse", link)), 0);
    look(f, S);
    assert_unknown(f, "its time does not tell when it was read; see [rmd] input");
}

/* A real terminal is seen to be one, another file is not. */
CASE(devices__terminals_only)
{
    Fixture *f = *state;
    char all[256], link[256];
    char *const consoles[] = {tmpdir_path(&dir, "*", all), NULL};
    CLEANUP_CLOSE int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0);
    assert_int_equal(symlink(ptsname(master), tmpdir_path(&dir, "pts", link)), 0);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_true(f->report.known && f->report.terminals_only);
    assert_non_null(strstr(f->report.text, "1 device file, "));
    file_make("mouse", 0);
    look(f, S);
    assert_true(f->report.known && !f->report.terminals_only);
}

/* ---- the file of sessions ------------------------------------------------------------------- */

typedef struct Sessions {
    struct utmpx records[64];
    size_t count;
} Sessions;

static void session_add(Sessions *s, short type, pid_t pid, const char *line, const char *user)
{
    struct utmpx *u = &s->records[s->count++];
    u->ut_type = type;
    u->ut_pid = pid;
    memcpy(u->ut_line, line, strlen(line)); /* without an end if it is just as long */
    memcpy(u->ut_user, user, strlen(user));
}

static void sessions_write(const Sessions *s, uint64_t age_ns)
{
    tmpdir_write(&dir, "utmp", s->records, s->count * sizeof s->records[0]);
    tmpdir_touch(&dir, "utmp", NOW, NOW - age_ns);
}

static void utmp_start(Fixture *f)
{
    static char utmp[256], terminals[256];
    SourceSettings settings = {.utmp = tmpdir_path(&dir, "utmp", utmp),
                               .terminals = tmpdir_path(&dir, "dev", terminals)};
    source_start(f, &source_utmp, &settings);
}

static pid_t dead_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* Nobody keeps it: that is no reason to think that nobody is here. */
CASE(utmp__none_is_kept)
{
    Fixture *f = *state;
    utmp_start(f);
    look(f, 0);
    assert_unknown(f, "utmp: No such file or directory");
    assert_int_equal(f->report.sessions, -1);
    tmpdir_text(&dir, "utmp", "");
    look(f, 0);
    assert_unknown(f, "utmp: no sessions are recorded here");
    tmpdir_text(&dir, "utmp", "half a record");
    look(f, 0);
    assert_unknown(f, "utmp: no sessions are recorded here");
    assert_int_equal(f->report.sessions, -1);
}

/* A file without records of sessions does not prove that nobody is logged in. */
CASE(utmp__is_no_file_of_sessions)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    char path[256];
    utmp_start(f);
    session_add(&s, EMPTY, 0, "", "");
    sessions_write(&s, 0);
    look(f, 0);
    assert_unknown(f, "utmp: no sessions are recorded here");
    session_add(&s, BOOT_TIME, 0, "~", "reboot");
    session_add(&s, ACCOUNTING + 1, 0, "", "");
    sessions_write(&s, 0);
    look(f, 0);
    assert_unknown(f, "utmp: it is no file of sessions");
    s.records[2].ut_type = -1;
    sessions_write(&s, 0);
    look(f, 0);
    assert_unknown(f, "utmp: it is no file of sessions");
    assert_int_equal(f->report.sessions, -1);
    assert_int_equal(unlink(tmpdir_path(&dir, "utmp", path)), 0);
    assert_int_equal(symlink("/dev/zero", path), 0); /* which has no end */
    look(f, 0);
    assert_unknown(f, "utmp: it is no file of sessions");
}

CASE(utmp__nobody_is_logged_in)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    session_add(&s, BOOT_TIME, 0, "~", "reboot");
    session_add(&s, LOGIN_PROCESS, getpid(), "tty1", "LOGIN");
    sessions_write(&s, 800 * S);
    utmp_start(f);
    look(f, 0);
    assert_idle(f, 800 * S, "nobody is logged in, for 800s");
    assert_int_equal(f->report.sessions, 0);
    sessions_write(&s, 2 * AWAKE); /* kept across the host's start */
    look(f, S);
    assert_idle(f, S - 1, "nobody is logged in");
}

CASE(utmp__since_the_hosts_start_at_most)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    session_add(&s, BOOT_TIME, 0, "~", "reboot");
    sessions_write(&s, 2 * AWAKE);
    utmp_start(f);
    look(f, 0);
    assert_idle(f, AWAKE, "nobody is logged in");
}

CASE(utmp__terminals)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    session_add(&s, BOOT_TIME, 0, "~", "reboot");
    session_add(&s, USER_PROCESS, getpid(), "tty1", "ann");
    session_add(&s, USER_PROCESS, getpid(), "pts/3", "bob");
    session_add(&s, USER_PROCESS, dead_process(), "pts/4", "cid"); /* killed */
    session_add(&s, DEAD_PROCESS, getpid(), "pts/5", "");
    session_add(&s, USER_PROCESS, getpid(), "pts/6", ""); /* nobody's */
    sessions_write(&s, 4000 * S);
    file_make("dev/tty1", 3600 * S);
    file_make("dev/pts/3", 500 * S);
    file_make("dev/pts/4", 10 * S);
    file_make("dev/pts/5", 11 * S);
    file_make("dev/pts/6", 12 * S);
    file_make("dev/pts/7", 13 * S);
    utmp_start(f);
    look(f, 0);
    assert_idle(f, 500 * S, "2 logged in, last typed or came 500s ago");
    assert_int_equal(f->report.sessions, 2);
    tmpdir_touch(&dir, "dev/tty1", NOW + S, NOW);
    look(f, S);
    assert_idle(f, 0, "2 logged in");
    s.records[1].ut_type = DEAD_PROCESS; /* logs out */
    sessions_write(&s, 0);
    look(f, 30 * S);
    assert_idle(f, 29 * S - 1, "1 logged in");
    look(f, 40 * S);
    assert_idle(f, 39 * S - 1, "1 logged in");
}

/* As rmd runs: without the right to send signals to the processes of those who are logged in. */
static int others_count(Fixture *f)
{
    char path[256];
    if (chmod(dir.path, 0755) < 0 || chmod(tmpdir_path(&dir, "utmp", path), 0644) < 0 ||
        chmod(tmpdir_path(&dir, "dev", path), 0755) < 0 || (geteuid() == 0 && setuid(65534) < 0) ||
        kill(1, 0) == 0 || errno != EPERM)
        return 1;
    look(f, 0);
    return f->report.known && f->report.sessions == 1 && f->report.idle_ns == 500 * S ? 0 : 2;
}

CASE(utmp__processes_of_others)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    int status;
    session_add(&s, USER_PROCESS, 1, "pts/3", "bob");
    sessions_write(&s, 4000 * S);
    file_make("dev/pts/3", 500 * S);
    assert_int_equal(chmod(tmpdir_path(&dir, "dev/pts", (char[256]){0}), 0755), 0);
    utmp_start(f);
    pid_t pid = fork();
    if (pid == 0)
        _exit(others_count(f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A display is no terminal: what happens there others must tell. */
CASE(utmp__displays)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    char line[32];
    session_add(&s, USER_PROCESS, getpid(), ":0", "ann");
    session_add(&s, USER_PROCESS, getpid(), "", "ann");
    sessions_write(&s, 4000 * S);
    file_make("dev/pts/3", 500 * S);
    utmp_start(f);
    look(f, 0);
    assert_unknown(f, "2 logged in, but not on a terminal that can be looked at");
    assert_int_equal(f->report.sessions, 2);
    memset(line, 'x', sizeof line);
    line[31] = '\0';
    session_add(&s, USER_PROCESS, 0, "pts/3", "bob"); /* of unknown process: taken as alive */
    session_add(&s, USER_PROCESS, getpid(), line, "eve");
    s.records[3].ut_line[31] = 'x'; /* no end */
    sessions_write(&s, 4000 * S);
    look(f, S);
    assert_idle(f, S - 1, "4 logged in");
}

/* A session is its process's and its line's; a line may be as long as its place. */
CASE(utmp__of_whom_and_where)
{
    Sessions s = {.count = 0};
    static char longest[UTMP_LINE_MAX + 1];
    char path[256];
    Utmp u;
    memset(longest, 'x', UTMP_LINE_MAX);
    session_add(&s, USER_PROCESS, getpid(), "pts/3", "ann");
    session_add(&s, USER_PROCESS, getppid(), longest, "bob");
    s.records[0].ut_session = s.records[1].ut_session = 1;
    sessions_write(&s, 0);
    assert_int_equal(utmp_read(tmpdir_path(&dir, "utmp", path), &u), 0);
    assert_int_equal(u.count, 2);
    assert_int_equal(u.sessions[0].pid, getpid());
    assert_string_equal(u.sessions[0].line, "pts/3");
    assert_int_equal(u.sessions[1].pid, getppid());
    assert_string_equal(u.sessions[1].line, longest);
    utmp_clear(&u);
}

/* More than there is room for: one that is not seen might be the one who types. */
CASE(utmp__too_many)
{
    Fixture *f = *state;
    enum { MANY = 1025 };
    struct utmpx *records = calloc(MANY, sizeof *records);
    assert_non_null(records);
    for (size_t i = 0; i < MANY; i++) {
        records[i].ut_type = USER_PROCESS;
        records[i].ut_user[0] = 'a';
        memcpy(records[i].ut_line, "tty1", 4);
    }
    file_make("dev/tty1", 3600 * S);
    utmp_start(f);
    tmpdir_write(&dir, "utmp", records, MANY * sizeof *records);
    look(f, 0);
    assert_unknown(f, "utmp: more than 1024 are logged in");
    tmpdir_write(&dir, "utmp", records, (MANY - 1) * sizeof *records);
    look(f, 0);
    assert_true(f->report.known);
    assert_int_equal(f->report.sessions, MANY - 1);
    free(records);
}

/* ---- input devices -------------------------------------------------------------------------- */

static const char *pipe_make(const char *name)
{
    static char path[256];
    assert_int_equal(mkfifo(tmpdir_path(&dir, name, path), 0600), 0);
    return path;
}

static void event_write_code(const char *name, uint16_t type, uint16_t code)
{
    char path[256];
    struct input_event e = {.type = type, .code = code, .value = 1};
    CLEANUP_CLOSE int fd = open(tmpdir_path(&dir, name, path), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0); /* it is open for reading */
    assert_int_equal(write(fd, &e, sizeof e), sizeof e);
}

static void event_write(const char *name, uint16_t type)
{
    event_write_code(name, type, 30);
}

static void input_watch(Fixture *f, const char *path)
{
    watch = input_watch_new(path);
    assert_non_null(watch);
    source_start(
        f, &source_input,
        &(SourceSettings){.input = path, .input_ask = input_direct_ask, .input_ctx = watch});
}

static void input_start(Fixture *f)
{
    input_watch(f, dir.path);
}

CASE(input__none)
{
    Fixture *f = *state;
    char missing[256];
    input_watch(f, tmpdir_path(&dir, "missing", missing));
    look(f, 0);
    assert_unknown(f, "missing: no input devices are here");
    tmpdir_text(&dir, "missing/mouse0", ""); /* not one of event* */
    look(f, 10 * S);
    assert_unknown(f, "missing: no input devices are here");
}

CASE(input__events)
{
    Fixture *f = *state;
    pipe_make("event0");
    pipe_make("event1");
    pipe_make("mouse0");
    input_start(f);
    look(f, 0);
    assert_idle(f, 0, "2 input devices, last used 0s ago"); /* since it watches */
    look(f, 400 * S);
    assert_idle(f, 400 * S, "last used 400s ago");
    event_write("event1", EV_KEY);
    look(f, 401 * S);
    assert_idle(f, 0, "last used 0s ago");
    look(f, 403 * S);
    assert_idle(f, 2 * S, "last used 2s ago");
    event_write("event0", EV_REL);
    event_write("event0", EV_SYN);
    look(f, 404 * S);
    assert_idle(f, 0, "last used 0s ago");
}

CASE(input__what_is_no_activity)
{
    Fixture *f = *state;
    static const uint16_t types[] = {EV_SYN, EV_MSC, EV_LED, EV_SND, EV_REP, EV_PWR};
    pipe_make("event0");
    input_start(f);
    look(f, 0);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        event_write("event0", types[i]);
    look(f, 10 * S);
    assert_idle(f, 10 * S, "1 input device, last used 10s ago");
}

/* More than the kernel keeps for us: it drops all of it but the last event, which may be the one
 * that ends a movement. */
CASE(input__more_than_the_kernel_keeps)
{
    Fixture *f = *state;
    pipe_make("event0");
    input_start(f);
    look(f, 0);
    event_write_code("event0", EV_SYN, SYN_DROPPED);
    event_write_code("event0", EV_SYN, SYN_REPORT);
    look(f, 10 * S);
    assert_idle(f, 0, "last used 0s ago");
    event_write_code("event0", EV_SYN, SYN_REPORT);
    look(f, 11 * S);
    assert_idle(f, S, "last used 1s ago");
}

/* More than one reading takes: all of it is gone afterwards. */
CASE(input__a_burst)
{
    Fixture *f = *state;
    pipe_make("event0");
    input_start(f);
    look(f, 0);
    for (int i = 0; i < 1000; i++)
        event_write("event0", EV_ABS);
    look(f, 10 * S);
    assert_idle(f, 0, "last used 0s ago");
    look(f, 11 * S);
    assert_idle(f, S, "last used 1s ago");
}

CASE(input__one_file)
{
    Fixture *f = *state;
    input_watch(f, pipe_make("keyboard"));
    look(f, 0);
    look(f, 30 * S);
    assert_idle(f, 30 * S, "1 input device");
    event_write("keyboard", EV_KEY);
    look(f, 31 * S);
    assert_idle(f, 0, "1 input device");
}

/* What can be opened and not be read, as a device that was pulled out: all of them go at once. */
CASE(input__unplugged)
{
    Fixture *f = *state;
    tmpdir_text(&dir, "event0/none", "");
    tmpdir_text(&dir, "event1/none", "");
    input_start(f);
    look(f, 0);
    assert_unknown(f, "no input devices are here");
    pipe_make("event2");
    look(f, 5 * S);
    assert_idle(f, 0, "1 input device,");
}

CASE(input__plugged_in)
{
    Fixture *f = *state;
    pipe_make("event0");
    input_start(f);
    look(f, 0);
    look(f, S);
    assert_idle(f, S, "1 input device");
    pipe_make("event7");
    look(f, 2 * S); /* a keyboard without a wire comes with its first key */
    assert_idle(f, 0, "2 input devices");
    event_write("event7", EV_KEY);
    look(f, 9 * S);
    assert_idle(f, 0, "2 input devices");
}

/* As when a switch gives the keyboard to another host and back between two looks. A file of a
 * process stands for it: that cannot be read any more when the process is gone. */
CASE(input__gone_and_back_under_its_name)
{
    Fixture *f = *state;
    char file[64], link[256];
    const pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    assert_true(pid > 0);
    (void)snprintf(file, sizeof file, "/proc/%d/oom_score_adj", (int)pid);
    assert_int_equal(symlink(file, tmpdir_path(&dir, "event0", link)), 0);
    input_start(f);
    look(f, 0);
    look(f, S);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    assert_idle(f, S, "1 input device");
    tmpdir_delete(&dir, "event0");
    pipe_make("event0");
    look(f, 2 * S);
    assert_idle(f, 0, "1 input device");
    event_write("event0", EV_KEY); /* it is the new one */
}

/* A gamepad that anybody may read says nothing of a keyboard that only root may. A socket stands
 * for it: nobody at all can open one. */
CASE(input__not_permitted)
{
    Fixture *f = *state;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char path[256];
    pipe_make("event0");
    (void)tmpdir_path(&dir, "event1", path);
    memcpy(a.sun_path, path, strnlen(path, sizeof a.sun_path - 1));
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    input_start(f);
    look(f, 0);
    assert_unknown(f, "event1: ");
    tmpdir_delete(&dir, "event1");
    look(f, 5 * S);
    assert_idle(f, 5 * S, "1 input device");
}

CASE(input__too_many)
{
    Fixture *f = *state;
    for (int i = 0; i < 65; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "event%d", i);
        pipe_make(name);
    }
    input_start(f);
    look(f, 0);
    assert_unknown(f, "Too many open files");
}

/* One that can be opened and not read is as good as unplugged. */
CASE(input__device_goes)
{
    Fixture *f = *state;
    char path[256];
    assert_int_equal(mkdir(tmpdir_path(&dir, "event0", path), 0700), 0);
    input_start(f);
    look(f, 0);
    assert_unknown(f, "no input devices are here");
}

static int no_answer(void *ctx, uint64_t awake_ns, InputReport *ret)
{
    return -ETIMEDOUT;
}

/* What else says that nobody is there must not decide then. */
CASE(input__nobody_answers)
{
    Fixture *f = *state;
    source_start(f, &source_input, &(SourceSettings){.input = dir.path, .input_ask = no_answer});
    look(f, 300 * S);
    assert_idle(f, 0, "does not answer: it counts as touched");
}

static int years_ago(void *ctx, uint64_t awake_ns, InputReport *ret)
{
    *ret = (InputReport){.devices = 1, .idle_s = UINT32_MAX};
    return 0;
}

/* Nothing has been idle for longer than the host runs. */
CASE(input__lies)
{
    Fixture *f = *state;
    source_start(f, &source_input, &(SourceSettings){.input = dir.path, .input_ask = years_ago});
    look(f, S);
    assert_idle(f, AWAKE + S, "1 input device");
}
