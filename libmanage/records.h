/* SPDX-License-Identifier: MIT */
/* Recorded runs (trace.h), from one process to the next: a file for each in the user's state
 * directory, named by device and inode. Any thread. */
#ifndef DODO_LIBMANAGE_RECORDS_H
#define DODO_LIBMANAGE_RECORDS_H

#include "libmanage/core.h"

enum { RECORD_RANGES_MAX = 1 << 16, RECORDS_MAX = 1000 /* files */ };

/* In place of any of the same file. What cannot be kept is lost: a run without it is slower. */
void record_save(const CacheRecord *record);
/* Of that file. False: there is none. Else @ret_ranges is to be freed. */
bool record_load(CacheFileId file, CacheRange **ret_ranges, size_t *ret_count);

#endif
