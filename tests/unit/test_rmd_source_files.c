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
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "rmd/utmp.h"
#include "tests/lib/case.h"
#include "tests/lib/input_direct.h"
#include "tests/lib/tmpdir.h"

#define S NS_PER_S
#define NOW (1700000000 * S)
#define AWAKE (100000 * S)

typedef struct Fixture {
    TmpDir dir;
    InputWatch *watch;
    Source *source;
    SourceReport report; /* of the last look */
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    tmpdir_make(&f->dir);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    if (f->source)
        f->source->kind->close(f->source);
    assert_null(input_watch_free(f->watch));
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

static void source_start(Fixture *f, const SourceKind *kind, const SourceSettings *settings)
{
    f->source = kind->open(settings);
    assert_non_null(f->source);
    f->source->kind = kind;
}

/* A look @after_ns the beginning. */
static void look(Fixture *f, uint64_t after_ns)
{
    f->report = (SourceReport){.name = "x", .sessions = -1};
    f->source->kind->look(f->source, NOW + after_ns, AWAKE + after_ns, &f->report);
    assert_true(f->report.text[0] != '\0');
}

static void assert_idle(const Fixture *f, uint64_t idle_ns, const char *text)
{
    if (!f->report.known || f->report.idle_ns != idle_ns || !strstr(f->report.text, text))
        fail_msg("known %d, idle %.3f s, not %.3f: %s", f->report.known,
                 (double)f->report.idle_ns / 1e9, (double)idle_ns / 1e9, f->report.text);
}

static void assert_unknown(const Fixture *f, const char *text)
{
    if (f->report.known || !strstr(f->report.text, text))
        fail_msg("known %d: %s", f->report.known, f->report.text);
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

static void file_make(Fixture *f, const char *name, uint64_t age_ns)
{
    tmpdir_text(&f->dir, name, "");
    tmpdir_touch(&f->dir, name, NOW - age_ns, NOW); /* written to just now: that says nothing */
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(devices__patterns)
{
    Fixture *f = *state;
    char ttys[256], pts[256];
    char *const consoles[] = {tmpdir_path(&f->dir, "tty[0-9]*", ttys),
                              tmpdir_path(&f->dir, "pts/*", pts), NULL};
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "no file is there that matches ");
    file_make(f, "tty", 1 * S);
    file_make(f, "ttyS0", 2 * S);
    look(f, 0);
    assert_unknown(f, " or the others");
    file_make(f, "tty1", 900 * S);
    file_make(f, "tty12", 700 * S);
    look(f, 0);
    assert_idle(f, 700 * S, "2 device files, last read 700s ago");
    look(f, 5 * S);
    assert_idle(f, 705 * S, "last read 705s ago");
    file_make(f, "pts/0", 0);
    look(f, 6 * S);
    assert_idle(f, S - 1, "3 device files, last read 1s ago");
    tmpdir_touch(&f->dir, "tty1", NOW + 6 * S + S / 2, NOW);
    look(f, 7 * S);
    assert_idle(f, S / 2, "3 device files, last read 0s ago");
}

CASE(devices__one_that_is_missing)
{
    Fixture *f = *state;
    char mouse[256], ttys[256];
    char *const consoles[] = {tmpdir_path(&f->dir, "tty*", ttys),
                              tmpdir_path(&f->dir, "mouse", mouse), NULL};
    file_make(f, "tty1", 900 * S);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "mouse: No such file or directory");
    file_make(f, "mouse", 400 * S);
    look(f, S);
    assert_idle(f, 401 * S, "2 device files");
    tmpdir_delete(&f->dir, "mouse");
    look(f, 2 * S);
    assert_unknown(f, "mouse: No such file or directory");
}

CASE(devices__one_that_cannot_be_looked_at)
{
    Fixture *f = *state;
    char ttys[256], loop[256];
    char *const consoles[] = {tmpdir_path(&f->dir, "tty*", ttys), NULL};
    file_make(f, "tty1", 900 * S);
    assert_int_equal(symlink("tty2", tmpdir_path(&f->dir, "tty2", loop)), 0);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "Too many levels of symbolic links");
}

