/* SPDX-License-Identifier: MIT */
#include "rmd/sleep_watch.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gio/gio.h>
#include <gio/gunixfdlist.h>

#include "base/os.h"
#include "daemon/log.h"

#define LOGIN "org.freedesktop.login1"
#define LOGIN_PATH "/org/freedesktop/login1"
#define MANAGER LOGIN ".Manager"

enum { RETRY_S = 5, ANSWER_MS = 5000 };

struct SleepWatch {
    char *address;
    int fd;
    atomic_bool sleeps, delay; /* as logind says, as the owner of this wants */
    bool runs;
    pthread_t thread;
    GMainContext *context;
    GMainLoop *loop;
    /* Of the thread alone: */
    GCancellable *cancellable;
    GDBusConnection *connection;
    bool connects;
    bool asks;  /* for a lock */
    bool waits; /* to ask again */
    int lock;   /* -1: none */
};

static void tell(SleepWatch *w, bool sleeps)
{
    uint64_t one = 1;
    atomic_store(&w->sleeps, sleeps);
    if (write(w->fd, &one, sizeof one) < 0)
        return; /* it is readable already */
}

static void call_later(SleepWatch *w, GSourceFunc call)
{
    g_autoptr(GSource) timer = g_timeout_source_new_seconds(RETRY_S);
    g_source_set_callback(timer, call, w, NULL);
    (void)g_source_attach(timer, w->context);
}

/* ---- the lock -------------------------------------------------------------------------------- */

static gboolean apply(gpointer ctx);

static void unlock(SleepWatch *w)
{
    if (w->lock >= 0)
        (void)close(w->lock);
    w->lock = -1;
}

static gboolean ask_again(gpointer ctx)
{
    SleepWatch *w = ctx;
    w->waits = false;
    return apply(w);
}

static void on_lock(GObject *source, GAsyncResult *result, gpointer ctx)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GUnixFDList) fds = NULL;
    g_autoptr(GVariant) answer = g_dbus_connection_call_with_unix_fd_list_finish(
        G_DBUS_CONNECTION(source), &fds, result, &error);
    SleepWatch *w = ctx;
    gint32 index = -1;
    w->asks = false;
    if (answer)
        g_variant_get(answer, "(h)", &index);
    unlock(w);
    w->lock = fds && index >= 0 ? g_unix_fd_list_get(fds, index, NULL) : -1;
    if (error)
        log_event(LOG_LEVEL_DEBUG, "sleep_not_delayed", "error=\"%s\"", error->message);
    if (!atomic_load(&w->delay)) {
        unlock(w);
    } else if (w->lock < 0 && !w->waits) { /* logind may be starting again */
        w->waits = true;
        call_later(w, ask_again);
    }
}

static gboolean apply(gpointer ctx)
{
    SleepWatch *w = ctx;
    bool delay = atomic_load(&w->delay);
    if (!delay)
        unlock(w);
    if (!delay || w->lock >= 0 || w->asks || !w->connection)
        return G_SOURCE_REMOVE;
    w->asks = true;
    g_dbus_connection_call_with_unix_fd_list(
        w->connection, LOGIN, LOGIN_PATH, MANAGER, "Inhibit",
        g_variant_new("(ssss)", "sleep", "Dodo", "gives back the memory that is lent", "delay"),
        G_VARIANT_TYPE("(h)"), G_DBUS_CALL_FLAGS_NO_AUTO_START, ANSWER_MS, NULL, w->cancellable,
        on_lock, w);
    return G_SOURCE_REMOVE;
}

/* ---- the bus --------------------------------------------------------------------------------- */

static gboolean on_retry(gpointer ctx);

static void retry(SleepWatch *w)
{
    call_later(w, on_retry);
}

static void on_signal(GDBusConnection *c, const char *sender, const char *path,
                      const char *interface, const char *name, GVariant *args, gpointer ctx)
{
    gboolean sleeps = FALSE;
    if (!g_variant_is_of_type(args, G_VARIANT_TYPE("(b)")))
        return;
    g_variant_get(args, "(b)", &sleeps);
    tell(ctx, sleeps);
}

static void on_closed(GDBusConnection *c, gboolean vanished, GError *error, gpointer ctx)
{
    SleepWatch *w = ctx;
    g_clear_object(&w->connection);
    unlock(w);
    tell(w, false);
    retry(w);
}

