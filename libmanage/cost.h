/* SPDX-License-Identifier: MIT */
/* What a way to move bytes costs on this host, by size: exponential averages. Pure values. */
#ifndef DODO_LIBMANAGE_COST_H
#define DODO_LIBMANAGE_COST_H

#include <stdbool.h>
#include <stdint.h>

enum {
    COST_CLASSES = 16, /* up to 4 KiB, 8 KiB, ..., 64 MiB, more */
    COST_SAVES = 4,    /* a way is worth a copy where it saves such a share of what it takes */
    COST_IN_ORDER = 3, /* or, for reads one after the other, costs such a part of the other */
};

typedef struct Cost {
    uint32_t known; /* a bit for each class that was measured */
    struct {
        uint64_t ns;       /* average for a transfer of this class's size; 0: unknown */
        uint64_t at_ns;    /* when it was measured last */
        uint64_t again_ns; /* it saves little: it is worth another look so long after; else 0 */
        unsigned looks;    /* that found that, and that it is less than 40 us; halved by each that
                              did not */
        bool useless;      /* it saves nothing */
        unsigned count;    /* of those of a mean */
    } classes[COST_CLASSES];
} Cost;

unsigned cost_class(uint64_t bytes);
uint64_t cost_class_bytes(unsigned class); /* of the largest transfer in it */
void cost_add(Cost *cost, uint64_t bytes, uint64_t ns, uint64_t now_ns);
/* The same of a way that has two costs, as a file of which the kernel holds a part, or reads ahead,
 * and a drive the rest: the mean of many, for one that waits for the drive after some that did not
 * says nothing of the next. */
void cost_add_mixed(Cost *cost, uint64_t bytes, uint64_t ns, uint64_t now_ns);
/* Of what costs the same for each byte, and nothing besides: the least that was seen counts, in
 * proportion, for all classes. */
void cost_least(Cost *cost, uint64_t bytes, uint64_t ns);
/* The same of a way that has a rival. Where it saved little beside that it is looked at again soon,
 * and ever more rarely as long as it stays so, at least every @fresh_ns: the first use of a host
 * costs a session, and somebody's load passes. If it was the dearer one, what is seen then counts
 * alone, for in an average with what was it would take long to show. */
void cost_add_beside(Cost *cost, const Cost *rival, uint64_t bytes, uint64_t ns, uint64_t now_ns,
                     uint64_t fresh_ns);
uint64_t cost_again(const Cost *cost, uint64_t bytes); /* the nearest class's again_ns */
unsigned cost_looks(const Cost *cost, uint64_t bytes); /* ... looks */
/* [ns]; 0: nothing of the kind was measured. From the nearest class that was: a larger transfer
 * than measured is taken for as many of those. A smaller one can take as long, where positioning is
 * all, or its share, where moving the bytes is: it is taken for the mean of both, the geometric. */
uint64_t cost_of(const Cost *cost, uint64_t bytes);
/* Was the nearest class measured since @since_ns? */
bool cost_known_since(const Cost *cost, uint64_t bytes, uint64_t since_ns);

#endif
