/* SPDX-License-Identifier: MIT */
#include "rmd/survey_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "daemon/log.h"
#include "rmd/survey.h"

enum { MEMINFO_BYTES = 16384, ZONEINFO_BYTES = 4 << 20, PATH_BYTES = 4096 };

struct SurveyFile {
    SurveyFileConfig config;
    char host[SURVEY_HOST_MAX + 1];
    bool began;     /* a header has been written since the start */
    bool noted;     /* @slot is one */
    uint64_t slot;  /* the last one that had its sample; of every_ns each */
    uint64_t lost;  /* samples in a row */
    char *zoneinfo; /* ZONEINFO_BYTES */
    char meminfo[MEMINFO_BYTES];
};

/* ---- the file -------------------------------------------------------------------------------- */

/* -errno, or a descriptor. */
static int open_recording(const char *path, struct stat *ret)
{
    /* Not to wait for anybody, should it be a pipe. */
    int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    CLEANUP_CLOSE int fd = open(path, flags, 0644);
    if (fd < 0 || fstat(fd, ret) != 0)
        return -errno;
    return S_ISREG(ret->st_mode) ? STEAL_FD(fd) : -EINVAL;
}

/* After a crash, or when the disk was full. */
static bool breaks_off(int fd, const struct stat *st)
{
    char last = '\n';
    return st->st_size > 0 && pread(fd, &last, 1, st->st_size - 1) == 1 && last != '\n';
}

/* One write, so that a line is not torn unless the disk is full. */
static int append(SurveyFile *f, const SurveySample *s)
{
    char text[2 * SURVEY_LINE_MAX + 1];
    size_t n = 0;
    struct stat st;
    CLEANUP_CLOSE int fd = open_recording(f->config.path, &st);
    if (fd < 0)
        return fd;
    if (breaks_off(fd, &st))
        text[n++] = '\n';
    if (!f->began || st.st_size == 0)
        n += survey_header_format(text + n);
    n += survey_line_format(s, text + n);
    ssize_t written = write(fd, text, n);
    if (written != (ssize_t)n)
        return written < 0 ? -errno : -ENOSPC;
    f->began = true;
    return 0;
}

/* ---- the host -------------------------------------------------------------------------------- */

/* 0, or -errno; -EFBIG: there is more than @cap. */
static int read_text(const char *root, const char *name, char *buf, size_t cap)
{
    char path[PATH_BYTES];
    size_t len = 0;
    ssize_t n;
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while ((n = read(fd, buf + len, cap - 1 - len)) > 0)
        len += (size_t)n;
    buf[len] = '\0';
    return n < 0 ? -errno : len == cap - 1 ? -EFBIG : 0;
}

static int take_sample(SurveyFile *f, SurveySample *ret)
{
    int res = read_text(f->config.root, "/proc/meminfo", f->meminfo, sizeof f->meminfo);
    if (res == 0)
        res = read_text(f->config.root, "/proc/zoneinfo", f->zoneinfo, ZONEINFO_BYTES);
    if (res == 0)
        res = survey_sample_memory(ret, f->meminfo, f->zoneinfo, (uint64_t)sysconf(_SC_PAGESIZE));
    return res;
}

/* ---- a note ---------------------------------------------------------------------------------- */

static void tell(SurveyFile *f, const char *what, int res)
{
    if (res == 0 && f->lost > 0)
        log_event(LOG_LEVEL_INFO, "survey_resumed", "file=%s lost_samples=%" PRIu64, f->config.path,
                  f->lost);
    else if (res < 0 && f->lost == 0)
        log_event(LOG_LEVEL_WARN, "survey_failed", "file=%s what=%s error=\"%s\"", f->config.path,
                  what, strerror(-res));
    f->lost = res == 0 ? 0 : f->lost + 1;
}

void survey_note(SurveyFile *f, uint64_t real_ns, const Facts *facts, bool idle)
{
    SurveySample s = {.time_s = real_ns / NS_PER_S};
    uint64_t slot = real_ns / f->config.every_ns;
    if (f->noted && slot == f->slot)
        return;
    f->noted = true;
    f->slot = slot;
    survey_sample_host(&s, f->host);
    survey_sample_activity(&s, facts->value[FACT_console_idle], facts->value[FACT_load], idle);
    int res = take_sample(f, &s);
    if (res < 0) {
        tell(f, "memory", res);
        return;
    }
    tell(f, "write", append(f, &s));
}

/* ---- life ------------------------------------------------------------------------------------ */

int survey_file_open(const SurveyFileConfig *config, SurveyFile **ret, char *error, size_t cap)
{
    struct stat st;
    CLEANUP_CLOSE int fd = open_recording(config->path, &st);
    if (fd < 0) {
        (void)snprintf(error, cap, "%s: %s", config->path,
                       fd == -EINVAL ? "expected a regular file" : strerror(-fd));
        return fd;
    }
    SurveyFile *f = calloc(1, sizeof *f);
    char *zoneinfo = malloc(ZONEINFO_BYTES);
    if (!f || !zoneinfo) {
        free(f);
        free(zoneinfo);
        (void)snprintf(error, cap, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    f->config = *config;
    f->zoneinfo = zoneinfo;
    if (config->host)
        (void)snprintf(f->host, sizeof f->host, "%s", config->host);
    else if (gethostname(f->host, sizeof f->host - 1) != 0)
        f->host[0] = '\0';
    *ret = f;
    return 0;
}

SurveyFile *survey_file_free(SurveyFile *f)
{
    if (f)
        free(f->zoneinfo);
    free(f);
    return NULL;
}
