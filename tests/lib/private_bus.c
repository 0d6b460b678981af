/* SPDX-License-Identifier: MIT */
#include "tests/lib/private_bus.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PATIENCE_S = 150 };

static void check(bool good, const char *what, const GError *error)
{
    if (good)
        return;
    (void)fprintf(stderr, "private bus: %s: %s\n", what, error ? error->message : "failed");
    abort();
}

static void die_with_parent(gpointer ctx)
{
    (void)ctx;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static GDBusConnection *connect_to(const char *address)
{
    g_autoptr(GError) error = NULL;
    GDBusConnection *c =
        g_dbus_connection_new_for_address_sync(address,
                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                   G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                               NULL, NULL, &error);
    check(c, address, error);
    return c;
}

/* ---- the bus and programs -------------------------------------------------------------------- */

static bool start_at(PrivateBus *b, const char *address)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *listen = g_strconcat("--address=", address, NULL);
    g_autofree char *program = g_find_program_in_path("dbus-daemon");
    if (!program)
        return false;
    g_autoptr(GSubprocessLauncher) l = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                                                 G_SUBPROCESS_FLAGS_STDERR_SILENCE);
    g_subprocess_launcher_set_child_setup(l, die_with_parent, NULL, NULL);
    b->daemon = g_subprocess_launcher_spawn(l, &error, program, "--session", "--nofork",
                                            "--nopidfile", "--print-address=1", listen, NULL);
    check(b->daemon, program, error);
    g_autoptr(GDataInputStream) out =
        g_data_input_stream_new(g_subprocess_get_stdout_pipe(b->daemon));
    b->address = g_data_input_stream_read_line(out, NULL, NULL, &error);
    check(b->address, "its address", error);
    b->address[strcspn(b->address, ",")] = '\0'; /* the next daemon there has another GUID */
    b->connection = connect_to(b->address);
    return true;
}

bool private_bus_start(PrivateBus *b)
{
    *b = (PrivateBus){.daemon = NULL};
    return start_at(b, "unix:tmpdir=/tmp");
}

void subprocess_end(GSubprocess *p)
{
    if (!p)
        return;
    g_subprocess_force_exit(p);
    (void)g_subprocess_wait(p, NULL, NULL);
    g_object_unref(p);
}

void private_bus_kill(PrivateBus *b)
{
    subprocess_end(g_steal_pointer(&b->daemon));
}

/* A daemon that is killed leaves its socket behind. */
static void remove_socket(const char *address)
{
    static const char prefix[] = "unix:path=";
    if (!address || !g_str_has_prefix(address, prefix))
        return;
    (void)unlink(address + strlen(prefix));
}

void private_bus_start_again(PrivateBus *b)
{
    g_autofree char *address = g_steal_pointer(&b->address);
    private_bus_kill(b);
    g_clear_object(&b->connection);
    remove_socket(address);
    check(start_at(b, address), address, NULL);
}

void private_bus_stop(PrivateBus *b)
{
    if (b->connection)
        (void)g_dbus_connection_close_sync(b->connection, NULL, NULL);
    g_clear_object(&b->connection);
    private_bus_kill(b);
    remove_socket(b->address);
    g_clear_pointer(&b->address, g_free);
}

typedef struct Waiting {
    bool there, over;
} Waiting;

static void on_name(GDBusConnection *c, const char *name, const char *owner, gpointer ctx)
{
    (void)c, (void)name, (void)owner;
    ((Waiting *)ctx)->there = true;
}

static gboolean on_time(gpointer ctx)
{
    ((Waiting *)ctx)->over = true;
    return G_SOURCE_CONTINUE;
}

static void on_exit_of(GObject *p, GAsyncResult *result, gpointer ctx)
{
    (void)g_subprocess_wait_finish(G_SUBPROCESS(p), result, NULL);
    ((Waiting *)ctx)->over = true;
}

