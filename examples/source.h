/* SPDX-License-Identifier: MIT */
/* Where the example programs read their data set from, and write it: one table of functions a back
 * end. */
#ifndef DODO_EXAMPLES_SOURCE_H
#define DODO_EXAMPLES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Source Source;
typedef struct Backend {
    const char *name;
    /* Names of the replacement policies of a cache of its own, up to a NULL; NULL: it has none. */
    const char *const *policies;
    /* Gets ready to read; NULL: nothing to do. 0 or -errno. */
    int (*open)(Source *s);
    /* Reads exactly @len bytes of the data set: 0 or -errno. */
    int (*read)(Source *s, uint64_t offset, void *buf, size_t len);
    /* Writes them; not to data sets that are opened with DODO_RDONLY. 0 or -errno. */
    int (*write)(Source *s, uint64_t offset, const void *buf, size_t len);
    /* Gives one region back: it will not be used through this back end soon. What was written to it
     * is in the file when it returns. 0 or -errno; NULL: nothing to do. */
    int (*drop)(Source *s, uint64_t index);
    /* What was written is in the file when it returns. 0 or -errno; NULL: it always is. */
    int (*sync)(Source *s);
    /* Gives everything back; s->sources is complete afterwards. NULL: nothing to do. */
    void (*close)(Source *s);
} Backend;
extern const Backend backend_disk, backend_dodo, backend_manage;
/* The back end of this name, or NULL. */
const Backend *backend_find(const char *name);
bool backend_has_policy(const Backend *b, const char *policy);

/* What a program wants of its data set. */
typedef struct SourceSettings {
    const char *program; /* what its messages begin with */
    const char *file;
    const Backend *backend;
    const char *policy;    /* of the back end, or NULL: its usual one */
    uint64_t size_bytes;   /* as much of the file is used; 0: all of it */
    uint64_t region_bytes; /* of each region */
    unsigned region_flags; /* of dodo_mopen_flags(); without DODO_RDONLY the file is written too */
    bool prefetch; /* regions that are opened are read as a whole, in the background (dodo) */
} SourceSettings;

/* Where the bytes came from. */
typedef struct Sources {
    uint64_t local_bytes; /* the back end's own cache */
    uint64_t remote_bytes, file_bytes;
    uint64_t written_bytes;
    uint64_t regions_opened, regions_reused, regions_failed;
    uint64_t regions_lost; /* their host went, or there was none at the end (DODO_FALLBACK) */
} Sources;
/* As members of a JSON object, without a comma before or after them. */
void sources_print_json(const Sources *s);

/* An open data set. */
struct Source {
    const SourceSettings *settings; /* borrowed */
    int fd;
    uint64_t size_bytes;
    int *regions; /* descriptor of each region, -1: not open */
    uint64_t regions_count;
    Sources sources;
    bool told; /* the first failing mopen was reported */
};

/* Opens the data set, with none of it in the page cache: 0, or -errno with the reason told on
 * standard error; close it in either case. */
int source_open(Source *s, const SourceSettings *settings);
int source_read(Source *s, uint64_t offset, void *buf, size_t len);
int source_write(Source *s, uint64_t offset, const void *buf, size_t len);
int source_drop(Source *s, uint64_t index);
int source_sync(Source *s);
/* s->sources stays. */
void source_close(Source *s);
/* The file itself: what every back end has when all else fails. No region of what is written may be
 * open. */
int source_read_file(Source *s, uint64_t offset, void *buf, size_t len);
int source_write_file(Source *s, uint64_t offset, const void *buf, size_t len);
/* As much of [offset, offset + len) as lies in the first region that it touches, and that. */
size_t source_first_part(const Source *s, uint64_t offset, size_t len, uint64_t *ret_index);
/* Adds up what several sources tell. */
void sources_add(Sources *to, const Sources *from);

#endif
