/* SPDX-License-Identifier: MIT */
/*
 * The large files that the program reads, and which descriptor is open for which.
 *
 * The program may close a descriptor and open another file under the same number without our
 * hearing of it. So what is remembered of a number is a guess. It costs speed where it is wrong: a
 * read that is served from the cache asks the kernel first whether the number is that file's.
 *
 * A file is held while the worker has a read lease on it and a region open for it. Readers enter it
 * for the time of a read. Who holds it no more closes it to readers, gives the lease back at once,
 * and closes the region when the last reader has left.
 */
#ifndef DODO_ADAPTERS_PRELOAD_FILES_H
#define DODO_ADAPTERS_PRELOAD_FILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "adapters/file_reads.h"
#include "adapters/preload/hold.h"
#include "adapters/preload/settings.h"
#include "adapters/preload/way.h"

#define FILE_OPEN 0x80000000u /* in File.word: readers may enter; the rest counts them */

typedef struct File {
    dev_t dev; /* they stay while readers are inside, or may enter */
    ino_t ino;
    atomic_uint word;
    int rd;       /* the region, while it is held */
    int lease_fd; /* the same; -1: none */
    off_t size;
    atomic_ullong plain_reads, cached_reads;
    pthread_mutex_t way_lock;
    Way way;
    atomic_bool cache; /* a copy of way.cache */
    FileReads read;

    /* Under the lock of all files. */
    Hold hold;
    int fd;     /* of the program; the one that the worker opens it by */
    char *path; /* for the report; NULL: nobody wants one, or none is known */
} File;

/* The settings are read, and nothing is cached yet. @tell reports what was read of a
 * file, when its place is given away. */
void files_init(void (*tell)(const File *f));
const PreloadSettings *files_settings(void);

/* The file that @fd was open for when it was last looked at; NULL: its reads are the kernel's. */
File *files_of(int fd);
/* @fd is closed, or another file's now. */
void files_forget(int fd);
/* All numbers from @from to @to are. */
void files_forget_range(unsigned from, unsigned to);
/* Whether @fd is open for @f now. */
bool files_is(int fd, const File *f);

static inline bool file_may_enter(const File *f)
{
    return atomic_load_explicit(&f->word, memory_order_relaxed) & FILE_OPEN;
}
/* A read enters @f, to be served from its region; false: not now. */
bool file_enter(File *f);
void file_leave(File *f);
/* The region cache is to have @f's reads. True: there is work for the worker, who may not run yet.
 */
bool file_want(File *f, int fd);

/* Waits until there may be work: a file is wanted, or nobody is inside one that is ending. */
void files_await_work(void);

/* ---- for the worker and the keeper ----------------------------------------------------------- */

void files_lock(void);
void files_unlock(void);
/* All below need the lock. The next file after @f in @state; NULL: none. */
File *files_next(File *f, enum HoldState state);
/* The file that has the lease @fd; NULL: none. */
File *files_by_lease(int lease_fd);
/* No reader enters @f any more, and its lease goes back. @broken: somebody waits for that. */
void file_give_up(File *f, bool broken);
/* Of all files; those that are being taken, too. */
void files_give_up_all(void);
/* Whether a descriptor of the program is still open for @f. */
bool files_are_open_for(const File *f);

/* A fork begins: each open description is the child's, too, from then on. */
void files_note_fork(void);
unsigned files_forks(void); /* so far */
/* The child of a fork has no threads, leases or regions of ours. */
void files_forget_all(void);
/* Tells of all, when the process ends. */
void files_tell_all(void);

#endif
