/* SPDX-License-Identifier: MIT */
/* A model of one host's file system on the virtual clock: bytes, size, stamps with a coarse
 * granule, open-file-description locks, and reads and writes that take time. A pwrite takes
 * effect piece by piece at instants between its start and its end, stamps at its start (as Linux
 * does); a pread sees each piece at an instant of its own. Failures are injected. */
#ifndef DODO_TESTS_SIMFS_H
#define DODO_TESTS_SIMFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "proto/wire.h"
#include "tests/lib/simnet.h"

enum { SIMFS_FILES_MAX = 4, SIMFS_HANDLES_MAX = 96 };

typedef struct SimFs SimFs;

typedef struct SimFile {
    SimFs *fs;
    unsigned index;
    uint8_t *data; /* bytes at and past @size are zero */
    uint8_t *durable;
    bool *dirty; /* a 4 KiB block: not synced since it changed */
    size_t cap;
    uint64_t size;
    uint64_t mtime_ns, ctime_ns;
    FileKey key;
    unsigned writers; /* of other programs: they have it open for writing, or mapped */
    unsigned ops;     /* reads and writes under way */
    void *user;
} SimFile;

/* An open description with its lock. */
typedef struct SimHandle {
    SimFile *file; /* NULL: slot is free */
    uint32_t process;
    uint64_t offset, len; /* locked range */
    bool exclusive;
    unsigned ops; /* under way on it */
    void *user;
} SimHandle;

typedef struct SimFsConfig {
    uint64_t granule_ns; /* of stamps */
    bool honest;         /* stamps change with the contents */
    /* A lease is not granted beside a description of Dodo's own that can write. Else what the
     * client itself knows of its writes must do. */
    bool lease_counts_own;
    uint64_t op_ns;   /* a read or write takes about so long */
    uint64_t slow_ns; /* some take up to this */
    uint32_t slow_ppm;
    uint32_t split_ppm; /* an operation works in pieces of a block */
    uint32_t read_fail_ppm, write_fail_ppm, write_short_ppm, write_full_ppm, sync_fail_ppm;
} SimFsConfig;

/* The file's bytes [offset, offset + len) have just changed; @cookie as given to the write, NULL
 * for anything else. */
typedef void (*SimFsChanged)(void *ctx, SimFile *file, uint64_t offset, size_t len, void *cookie);

struct SimFs {
    SimNet *net;
    SimRng rng;
    SimFsConfig config;
    SimFsChanged changed;
    void *ctx;
    unsigned files_count;
    SimFile files[SIMFS_FILES_MAX];
    SimHandle handles[SIMFS_HANDLES_MAX];
    uint64_t realtime_ns; /* of the clock's zero */
    uint64_t generation;
    ListNode running; /* operations */
};

SimFs *simfs_new(SimNet *net, uint64_t seed, unsigned host, const SimFsConfig *config,
                 SimFsChanged changed, void *ctx);
SimFs *simfs_free(SimFs *fs); /* after the net whose events it waits for */
SimFile *simfs_create(SimFs *fs, size_t cap);

Stamp simfs_stamp(const SimFile *f);
/* Both times are older than the granule: a change from now on changes the stamp. */
bool simfs_stamp_settled(const SimFile *f);
uint64_t simfs_realtime(const SimFs *fs);
/* What is known of the file system's granule beforehand: not that it is whole seconds. */
uint64_t simfs_granule_known(const SimFs *fs);
/* Whether a read lease is granted: nobody can write the file. */
bool simfs_lease(const SimFile *f);

/* NULL: @ret_conflict holds a lock in the way. */
SimHandle *simfs_open(SimFile *f, uint32_t process, uint64_t offset, uint64_t len, bool exclusive,
                      bool ignore_locks, SimHandle **ret_conflict);
void simfs_close(SimHandle *h);
void simfs_kill(SimFs *fs, uint32_t process); /* closes all its handles */
unsigned simfs_handles(const SimFile *f);

typedef struct SimFsResult {
    ssize_t count;
    int error;
    bool injected; /* this failure was made on purpose */
} SimFsResult;
typedef void (*SimFsDone)(void *ctx, const SimFsResult *result);

/* @buf is the process's: nothing of it is touched once @life has moved on. @slow: several times
 * slower (a file half that is still under way when the process is killed). */
void simfs_pread(SimHandle *h, void *buf, size_t len, uint64_t offset, const uint32_t *life,
                 SimFsDone done, void *ctx);
void simfs_pwrite(SimHandle *h, const void *buf, size_t len, uint64_t offset, void *cookie,
                  const uint32_t *life, SimFsDone done, void *ctx);
/* A failing one loses what was not yet on the disk, in the handle's range. */
void simfs_sync(SimHandle *h, const uint32_t *life, SimFsDone done, void *ctx);

/* At once, by the program itself. @bytes NULL: a hole, or a cut. */
void simfs_poke(SimFile *f, uint64_t offset, const uint8_t *bytes, size_t len);
/* The same, late: of a write(2) that began, and moved the stamp, some time ago; or a store through
 * a mapping that was stored to before. */
void simfs_poke_late(SimFile *f, uint64_t offset, const uint8_t *bytes, size_t len);
void simfs_truncate(SimFile *f, uint64_t size);
void simfs_replace(SimFile *f); /* another inode under the same name, same contents */
void simfs_set_mtime(SimFile *f, uint64_t mtime_ns);

#endif
