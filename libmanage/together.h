/* SPDX-License-Identifier: MIT */
/* How many reads of a file go together. A drive says neither how many it carries out at the same
 * time nor how long one takes. So now and then twice or half as many are tried. The number changes
 * if two measurements in a row say so; the one during which the number came to be does not count.
 * The larger number of two has to save time: reads of the program wait behind those that go
 * together. Pure. */
#ifndef DODO_LIBMANAGE_TOGETHER_H
#define DODO_LIBMANAGE_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

enum { TOGETHER_LEAST = 8, TOGETHER_MOST = 32 };

/* What is tried: twice as many, or half. */
enum TogetherTrial { TOGETHER_NO_TRIAL, TOGETHER_TWICE, TOGETHER_HALF };

/* All zero at first. */
typedef struct Together {
    unsigned doublings; /* of the least number, without the trial */
    enum TogetherTrial trial;
    bool changing;    /* reads of the number before are under way */
    bool seconds;     /* the trial's first measurement was for the change */
    bool down;        /* the next trial is of half as many, where that is possible */
    unsigned failed;  /* trials in a row; each that fails doubles the time to the next */
    unsigned wait;    /* measurements until that; 0 and 1: with the next one it begins */
    uint64_t each_ns; /* about, without trials */
} Together;

unsigned together_count(const Together *t);
/* As many reads as that have ended, each in @each_ns, as one after the other. */
void together_note(Together *t, uint64_t each_ns);

#endif
