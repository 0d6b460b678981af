/* SPDX-License-Identifier: MIT */
/* A source of console activity: something that can say when the owner last touched the machine.
 * Each has a file, and a line in the table source_kinds.
 *
 * A source that is missing here, or fails, does not know; it never says "idle" because it does not
 * know. A look may block for a while (a bus, an X server): all sources belong to one thread that
 * does nothing else. */
#ifndef DODO_RMD_SOURCE_H
#define DODO_RMD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmd/input_report.h"

enum { SOURCE_TEXT_MAX = 160 };

typedef struct SourceReport {
    const char *name; /* of the source; static */
    bool known;
    uint64_t idle_ns;           /* since the last activity that it saw; if known */
    bool terminals_only;        /* nothing that is done at a display reaches it */
    int sessions;               /* people logged in; -1: it does not know */
    char text[SOURCE_TEXT_MAX]; /* in plain words what it saw, or why it does not know */
} SourceReport;

typedef struct Source Source; /* each kind's own begins with it */

/* Asks who watches the input devices. 0; -errno: no answer. */
typedef int (*InputAsk)(void *ctx, uint64_t awake_ns, InputReport *ret);

/* The settings of the sources; borrowed. */
typedef struct SourceSettings {
    char *const *consoles; /* device files or patterns, NULL at the end */
    const char *utmp;      /* path of the file of sessions; NULL: none is read */
    const char *terminals; /* directory of the terminals that it names; NULL: /dev */
    const char *input;     /* directory of input devices, or a file of one; NULL: none */
    InputAsk input_ask;    /* says what was seen of it; NULL: nobody watches it */
    void *input_ctx;
    const char *bus;          /* address of the system bus; NULL: the usual one; "none" */
    const char *session_bus;  /* address of a desktop session's bus; NULL: none is asked */
    const char *display;      /* X display; NULL: none is asked */
    const char *sockets;      /* list of local sockets; NULL: those of rmd's own network namespace,
                                 and those of the host's */
    const char *host_sockets; /* likewise, of the host; NULL: none where @sockets is given */
    const char *container;    /* how it is known that rmd runs in one; NULL: it does not */
} SourceSettings;

typedef struct SourceKind {
    const char *name;
    /* NULL: this kind is not wanted by the settings, or there is no memory. */
    Source *(*open)(const SourceSettings *settings);
    /* @now_ns: CLOCK_REALTIME; @awake_ns: CLOCK_MONOTONIC. */
    void (*look)(Source *s, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret);
    void (*close)(Source *s);
} SourceKind;

struct Source {
    const SourceKind *kind;
};

enum { SOURCES_MAX = 16 };
extern const SourceKind *const source_kinds[]; /* NULL at the end */

#endif
