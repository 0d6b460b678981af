/* SPDX-License-Identifier: MIT */
#ifndef DODO_ADAPTERS_MOUNT_PROGRAM_H
#define DODO_ADAPTERS_MOUNT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct MountOptions {
    uint64_t min_bytes;   /* files below are not for the region cache */
    char **only, **never; /* patterns of paths below the directory; NULL: none */
    bool local;           /* no other host writes the files, whatever their file system */
    uint64_t cache_bytes; /* local memory, or CACHE_AS_CONFIGURED */
    bool allow_other, read_only;
    bool no_passthrough; /* the kernel serves no opening itself */
    char *report;        /* a file to append to; NULL: none */
    pid_t unmounts;      /* a process that has this end of standard output, and unmounts when it has
                            signalled the end and reads MOUNT_OVER; 0: none */
} MountOptions;

enum { MOUNT_MIN_BYTES = 16 << 20, MOUNT_OVER = '\0' };

/* As they are by default. */
void mount_options_init(MountOptions *o);
/* Shows @directory at @mountpoint until a signal comes: the exit status of dodo-mount. For a
 * process that ends then, which may be a copy of another program. */
int mount_run(const MountOptions *o, const char *directory, const char *mountpoint);
/* The main() of dodo-mount. */
int mount_main(int argc, char **argv);

#endif
