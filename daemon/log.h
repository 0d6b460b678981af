/* SPDX-License-Identifier: MIT */
/* The daemons' log: one event a line to stderr, "TIME LEVEL PROGRAM: event key=value ...". One call
 * writes a line, so lines of several threads do not mix. If nobody reads any more, lines are lost
 * and counted; the daemon does not wait. */
#ifndef DODO_DAEMON_LOG_H
#define DODO_DAEMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum LogLevel { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_MAX };

/* Before any thread is started. @program is kept. */
void log_set_level(enum LogLevel level);
void log_init(const char *program, enum LogLevel level);
/* @event: one word. @format: its "key=value" pairs, separated by blanks, or "". */
void log_event(enum LogLevel level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* @text as the value of a key, between quotes: a backslash before each quote and backslash in it.
 * As much of it as there is room for; returns @buf. @cap: at least 1. */
char *log_quoted(const char *text, char *buf, size_t cap);
/* Writes to a stream that somebody may have stopped reading, without waiting. False: no room. */
bool log_write(int fd, const char *text, size_t len);
/* "error", "warn", "info", "debug": 0, or -EINVAL. */
int log_level_parse(const char *text, enum LogLevel *ret);
/* Lines that were lost since the start. From any thread. */
uint64_t log_lost_lines(void);
const char *log_level_text(enum LogLevel level);

#endif
