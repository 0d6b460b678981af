/* SPDX-License-Identifier: MIT */
/* The sources that ask on a message bus: logind (a mock of it) and desktops, on a private bus; and
 * what becomes of those who ask when they do not answer. */
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/needs.h"
#include "tests/lib/private_bus.h"
#include "tests/unit/source_fixture.h"

#define LOGIN "org.freedesktop.login1"
#define SCREEN_SAVER "org.freedesktop.ScreenSaver"
#define MUTTER "org.gnome.Mutter.IdleMonitor"

static PrivateBus bus;

static int bus_end(void **state)
{
    (void)tear_down(state);
    private_bus_stop(&bus);
    return 0;
}

static void bus_start(void)
{
    assert_true(private_bus_start(&bus));
}

static void listen_to(Fixture *f, const SourceKind *kind, const char *address)
{
    source_start(f, kind, &(SourceSettings){.bus = address, .session_bus = address});
}

/* ---- logind --------------------------------------------------------------------------------- */

static GSubprocess *logind_start(Fixture *f)
{
    static const char *const argv[] = {"/usr/bin/python3", "-m",     "dbusmock", "--system",
                                       "--template",       "logind", NULL};
    bus_start();
    GSubprocess *mock = private_bus_run(&bus, LOGIN, argv);
    assert_non_null(mock);
    listen_to(f, &source_logind, bus.address);
    return mock;
}

static void session_add(const char *id, const char *user)
{
    private_bus_call(&bus, LOGIN, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock",
                     "AddSession", g_variant_new("(ssusb)", id, "seat0", 1000u, user, TRUE));
}

/* Sets a property of a session; @value is floating. */
static void session_set(const char *id, const char *key, GVariant *value)
{
    g_autofree char *path = g_strdup_printf("/org/freedesktop/login1/session/%s", id);
    GVariantBuilder b;
    g_variant_builder_init(&b, G_VARIANT_TYPE("a{sv}"));
    g_variant_builder_add(&b, "{sv}", key, value);
    private_bus_call(&bus, LOGIN, path, "org.freedesktop.DBus.Mock", "UpdateProperties",
                     g_variant_new("(sa{sv})", "org.freedesktop.login1.Session", &b));
}

static void session_idle(const char *id, bool idle, uint64_t since_us, uint64_t since_monotonic_us)
{
    session_set(id, "IdleHint", g_variant_new_boolean(idle));
    session_set(id, "IdleSinceHint", g_variant_new_uint64(since_us));
    session_set(id, "IdleSinceHintMonotonic", g_variant_new_uint64(since_monotonic_us));
}

static uint64_t us(uint64_t ns)
{
    return ns / NS_PER_US;
}

#define CASE(name) TEST_WITH(name, set_up, bus_end)

CASE(logind__nobody)
{
    Fixture *f = *state;
    GSubprocess *mock = logind_start(f);
    look(f, 0);
    assert_idle(f, 0, "nobody is logged in");
    assert_int_equal(f->report.sessions, 0);
    look(f, 400 * S);
    assert_idle(f, 400 * S, "nobody is logged in, for 400s at least");
    session_add("c1", "ann");
    look(f, 401 * S);
    assert_idle(f, 0, "1 logged in, last active: ann here, 0s ago");
    assert_int_equal(f->report.sessions, 1);
    session_set("c1", "State", g_variant_new_string("closing"));
    look(f, 402 * S);
    assert_idle(f, 0, "nobody is logged in, for 0s at least"); /* counted again */
    subprocess_end(mock);
}

CASE(logind__sessions)
{
    Fixture *f = *state;
    GSubprocess *mock = logind_start(f);
    session_add("1", "ann");
    session_idle("1", true, us(NOW - 900 * S), us(AWAKE - 900 * S));
    look(f, 0);
    assert_idle(f, 900 * S, "1 logged in, last active: ann here, 15min ago");

    session_add("2", "bob"); /* by ssh: logind looks at the terminal */
    session_set("2", "Type", g_variant_new_string("tty"));
    look(f, 0);
    assert_false(f->report.terminals_only); /* one is a desktop */
    session_set("1", "Type", g_variant_new_string("tty"));
    look(f, 0);
    assert_true(f->report.terminals_only);
    session_set("1", "Type", g_variant_new_string("wayland"));
    session_set("2", "Remote", g_variant_new_boolean(TRUE));
    session_idle("2", false, us(NOW - 60 * S), us(AWAKE - 60 * S));
    look(f, 0);
    assert_idle(f, 60 * S, "2 logged in, last active: bob from afar, 1min ago");
    assert_int_equal(f->report.sessions, 2);

    session_set("2", "Type", g_variant_new_string("unspecified"));
    look(f, 0);
    assert_idle(f, 60 * S, "2 logged in");
    session_idle("2", false, 0, 0); /* no terminal: sftp, say */
    look(f, 0);
    assert_idle(f, 0, "2 logged in, last active: bob");
    session_idle("2", false, us(NOW - 60 * S), us(AWAKE - 60 * S));

    session_idle("1", false, us(NOW - 900 * S), us(AWAKE - 900 * S)); /* back at the desktop */
    look(f, S);
    assert_idle(f, 0, "2 logged in, last active: ann here, 0s ago");

    session_set("1", "Class", g_variant_new_string("greeter")); /* nobody's */
    look(f, S);
    assert_idle(f, 61 * S, "1 logged in, last active: bob from afar");
    assert_false(f->report.terminals_only); /* he is at no terminal here */
    subprocess_end(mock);
}

