/* SPDX-License-Identifier: MIT */
/* The account of speculative work, in time. Such work may spend a small part of the time that reads
 * take, and all that it has earned: the time that later reads were shorter. So it never makes a
 * program slower by more than that part, and work that pays grows by itself. Pure. */
#ifndef DODO_LIBMANAGE_LEDGER_H
#define DODO_LIBMANAGE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Ledger {
    unsigned percent;   /* of reads_ns may be spent, and what was earned */
    uint64_t reads_ns;  /* what reads from files and from remote memory took */
    uint64_t spent_ns;  /* how much longer some took, as something was read unasked beside them */
    uint64_t earned_ns; /* how much longer reads would have taken without what was brought */
} Ledger;

/* May @ns more be spent? */
static inline bool ledger_covers(const Ledger *l, uint64_t ns)
{
    return l->spent_ns + ns <= l->reads_ns / 100 * l->percent + l->earned_ns;
}

/* ... of what was earned alone? */
static inline bool ledger_has_earned(const Ledger *l, uint64_t ns)
{
    return l->spent_ns + ns <= l->earned_ns;
}

#endif
