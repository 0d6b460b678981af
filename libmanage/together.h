/* SPDX-License-Identifier: MIT */
/* How many reads of a file go together. A drive says neither how many it carries out at the same
 * time nor how long one takes. So the number doubles for a trial, and stays so where that saves
 * time. Pure. */
#ifndef DODO_LIBMANAGE_TOGETHER_H
#define DODO_LIBMANAGE_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

enum { TOGETHER_LEAST = 8, TOGETHER_MOST = 32 };

/* All zero at first. */
typedef struct Together {
    unsigned doublings;
    bool trial;       /* the latest one is */
    unsigned failed;  /* trials in a row; each that fails doubles the time to the next */
    unsigned wait;    /* measurements until that; 0 and 1: with the next one it begins */
    uint64_t each_ns; /* about, before the trial */
} Together;

unsigned together_count(const Together *t);
/* As many reads as that have ended, each in @each_ns, as one after the other. */
void together_note(Together *t, uint64_t each_ns);

#endif
