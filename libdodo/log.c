/* SPDX-License-Identifier: MIT */
/* What the library shows of itself: lines for a hook or for stderr, only when asked for, and the
 * text behind an errno. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "dodo/dodo.h"
#include "libdodo/runtime.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*log_fn)(void *ctx, int level, const char *text);
static void *log_ctx;
static _Atomic int log_stderr = -1; /* highest level that goes to stderr */

void log_set(void (*fn)(void *ctx, int level, const char *text), void *ctx)
{
    (void)pthread_mutex_lock(&log_lock);
    log_fn = fn;
    log_ctx = ctx;
    (void)pthread_mutex_unlock(&log_lock);
}

void log_lock_all(void)
{
    (void)pthread_mutex_lock(&log_lock);
}

void log_unlock_all(void)
{
    (void)pthread_mutex_unlock(&log_lock);
}

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_environment(void)
{
    const char *value = secure_getenv("DODO_LOG");
    for (int i = 0; value && i < 4; i++)
        if (strcmp(value, level_names[i]) == 0)
            log_stderr = i;
}

bool log_wanted(int level)
{
    (void)pthread_mutex_lock(&log_lock);
    bool hooked = log_fn;
    (void)pthread_mutex_unlock(&log_lock);
    return hooked || level <= log_stderr;
}

void log_line(int level, const char *said)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", said);
    (void)printable(text); /* names of files stay in their line */
    if (level <= log_stderr)
        (void)dprintf(STDERR_FILENO, "dodo %s: %s\n", level_names[level], text);
    (void)pthread_mutex_lock(&log_lock);
    void (*fn)(void *, int, const char *) = log_fn;
    void *ctx = log_ctx;
    (void)pthread_mutex_unlock(&log_lock);
    if (fn)
        fn(ctx, level, text);
}

/* ---- the text behind errno ------------------------------------------------------------------ */

static _Thread_local const char *reason = "no call has failed";
static _Thread_local char reason_copy[SETTINGS_ERROR_MAX];

void reason_set(const char *text)
{
    reason = text;
}

void reason_set_copy(const char *text)
{
    (void)snprintf(reason_copy, sizeof reason_copy, "%s", text);
    reason = printable(reason_copy); /* a program may print it to a terminal */
}

const char *reason_get(void)
{
    return reason;
}
