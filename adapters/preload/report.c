/* SPDX-License-Identifier: MIT */
#include "adapters/preload/report.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/paths.h"
#include "adapters/preload/cache.h"
#include "adapters/preload/own.h"
#include "base/os.h"

static ReadSums sums;
static atomic_bool written;

uint64_t report_begin(void)
{
    return files_settings()->report ? os_now_ns() : 0;
}

void report_read(File *f, bool cached, ssize_t n, uint64_t began_ns)
{
    if (began_ns > 0)
        file_reads_add(&f->read, &sums, cached, n, os_now_ns() - began_ns);
}

/* Whether the file is still the one that is meant. A path in /proc is another process's in another
 * PID namespace, or after the end of the one that it named. */
static bool is_meant(void)
{
    const char *meant = files_settings()->report_file;
    char text[PATH_FILE_MAX];
    return !meant || (path_file(files_settings()->report, text) && strcmp(text, meant) == 0);
}

/* Not where the program would die of it. */
static bool may_append(int fd, size_t len)
{
    struct stat st;
    return fstat(fd, &st) == 0 &&
           (!S_ISREG(st.st_mode) || os_file_may_have((uint64_t)st.st_size + len));
}

/* In one piece: other processes may write to the same file. */
static void write_text(const char *text)
{
    OS_DESCRIPTORS_BUSY;
    if (!is_meant())
        return;
    int fd =
        open(files_settings()->report, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0)
        return; /* it costs the report alone */
    if (may_append(fd, strlen(text)))
        (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

void report_file(const File *f)
{
    static char line[PATH_MAX + 256]; /* the files are locked */
    if (!files_settings()->report || f->hold.state == HOLD_NONE || f->read.reads == 0)
        return;
    file_reads_line(&f->read, f->path, line, sizeof line);
    write_text(line);
}

void report_write(void)
{
    char line[TOTALS_LINE_MAX + 1];
    DodoManageStats st = {0};
    OwnBefore before;
    const CacheCalls *calls = cache_calls_if_loaded();
    if (!files_settings()->report || atomic_exchange(&written, true))
        return;
    own_begin(&before);
    if (calls)
        (void)calls->stats(&st);
    files_tell_all();
    if (sums.reads > 0)
        write_text(read_sums_line(&sums, &st, line));
    own_end(&before);
}

void report_at_exit(void)
{
    if (files_settings()->report)
        (void)atexit(report_write);
}

void report_forget(bool for_good)
{
    sums.reads = sums.bytes = sums.uncached_reads = sums.uncached_bytes = sums.ns = 0;
    written = for_good;
}
