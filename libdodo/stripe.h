/* SPDX-License-Identifier: MIT */
/* Calls on all members of a region. Not for shells. */
#ifndef DODO_LIBDODO_STRIPE_H
#define DODO_LIBDODO_STRIPE_H

#include "libdodo/region.h"

bool stripe_wanted(const Client *c, unsigned flags, uint64_t len);
void stripe_open_start(Call *call, const FileGiven *given, uint64_t len, uint64_t offset,
                       unsigned flags);
void stripe_close_start(Call *call, Region *r);

#endif
