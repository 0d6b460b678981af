/* SPDX-License-Identifier: MIT */
/* logind, as far as sleep goes, on a private bus: the lock is taken, let go and taken again. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gio/gio.h>
#include <gio/gunixfdlist.h>

#include "rmd/sleep_watch.h"
#include "tests/lib/case.h"
#include "tests/lib/private_bus.h"

#define LOGIN "org.freedesktop.login1"
#define LOGIN_PATH "/org/freedesktop/login1"

enum { PATIENCE_MS = 20000 };

static const char interface[] =
    "<node><interface name='" LOGIN ".Manager'><method name='Inhibit'>"
    "<arg type='s' direction='in'/><arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='h' direction='out'/></method>"
    "<signal name='PrepareForSleep'><arg type='b'/></signal></interface></node>";

static struct Logind {
    PrivateBus bus;
    GDBusConnection *connection;
    int lock; /* our end: it hangs up when the lock is let go */
    unsigned locks;
    SleepWatch *unwanted; /* it has no use for the lock any more when that comes */
} l;

static void on_call(GDBusConnection *c, const char *sender, const char *path, const char *name,
                    const char *method, GVariant *args, GDBusMethodInvocation *call, gpointer ctx)
{
    const char *what, *mode;
    int ends[2];
    g_autoptr(GUnixFDList) fds = g_unix_fd_list_new();
    g_variant_get(args, "(&s&s&s&s)", &what, NULL, NULL, &mode);
    assert_string_equal(what, "sleep");
    assert_string_equal(mode, "delay");
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(g_unix_fd_list_append(fds, ends[1], NULL), 0);
    (void)close(ends[1]);
    if (l.lock >= 0)
        (void)close(l.lock);
    l.lock = ends[0];
    l.locks++;
    if (l.unwanted)
        sleep_watch_delay(l.unwanted, false);
    g_dbus_method_invocation_return_value_with_unix_fd_list(call, g_variant_new("(h)", 0), fds);
}

static void logind_start(void)
{
    static const GDBusInterfaceVTable table = {.method_call = on_call};
    g_autoptr(GDBusNodeInfo) node = g_dbus_node_info_new_for_xml(interface, NULL);
    assert_non_null(node);
    l.connection =
        g_dbus_connection_new_for_address_sync(l.bus.address,
                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                   G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                               NULL, NULL, NULL);
    assert_non_null(l.connection);
    assert_true(g_dbus_connection_register_object(l.connection, LOGIN_PATH, node->interfaces[0],
                                                  &table, NULL, NULL, NULL) > 0);
    g_autoptr(GVariant) owned = g_dbus_connection_call_sync(
        l.connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
        "RequestName", g_variant_new("(su)", LOGIN, 4u), NULL, G_DBUS_CALL_FLAGS_NONE, PATIENCE_MS,
        NULL, NULL);
    assert_non_null(owned);
}

static void says(bool sleeps)
{
    assert_true(g_dbus_connection_emit_signal(l.connection, NULL, LOGIN_PATH, LOGIN ".Manager",
                                              "PrepareForSleep", g_variant_new("(b)", sleeps),
                                              NULL));
}

static gboolean on_late(gpointer ctx)
{
    *(bool *)ctx = true;
    return G_SOURCE_REMOVE;
}

static void wait_locks(unsigned count)
{
    bool late = false;
    guint timer = g_timeout_add(PATIENCE_MS, on_late, &late);
    while (l.locks < count && !late)
        (void)g_main_context_iteration(NULL, TRUE);
    assert_false(late);
    (void)g_source_remove(timer);
}

static bool hears(SleepWatch *w)
{
    struct pollfd p = {.fd = sleep_watch_fd(w), .events = POLLIN};
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    return sleep_watch_take(w);
}

static bool is_free(int wait_ms)
{
    struct pollfd p = {.fd = l.lock};
    return poll(&p, 1, wait_ms) == 1 && (p.revents & POLLHUP);
}

