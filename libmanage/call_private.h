/* SPDX-License-Identifier: MIT */
/* What the files of the calls share. All with the lock held. */
#ifndef DODO_LIBMANAGE_CALL_PRIVATE_H
#define DODO_LIBMANAGE_CALL_PRIVATE_H

#include "libmanage/core_private.h"

enum CallKind { CALL_READ, CALL_WRITE, CALL_SYNC, CALL_CLOSE, CALL_RETAIN, CALL_ADVISE };

/* Each moves its call on until it needs something or is over. */
void read_run(Cache *c, CacheCall *call, uint64_t now_ns);
void write_run(Cache *c, CacheCall *call, uint64_t now_ns);
void sync_run(Cache *c, CacheCall *call, uint64_t now_ns);
/* What came of the call's own job: what job_end() returned. */
void read_done(Cache *c, CacheCall *call, int error, const CacheResult *result, uint64_t now_ns);
void write_done(Cache *c, CacheCall *call, int error, const CacheResult *result);
void sync_done(Cache *c, CacheCall *call, int error, const CacheResult *result);
/* Nobody else uses the piece: it may be written into. False: the call waits. It has the next turn
 * after readers. A job may take long, and reading goes on beside it. @hits: they count, too. */
bool write_alone(Cache *c, CacheCall *call, Piece *p, bool hits, uint64_t now_ns);
/* The region of a call that begins, or NULL: it is over. */
Region *call_begin(Cache *c, CacheCall *call, uint8_t kind, int rd);

#endif
