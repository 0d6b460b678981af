/* SPDX-License-Identifier: MIT */
#include "libdodo/kept.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "libdodo/core.h"
#include "libdodo/state_dir.h"
#include "libdodo/state_file.h"

static const char directory[] = "checks";

enum { NAME_MAX_BYTES = 2 * 16 + 1 + 16 + 1 + 16 + 1 };

/* Half of the key names the file: all of it stands inside, and is compared. */
static void file_name(const CheckName *name, char out[NAME_MAX_BYTES])
{
    for (unsigned i = 0; i < 16; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", name->key.bytes[i]);
    (void)snprintf(out + 32, NAME_MAX_BYTES - 32, "-%" PRIx64 "-%" PRIx64, name->offset, name->len);
}

/* Names of before the last start of the host are never asked for again: a file's key changes. */
void kept_sweep(void)
{
    struct timespec now, up;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)clock_gettime(CLOCK_BOOTTIME, &up);
    (void)state_files_sweep(directory, now.tv_sec - up.tv_sec);
}

ssize_t kept_save(const void *record, size_t len)
{
    OS_DESCRIPTORS_BUSY;
    static atomic_flag swept = ATOMIC_FLAG_INIT;
    char name[NAME_MAX_BYTES];
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    if (dir < 0)
        return -1;
    if (!atomic_flag_test_and_set(&swept)) /* once a process */
        kept_sweep();
    file_name(record, name);
    return state_file_save(dir, name, record, len);
}

ssize_t kept_load(void *record, size_t cap)
{
    char name[NAME_MAX_BYTES];
    OS_DESCRIPTORS_BUSY;
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    if (dir < 0)
        return 0;
    file_name(record, name);
    return state_file_load(dir, name, record, cap);
}
