/* SPDX-License-Identifier: MIT */
/* The back end that reads and writes regions of the file held by Dodo. */
#include "examples/source.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/num.h"

static unsigned open_sources; /* the last one that is closed leaves the cluster */

static int dodo_open(Source *s)
{
    (void)s;
    open_sources++;
    return 0;
}

/* The region's descriptor, opened on its first use and again after its host was lost. A failing
 * mopen costs next to nothing during the refraction period, so asking again is fine. */
static int region_descriptor(Source *s, uint64_t index)
{
    uint64_t region_bytes = s->settings->region_bytes;
    int *rd = &s->regions[index];
    if (*rd >= 0)
        return *rd;
    uint64_t start = index * region_bytes;
    *rd = dodo_mopen_flags(min_u64(s->size_bytes - start, region_bytes), s->fd, (off_t)start,
                           s->settings->region_flags);
    if (*rd >= 0) {
        s->sources.regions_opened++;
        if (s->settings->prefetch)
            (void)dodo_prefetch(*rd, 0, region_bytes); /* but a hint */
        return *rd;
    }
    s->sources.regions_failed++;
    if (!s->told)
        fprintf(stderr, "%s: mopen: %s; using the file meanwhile\n", s->settings->program,
                dodo_last_error());
    s->told = true;
    return -1;
}

static void region_close(Source *s, uint64_t index)
{
    DodoStat st;
    int rd = s->regions[index];
    if (rd < 0)
        return;
    if (dodo_stat(rd, &st) == 0) {
        s->sources.remote_bytes += st.hits;
        s->sources.file_bytes += st.misses;
        s->sources.written_bytes += st.written;
        s->sources.regions_reused += st.reused;
        s->sources.regions_lost += (st.flags & DODO_FALLBACK) && !st.active;
    }
    (void)dodo_mclose(rd); /* frees the descriptor whatever it returns */
    s->regions[index] = -1;
}

/* A piece that lies in one region. */
static int read_piece(Source *s, uint64_t index, uint64_t offset, void *buf, size_t len)
{
    int rd = region_descriptor(s, index);
    if (rd < 0)
        return source_read_file(s, offset, buf, len);
    ssize_t n = dodo_mread(rd, (off_t)(offset - index * s->settings->region_bytes), buf, len);
    if (n == (ssize_t)len)
        return 0;
    if (n >= 0)
        return -ENODATA;
    if (errno != ENOMEM)
        return -errno;
    s->sources.regions_lost++; /* its host is gone: the file still has every byte */
    region_close(s, index);
    return source_read_file(s, offset, buf, len);
}

static int write_piece(Source *s, uint64_t index, uint64_t offset, const void *buf, size_t len)
{
    int rd = region_descriptor(s, index);
    if (rd < 0)
        return source_write_file(s, offset, buf, len);
    ssize_t n = dodo_mwrite(rd, (off_t)(offset - index * s->settings->region_bytes), buf, len);
    if (n == (ssize_t)len)
        return 0;
    if (n >= 0)
        return -EIO; /* the file took a part, and gave no reason */
    if (errno != ENOMEM)
        return -errno;
    s->sources.regions_lost++; /* nothing of this call has reached the file */
    region_close(s, index);
    return source_write_file(s, offset, buf, len);
}

static int dodo_read(Source *s, uint64_t offset, void *buf, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint64_t index;
        n = source_first_part(s, offset + at, len - at, &index);
        int r = read_piece(s, index, offset + at, (char *)buf + at, n);
        if (r < 0)
            return r;
    }
    return 0;
}

static int dodo_write(Source *s, uint64_t offset, const void *buf, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint64_t index;
        n = source_first_part(s, offset + at, len - at, &index);
        int r = write_piece(s, index, offset + at, (const char *)buf + at, n);
        if (r < 0)
            return r;
    }
    return 0;
}

static int dodo_drop(Source *s, uint64_t index)
{
    region_close(s, index);
    return 0;
}

static void dodo_close(Source *s)
{
    for (uint64_t i = 0; i < s->regions_count; i++)
        region_close(s, i);
    if (--open_sources == 0)
        (void)dodo_shutdown(); /* a manager that cannot be informed finds out by itself */
}

const Backend backend_dodo = {.name = "dodo",
                              .open = dodo_open,
                              .read = dodo_read,
                              .write = dodo_write,
                              .drop = dodo_drop,
                              .close = dodo_close};
