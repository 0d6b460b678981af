/* SPDX-License-Identifier: MIT */
/* A disk with one head, as a model: an access that does not go on where the last one ended costs
 * the positioning time, every access its bytes at the bandwidth, and accesses queue. Pure. */
#ifndef DODO_TOOLS_DISKFS_MODEL_H
#define DODO_TOOLS_DISKFS_MODEL_H

#include <stddef.h>
#include <stdint.h>

typedef struct DiskModel {
    uint64_t position_ns;
    uint64_t bytes_per_s;
    uint64_t free_ns; /* when the last access is over */
    uint64_t next_file, next_offset;
} DiskModel;

/* @position: a time ("8200us"), @bandwidth: a size, a second ("200M"). 0 or -EINVAL. */
int disk_model_init(DiskModel *d, const char *position, const char *bandwidth);
/* When an access that comes at @now_ns is over. @file: an inode number. */
uint64_t disk_model_serve(DiskModel *d, uint64_t file, uint64_t offset, size_t len,
                          uint64_t now_ns);
/* The same with the real clock: returns when the access is over. */
void disk_model_wait(DiskModel *d, uint64_t file, uint64_t offset, size_t len);

#endif
