/* SPDX-License-Identifier: MIT */
/* A disk as a model: how long an access takes. Pure.
 *
 * A drive has one head: an access that does not go on where the last one ended first costs the
 * positioning time, every access its bytes at the bandwidth, and accesses queue. A gap before an
 * access costs no more than reading it: the head passes over it, and the drive's buffer has the
 * gap's bytes for an access that comes next. So a few pages that the page cache still holds in the
 * middle of a sequential read cost what they cost on a drive: next to nothing. A cloud volume
 * serves many at once, each after the way there and back (the latency), while the provider counts
 * operations and bytes: two token buckets over all accesses. */
#ifndef DODO_TOOLS_DISKFS_MODEL_H
#define DODO_TOOLS_DISKFS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DISK_PARALLEL_MAX = 64,
    DISK_OPERATION_BYTES = 256 << 10 /* a longer access counts as several operations */
};

/* Where an access ended that another may go on from, and the gap that the head last passed over. */
typedef struct DiskStream {
    uint64_t file, end, used;
    uint64_t gap_begin, gap_end;
} DiskStream;

typedef struct DiskModel {
    uint64_t position_ns;        /* of an access that does not go on from one of the last */
    uint64_t latency_ns;         /* of every access; accesses that are served at once share it */
    uint64_t bytes_per_s;        /* of all accesses together */
    uint64_t random_bytes_per_s; /* of an access that positions; 0: the same */
    uint64_t iops;               /* operations a second; 0: no limit of its own */
    uint64_t burst_ns;           /* how much of either rate may be used ahead of its time */
    uint64_t parallel;           /* accesses that are served at once */

    uint64_t free_ns[DISK_PARALLEL_MAX];   /* when each is over */
    DiskStream streams[DISK_PARALLEL_MAX]; /* where the last ones ended */
    uint64_t operations_ns, bytes_ns;      /* up to when each rate is used up */
    uint64_t accesses;
} DiskModel;

/* A 7200-rpm drive. */
void disk_model_init(DiskModel *d);
/* @key: "position", "latency", "burst" (times: "8200us"), "bandwidth", "random-bandwidth" (sizes, a
 * second: "200M"), "iops", "parallel" (numbers). 0, or -EINVAL with the model untouched. */
int disk_model_set(DiskModel *d, const char *key, const char *value);
/* When an access that comes at @now_ns is over; calls come in the order of time. @file: an inode
 * number. */
uint64_t disk_model_serve(DiskModel *d, uint64_t file, uint64_t offset, size_t len,
                          uint64_t now_ns);

#endif