static void on_connected(GObject *source, GAsyncResult *result, gpointer ctx)
{
    g_autoptr(GError) error = NULL;
    GDBusConnection *c = g_dbus_connection_new_for_address_finish(result, &error);
    SleepWatch *w = ctx;
    w->connects = false;
    if (!c) {
        if (!g_cancellable_is_cancelled(w->cancellable))
            retry(w);
        return;
    }
    w->connection = c;
    g_dbus_connection_set_exit_on_close(c, FALSE);
    (void)g_signal_connect(c, "closed", G_CALLBACK(on_closed), w);
    (void)g_dbus_connection_signal_subscribe(c, LOGIN, MANAGER, "PrepareForSleep", LOGIN_PATH, NULL,
                                             G_DBUS_SIGNAL_FLAGS_NONE, on_signal, w, NULL);
    (void)apply(w);
}

static gboolean on_retry(gpointer ctx)
{
    SleepWatch *w = ctx;
    if (g_cancellable_is_cancelled(w->cancellable))
        return G_SOURCE_REMOVE;
    g_autofree char *address = w->address
                                   ? g_strdup(w->address)
                                   : g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, NULL, NULL);
    if (!address) {
        retry(w);
        return G_SOURCE_REMOVE;
    }
    w->connects = true;
    g_dbus_connection_new_for_address(address,
                                      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                          G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                      NULL, w->cancellable, on_connected, w);
    return G_SOURCE_REMOVE;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* What is cancelled comes to its end soon. */
static void disconnect(SleepWatch *w)
{
    atomic_store(&w->delay, false);
    g_cancellable_cancel(w->cancellable);
    while (w->connects || w->asks)
        (void)g_main_context_iteration(w->context, TRUE);
    unlock(w);
    if (!w->connection)
        return;
    (void)g_signal_handlers_disconnect_by_data(w->connection, w);
    (void)g_dbus_connection_close_sync(w->connection, NULL, NULL);
    g_clear_object(&w->connection);
    while (g_main_context_iteration(w->context, FALSE)) /* what is left of it */
        ;
}

static void *run(void *ctx)
{
    SleepWatch *w = ctx;
    g_main_context_push_thread_default(w->context);
    (void)on_retry(w);
    g_main_loop_run(w->loop);
    disconnect(w);
    g_main_context_pop_thread_default(w->context);
    return NULL;
}

SleepWatch *sleep_watch_new(const char *address)
{
    if (address && strcmp(address, "none") == 0)
        return NULL;
    SleepWatch *w = g_new0(SleepWatch, 1);
    w->address = g_strdup(address);
    w->lock = -1;
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->context = g_main_context_new();
    w->loop = g_main_loop_new(w->context, FALSE);
    w->cancellable = g_cancellable_new();
    w->runs = w->fd >= 0 && os_thread_start(&w->thread, run, w) == 0;
    return w->runs ? w : sleep_watch_free(w);
}

static gboolean on_quit(gpointer ctx)
{
    g_main_loop_quit(ctx);
    return G_SOURCE_REMOVE;
}

SleepWatch *sleep_watch_free(SleepWatch *w)
{
    if (!w)
        return NULL;
    if (w->runs) { /* from within, or it could come before the loop runs */
        g_autoptr(GSource) quit = g_idle_source_new();
        g_source_set_callback(quit, on_quit, w->loop, NULL);
        (void)g_source_attach(quit, w->context);
        (void)pthread_join(w->thread, NULL);
    }
    if (w->fd >= 0)
        (void)close(w->fd);
    g_clear_object(&w->cancellable);
    g_main_loop_unref(w->loop);
    g_main_context_unref(w->context);
    g_free(w->address);
    g_free(w);
    return NULL;
}

int sleep_watch_fd(const SleepWatch *w)
{
    return w->fd;
}

bool sleep_watch_take(SleepWatch *w)
{
    uint64_t count;
    if (read(w->fd, &count, sizeof count) < 0)
        count = 0;
    return atomic_load(&w->sleeps);
}

void sleep_watch_delay(SleepWatch *w, bool delay)
{
    if (atomic_exchange(&w->delay, delay) == delay)
        return;
    g_autoptr(GSource) source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, apply, w, NULL);
    (void)g_source_attach(source, w->context);
}
