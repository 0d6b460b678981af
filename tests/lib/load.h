/* SPDX-License-Identifier: MIT */
/* Threads that use the library all at once, every byte verified.
 *
 * The file is made of cells of 1000 bytes, so that they do not fall on blocks. What is in a cell
 * follows from its number and version. One thread alone writes a cell: `pending` is the version
 * that it is writing, `committed` the last one whose write returned. A byte that is read must be of
 * a version that was committed before the call, or was begun before it returned. Neighbouring runs
 * of cells are different threads', so their writes touch common blocks.
 *
 * The threads read and write shared regions, and open, write, read, sync and close each one of
 * their own. What is wrong ends the program at once. */
#ifndef DODO_TESTS_LIB_LOAD_H
#define DODO_TESTS_LIB_LOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LOAD_CELL_BYTES = 1000,
    LOAD_RUN_CELLS = 24,  /* next to each other, of one thread */
    LOAD_OWN_CELLS = 180, /* of each thread's own region */
    LOAD_FOREVER = 0,
};

typedef struct LoadConfig {
    int fd;     /* backing file; the load's part is written when it starts */
    off_t base; /* where that part begins */
    unsigned regions, threads;
    unsigned ops;   /* of each thread, or LOAD_FOREVER: until load_stop() */
    unsigned flags; /* DODO_*, of all regions */
    bool may_lose;  /* calls may say ENOMEM: the region is not used any more */
} LoadConfig;

typedef struct Load Load;

Load *load_start(const LoadConfig *config);
/* Until the threads have made @ops more calls together. */
void load_wait(Load *l, uint64_t ops);
void load_stop(Load *l); /* after the call that each is in */
pthread_t load_thread(Load *l, unsigned i);
int load_rd(Load *l, unsigned region);
uint64_t load_lost(Load *l); /* calls that said ENOMEM */
/* Joins the threads, those that were cancelled too: their number is returned. Then all cells must
 * hold what was written last, read through the regions and in the file. */
unsigned load_join(Load *l);
/* Closes the regions. */
void load_free(Load *l);
/* The same when they are closed already. */
void load_discard(Load *l);

/* The bytes of cells [@cell, ...) as they are before anything is written. */
void load_fresh(unsigned cell, uint8_t *out, size_t len);

#endif
