/* SPDX-License-Identifier: MIT */
/* What the bytes of a file may be: the truth that every read is compared with. */
#ifndef DODO_TESTS_SIM_ORACLE_H
#define DODO_TESTS_SIM_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "tests/lib/simfs.h"

typedef struct World World;

typedef struct Alternative {
    struct Alternative *next;
    uint64_t offset;
    size_t len;
    uint32_t version; /* 0: the bytes below */
    uint8_t bytes[];
} Alternative;

/* An mread under way: what each byte may be. */
typedef struct ReadWatch {
    ListNode link; /* in FileModel.reads */
    SimFile *file;
    uint64_t offset;
    size_t len;
    uint8_t *snapshot;
    uint64_t size_min, size_max;
    Alternative *alternatives;
    bool overlapped; /* by an mwrite */
    bool beside;     /* ... or nearly: they may have a block in common */
} ReadWatch;

/* An mwrite under way. */
typedef struct WriteWatch {
    ListNode link; /* in FileModel.writes */
    SimFile *file;
    uint64_t offset;
    size_t len;
    uint32_t version;
    size_t touched;         /* bytes of it that reached the file, in any order */
    uint8_t *applied;       /* bit per byte */
    uint64_t begun;         /* bytes of it that the library has given to the file */
    bool pending;           /* one of its file writes is under way, */
    size_t pending_len;     /* so long */
    bool failed, shortened; /* injected */
} WriteWatch;

/* What a killed process had open. */
typedef struct KilledRange {
    uint64_t offset, len; /* len 0: none */
    bool writing;
} KilledRange;
enum { KILLED_MAX = 16 };

typedef struct FileModel {
    ListNode reads, writes;
    KilledRange killed[KILLED_MAX];
    unsigned killed_next;
} FileModel;

/* The bytes of write @version; every write has its own. */
void oracle_bytes(uint32_t version, uint64_t offset, uint8_t *out, size_t len);
void oracle_file_changed(void *ctx, SimFile *file, uint64_t offset, size_t len, void *cookie);
void oracle_read_begin(ReadWatch *r, SimFile *file, uint64_t offset, size_t len);
/* True when @count bytes in @buf are what they may be; else @why has words. */
bool oracle_read_right(World *w, const ReadWatch *r, const uint8_t *buf, ssize_t count, size_t full,
                       char *why, size_t cap);
void oracle_read_end(ReadWatch *r);
void oracle_write_begin(World *w, WriteWatch *v, SimFile *file, uint64_t offset, size_t len);
/* Bytes from the start that reached the file. */
size_t oracle_write_prefix(const WriteWatch *v);
void oracle_write_end(WriteWatch *v);

typedef struct IdSet {
    uint64_t *slots;
    size_t cap, count;
} IdSet;
bool id_set_add(IdSet *s, uint64_t id); /* true: it was new */
bool id_set_has(const IdSet *s, uint64_t id);
void id_set_free(IdSet *s);

#endif
