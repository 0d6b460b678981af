/* SPDX-License-Identifier: MIT */
/* What an X server tells, one without a screen; and that a server which dies takes nobody with
 * it. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "tests/lib/case.h"
#include "tests/lib/needs.h"

enum { LOOKS_MAX = 1000000, PATIENCE_MS = 150000 };

typedef struct Fixture {
    Source *source;
    SourceReport report; /* of the last look */
    pid_t server;        /* 0: none */
    char display[32];
} Fixture;

static int set_up(void **state)
{
    *state = calloc(1, sizeof(Fixture));
    return *state ? 0 : -1;
}

static void server_end(Fixture *f)
{
    if (f->server == 0)
        return;
    (void)kill(f->server, SIGTERM); /* so that it takes its socket with it */
    assert_int_equal(waitpid(f->server, NULL, 0), f->server);
    f->server = 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    if (f->source)
        f->source->kind->close(f->source);
    server_end(f);
    free(f);
    return 0;
}

/* Starts a program whose output on descriptor 3 is the pipe's. */
static pid_t program_start(const char *const *argv, int out)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    if (out >= 0)
        (void)dup2(out, 3);
    (void)execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* The server chooses a display and writes its number when it is ready. */
static void server_start(Fixture *f)
{
    static const char *const argv[] = {"Xvfb",    "-displayfd", "3",       "-nolisten", "tcp",
                                       "-screen", "0",          "64x48x8", "-noreset",  NULL};
    char number[16] = "";
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    f->server = program_start(argv, ends[1]);
    (void)close(ends[1]);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    size_t len = 0;
    ssize_t n = 1;
    while (n > 0 && !strchr(number, '\n') && poll(&p, 1, PATIENCE_MS) == 1) {
        n = read(ends[0], number + len, sizeof number - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    (void)close(ends[0]);
    assert_non_null(strchr(number, '\n'));
    (void)snprintf(f->display, sizeof f->display, ":%d", atoi(number));
}

static void source_start(Fixture *f, const char *display)
{
    f->source = source_x11.open(&(SourceSettings){.display = display});
    assert_non_null(f->source);
    f->source->kind = &source_x11;
}

static void look(Fixture *f)
{
    f->report = (SourceReport){.name = "x", .sessions = -1};
    f->source->kind->look(f->source, 0, 0, &f->report);
    assert_true(f->report.text[0] != '\0');
}

static void assert_unknown(const Fixture *f, const char *text)
{
    if (f->report.known || !strstr(f->report.text, text))
        fail_msg("known %d: %s", f->report.known, f->report.text);
}

/* The server's clock is its own: looks until it has gone on by a while. */
static void await_idle(Fixture *f)
{
    int looks = 0;
    do
        look(f);
    while (f->report.known && f->report.idle_ns < 50 * NS_PER_MS && ++looks < LOOKS_MAX);
    if (!f->report.known || f->report.idle_ns < 50 * NS_PER_MS)
        fail_msg("known %d: %s", f->report.known, f->report.text);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(x11__idle_time)
{
    Fixture *f = *state;
    char name[64];
    server_start(f);
    source_start(f, f->display);
    await_idle(f);
    (void)snprintf(name, sizeof name, "%s: last touched ", f->display);
    assert_non_null(strstr(f->report.text, name));
}

/* Whenever the look comes: the last input is no longer ago than the start of the program that made
 * it, before which there was none for a while. */
CASE(x11__activity)
{
    Fixture *f = *state;
    int status = -1;
    server_start(f);
    source_start(f, f->display);
    await_idle(f);
    assert_int_equal(setenv("DISPLAY", f->display, 1), 0);
    const char *const argv[] = {"xdotool", "key", "a", NULL};
    uint64_t start_ns = os_now_ns();
    pid_t pid = program_start(argv, -1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    look(f);
    assert_true(f->report.known);
    assert_in_range(f->report.idle_ns, 0, os_now_ns() - start_ns + NS_PER_MS);
}

CASE(x11__server_dies)
{
    Fixture *f = *state;
    server_start(f);
    source_start(f, f->display);
    look(f);
    assert_true(f->report.known);
    server_end(f);
    look(f);
    assert_unknown(f, "the X server is gone");
    look(f);
    assert_unknown(f, "no X server answers there");
}

/* Whether Dodo was built with X11. */
static bool built_with_x11(void)
{
    Fixture f = {.server = 0};
    source_start(&f, "unix:/nonexistent/display");
    look(&f);
    f.source->kind->close(f.source);
    return !strstr(f.report.text, "built without X11");
}

int main(void)
{
    static const char *const server[] = {"sh", "-c", "command -v Xvfb", NULL};
    static const char *const tool[] = {"sh", "-c", "command -v xdotool", NULL};
    if (!needs(server, "xvfb") || !needs(tool, "xdotool"))
        return 0;
    if (!built_with_x11())
        return needs_missing("libxcb-screensaver0-dev");
    return cases_run(NULL, NULL);
}
