/* SPDX-License-Identifier: MIT */
#include "libmanage/cost.h"

enum { COST_WEIGHT = 8, COST_OUTLIER = 4, COST_SMALLEST = 4096 };
enum { COST_MEAN = 64, COST_OUTLIER_MIXED = 32 };
enum { COST_AGAIN = 16 }; /* in times of what it cost: before the first other look */

unsigned cost_class(uint64_t bytes)
{
    if (bytes <= COST_SMALLEST)
        return 0;
    unsigned k = 64 - (unsigned)__builtin_clzll((bytes - 1) / COST_SMALLEST);
    return k < COST_CLASSES ? k : COST_CLASSES - 1;
}

uint64_t cost_class_bytes(unsigned class)
{
    return (uint64_t)COST_SMALLEST << class;
}

/* The measured class nearest to that of @bytes, smaller ones first; COST_CLASSES: none. */
static unsigned class_nearest(const Cost *cost, uint64_t bytes)
{
    unsigned at = cost_class(bytes);
    uint32_t below = cost->known & ((2u << at) - 1), above = cost->known >> at >> 1;
    if (!cost->known)
        return COST_CLASSES;
    unsigned down = below ? at - (31 - (unsigned)__builtin_clz(below)) : COST_CLASSES;
    unsigned up = above ? 1 + (unsigned)__builtin_ctz(above) : COST_CLASSES;
    return down <= up ? at - down : at + up;
}

/* As if it had been of its class's size, but that what is below a block costs a block's. */
static uint64_t of_class(unsigned k, uint64_t bytes, uint64_t ns)
{
    if (k > 0 && k + 1 < COST_CLASSES)
        ns = (uint64_t)((double)ns * (double)cost_class_bytes(k) / (double)bytes);
    return ns ? ns : 1;
}

/* One that waited for a processor is no rule: it counts as @outlier times the average at most. */
static void sample_add(Cost *cost, unsigned k, uint64_t ns, uint64_t now_ns, unsigned weight,
                       uint64_t outlier)
{
    uint64_t was = cost->classes[k].ns;
    if (was == 0)
        cost->classes[k].ns = ns;
    else if (ns > was)
        cost->classes[k].ns = was + ((ns < outlier * was ? ns : outlier * was) - was) / weight;
    else
        cost->classes[k].ns = was - (was - ns) / weight;
    cost->classes[k].at_ns = now_ns;
    cost->known |= 1u << k;
}

void cost_add(Cost *cost, uint64_t bytes, uint64_t ns, uint64_t now_ns)
{
    unsigned k = cost_class(bytes);
    if (bytes > 0)
        sample_add(cost, k, of_class(k, bytes, ns), now_ns, COST_WEIGHT, COST_OUTLIER);
}

void cost_add_mixed(Cost *cost, uint64_t bytes, uint64_t ns, uint64_t now_ns)
{
    unsigned k = cost_class(bytes);
    if (bytes == 0)
        return;
    if (cost->classes[k].count < COST_MEAN)
        cost->classes[k].count++;
    sample_add(cost, k, of_class(k, bytes, ns), now_ns, cost->classes[k].count, COST_OUTLIER_MIXED);
}

void cost_mixed_again(Cost *cost, uint64_t bytes)
{
    cost->classes[cost_class(bytes)].count = 0;
}

void cost_least(Cost *cost, uint64_t bytes, uint64_t ns)
{
    for (unsigned k = 0; bytes > 0 && k < COST_CLASSES; k++) {
        uint64_t *was = &cost->classes[k].ns;
        uint64_t share = (uint64_t)((double)ns * (double)cost_class_bytes(k) / (double)bytes) + 1;
        if (*was == 0 || share < *was)
            *was = share;
        cost->known |= 1u << k;
    }
}

void cost_add_beside(Cost *cost, const Cost *rival, uint64_t bytes, uint64_t ns, uint64_t now_ns,
                     uint64_t fresh_ns)
{
    unsigned k = cost_class(bytes);
    uint64_t again_ns = cost->classes[k].again_ns, other_ns = cost_of(rival, bytes);
    if (bytes == 0)
        return;
    if (cost->classes[k].useless)
        cost->classes[k].ns = 0;
    cost_add(cost, bytes, ns, now_ns);
    uint64_t own_ns = cost_of(cost, bytes);
    bool little = other_ns && own_ns + own_ns / COST_SAVES >= other_ns;
    again_ns = 2 * again_ns > COST_AGAIN * ns ? 2 * again_ns : COST_AGAIN * ns;
    cost->classes[k].again_ns = !little ? 0 : again_ns < fresh_ns ? again_ns : fresh_ns;
    bool nothing = little && own_ns + COST_NOTHING_NS >= other_ns;
    cost->classes[k].looks = nothing ? cost->classes[k].looks + 1 : cost->classes[k].looks / 2;
    cost->classes[k].useless = other_ns && own_ns >= other_ns;
}

uint64_t cost_again(const Cost *cost, uint64_t bytes)
{
    unsigned k = class_nearest(cost, bytes);
    return k < COST_CLASSES ? cost->classes[k].again_ns : 0;
}

unsigned cost_looks(const Cost *cost, uint64_t bytes)
{
    unsigned k = class_nearest(cost, bytes);
    return k < COST_CLASSES ? cost->classes[k].looks : 0;
}

uint64_t cost_of(const Cost *cost, uint64_t bytes)
{
    unsigned k = class_nearest(cost, bytes);
    if (k == COST_CLASSES)
        return 0;
    unsigned at = cost_class(bytes);
    uint64_t ns = cost->classes[k].ns;
    if (at < k) {
        ns >>= (k - at) / 2;
        ns = (k - at) % 2 ? ns * 70 / 99 : ns; /* 1 / sqrt(2) */
    } else if (at > 0) {
        ns = (uint64_t)((double)ns * (double)bytes / (double)cost_class_bytes(k));
    }
    return ns ? ns : 1;
}

bool cost_known_since(const Cost *cost, uint64_t bytes, uint64_t since_ns)
{
    unsigned k = class_nearest(cost, bytes);
    return k < COST_CLASSES && cost->classes[k].at_ns >= since_ns;
}