/* What a program prints counts as read from the master of all pseudo-terminals. */
CASE(devices__without_ptmx)
{
    Fixture *f = *state;
    char all[256], link[256];
    char *const consoles[] = {tmpdir_path(&f->dir, "*", all), NULL};
    assert_int_equal(symlink("/dev/ptmx", tmpdir_path(&f->dir, "ptmx", link)), 0);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_unknown(f, "no file is there that matches");
}

/* A real terminal is seen to be one, another file is not. */
CASE(devices__terminals_only)
{
    Fixture *f = *state;
    char all[256], link[256];
    char *const consoles[] = {tmpdir_path(&f->dir, "*", all), NULL};
    CLEANUP_CLOSE int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0);
    assert_int_equal(symlink(ptsname(master), tmpdir_path(&f->dir, "pts", link)), 0);
    source_start(f, &source_devices, &(SourceSettings){.consoles = consoles});
    look(f, 0);
    assert_true(f->report.known && f->report.terminals_only);
    assert_non_null(strstr(f->report.text, "1 device file, "));
    file_make(f, "mouse", 0);
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

static void sessions_write(Fixture *f, const Sessions *s, uint64_t age_ns)
{
    tmpdir_write(&f->dir, "utmp", s->records, s->count * sizeof s->records[0]);
    tmpdir_touch(&f->dir, "utmp", NOW, NOW - age_ns);
}

static void utmp_start(Fixture *f)
{
    static char utmp[256], terminals[256];
    SourceSettings settings = {.utmp = tmpdir_path(&f->dir, "utmp", utmp),
                               .terminals = tmpdir_path(&f->dir, "dev", terminals)};
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
    tmpdir_text(&f->dir, "utmp", "");
    look(f, 0);
    assert_unknown(f, "utmp: no sessions are recorded here");
    tmpdir_text(&f->dir, "utmp", "half a record");
    look(f, 0);
    assert_unknown(f, "utmp: no sessions are recorded here");
    assert_int_equal(f->report.sessions, -1);
}

CASE(utmp__nobody_is_logged_in)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    session_add(&s, BOOT_TIME, 0, "~", "reboot");
    session_add(&s, LOGIN_PROCESS, getpid(), "tty1", "LOGIN");
    sessions_write(f, &s, 800 * S);
    utmp_start(f);
    look(f, 0);
    assert_idle(f, 800 * S, "nobody is logged in, for 800s");
    assert_int_equal(f->report.sessions, 0);
    sessions_write(f, &s, 2 * AWAKE); /* kept across the host's start */
    look(f, S);
    assert_idle(f, S - 1, "nobody is logged in");
}

CASE(utmp__since_the_hosts_start_at_most)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    session_add(&s, BOOT_TIME, 0, "~", "reboot");
    sessions_write(f, &s, 2 * AWAKE);
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
    sessions_write(f, &s, 4000 * S);
    file_make(f, "dev/tty1", 3600 * S);
    file_make(f, "dev/pts/3", 500 * S);
    file_make(f, "dev/pts/4", 10 * S);
    file_make(f, "dev/pts/5", 11 * S);
    file_make(f, "dev/pts/6", 12 * S);
    file_make(f, "dev/pts/7", 13 * S);
    utmp_start(f);
    look(f, 0);
    assert_idle(f, 500 * S, "2 logged in, last typed or came 500s ago");
    assert_int_equal(f->report.sessions, 2);
    tmpdir_touch(&f->dir, "dev/tty1", NOW + S, NOW);
    look(f, S);
    assert_idle(f, 0, "2 logged in");
    s.records[1].ut_type = DEAD_PROCESS; /* logs out */
    sessions_write(f, &s, 0);
    look(f, 30 * S);
    assert_idle(f, 29 * S - 1, "1 logged in");
    look(f, 40 * S);
    assert_idle(f, 39 * S - 1, "1 logged in");
}

