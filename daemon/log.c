/* SPDX-License-Identifier: MIT */
#include "daemon/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/time.h"

static const char *const level_names[LOG_LEVEL_MAX] = {"error", "warn", "info", "debug"};

static struct {
    const char *program;
    _Atomic enum LogLevel level; /* may change while threads run */
    bool journal;                /* reads what lines begin with, as sd-daemon(3) has it */
} config = {"dodo", LOG_LEVEL_INFO, false};
static atomic_ulong lost; /* lines, since one was written last */
static atomic_ulong lost_in_all;

/* Whether standard error is that very stream to the journal which the service manager made for us.
 */
static bool is_journal(void)
{
    unsigned long long device, inode;
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_init(const char *program, enum LogLevel level)
{
    config.program = program;
    config.level = level;
    config.journal = is_journal();
}

void log_set_level(enum LogLevel level)
{
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

uint64_t log_lost_lines(void)
{
    return atomic_load(&lost_in_all);
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

char *log_quoted(const char *text, char *buf, size_t cap)
{
    size_t n = 0;
    for (; *text; text++) {
        const bool escaped = *text == '"' || *text == '\\';
        if (n + escaped + 1 >= cap)
            break;
        if (escaped)
            buf[n++] = '\\';
        buf[n++] = *text;
    }
    buf[n] = '\0';
    return buf;
}

/* A reader that has stopped reading must not stop us: what does not fit is lost. A pipe that others
 * fill, too, could be full again after the look at it; a socket, as the journal's, cannot. */
bool log_write(int fd, const char *text, size_t len)
{
    struct pollfd at = {.fd = fd, .events = POLLOUT};
    if (poll(&at, 1, 0) == 0)
        return false;
    ssize_t n = send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK)
        n = write(fd, text, len);
    return n >= 0 || errno != EAGAIN; /* there is nowhere to report that the log is gone */
}

/* "TIME LEVEL PROGRAM: EVENT"; how long it is, or would be. */
static size_t put_head(char *buf, size_t cap, enum LogLevel level, const char *event)
{
    static const char *const priorities[LOG_LEVEL_MAX] = {"<3>", "<4>", "<6>", "<7>"};
    size_t n = config.journal ? (size_t)snprintf(buf, cap, "%s", priorities[level]) : 0;
    n += put_time(buf + n, cap - n);
    return n + (size_t)snprintf(buf + n, cap - n, " %s %s: %s", level_names[level], config.program,
                                event);
}

/* False: there is still no room. */
static bool tell_lost(void)
{
    char line[128];
    unsigned long count = atomic_exchange(&lost, 0);
    if (count == 0)
        return true;
    size_t n = put_head(line, sizeof line, LOG_LEVEL_WARN, "log_lost");
    if (n < sizeof line)
        n += (size_t)snprintf(line + n, sizeof line - n, " lines=%lu\n", count);
    if (n >= sizeof line || log_write(STDERR_FILENO, line, n))
        return true;
    atomic_fetch_add(&lost, count);
    return false;
}

void log_event(enum LogLevel level, const char *event, const char *format, ...)
{
    char line[1024];
    if (level > config.level)
        return;
    size_t n = put_head(line, sizeof line, level, event);
    if (n < sizeof line && *format)
        n += (size_t)snprintf(line + n, sizeof line - n, " ");
    if (n < sizeof line) {
        va_list args;
        va_start(args, format);
        n += (size_t)vsnprintf(line + n, sizeof line - n, format, args);
        va_end(args);
    }
    if (n > sizeof line - 1)
        n = sizeof line - 1; /* cut off */
    (void)printable(line);   /* names of files, and what peers say, stay in their line */
    line[n] = '\n';
    if (!tell_lost() || !log_write(STDERR_FILENO, line, n + 1)) {
        atomic_fetch_add(&lost, 1);
        atomic_fetch_add(&lost_in_all, 1);
    }
}
