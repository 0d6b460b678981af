/* SPDX-License-Identifier: MIT */
/* What the desktop itself reports, also under Wayland, where nothing else knows: GNOME's
 * compositor, or any that speaks org.freedesktop.ScreenSaver, as KDE's does.
 *
 * GetSessionIdleTime of the latter should count seconds, but KDE's counts milliseconds. So it is
 * never believed beyond the time since it was first asked or last fell: it falls when somebody
 * touches something. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/bus.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

typedef struct DesktopSource {
    Source base;
    Bus *bus;
    bool started;
    uint32_t value;     /* of the screen saver, at the last look */
    uint64_t active_ns; /* since then it did not fall */
} DesktopSource;

static Source *desktop_open(const SourceSettings *settings)
{
    DesktopSource *s = settings->session_bus ? calloc(1, sizeof *s) : NULL;
    if (s)
        s->bus = bus_new(settings->session_bus);
    if (s && s->bus)
        return &s->base;
    free(s);
    return NULL;
}

/* 0 and *ret_ns; -ENOENT: it is not there; -EIO and *error. */
static int mutter_ask(DesktopSource *s, uint64_t *ret_ns, GError **error)
{
    static const BusObject object = {"org.gnome.Mutter.IdleMonitor",
                                     "/org/gnome/Mutter/IdleMonitor/Core",
                                     "org.gnome.Mutter.IdleMonitor"};
    g_autoptr(GVariant) res = bus_call(s->bus, &object, "GetIdletime", NULL, "(t)", error);
    guint64 ms;
    if (!res)
        return bus_is_absent(*error) ? -ENOENT : -EIO;
    g_variant_get(res, "(t)", &ms);
    *ret_ns = ms < UINT64_MAX / NS_PER_MS ? ms * NS_PER_MS : TIME_NEVER;
    return 0;
}

/* The same. */
static int screen_saver_ask(DesktopSource *s, const char *path, uint32_t *ret, GError **error)
{
    BusObject object = {"org.freedesktop.ScreenSaver", path, "org.freedesktop.ScreenSaver"};
    g_autoptr(GVariant) res = bus_call(s->bus, &object, "GetSessionIdleTime", NULL, "(u)", error);
    if (!res)
        return bus_is_absent(*error) ? -ENOENT : -EIO;
    g_variant_get(res, "(u)", ret);
    return 0;
}

static void screen_saver_look(DesktopSource *s, uint64_t awake_ns, SourceReport *ret)
{
    static const char *const paths[] = {"/org/freedesktop/ScreenSaver", "/ScreenSaver"};
    g_autoptr(GError) error = NULL;
    uint32_t value = 0;
    int r = -ENOENT;
    for (size_t i = 0; i < ARRAY_SIZE(paths) && r == -ENOENT; i++) {
        g_clear_error(&error);
        r = screen_saver_ask(s, paths[i], &value, &error);
    }
    if (r != 0) {
        s->started = false;
        source_unknown(ret, "%s",
                       r == -ENOENT ? "no desktop on this bus reports it" : error->message);
        return;
    }
    if (!s->started || value < s->value || value == 0)
        s->active_ns = awake_ns;
    s->started = true;
    s->value = value;
    uint64_t idle_ns = min_u64(value * NS_PER_S, awake_ns - s->active_ns);
    char age[32];
    source_known(ret, idle_ns, "the screen saver: last touched %s ago", source_age(idle_ns, age));
}

static void desktop_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    DesktopSource *s = (DesktopSource *)(void *)base;
    g_autoptr(GError) error = NULL;
    char why[BUS_ERROR_MAX], age[32];
    uint64_t idle_ns;
    (void)now_ns;
    if (!bus_begin(s->bus, awake_ns, why)) {
        s->started = false;
        source_unknown(ret, "%s", why);
        return;
    }
    int r = mutter_ask(s, &idle_ns, &error);
    if (r == -ENOENT)
        screen_saver_look(s, awake_ns, ret);
    else if (r != 0)
        source_unknown(ret, "%s", error->message);
    else
        source_known(ret, idle_ns, "GNOME: last touched %s ago", source_age(idle_ns, age));
}

static void desktop_close(Source *base)
{
    DesktopSource *s = (DesktopSource *)(void *)base;
    bus_free(s->bus);
    free(s);
}

const SourceKind source_desktop = {"desktop", desktop_open, desktop_look, desktop_close};
