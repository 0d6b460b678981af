/* SPDX-License-Identifier: MIT */
#include "daemon/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

static const char *const level_names[LOG_LEVEL_MAX] = {"error", "warn", "info", "debug"};

static struct {
    const char *program;
    enum LogLevel level;
} config = {"dodo", LOG_LEVEL_INFO};

void log_init(const char *program, enum LogLevel level)
{
    config.program = program;
    config.level = level;
}

int log_level_parse(const char *text, enum LogLevel *ret)
{
    for (unsigned i = 0; i < LOG_LEVEL_MAX; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *ret = (enum LogLevel)i;
            return 0;
        }
    }
    return -EINVAL;
}

const char *log_level_text(enum LogLevel level)
{
    return level_names[level];
}

static size_t put_time(char *buf, size_t cap)
{
    struct timespec now;
    struct tm tm;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    size_t n = strftime(buf, cap, "%Y-%m-%dT%H:%M:%S", &tm);
    return n +
           (size_t)snprintf(buf + n, cap - n, ".%03dZ", (int)((uint64_t)now.tv_nsec / NS_PER_MS));
}

void log_event(enum LogLevel level, const char *event, const char *format, ...)
{
    char line[1024];
    if (level > config.level)
        return;
    size_t n = put_time(line, sizeof line);
    n += (size_t)snprintf(line + n, sizeof line - n, " %s %s: %s%s", level_names[level],
                          config.program, event, *format ? " " : "");
    if (n < sizeof line) {
        va_list args;
        va_start(args, format);
        n += (size_t)vsnprintf(line + n, sizeof line - n, format, args);
        va_end(args);
    }
    if (n > sizeof line - 1)
        n = sizeof line - 1; /* cut off */
    line[n] = '\n';
    ssize_t written = write(STDERR_FILENO, line, n + 1);
    (void)written; /* there is nowhere to report that the log is gone */
}
