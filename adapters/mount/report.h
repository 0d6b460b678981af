/* SPDX-License-Identifier: MIT */
/* What was read through the mount: a line for each file, and one with the sums. */
#ifndef DODO_ADAPTERS_MOUNT_REPORT_H
#define DODO_ADAPTERS_MOUNT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "adapters/file_reads.h"

typedef struct Mount Mount;
typedef struct Inode Inode;
typedef struct Report Report;

/* Where the report is to be; NULL: with errno. */
Report *report_open(const char *path);
/* The kernel serves an opening itself: what is read by it does not come here. */
void report_passed(Mount *m, Inode *inode, int fd);
/* A read begins: the time for report_read(). Without a report nothing is measured. */
uint64_t report_begin(const Mount *m);
/* A read of @inode has brought @n bytes, or -errno; @fd is open for it; @cached: from the region
 * cache. Before it is answered: the inode may go with the answer. */
void report_read(Mount *m, Inode *inode, int fd, bool cached, ssize_t n, uint64_t began_ns);
/* The kernel forgets @inode: its line. */
void report_file(Mount *m, const Inode *inode);
/* All files are forgotten, all regions closed. NULL is nothing. */
void report_close(Report *r);

#endif
