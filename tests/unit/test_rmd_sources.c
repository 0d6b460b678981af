/* SPDX-License-Identifier: MIT */
/* All sources together: the least of those that know; and nothing is known where none does. */
#include <utmpx.h>

#include "base/time.h"
#include "rmd/displays.h"
#include "rmd/sources.h"
#include "tests/lib/case.h"
#include "tests/lib/input_direct.h"
#include "tests/lib/tmpdir.h"

#define S NS_PER_S
#define NOW (1700000000 * S)
#define AWAKE (100000 * S)

/* As /proc/net/unix has it. */
#define HEADER "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define LINE "0000000000000000: 00000002 00000000 00010000 0001 01 24193 "
#define SOCKETS LINE "/run/systemd/notify\n" LINE "\n" LINE "@/tmp/dbus-X0\n" LINE "/tmp/X0\n"

typedef struct Fixture {
    TmpDir dir;
    char consoles[256], utmp[256], input[256], sockets[256];
    char *patterns[2];
    SourceSettings settings; /* without desktops, and with no bus */
    InputWatch *watch;
    Sources *sources;
    SourcesReport report;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    tmpdir_make(&f->dir);
    f->patterns[0] = tmpdir_path(&f->dir, "dev/tty*", f->consoles);
    f->settings = (SourceSettings){.consoles = f->patterns,
                                   .utmp = tmpdir_path(&f->dir, "utmp", f->utmp),
                                   .terminals = f->dir.path,
                                   .input = tmpdir_path(&f->dir, "input", f->input),
                                   .input_ask = input_direct_ask,
                                   .bus = "unix:path=/nonexistent/bus",
                                   .sockets = tmpdir_path(&f->dir, "sockets", f->sockets)};
    tmpdir_text(&f->dir, "sockets", HEADER SOCKETS);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    assert_null(sources_free(f->sources));
    assert_null(input_watch_free(f->watch));
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

static void look(Fixture *f, uint64_t after_ns)
{
    if (!f->sources) {
        f->watch = input_watch_free(f->watch); /* it begins again with the sources */
        f->watch = f->settings.input_ctx = input_watch_new(f->input);
        f->sources = sources_new(&f->settings);
    }
    assert_non_null(f->sources);
    sources_look(f->sources, NOW + after_ns, AWAKE + after_ns, &f->report);
}

static void assert_decides(const Fixture *f, const char *name, uint64_t idle_ns)
{
    assert_true(f->report.known);
    assert_string_equal(f->report.reports[f->report.decides].name, name);
    assert_int_equal(f->report.idle_ns, idle_ns);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(sources__none_wanted)
{
    Fixture *f = *state;
    f->settings = (SourceSettings){.bus = "unix:path=/nonexistent/bus"};
    look(f, 0);
    assert_int_equal(f->report.count, 1);
    assert_string_equal(f->report.reports[0].name, "logind");
    assert_false(f->report.known);
}

CASE(sources__in_order)
{
    Fixture *f = *state;
    static const char *const names[] = {"devices", "utmp", "input", "logind", "x11", "desktop"};
    f->settings.display = "unix:/nonexistent/display";
    f->settings.session_bus = "unix:path=/nonexistent/bus";
    look(f, 0);
    assert_int_equal(f->report.count, 6);
    for (unsigned i = 0; i < f->report.count; i++) {
        assert_string_equal(f->report.reports[i].name, names[i]);
        assert_false(f->report.reports[i].known);
        assert_true(f->report.reports[i].text[0] != '\0');
    }
    assert_null(source_kinds[6]);
}

/* HTCondor's trap: no file of sessions, no devices, and so "idle for ever". */
CASE(sources__none_knows)
{
    Fixture *f = *state;
    Facts facts;
    look(f, 0);
    assert_int_equal(f->report.count, 4);
    assert_false(f->report.known);
    assert_int_equal(f->report.decides, -1);
    assert_int_equal(f->report.sessions, -1);
    facts_init(&facts);
    sources_facts(&f->report, &facts);
    assert_false(facts_known(&facts, FACT_console_idle));
    assert_false(facts_known(&facts, FACT_user_sessions));
}

CASE(sources__the_least_counts)
{
    Fixture *f = *state;
    Facts facts;
    char path[256];
    struct utmpx record = {.ut_type = BOOT_TIME, .ut_user = "reboot"};
    tmpdir_text(&f->dir, "dev/tty1", "");
    tmpdir_touch(&f->dir, "dev/tty1", NOW - 900 * S, NOW);
    look(f, 0);
    assert_decides(f, "devices", 900 * S);
    assert_int_equal(f->report.sessions, -1);
    tmpdir_write(&f->dir, "utmp", &record, sizeof record);
    tmpdir_touch(&f->dir, "utmp", NOW, NOW - 600 * S);
    look(f, 0);
    assert_decides(f, "utmp", 600 * S);
    assert_int_equal(f->report.sessions, 0);
    assert_int_equal(mkfifo(tmpdir_path(&f->dir, "input/event0", path), 0600), 0);
    look(f, 10 * S);
    assert_decides(f, "input", 0);
    tmpdir_delete(&f->dir, "dev/tty1"); /* does not know any more */
    look(f, 400 * S);
    assert_decides(f, "input", 390 * S);
    assert_false(f->report.reports[0].known);
    facts_init(&facts);
    sources_facts(&f->report, &facts);
    assert_true(facts.value[FACT_console_idle] == 390);
    assert_true(facts.value[FACT_user_sessions] == 0);
}

/* The owner works at a display and touches no terminal all day. */
CASE(sources__displays)
{
    Fixture *f = *state;
    static const char *const displays[] = {"@/tmp/.X11-unix/X0", "/tmp/.X11-unix/X12",
                                           "/run/user/1000/wayland-0", "/.X11-unix/X0",
                                           "/run/user/1000/wayland-1"};
    struct utmpx record = {.ut_type = BOOT_TIME, .ut_user = "reboot"};
    f->settings.consoles = NULL;
    tmpdir_write(&f->dir, "utmp", &record, sizeof record);
    tmpdir_touch(&f->dir, "utmp", NOW, NOW - 600 * S);
    look(f, 0);
    assert_decides(f, "utmp", 600 * S);
    for (size_t i = 0; i < sizeof displays / sizeof displays[0]; i++) {
        char text[512], path[256];
        (void)snprintf(text, sizeof text, HEADER SOCKETS LINE "%s\n", displays[i]);
        tmpdir_text(&f->dir, "sockets", text);
        look(f, S);
        if (f->report.known)
            fail_msg("%s: %s", displays[i], f->report.reports[f->report.decides].text);
        assert_non_null(strstr(f->report.reports[0].text, "a display runs here"));
        assert_int_equal(f->report.sessions, 0);
        assert_int_equal(mkfifo(tmpdir_path(&f->dir, "input/event0", path), 0600), 0);
        f->sources = sources_free(f->sources);
        look(f, S); /* somebody sees its keyboard */
        assert_decides(f, "input", 0);
        assert_true(f->report.reports[0].known);
        tmpdir_delete(&f->dir, "input/event0");
        f->sources = sources_free(f->sources);
    }
    tmpdir_delete(&f->dir, "sockets"); /* there may be one */
    look(f, S);
    assert_false(f->report.known);
}

static void put_sockets(const Fixture *f, unsigned count)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    (void)fputs(HEADER, to);
    for (unsigned i = 0; i < count; i++)
        (void)fputs(LINE "\n", to);
    assert_int_equal(fclose(to), 0);
    tmpdir_text(&f->dir, "sockets", text);
    free(text);
}

/* Each look reads them, before it can say that the owner is back. */
CASE(sources__no_more_sockets_than_a_look_has_time_for)
{
    Fixture *f = *state;
    struct utmpx record = {.ut_type = BOOT_TIME, .ut_user = "reboot"};
    f->settings.consoles = NULL;
    tmpdir_write(&f->dir, "utmp", &record, sizeof record);
    tmpdir_touch(&f->dir, "utmp", NOW, NOW - 600 * S);
    put_sockets(f, DISPLAYS_SOCKETS_MAX);
    look(f, 0);
    assert_decides(f, "utmp", 600 * S);
    put_sockets(f, DISPLAYS_SOCKETS_MAX + 1);
    look(f, S);
    assert_false(f->report.known); /* a display may be among those that were not looked at */
}

/* Files that are no terminals are the owner's own choice. */
CASE(sources__other_files_beside_a_display)
{
    Fixture *f = *state;
    tmpdir_text(&f->dir, "sockets", HEADER LINE "@/tmp/.X11-unix/X0\n");
    tmpdir_text(&f->dir, "dev/tty1", "");
    tmpdir_touch(&f->dir, "dev/tty1", NOW - 900 * S, NOW);
    look(f, 0);
    assert_decides(f, "devices", 900 * S);
}

/* A display of the host counts where rmd has a network namespace of its own. */
CASE(sources__displays_of_the_host)
{
    Fixture *f = *state;
    char path[256];
    struct utmpx record = {.ut_type = BOOT_TIME, .ut_user = "reboot"};
    f->settings.consoles = NULL;
    f->settings.host_sockets = tmpdir_path(&f->dir, "host-sockets", path);
    tmpdir_write(&f->dir, "utmp", &record, sizeof record);
    tmpdir_touch(&f->dir, "utmp", NOW, NOW - 600 * S);
    tmpdir_text(&f->dir, "host-sockets", HEADER SOCKETS);
    look(f, 0);
    assert_decides(f, "utmp", 600 * S);
    tmpdir_text(&f->dir, "host-sockets", HEADER LINE "@/tmp/.X11-unix/X0\n");
    look(f, S);
    assert_false(f->report.known);
    tmpdir_delete(&f->dir, "host-sockets"); /* there may be one */
    look(f, 2 * S);
    assert_false(f->report.known);
}

/* Logins and terminals of a container are not the owner's. */
CASE(sources__in_a_container)
{
    Fixture *f = *state;
    struct utmpx record = {.ut_type = BOOT_TIME, .ut_user = "reboot"};
    Facts facts;
    f->settings.consoles = NULL;
    f->settings.container = "docker";
    tmpdir_write(&f->dir, "utmp", &record, sizeof record);
    tmpdir_touch(&f->dir, "utmp", NOW, NOW - 600 * S);
    look(f, 0);
    assert_false(f->report.known);
    assert_int_equal(f->report.sessions, -1);
    assert_non_null(strstr(f->report.reports[0].text, "container"));
    facts_init(&facts);
    sources_facts(&f->report, &facts);
    assert_false(facts_known(&facts, FACT_console_idle));
    assert_false(facts_known(&facts, FACT_user_sessions));
}

/* The owner has passed it into the container. */
CASE(sources__other_files_in_a_container)
{
    Fixture *f = *state;
    f->settings.container = "docker";
    tmpdir_text(&f->dir, "dev/tty1", "");
    tmpdir_touch(&f->dir, "dev/tty1", NOW - 900 * S, NOW);
    look(f, 0);
    assert_decides(f, "devices", 900 * S);
}
