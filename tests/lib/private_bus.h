/* SPDX-License-Identifier: MIT */
/* A message bus of the test's own, programs on it, and services that the test plays itself. */
#ifndef DODO_TESTS_LIB_PRIVATE_BUS_H
#define DODO_TESTS_LIB_PRIVATE_BUS_H

#include <stdbool.h>

#include <gio/gio.h>

typedef struct PrivateBus {
    GSubprocess *daemon;
    char *address;
    GDBusConnection *connection; /* the test's */
} PrivateBus;

/* False: there is no dbus-daemon here. */
bool private_bus_start(PrivateBus *b);
void private_bus_stop(PrivateBus *b); /* also if it was not started, or ended */
/* The daemon dies, with all connections. */
void private_bus_kill(PrivateBus *b);
/* A new daemon at the same address; programs that were on the bus have to connect again. */
void private_bus_start_again(PrivateBus *b);

/* Starts a program that has the bus as its system bus and dies with the test; returns when
 * @name is on the bus. NULL: it did not come so far. */
GSubprocess *private_bus_run(PrivateBus *b, const char *name, const char *const *argv);
void subprocess_end(GSubprocess *p); /* NULL is fine */

/* Calls a method that must succeed. */
void private_bus_call(PrivateBus *b, const char *name, const char *path, const char *interface,
                      const char *method, GVariant *args);

/* A service: what it answers to a method call of @interface at @path. */
typedef struct Service {
    const char *name, *path, *interface;
    GVariant *answer;  /* NULL: none, ever */
    const char *error; /* if not NULL: that instead */
    GDBusConnection *connection;
    guint filter;
    GMutex lock; /* answer, error */
} Service;
void service_start(Service *s, const PrivateBus *b);
/* Another object of the program that has @other; ends with it. */
void service_start_on(Service *s, Service *other);
void service_answer(Service *s, GVariant *answer); /* from now on; takes a floating one */
void service_fail(Service *s, const char *error);  /* the same */
void service_stop(Service *s);

#endif
