/* SPDX-License-Identifier: MIT */
/* An open data set, whatever its back end. */
#include "examples/source.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"

const Backend *backend_find(const char *name)
{
    static const Backend *const all[] = {&backend_disk, &backend_dodo, &backend_manage};
    for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
        if (strcmp(name, all[i]->name) == 0)
            return all[i];
    return NULL;
}

bool backend_has_policy(const Backend *b, const char *policy)
{
    for (unsigned i = 0; b->policies && b->policies[i]; i++)
        if (strcmp(policy, b->policies[i]) == 0)
            return true;
    return false;
}

/* Says what is wrong with the data set; returns @r. */
static int complain(const Source *s, int r, const char *what)
{
    char shown[256];
    fprintf(stderr, "%s: %s: %s\n", s->settings->program,
            printable_short(s->settings->file, shown, sizeof shown), what);
    return r;
}

static int find_size(Source *s)
{
    uint64_t wanted = s->settings->size_bytes;
    struct stat st;
    if (s->fd < 0 || fstat(s->fd, &st) < 0)
        return complain(s, -errno, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return complain(s, -EINVAL, "not a regular file");
    s->size_bytes = wanted > 0 ? wanted : (uint64_t)st.st_size;
    if ((uint64_t)st.st_size < s->size_bytes) {
        char text[64];
        snprintf(text, sizeof text, "has only %lld bytes; --make makes it", (long long)st.st_size);
        return complain(s, -ENODATA, text);
    }
    return 0;
}

int source_open(Source *s, const SourceSettings *settings)
{
    *s = (Source){.settings = settings, .fd = -1};
    s->fd = open(settings->file,
                 (settings->region_flags & DODO_RDONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    int r = find_size(s);
    if (r < 0)
        return r;
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED); /* advice: no harm where ignored */
    s->regions_count = (s->size_bytes + settings->region_bytes - 1) / settings->region_bytes;
    s->regions = malloc((s->regions_count + 1) * sizeof *s->regions);
    if (!s->regions)
        return complain(s, -ENOMEM, "no memory for so many regions");
    for (uint64_t i = 0; i < s->regions_count; i++)
        s->regions[i] = -1;
    return settings->backend->open ? settings->backend->open(s) : 0;
}

int source_read(Source *s, uint64_t offset, void *buf, size_t len)
{
    return s->settings->backend->read(s, offset, buf, len);
}

int source_write(Source *s, uint64_t offset, const void *buf, size_t len)
{
    return s->settings->backend->write(s, offset, buf, len);
}

int source_drop(Source *s, uint64_t index)
{
    return s->settings->backend->drop ? s->settings->backend->drop(s, index) : 0;
}

int source_sync(Source *s)
{
    return s->regions && s->settings->backend->sync ? s->settings->backend->sync(s) : 0;
}

void source_close(Source *s)
{
    if (s->regions && s->settings->backend->close)
        s->settings->backend->close(s);
    free(s->regions);
    s->regions = NULL;
    if (s->fd >= 0)
        (void)close(s->fd); /* who wrote has synced */
    s->fd = -1;
}

void sources_add(Sources *to, const Sources *from)
{
    to->local_bytes += from->local_bytes;
    to->remote_bytes += from->remote_bytes;
    to->file_bytes += from->file_bytes;
    to->written_bytes += from->written_bytes;
    to->regions_opened += from->regions_opened;
    to->regions_reused += from->regions_reused;
    to->regions_failed += from->regions_failed;
    to->regions_lost += from->regions_lost;
}

void sources_print_json(const Sources *s)
{
    printf("\"local_bytes\":%" PRIu64 ",\"remote_bytes\":%" PRIu64 ",\"file_bytes\":%" PRIu64
           ",\"regions_opened\":%" PRIu64 ",\"regions_reused\":%" PRIu64
           ",\"regions_failed\":%" PRIu64 ",\"regions_lost\":%" PRIu64,
           s->local_bytes, s->remote_bytes, s->file_bytes, s->regions_opened, s->regions_reused,
           s->regions_failed, s->regions_lost);
}
