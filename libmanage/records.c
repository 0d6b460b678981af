/* SPDX-License-Identifier: MIT */
#include "libmanage/records.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "libdodo/state_dir.h"
#include "libdodo/state_file.h"

static const char directory[] = "runs";

enum { NAME_BYTES = 16 + 1 + 16 + 1, DAYS = 30 /* that nobody has renewed it */ };

/* At the beginning of the file. Who finds another one has found none. */
typedef struct Head {
    char magic[8];
    uint64_t device, inode;
    uint32_t block, count;
} Head;

static Head head_of(CacheFileId file, size_t count)
{
    Head head = {
        .device = file.device, .inode = file.inode, .block = CACHE_BLOCK, .count = (uint32_t)count};
    memcpy(head.magic, "DODORUN1", sizeof head.magic);
    return head;
}

static void name_of(CacheFileId file, char out[NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, "%" PRIx64 "-%" PRIx64, file.device, file.inode);
}

/* May there be a file of that name? Else those of what is gone would become more and more. */
static bool room(int dir, const char *name)
{
    struct timespec now;
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return state_files_sweep(directory, now.tv_sec - DAYS * 24 * 3600) < RECORDS_MAX;
}

void record_save(const CacheRecord *record)
{
    OS_DESCRIPTORS_BUSY;
    size_t count = record->count < RECORD_RANGES_MAX ? record->count : RECORD_RANGES_MAX;
    size_t bytes = count * sizeof *record->ranges;
    char name[NAME_BYTES];
    Head head = head_of(record->file, count);
    CLEANUP_FREE uint8_t *all = malloc(sizeof head + bytes);
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    name_of(record->file, name);
    if (!all || dir < 0 || !room(dir, name))
        return;
    memcpy(all, &head, sizeof head);
    memcpy(all + sizeof head, record->ranges, bytes);
    (void)state_file_save(dir, name, all, sizeof head + bytes);
}

/* The ranges in @all, of which the head is cut off. */
static CacheRange *ranges_of(uint8_t *all, size_t len, CacheFileId file, size_t *ret_count)
{
    Head head, wanted;
    if (len < sizeof head)
        return NULL;
    memcpy(&head, all, sizeof head);
    wanted = head_of(file, head.count);
    if (memcmp(&head, &wanted, sizeof head) != 0 ||
        len != sizeof head + head.count * sizeof(CacheRange))
        return NULL;
    memmove(all, all + sizeof head, len - sizeof head);
    *ret_count = head.count;
    return (CacheRange *)(void *)all; /* malloc's: aligned for anything */
}

bool record_load(CacheFileId file, CacheRange **ret_ranges, size_t *ret_count)
{
    OS_DESCRIPTORS_BUSY;
    char name[NAME_BYTES];
    struct stat st;
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    name_of(file, name);
    if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size <= 0 ||
        (size_t)st.st_size > sizeof(Head) + RECORD_RANGES_MAX * sizeof(CacheRange))
        return false;
    CLEANUP_FREE uint8_t *all = malloc((size_t)st.st_size);
    ssize_t len = all ? state_file_load(dir, name, all, (size_t)st.st_size) : 0;
    *ret_ranges = len > 0 ? ranges_of(all, (size_t)len, file, ret_count) : NULL;
    if (!*ret_ranges)
        return false;
    all = NULL; /* the caller's */
    return true;
}
