/* SPDX-License-Identifier: MIT */
/* The manager is asked for the memory of a region, when it is opened and later. Not for shells. */
#ifndef DODO_LIBDODO_OPENING_H
#define DODO_LIBDODO_OPENING_H

#include "libdodo/core.h"

/* What the manager answered to OP_OPEN. 0: it is a region on a host that may be used; else why not.
 */
enum OpenAnswer { OPEN_ANSWER_GOOD, OPEN_ANSWER_SENSELESS, OPEN_ANSWER_ELSEWHERE };
enum OpenAnswer open_answer(const Client *c, const Request *q, OpOpenReply *ret);
/* Under the lock: the OPEN request of a region, for mopen and for establishing it again. @flags:
 * DODO_*; @keep: REGION_RETAIN, REGION_FRESH; @apart: the epoch of a host that it must not be on;
 * 0: none. */
size_t open_body(const Client *c, const FileKey *key, const Stamp *stamp, uint64_t offset,
                 uint64_t len, unsigned flags, uint32_t keep, uint64_t apart, uint64_t now_ns,
                 uint8_t *out);

#endif