/* A bus, and a watch on it. */
static SleepWatch *begin_with(bool logind)
{
    assert_true(private_bus_start(&l.bus));
    l.lock = -1;
    l.locks = 0;
    if (logind)
        logind_start();
    SleepWatch *w = sleep_watch_new(l.bus.address);
    assert_non_null(w);
    return w;
}

static SleepWatch *begin(void)
{
    return begin_with(true);
}

static void end(SleepWatch *w)
{
    assert_null(sleep_watch_free(w));
    if (l.lock >= 0)
        (void)close(l.lock);
    g_clear_object(&l.connection);
    private_bus_stop(&l.bus);
}

TEST(sleep_waits_until_the_memory_is_back)
{
    SleepWatch *w = begin();
    sleep_watch_delay(w, true);
    wait_locks(1);
    says(true);
    assert_true(hears(w));
    assert_false(is_free(0)); /* the memory is not back yet */
    sleep_watch_delay(w, false);
    assert_true(is_free(PATIENCE_MS));
    says(false);
    assert_false(hears(w));
    sleep_watch_delay(w, true);
    wait_locks(2);
    assert_false(is_free(0));
    assert_null(sleep_watch_free(w));
    assert_true(is_free(PATIENCE_MS));
    (void)close(l.lock);
    g_clear_object(&l.connection);
    private_bus_stop(&l.bus);
}

/* The memory was back before logind had answered: nothing holds sleep up. */
TEST(a_lock_that_comes_too_late_is_let_go)
{
    SleepWatch *w = begin();
    l.unwanted = w;
    sleep_watch_delay(w, true);
    wait_locks(1);
    assert_true(is_free(PATIENCE_MS));
    l.unwanted = NULL;
    sleep_watch_delay(w, true);
    wait_locks(2);
    assert_false(is_free(0));
    end(w);
}

/* When the bus ends, nothing waits for us any more; when it is back, sleep waits again. */
TEST(the_bus_starts_again)
{
    SleepWatch *w = begin();
    sleep_watch_delay(w, true);
    wait_locks(1);
    says(true);
    assert_true(hears(w));
    private_bus_kill(&l.bus);
    assert_false(hears(w)); /* who could say that sleep is over? */
    assert_true(is_free(PATIENCE_MS));
    g_clear_object(&l.connection);
    private_bus_start_again(&l.bus);
    logind_start();
    wait_locks(2);
    assert_false(is_free(0));
    end(w);
}

/* As when it is just being upgraded. */
TEST(logind_is_away_when_the_lending_begins)
{
    SleepWatch *w = begin_with(false);
    sleep_watch_delay(w, true);
    (void)usleep(200000); /* it has been asked for in vain */
    logind_start();
    wait_locks(1);
    assert_false(is_free(0));
    sleep_watch_delay(w, false);
    assert_true(is_free(PATIENCE_MS));
    end(w);
}

TEST(without_a_bus)
{
    assert_null(sleep_watch_new("none"));
    SleepWatch *w = sleep_watch_new("unix:path=/nonexistent/bus");
    assert_non_null(w);
    sleep_watch_delay(w, true);
    assert_false(sleep_watch_take(w));
    assert_null(sleep_watch_free(w));
}

/* A bus that takes the connection and never says anything holds up nobody's end. */
TEST(a_bus_that_says_nothing)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char address[128];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "/tmp/dodo-silent-bus.%ld", (long)getpid());
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    (void)snprintf(address, sizeof address, "unix:path=%s", at.sun_path);
    SleepWatch *w = sleep_watch_new(address);
    assert_non_null(w);
    struct pollfd connects = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&connects, 1, PATIENCE_MS), 1);
    (void)alarm(PATIENCE_MS / 1000);
    assert_null(sleep_watch_free(w));
    (void)alarm(0);
    (void)unlink(at.sun_path);
    (void)close(fd);
}
