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
    COST_NOTHING_NS = 40000, /* what saves less a transfer is of no use, if little, too */
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
/* The same for a way that has two costs, such as a file of which the kernel holds a part, or reads
 * ahead, and the drive has the rest. It keeps the mean of many: one read that waits for the drive
 * says nothing of the next. */
void cost_add_mixed(Cost *cost, uint64_t bytes, uint64_t ns, uint64_t now_ns);
/* The mean of such reads begins again with the next one. */
void cost_mixed_again(Cost *cost, uint64_t bytes);
/* The same for something that costs the same for each byte and nothing else: the least that was
 * seen counts, in proportion, for all classes. */
void cost_least(Cost *cost, uint64_t bytes, uint64_t ns);
/* The same for a way that has a rival. If it saved little beside the rival, it is measured again
 * soon, and ever more rarely while that stays so, but at least every @fresh_ns: the first use of a
 * host costs a session, and other users' load passes. If it was the more expensive one, the new
 * measurement counts alone: in an average with the old ones it would take long to show. */
void cost_add_beside(Cost *cost, const Cost *rival, uint64_t bytes, uint64_t ns, uint64_t now_ns,
                     uint64_t fresh_ns);
uint64_t cost_again(const Cost *cost, uint64_t bytes); /* the nearest class's again_ns */
unsigned cost_looks(const Cost *cost, uint64_t bytes); /* ... looks */
/* [ns]; 0: nothing of the kind was measured. It comes from the nearest class that was measured. A
 * transfer of that class takes as long for each byte, and so does a larger one: less would draw
 * large reads, which are in order, to remote memory because small ones were quick there. A smaller
 * one may take as long (if positioning is everything) or its share (if moving the bytes is
 * everything): the geometric mean of both is taken. */
uint64_t cost_of(const Cost *cost, uint64_t bytes);
/* Was the nearest class measured since @since_ns? */
bool cost_known_since(const Cost *cost, uint64_t bytes, uint64_t since_ns);

#endif