/* Its two clocks: the one that does not jump is believed, the other within reason. */
CASE(logind__clocks)
{
    Fixture *f = *state;
    static const struct {
        uint64_t since_ns, monotonic_ns, idle_ns;
    } cases[] = {
        {NOW - 10 * S, AWAKE - 700 * S, 700 * S},
        {NOW - 5000 * S, AWAKE - 700 * S, 700 * S}, /* the clock was set forward */
        {NOW - 300 * S, AWAKE + S, 0},              /* in the future */
        {NOW - 300 * S, 0, 300 * S},                /* only one is reported */
        {NOW + S, 0, 0},
        {S, 0, AWAKE}, /* before the host's start */
        {0, 0, 0},     /* idle, and no word since when */
    };
    GSubprocess *mock = logind_start(f);
    session_add("1", "ann");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        session_idle("1", true, us(cases[i].since_ns), us(cases[i].monotonic_ns));
        look(f, 0);
        assert_idle(f, cases[i].idle_ns, "1 logged in");
    }
    session_idle("1", true, UINT64_MAX, UINT64_MAX);
    look(f, 0);
    assert_idle(f, 0, "1 logged in");
    subprocess_end(mock);
}

/* The mock dies, another takes its place: known, unknown, known. */
CASE(logind__restarts)
{
    Fixture *f = *state;
    GSubprocess *mock = logind_start(f);
    look(f, 0);
    assert_true(f->report.known);
    subprocess_end(mock);
    Service other = {LOGIN, "/org/freedesktop/login1", LOGIN ".Manager"};
    look(f, 300 * S);
    assert_unknown(f, LOGIN);
    service_start(&other, &bus);
    service_answer(&other, g_variant_new_parsed("(@a(susso) [],)"));
    look(f, 301 * S);
    assert_idle(f, 0, "nobody is logged in");
    service_stop(&other);
}

/* What is not as it should be is not known; what went away between two calls is not there. */
CASE(logind__strange_answers)
{
    Fixture *f = *state;
    bus_start();
    Service manager = {LOGIN, "/org/freedesktop/login1", LOGIN ".Manager"};
    service_start(&manager, &bus);
    listen_to(f, &source_logind, bus.address);
    service_answer(&manager, g_variant_new("(s)", "nothing of the kind"));
    look(f, 0);
    assert_unknown(f, "type");
    look(f, S); /* not asked again at once */
    assert_unknown(f, "type");
    service_answer(&manager,
                   g_variant_new_parsed("([('c7', uint32 0, 'ann', 'seat0', @o '/gone')],)"));
    look(f, 4 * S);
    assert_unknown(f, "type");
    look(f, 5 * S);
    assert_idle(f, 0, "nobody is logged in");
    service_fail(&manager, "org.freedesktop.DBus.Error.AccessDenied");
    look(f, 6 * S);
    assert_unknown(f, "so the test wants");
    service_stop(&manager);
}

/* A session that does not say whose it is: somebody's, and not idle. */
CASE(logind__no_properties)
{
    Fixture *f = *state;
    bus_start();
    Service manager = {LOGIN, "/org/freedesktop/login1", LOGIN ".Manager"};
    Service session = {"test.session", "/s", "org.freedesktop.DBus.Properties"};
    service_start(&manager, &bus);
    service_start_on(&session, &manager);
    service_answer(&manager, g_variant_new_parsed("([('1', uint32 0, 'ann', '', @o '/s')],)"));
    service_answer(&session, g_variant_new_parsed("(@a{sv} {},)"));
    listen_to(f, &source_logind, bus.address);
    look(f, 300 * S);
    assert_idle(f, 0, "1 logged in");
    service_stop(&session);
    service_stop(&manager);
}

/* ---- services that do not answer ------------------------------------------------------------- */

CASE(service__silent)
{
    Fixture *f = *state;
    bus_start();
    Service manager = {LOGIN, "/org/freedesktop/login1", LOGIN ".Manager"};
    service_start(&manager, &bus);
    listen_to(f, &source_logind, bus.address);
    look(f, 0);
    assert_unknown(f, "Timeout");
    service_answer(&manager, g_variant_new_parsed("(@a(susso) [],)"));
    look(f, 4 * S);
    assert_unknown(f, "Timeout"); /* left alone for a while */
    look(f, 5 * S);
    assert_idle(f, 0, "nobody is logged in");
    service_stop(&manager);
}

