/* SPDX-License-Identifier: MIT */
/* The plainest back end, the file itself; the others fall back on it. */
#include <errno.h>
#include <unistd.h>

#include "base/num.h"
#include "examples/source.h"

int source_read_file(Source *s, uint64_t offset, void *buf, size_t len)
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

int source_write_file(Source *s, uint64_t offset, const void *buf, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pwrite(s->fd, (const char *)buf + at, len - at, (off_t)(offset + at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += (size_t)n;
    }
    s->sources.written_bytes += len;
    return 0;
}

size_t source_first_part(const Source *s, uint64_t offset, size_t len, uint64_t *ret_index)
{
    uint64_t region_bytes = s->settings->region_bytes;
    *ret_index = offset / region_bytes;
    return (size_t)min_u64(len, (*ret_index + 1) * region_bytes - offset);
}

const Backend backend_disk = {.name = "disk", .read = source_read_file, .write = source_write_file};
