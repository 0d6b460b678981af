/* SPDX-License-Identifier: MIT */
/* What dodo drain does for regions that are kept for a next run: no program would move them, so it
 * opens them itself, a few at a time, and closes them when they have left. */
#ifndef DODO_TOOLS_DRAIN_CARRY_H
#define DODO_TOOLS_DRAIN_CARRY_H

#include "tools/client.h"

enum { CARRY_AT_ONCE = 8 };

/* Begins zeroed. */
typedef struct DrainCarry {
    int rds[CARRY_AT_ONCE]; /* on their way */
    unsigned count;
    uint64_t cursor;    /* of the page of regions that is gone through */
    bool begun, failed; /* some of them, since the first page */
    uint64_t rest_ns;   /* none is begun before: none could be begun, of all */
} DrainCarry;

/* Ends what has left the host, and begins others, asking @client for them. @r: what the manager has
 * said of @host just now. */
void drain_carry_step(DrainCarry *k, ToolClient *client, const Addr *host, const OpDrainReply *r,
                      uint64_t now_ns);
/* Nothing is on its way, and nothing could be begun. */
bool drain_carry_rests(const DrainCarry *k, uint64_t now_ns);
/* What is on its way is kept where it is whole. */
void drain_carry_end(DrainCarry *k);

#endif
