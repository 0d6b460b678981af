/* SPDX-License-Identifier: MIT */
/* Where the synthetic benchmark reads from: the file itself, or regions of it held by Dodo. */
#include "examples/synthetic.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int read_file(Source *s, uint64_t offset, void *buf, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pread(s->fd, (char *)buf + at, len - at, (off_t)(offset + at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        at += (size_t)n;
    }
    s->sources.file_bytes += len;
    return 0;
}

static void disk_close(Source *s)
{
    (void)s; /* the caller's descriptor is all there is */
}

const Backend backend_disk = {"disk", read_file, disk_close};

/* The region's descriptor, opened on its first use and again after its host was lost. A failing
 * mopen costs next to nothing during the refraction period, so asking again is fine. */
static int region_descriptor(Source *s, uint64_t index)
{
    const Options *o = s->options;
    int *rd = &s->regions[index];
    if (*rd >= 0)
        return *rd;
    uint64_t start = index * o->region_bytes, left = o->size_bytes - start;
    *rd = dodo_mopen_flags(left < o->region_bytes ? left : o->region_bytes, s->fd, (off_t)start,
                           DODO_RDONLY);
    if (*rd >= 0) {
        s->sources.regions_opened++;
        return *rd;
    }
    s->sources.regions_failed++;
    if (!s->told)
        fprintf(stderr, "dodo-synthetic: mopen: %s; reading the file meanwhile\n",
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
    }
    (void)dodo_mclose(rd); /* frees the descriptor whatever it returns */
    s->regions[index] = -1;
}

/* A piece that lies in one region. */
static int dodo_read_piece(Source *s, uint64_t index, uint64_t offset, void *buf, size_t len)
{
    int rd = region_descriptor(s, index);
    if (rd < 0)
        return read_file(s, offset, buf, len);
    ssize_t n = dodo_mread(rd, (off_t)(offset - index * s->options->region_bytes), buf, len);
    if (n == (ssize_t)len)
        return 0;
    if (n >= 0)
        return -ENODATA;
    if (errno != ENOMEM)
        return -errno;
    s->sources.regions_lost++; /* its host is gone: the file still has every byte */
    region_close(s, index);
    return read_file(s, offset, buf, len);
}

static int dodo_read(Source *s, uint64_t offset, void *buf, size_t len)
{
    while (len > 0) {
        uint64_t index = offset / s->options->region_bytes;
        uint64_t room = (index + 1) * s->options->region_bytes - offset;
        size_t n = len < room ? len : (size_t)room;
        int r = dodo_read_piece(s, index, offset, buf, n);
        if (r < 0)
            return r;
        offset += n;
        buf = (char *)buf + n;
        len -= n;
    }
    return 0;
}

static void dodo_close(Source *s)
{
    for (uint64_t i = 0; i < s->regions_count; i++)
        region_close(s, i);
    (void)dodo_shutdown(); /* a manager that cannot be told finds out by itself */
}

const Backend backend_dodo = {"dodo", dodo_read, dodo_close};
