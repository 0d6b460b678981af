/* SPDX-License-Identifier: MIT */
/* What a seed decides of other copies (params_copies.c), and what that takes of params.c. */
#ifndef DODO_TESTS_SIM_PARAMS_COPIES_H
#define DODO_TESTS_SIM_PARAMS_COPIES_H

#include "tests/sim/world.h"

/* ---- params.c ---- */
uint64_t params_ms(SimRng *r, uint64_t lo, uint64_t hi); /* that many milliseconds [ns] */
void params_choose_faults(Params *p, SimRng *r, unsigned kinds);
void params_retain(Params *p, SimRng *r);
void params_contention(Params *p, SimRng *r);

/* ---- params_copies.c: the scenarios ---- */
void params_mirrors(Params *p, SimRng *r);
void params_copies(Params *p, SimRng *r);
void params_drains(Params *p, SimRng *r);
void params_carries(Params *p, SimRng *r);
void params_shares(Params *p, SimRng *r);
/* Whether the processes of a host share what they read. */
void params_choose_shares(Params *p, uint64_t seed);
/* ... and what has random numbers of its own. */
void params_choose_mirrors(Params *p, uint64_t seed);
void params_choose_drains(Params *p, uint64_t seed);
void params_choose_saves(Params *p, uint64_t seed);

#endif
