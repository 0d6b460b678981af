/* SPDX-License-Identifier: MIT */
/* A region gets its memory, loses it, and asks for it again. All under the client's lock. Not for
 * shells. */
#ifndef DODO_LIBDODO_CLAIMS_H
#define DODO_LIBDODO_CLAIMS_H

#include "libdodo/region.h"

uint64_t region_claim(const Region *r); /* the share of an active one in Client.regions.digest */
void client_region_activate(Client *c, Region *r, const OpOpenReply *reply, bool reused,
                            uint64_t now_ns);
void client_region_deactivate(Client *c, Region *r, uint64_t now_ns); /* it is lost */
/* The same of an active one, but that nothing is lost: the other copy has all that it has. */
void client_region_retire(Client *c, Region *r, uint64_t now_ns);
void client_region_unclaim(Client *c, Region *r);
/* It has no memory now; the background tries again later, if it is of the kind. */
void client_region_idle(Client *c, Region *r, uint64_t now_ns);
/* In the list of its kind. */
void client_region_file(Client *c, Region *r);
/* ... at once, if the manager was not asked for it, or has not answered yet. */
void client_region_ask(Client *c, Region *r, uint64_t now_ns);
/* mopen's request for memory for it is over, if there is one: what it gave is not claimed, and so
 * is freed. */
void client_region_unask(Client *c, Region *r);
/* ... then. */
void client_region_soon(Client *c, Region *r, uint64_t at_ns);
/* No memory was given: the period in which nobody asks begins. Memory was given: it is over. */
void client_refract(Client *c, uint64_t now_ns);
/* ... in which nobody asks for second copies, which nobody lacks. */
void client_refract_copies(Client *c, uint64_t now_ns);
/* ... in which nobody asks for what a drain waits for (move.c). */
void client_refract_moves(Client *c, uint64_t now_ns);
void client_refract_end(Client *c, bool copy);
bool region_wants_memory(const Region *r);
/* Remote memory serves it, or some of it. */
bool region_active(const Region *r);
/* Calls on it do not fail: what is not remote comes from the file. */
bool region_file_serves(const Region *r);
/* For another process to open its memory: it is not lost. */
bool region_waits(const Region *r);

#endif