/* As rmd runs: without the right to send signals to the processes of those who are logged in. */
static int others_count(Fixture *f)
{
    char path[256];
    if (chmod(f->dir.path, 0755) < 0 || chmod(tmpdir_path(&f->dir, "utmp", path), 0644) < 0 ||
        chmod(tmpdir_path(&f->dir, "dev", path), 0755) < 0 ||
        (geteuid() == 0 && setuid(65534) < 0) || kill(1, 0) == 0 || errno != EPERM)
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
    sessions_write(f, &s, 4000 * S);
    file_make(f, "dev/pts/3", 500 * S);
    assert_int_equal(chmod(tmpdir_path(&f->dir, "dev/pts", (char[256]){0}), 0755), 0);
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
    sessions_write(f, &s, 4000 * S);
    file_make(f, "dev/pts/3", 500 * S);
    utmp_start(f);
    look(f, 0);
    assert_unknown(f, "2 logged in, but not on a terminal that can be looked at");
    assert_int_equal(f->report.sessions, 2);
    memset(line, 'x', sizeof line);
    line[31] = '\0';
    session_add(&s, USER_PROCESS, 0, "pts/3", "bob"); /* of unknown process: taken as alive */
    session_add(&s, USER_PROCESS, getpid(), line, "eve");
    s.records[3].ut_line[31] = 'x'; /* no end */
    sessions_write(f, &s, 4000 * S);
    look(f, S);
    assert_idle(f, S - 1, "4 logged in");
}

/* A session is its process's and its line's; a line may be as long as its place. */
CASE(utmp__of_whom_and_where)
{
    Fixture *f = *state;
    Sessions s = {.count = 0};
    static char longest[UTMP_LINE_MAX + 1];
    char path[256];
    Utmp u;
    memset(longest, 'x', UTMP_LINE_MAX);
    session_add(&s, USER_PROCESS, getpid(), "pts/3", "ann");
    session_add(&s, USER_PROCESS, getppid(), longest, "bob");
    s.records[0].ut_session = s.records[1].ut_session = 1;
    sessions_write(f, &s, 0);
    assert_int_equal(utmp_read(tmpdir_path(&f->dir, "utmp", path), &u), 0);
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
    file_make(f, "dev/tty1", 3600 * S);
    utmp_start(f);
    tmpdir_write(&f->dir, "utmp", records, MANY * sizeof *records);
    look(f, 0);
    assert_unknown(f, "utmp: more than 1024 are logged in");
    tmpdir_write(&f->dir, "utmp", records, (MANY - 1) * sizeof *records);
    look(f, 0);
    assert_true(f->report.known);
    assert_int_equal(f->report.sessions, MANY - 1);
    free(records);
}

/* ---- input devices -------------------------------------------------------------------------- */

static const char *pipe_make(Fixture *f, const char *name)
{
    static char path[256];
    assert_int_equal(mkfifo(tmpdir_path(&f->dir, name, path), 0600), 0);
    return path;
}

static void event_write(Fixture *f, const char *name, uint16_t type)
{
    char path[256];
    struct input_event e = {.type = type, .code = 30, .value = 1};
    CLEANUP_CLOSE int fd =
        open(tmpdir_path(&f->dir, name, path), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0); /* it is open for reading */
    assert_int_equal(write(fd, &e, sizeof e), sizeof e);
}

static void input_watch(Fixture *f, const char *path)
{
    f->watch = input_watch_new(path);
    assert_non_null(f->watch);
    source_start(
        f, &source_input,
        &(SourceSettings){.input = path, .input_ask = input_direct_ask, .input_ctx = f->watch});
}

static void input_start(Fixture *f)
{
    input_watch(f, f->dir.path);
}

CASE(input__none)
{
    Fixture *f = *state;
    char missing[256];
    input_watch(f, tmpdir_path(&f->dir, "missing", missing));
    look(f, 0);
    assert_unknown(f, "missing: no input devices are here");
    tmpdir_text(&f->dir, "missing/mouse0", ""); /* not one of event* */
    look(f, 10 * S);
    assert_unknown(f, "missing: no input devices are here");
}

