/* SPDX-License-Identifier: MIT */
/* What the readers and the writer of a file share, and the writer. Each word of a block is the
 * number of the write that it is of. */
#ifndef DODO_TESTS_NET_TRUTH_H
#define DODO_TESTS_NET_TRUTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BLOCK = 4096, WORDS = BLOCK / 8, BLOCKS = 600, WAITS = 1 << 14 };

enum WriteWay {
    WRITE_OPEN,
    WRITE_SYNC,
    WRITE_MAP,
    WRITE_TRUNCATE,
    WRITE_O_TRUNC,
    WRITE_IO_URING,
    WRITE_WAYS,
};

/* In memory that processes may share. */
typedef struct Shared {
    atomic_ulong writes_done[WRITE_WAYS]; /* of the last, openings */
    atomic_bool over;
    atomic_ullong begun[BLOCKS], done[BLOCKS];
    unsigned waits;
    uint64_t wait_ns[WAITS]; /* of the last openings, which a lease may hold up */
} Shared;
extern Shared *shared;

/* In the file @path, or in memory that children share. */
void share(const char *path);
void die(const char *what) __attribute__((noreturn));
unsigned draw(unsigned *seed, unsigned below);
void file_make(const char *file);
/* By all ways there are, to @file and by its other path @mounted, until it is over. */
void write_until_over(const char *file, const char *mounted);

#endif
