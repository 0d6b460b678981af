/* SPDX-License-Identifier: MIT */
/* A connection to a message bus for one who asks now and then and must never wait long: neither
 * for a bus that does not answer nor for a program on it. */
#ifndef DODO_RMD_BUS_H
#define DODO_RMD_BUS_H

#include <stdbool.h>
#include <stdint.h>

#include <gio/gio.h>

enum { BUS_ERROR_MAX = 128 };

typedef struct Bus Bus;

/* @address: NULL: the system bus; borrowed. NULL: no memory. */
Bus *bus_new(const char *address);
void bus_free(Bus *b); /* NULL is fine */

/* A look begins: connects if need be; what it and the calls after it may wait is bounded in all by
 * SOURCE_PATIENCE_NS. False, and @why: not now; after a failure for SOURCE_RETRY_NS. */
bool bus_begin(Bus *b, uint64_t awake_ns, char why[BUS_ERROR_MAX]);

typedef struct BusObject {
    const char *name, *path, *interface;
} BusObject;

/* Calls a method; no program is started for it. @args may be NULL. @type: of the answer. NULL:
 * @error, which g_clear_error() frees. */
GVariant *bus_call(Bus *b, const BusObject *object, const char *method, GVariant *args,
                   const char *type, GError **error);
/* The object, the call or its service does not exist: not a failure of one that does. */
bool bus_is_absent(const GError *error);

#endif