CASE(bus__dies)
{
    static char address[256]; /* which stays when the bus starts again */
    Fixture *f = *state;
    bus_start();
    Service manager = {LOGIN, "/org/freedesktop/login1", LOGIN ".Manager"};
    service_start(&manager, &bus);
    service_answer(&manager, g_variant_new_parsed("(@a(susso) [],)"));
    (void)snprintf(address, sizeof address, "%s", bus.address);
    listen_to(f, &source_logind, address);
    look(f, 0);
    assert_true(f->report.known);
    private_bus_kill(&bus);
    look(f, S);
    assert_false(f->report.known);
    look(f, 7 * S);
    assert_false(f->report.known);
    service_stop(&manager);
    private_bus_start_again(&bus);
    service_start(&manager, &bus);
    service_answer(&manager, g_variant_new_parsed("(@a(susso) [],)"));
    look(f, 13 * S);
    assert_idle(f, 0, "nobody is logged in");
    service_stop(&manager);
}

/* ---- desktops ------------------------------------------------------------------------------- */

CASE(desktop__gnome)
{
    Fixture *f = *state;
    bus_start();
    Service gnome = {MUTTER, "/org/gnome/Mutter/IdleMonitor/Core", MUTTER};
    listen_to(f, &source_desktop, bus.address);
    look(f, 0);
    assert_unknown(f, "no desktop on this bus reports it");
    service_start(&gnome, &bus);
    service_answer(&gnome, g_variant_new("(t)", (guint64)301250));
    look(f, S);
    assert_idle(f, 301250 * NS_PER_MS, "GNOME: last touched 301s ago");
    service_answer(&gnome, g_variant_new("(t)", (guint64)0));
    look(f, 2 * S);
    assert_idle(f, 0, "GNOME: last touched 0s ago");
    service_answer(&gnome, g_variant_new("(t)", UINT64_MAX));
    look(f, 3 * S);
    assert_true(f->report.known && f->report.idle_ns == UINT64_MAX);
    service_fail(&gnome, "org.freedesktop.DBus.Error.Failed");
    look(f, 4 * S);
    assert_unknown(f, "so the test wants");
    service_stop(&gnome);
}

/* One counts seconds, KDE milliseconds: neither makes a host idle that is not. */
CASE(desktop__screen_savers)
{
    Fixture *f = *state;
    bus_start();
    Service saver = {SCREEN_SAVER, "/org/freedesktop/ScreenSaver", SCREEN_SAVER};
    service_start(&saver, &bus);
    service_answer(&saver, g_variant_new("(u)", 900u));
    listen_to(f, &source_desktop, bus.address);
    look(f, 0);
    assert_idle(f, 0, "the screen saver: last touched 0s ago"); /* first heard of */
    service_answer(&saver, g_variant_new("(u)", 1200u));
    look(f, 300 * S);
    assert_idle(f, 300 * S, "the screen saver: last touched 5min ago");
    service_answer(&saver, g_variant_new("(u)", 3u));
    look(f, 303 * S);
    assert_idle(f, 0, "last touched 0s ago"); /* it fell: since the look before, or a moment ago */
    service_answer(&saver, g_variant_new("(u)", 13u));
    look(f, 313 * S);
    assert_idle(f, 10 * S, "last touched 10s ago");
    /* In milliseconds, from somebody who touches the mouse all the time. */
    for (unsigned i = 0; i < 10; i++) {
        service_answer(&saver, g_variant_new("(u)", 1000u - 90 * i));
        look(f, (400 + i) * S);
    }
    assert_idle(f, 0, "last touched 0s ago");
    for (unsigned i = 0; i < 2; i++) {
        service_answer(&saver, g_variant_new("(u)", 0u));
        look(f, (500 + 300 * i) * S);
        assert_idle(f, 0, "last touched 0s ago");
    }
    service_answer(&saver, g_variant_new("(u)", 400u)); /* which may be less than a second */
    look(f, 801 * S);
    assert_idle(f, S, "last touched 1s ago");
    service_stop(&saver);
}

/* KDE's older path; and one that refuses to tell. */
CASE(desktop__other_path)
{
    Fixture *f = *state;
    bus_start();
    Service saver = {SCREEN_SAVER, "/ScreenSaver", SCREEN_SAVER};
    service_start(&saver, &bus);
    service_answer(&saver, g_variant_new("(u)", 5u));
    listen_to(f, &source_desktop, bus.address);
    look(f, 0);
    assert_idle(f, 0, "the screen saver");
    service_fail(&saver, "org.freedesktop.DBus.Error.NotSupported");
    look(f, S);
    assert_unknown(f, "no desktop on this bus reports it");
    service_stop(&saver);
}

int main(void)
{
    static const char *const daemon[] = {"dbus-daemon", "--version", NULL};
    static const char *const mock[] = {"/usr/bin/python3", "-c", "import dbusmock", NULL};
    if (!needs(daemon, "dbus-daemon") || !needs(mock, "python3-dbusmock"))
        return 0;
    return cases_run(NULL, NULL);
}
