/* SPDX-License-Identifier: MIT */
/* GLib's calls have a time limit, its connecting has none: that is done in its own thread, while
 * we wait for it on a main context of our own, and for no longer than we want. */
#include "rmd/bus.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "rmd/source_report.h"

struct Bus {
    const char *address;
    GMainContext *context;
    GDBusConnection *connection;
    GCancellable *cancellable; /* of the connecting under way; else NULL */
    char why[BUS_ERROR_MAX];   /* the last failure */
    bool failed;
    uint64_t awake_ns;  /* the look under way */
    uint64_t retry_ns;  /* not before; if failed */
    gint64 deadline_us; /* of the look under way, by GLib's clock */
};

Bus *bus_new(const char *address)
{
    Bus *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->address = address;
    b->context = g_main_context_new();
    return b;
}

static gint64 left_ms(const Bus *b)
{
    gint64 left = (b->deadline_us - g_get_monotonic_time()) / 1000;
    return left > 1 ? left : 1;
}

static void bus_fail(Bus *b, const char *why)
{
    (void)snprintf(b->why, sizeof b->why, "%s", why);
    b->failed = true;
    b->retry_ns = b->awake_ns + SOURCE_RETRY_NS;
}

/* ---- connecting ----------------------------------------------------------------------------- */

static void on_connected(GObject *source, GAsyncResult *result, gpointer ctx)
{
    Bus *b = ctx;
    g_autoptr(GError) error = NULL;
    (void)source;
    b->connection = g_dbus_connection_new_for_address_finish(result, &error);
    if (b->connection)
        g_dbus_connection_set_exit_on_close(b->connection, FALSE);
    else if (!g_cancellable_is_cancelled(b->cancellable)) /* else it failed already */
        bus_fail(b, error->message);
    g_clear_object(&b->cancellable);
}

static gboolean on_time(gpointer ctx)
{
    *(bool *)ctx = true;
    return G_SOURCE_REMOVE;
}

/* Until the connecting has ended, or the look's time is over. */
static void bus_wait(Bus *b)
{
    bool over = false;
    GSource *timer = g_timeout_source_new((guint)left_ms(b));
    g_source_set_callback(timer, on_time, &over, NULL);
    (void)g_source_attach(timer, b->context);
    while (b->cancellable && !over)
        (void)g_main_context_iteration(b->context, TRUE);
    g_source_destroy(timer);
    g_source_unref(timer);
}

static void bus_connect(Bus *b)
{
    g_autofree char *address = NULL;
    g_autoptr(GError) error = NULL;
    if (!b->cancellable) { /* else one is still under way, given up already */
        address = b->address ? g_strdup(b->address)
                             : g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, NULL, &error);
        if (!address) {
            bus_fail(b, error->message);
            return;
        }
        b->cancellable = g_cancellable_new();
        g_dbus_connection_new_for_address(address,
                                          G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                              G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                          NULL, b->cancellable, on_connected, b);
    }
    bus_wait(b);
    if (b->cancellable)
        g_cancellable_cancel(b->cancellable);
    if (!b->connection && !b->failed)
        bus_fail(b, "the bus does not answer");
}

void bus_free(Bus *b)
{
    if (!b)
        return;
    g_main_context_push_thread_default(b->context);
    b->deadline_us = g_get_monotonic_time() + (gint64)(SOURCE_PATIENCE_NS / NS_PER_US);
    if (b->cancellable) {
        g_cancellable_cancel(b->cancellable);
        bus_wait(b);
    }
    if (b->connection) {
        (void)g_dbus_connection_close_sync(b->connection, NULL, NULL);
        g_clear_object(&b->connection);
    }
    while (g_main_context_iteration(b->context, FALSE)) /* what is left of it */
        ;
    g_main_context_pop_thread_default(b->context);
    g_clear_object(&b->cancellable);
    g_main_context_unref(b->context);
    free(b);
}

bool bus_begin(Bus *b, uint64_t awake_ns, char why[BUS_ERROR_MAX])
{
    b->awake_ns = awake_ns;
    b->deadline_us = g_get_monotonic_time() + (gint64)(SOURCE_PATIENCE_NS / NS_PER_US);
    g_main_context_push_thread_default(b->context);
    for (int i = 0; i < 100 && g_main_context_iteration(b->context, FALSE); i++)
        ; /* signals nobody wants */
    if (b->connection && g_dbus_connection_is_closed(b->connection))
        g_clear_object(&b->connection);
    if (!b->failed || awake_ns >= b->retry_ns) {
        b->failed = false;
        if (!b->connection)
            bus_connect(b);
    }
    g_main_context_pop_thread_default(b->context);
    if (b->failed)
        (void)snprintf(why, BUS_ERROR_MAX, "%s", b->why);
    return !b->failed;
}

/* ---- calls ---------------------------------------------------------------------------------- */

bool bus_is_absent(const GError *error)
{
    return g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN) ||
           g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER) ||
           g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_OBJECT) ||
           g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_INTERFACE) ||
           g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_METHOD) ||
           g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NOT_SUPPORTED);
}

GVariant *bus_call(Bus *b, const BusObject *object, const char *method, GVariant *args,
                   const char *type, GError **error)
{
    g_main_context_push_thread_default(b->context);
    GVariant *res = g_dbus_connection_call_sync(
        b->connection, object->name, object->path, object->interface, method, args,
        G_VARIANT_TYPE(type), G_DBUS_CALL_FLAGS_NO_AUTO_START, (int)left_ms(b), NULL, error);
    g_main_context_pop_thread_default(b->context);
    if (!res && !bus_is_absent(*error)) {
        (void)g_dbus_error_strip_remote_error(*error);
        bus_fail(b, (*error)->message);
    }
    return res;
}
