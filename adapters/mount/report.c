/* SPDX-License-Identifier: MIT */
#include "adapters/mount/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/mount/cache.h"
#include "adapters/mount/filesystems.h"
#include "adapters/mount/mount.h"
#include "adapters/mount/reason.h"
#include "base/os.h"

struct Report {
    int fd;
    ReadSums sums;
};

Report *report_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666);
    Report *r = fd < 0 ? NULL : calloc(1, sizeof *r);
    if (r)
        r->fd = fd;
    else if (fd >= 0)
        (void)close(fd);
    return r;
}

/* ---- reads --------------------------------------------------------------------------------- */

uint64_t report_begin(const Mount *m)
{
    return m->report ? os_now_ns() : 0;
}

static enum Reason reason_now(const Mount *m, Inode *inode, int fd)
{
    struct stat st = {0};
    (void)fstat(fd, &st);
    ReasonFacts f = {.small = (uint64_t)st.st_size < m->options->min_bytes,
                     .left_out = !regions_chosen(m, inode),
                     .local = m->options->local || filesystem_is_local(fd)};
    f.ending = m->stopping;
    pthread_mutex_lock(&inode->lock);
    f.unleasable = inode->unleasable;
    f.ours = inode->lease_error != -EACCES && inode->lease_error != -EPERM;
    f.written = inode->trust.writers > 0;
    f.plain = inode->trust.state == TRUST_PLAIN;
    f.broken = inode->trust.broken;
    f.opening = inode->opening;
    pthread_mutex_unlock(&inode->lock);
    return reason_of(&f);
}

void report_passed(Mount *m, Inode *inode, int fd)
{
    if (!m->report)
        return;
    inode->read.reason = reason_now(m, inode, fd);
}

void report_read(Mount *m, Inode *inode, int fd, bool cached, ssize_t n, uint64_t began_ns)
{
    Report *r = m->report;
    if (!r)
        return;
    file_reads_add(&inode->read, &r->sums, cached, n, os_now_ns() - began_ns);
    if (!cached)
        inode->read.reason = reason_now(m, inode, fd);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* In one piece: other mounts may write to the same file. */
static void write_line(const Report *r, const char *line)
{
    (void)!write(r->fd, line, strlen(line)); /* a full disk costs the report alone */
}

void report_file(Mount *m, const Inode *inode)
{
    char path[PATH_MAX], line[PATH_MAX + 256];
    if (!m->report || (inode->read.reads == 0 && inode->read.reason == REASON_NONE))
        return;
    const char *whole = inodes_path(m, inode, path) ? path : NULL;
    file_reads_line(&inode->read, whole, line, sizeof line);
    write_line(m->report, line);
}

void report_close(Report *r)
{
    char line[TOTALS_LINE_MAX + 1];
    DodoManageStats st = {0};
    if (!r)
        return;
    const CacheCalls *calls = cache_calls_if_loaded();
    if (calls)
        (void)calls->stats(&st);
    write_line(r, read_sums_line(&r->sums, &st, line));
    (void)close(r->fd);
    free(r);
}