GSubprocess *private_bus_run(PrivateBus *b, const char *name, const char *const *argv)
{
    g_autoptr(GSubprocessLauncher) l = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_SILENCE |
                                                                 G_SUBPROCESS_FLAGS_STDERR_SILENCE);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    Waiting w = {.there = false};
    g_subprocess_launcher_setenv(l, "DBUS_SYSTEM_BUS_ADDRESS", b->address, TRUE);
    g_subprocess_launcher_set_child_setup(l, die_with_parent, NULL, NULL);
    GSubprocess *p = g_subprocess_launcher_spawnv(l, argv, NULL);
    if (!p)
        return NULL;
    guint watch = g_bus_watch_name_on_connection(b->connection, name, 0, on_name, NULL, &w, NULL);
    guint timer = g_timeout_add_seconds(PATIENCE_S, on_time, &w);
    g_subprocess_wait_async(p, cancellable, on_exit_of, &w);
    while (!w.there && !w.over)
        (void)g_main_context_iteration(NULL, TRUE);
    g_cancellable_cancel(cancellable);
    while (!w.over) /* on_exit_of() comes in any case */
        (void)g_main_context_iteration(NULL, TRUE);
    (void)g_source_remove(timer);
    g_bus_unwatch_name(watch);
    if (w.there)
        return p;
    subprocess_end(p);
    return NULL;
}

void private_bus_call(PrivateBus *b, const char *name, const char *path, const char *interface,
                      const char *method, GVariant *args)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) res =
        g_dbus_connection_call_sync(b->connection, name, path, interface, method, args, NULL, 0,
                                    PATIENCE_S * 1000, NULL, &error);
    check(res, method, error);
}

/* ---- services -------------------------------------------------------------------------------- */

/* On GLib's own thread of the connection. */
static GDBusMessage *serve(GDBusConnection *c, GDBusMessage *message, gboolean incoming,
                           gpointer ctx)
{
    Service *s = ctx;
    if (!incoming || g_dbus_message_get_message_type(message) != G_DBUS_MESSAGE_TYPE_METHOD_CALL ||
        g_strcmp0(g_dbus_message_get_path(message), s->path) != 0 ||
        g_strcmp0(g_dbus_message_get_interface(message), s->interface) != 0)
        return message;
    g_autoptr(GDBusMessage) reply = NULL;
    g_mutex_lock(&s->lock);
    if (s->error) {
        reply = g_dbus_message_new_method_error_literal(message, s->error, "so the test wants");
    } else if (s->answer) {
        reply = g_dbus_message_new_method_reply(message);
        g_dbus_message_set_body(reply, s->answer);
    }
    g_mutex_unlock(&s->lock);
    if (reply)
        (void)g_dbus_connection_send_message(c, reply, 0, NULL, NULL);
    g_object_unref(message);
    return NULL;
}

static void answer_set(Service *s, GVariant *answer, const char *error)
{
    g_mutex_lock(&s->lock);
    if (s->answer)
        g_variant_unref(s->answer);
    s->answer = answer ? g_variant_ref_sink(answer) : NULL;
    s->error = error;
    g_mutex_unlock(&s->lock);
}

void service_answer(Service *s, GVariant *answer)
{
    answer_set(s, answer, NULL);
}

void service_fail(Service *s, const char *error)
{
    answer_set(s, NULL, error);
}

static void service_serve(Service *s, GDBusConnection *c)
{
    g_mutex_init(&s->lock);
    s->connection = c;
    s->filter = g_dbus_connection_add_filter(c, serve, s, NULL);
}

void service_start_on(Service *s, Service *other)
{
    service_serve(s, g_object_ref(other->connection));
}

void service_start(Service *s, const PrivateBus *b)
{
    g_autoptr(GError) error = NULL;
    service_serve(s, connect_to(b->address));
    g_autoptr(GVariant) res = g_dbus_connection_call_sync(
        s->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
        "RequestName", g_variant_new("(su)", s->name, 4u), NULL, 0, PATIENCE_S * 1000, NULL,
        &error);
    check(res, s->name, error);
}

void service_stop(Service *s)
{
    if (!s->connection)
        return;
    g_dbus_connection_remove_filter(s->connection, s->filter);
    GVariant *res = /* after its answer the filter does not run any more */
        g_dbus_connection_call_sync(s->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                    "org.freedesktop.DBus", "GetId", NULL, NULL, 0,
                                    PATIENCE_S * 1000, NULL, NULL);
    if (res)
        g_variant_unref(res);
    (void)g_dbus_connection_close_sync(s->connection, NULL, NULL);
    g_clear_object(&s->connection);
    answer_set(s, NULL, NULL);
    g_mutex_clear(&s->lock);
}
