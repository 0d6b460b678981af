/* SPDX-License-Identifier: MIT */
/* Sessions as systemd-logind knows them, local and remote: each says whether it is idle and since
 * when (org.freedesktop.login1(5)).
 *
 * A desktop reports that it is idle only after a while of its own, so its idle time is too short by
 * that. For a session on a terminal logind reports when somebody last typed there, idle or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "rmd/bus.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

enum { SESSIONS_MAX = 256 };

typedef struct LogindSource {
    Source base;
    Bus *bus;
    bool nobody;        /* at the last look */
    uint64_t nobody_ns; /* since then */
} LogindSource;

typedef struct Look {
    uint64_t now_ns, awake_ns;
    uint64_t idle_ns; /* least of all sessions */
    char who[48];     /* whose it is */
    int sessions;
    int desktops, terminals; /* of them, on this host */
} Look;

static Source *logind_open(const SourceSettings *settings)
{
    bool wanted = !settings->bus || strcmp(settings->bus, "none") != 0;
    LogindSource *s = wanted ? calloc(1, sizeof *s) : NULL;
    if (s)
        s->bus = bus_new(settings->bus);
    if (s && s->bus)
        return &s->base;
    free(s);
    return NULL;
}

/* ---- one session ---------------------------------------------------------------------------- */

static const char *text_of(GVariant *properties, const char *key)
{
    const char *text = "";
    (void)g_variant_lookup(properties, key, "&s", &text);
    return text;
}

static uint64_t ns_of(GVariant *properties, const char *key)
{
    guint64 us = 0;
    (void)g_variant_lookup(properties, key, "t", &us);
    return us < UINT64_MAX / NS_PER_US ? us * NS_PER_US : 0;
}

/* How long ago the session became idle, or was last typed at; by the clock that does not jump, if
 * logind gives it. */
static uint64_t since(GVariant *properties, const Look *look)
{
    uint64_t at_ns = ns_of(properties, "IdleSinceHintMonotonic");
    if (at_ns > 0)
        return at_ns < look->awake_ns ? look->awake_ns - at_ns : 0;
    at_ns = ns_of(properties, "IdleSinceHint");
    if (at_ns == 0 || at_ns >= look->now_ns)
        return 0;
    return min_u64(look->now_ns - at_ns, look->awake_ns);
}

/* Somebody's: not a program's, nor the screen where people log in, which nobody may be at. */
static bool is_of_a_person(GVariant *properties)
{
    const char *class = text_of(properties, "Class");
    return (*class == '\0' || g_str_has_prefix(class, "user")) &&
           strcmp(text_of(properties, "State"), "closing") != 0;
}

/* Or on none at all, and then there is no time either. */
static bool is_on_a_terminal(GVariant *properties)
{
    const char *type = text_of(properties, "Type");
    return strcmp(type, "tty") == 0 || strcmp(type, "unspecified") == 0;
}

static void session_add(Look *look, GVariant *properties)
{
    gboolean idle = FALSE, remote = FALSE;
    if (!is_of_a_person(properties))
        return;
    (void)g_variant_lookup(properties, "IdleHint", "b", &idle);
    (void)g_variant_lookup(properties, "Remote", "b", &remote);
    bool terminal = is_on_a_terminal(properties);
    look->desktops += !terminal;
    look->terminals += terminal && !remote;
    uint64_t idle_ns = idle || terminal ? since(properties, look) : 0;
    if (look->sessions++ > 0 && idle_ns >= look->idle_ns)
        return;
    look->idle_ns = idle_ns;
    (void)snprintf(look->who, sizeof look->who, "%.24s %s", text_of(properties, "Name"),
                   remote ? "from afar" : "here");
}

/* ---- all ------------------------------------------------------------------------------------ */

/* False, and *error; a session that has just gone is none. */
static bool session_ask(LogindSource *s, Look *look, const char *path, GError **error)
{
    static const char interface[] = "org.freedesktop.login1.Session";
    BusObject object = {"org.freedesktop.login1", path, "org.freedesktop.DBus.Properties"};
    g_autoptr(GVariant) res =
        bus_call(s->bus, &object, "GetAll", g_variant_new("(s)", interface), "(a{sv})", error);
    if (!res && bus_is_absent(*error)) {
        g_clear_error(error);
        return true;
    }
    if (!res)
        return false;
    g_autoptr(GVariant) properties = g_variant_get_child_value(res, 0);
    session_add(look, properties);
    return true;
}

static bool sessions_ask(LogindSource *s, Look *look, GError **error)
{
    static const BusObject manager = {"org.freedesktop.login1", "/org/freedesktop/login1",
                                      "org.freedesktop.login1.Manager"};
    g_autoptr(GVariant) res = bus_call(s->bus, &manager, "ListSessions", NULL, "(a(susso))", error);
    if (!res)
        return false;
    g_autoptr(GVariant) list = g_variant_get_child_value(res, 0);
    gsize count = g_variant_n_children(list);
    if (count > SESSIONS_MAX) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "more than %d sessions", SESSIONS_MAX);
        return false;
    }
    for (gsize i = 0; i < count; i++) {
        const char *path;
        g_variant_get_child(list, i, "(&su&s&s&o)", NULL, NULL, NULL, NULL, &path);
        if (!session_ask(s, look, path, error))
            return false;
    }
    return true;
}

/* Nobody is logged in: idle since that was first seen. */
static void nobody_report(LogindSource *s, const Look *look, SourceReport *ret)
{
    char age[32];
    if (!s->nobody)
        s->nobody_ns = look->awake_ns;
    s->nobody = true;
    source_known(ret, look->awake_ns - s->nobody_ns, "nobody is logged in, for %s at least",
                 source_age(look->awake_ns - s->nobody_ns, age));
}

static void logind_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    LogindSource *s = (LogindSource *)(void *)base;
    Look look = {.now_ns = now_ns, .awake_ns = awake_ns};
    g_autoptr(GError) error = NULL;
    char why[BUS_ERROR_MAX], age[32];
    if (!bus_begin(s->bus, awake_ns, why)) {
        source_unknown(ret, "%s", why);
    } else if (!sessions_ask(s, &look, &error)) {
        source_unknown(ret, "%s", error->message);
    } else if (look.sessions == 0) {
        ret->sessions = 0;
        nobody_report(s, &look, ret);
        return;
    } else {
        ret->sessions = look.sessions;
        /* A display started from a terminal (startx) may be a session of that for logind. */
        ret->terminals_only = look.terminals > 0 && look.desktops == 0;
        source_known(ret, look.idle_ns, "%d logged in, last active: %s, %s ago", look.sessions,
                     look.who, source_age(look.idle_ns, age));
    }
    s->nobody = false;
}

static void logind_close(Source *base)
{
    LogindSource *s = (LogindSource *)(void *)base;
    bus_free(s->bus);
    free(s);
}

const SourceKind source_logind = {"logind", logind_open, logind_look, logind_close};