CASE(input__events)
{
    Fixture *f = *state;
    pipe_make(f, "event0");
    pipe_make(f, "event1");
    pipe_make(f, "mouse0");
    input_start(f);
    look(f, 0);
    assert_idle(f, 0, "2 input devices, last used 0s ago"); /* since it watches */
    look(f, 400 * S);
    assert_idle(f, 400 * S, "last used 400s ago");
    event_write(f, "event1", EV_KEY);
    look(f, 401 * S);
    assert_idle(f, 0, "last used 0s ago");
    look(f, 403 * S);
    assert_idle(f, 2 * S, "last used 2s ago");
    event_write(f, "event0", EV_REL);
    event_write(f, "event0", EV_SYN);
    look(f, 404 * S);
    assert_idle(f, 0, "last used 0s ago");
}

CASE(input__what_is_no_activity)
{
    Fixture *f = *state;
    static const uint16_t types[] = {EV_SYN, EV_MSC, EV_LED, EV_SND, EV_REP, EV_PWR};
    pipe_make(f, "event0");
    input_start(f);
    look(f, 0);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        event_write(f, "event0", types[i]);
    look(f, 10 * S);
    assert_idle(f, 10 * S, "1 input device, last used 10s ago");
}

/* More than one reading takes: all of it is gone afterwards. */
CASE(input__a_burst)
{
    Fixture *f = *state;
    pipe_make(f, "event0");
    input_start(f);
    look(f, 0);
    for (int i = 0; i < 1000; i++)
        event_write(f, "event0", EV_ABS);
    look(f, 10 * S);
    assert_idle(f, 0, "last used 0s ago");
    look(f, 11 * S);
    assert_idle(f, S, "last used 1s ago");
}

CASE(input__one_file)
{
    Fixture *f = *state;
    input_watch(f, pipe_make(f, "keyboard"));
    look(f, 0);
    look(f, 30 * S);
    assert_idle(f, 30 * S, "1 input device");
    event_write(f, "keyboard", EV_KEY);
    look(f, 31 * S);
    assert_idle(f, 0, "1 input device");
}

/* What can be opened and not be read, as a device that was pulled out: all of them go at once. */
CASE(input__unplugged)
{
    Fixture *f = *state;
    tmpdir_text(&f->dir, "event0/none", "");
    tmpdir_text(&f->dir, "event1/none", "");
    input_start(f);
    look(f, 0);
    assert_unknown(f, "no input devices are here");
    pipe_make(f, "event2");
    look(f, 5 * S);
    assert_idle(f, 0, "1 input device,");
}

CASE(input__plugged_in)
{
    Fixture *f = *state;
    pipe_make(f, "event0");
    input_start(f);
    look(f, 0);
    pipe_make(f, "event7");
    look(f, S);
    assert_idle(f, S, "1 input device"); /* not looked for each time */
    look(f, 5 * S);
    assert_idle(f, 0, "2 input devices");
    event_write(f, "event7", EV_KEY);
    look(f, 9 * S);
    assert_idle(f, 0, "2 input devices");
}

/* A gamepad that anybody may read says nothing of a keyboard that only root may. A socket stands
 * for it: nobody at all can open one. */
CASE(input__not_permitted)
{
    Fixture *f = *state;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char path[256];
    pipe_make(f, "event0");
    (void)tmpdir_path(&f->dir, "event1", path);
    memcpy(a.sun_path, path, strnlen(path, sizeof a.sun_path - 1));
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    input_start(f);
    look(f, 0);
    assert_unknown(f, "event1: ");
    tmpdir_delete(&f->dir, "event1");
    look(f, 5 * S);
    assert_idle(f, 5 * S, "1 input device");
}

CASE(input__too_many)
{
    Fixture *f = *state;
    for (int i = 0; i < 65; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "event%d", i);
        pipe_make(f, name);
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
    assert_int_equal(mkdir(tmpdir_path(&f->dir, "event0", path), 0700), 0);
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
    source_start(f, &source_input, &(SourceSettings){.input = f->dir.path, .input_ask = no_answer});
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
    source_start(f, &source_input, &(SourceSettings){.input = f->dir.path, .input_ask = years_ago});
    look(f, S);
    assert_idle(f, AWAKE + S, "1 input device");
}
