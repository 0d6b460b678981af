/* SPDX-License-Identifier: MIT */
/* What params.c, params_scenarios.c and params_copies.c have of each other. */
#ifndef DODO_TESTS_SIM_PARAMS_PRIVATE_H
#define DODO_TESTS_SIM_PARAMS_PRIVATE_H

#include "tests/sim/world.h"

/* ---- params.c ---- */
uint64_t params_ms(SimRng *r, uint64_t lo, uint64_t hi); /* that many milliseconds [ns] */
uint32_t params_maybe(SimRng *r, uint32_t max_ppm); /* so often at most; half of the time never */
void params_choose_faults(Params *p, SimRng *r, unsigned kinds);

/* ---- params_scenarios.c ---- */
void params_bias(Params *p, SimRng *r); /* to what the seed's scenario is of */
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
