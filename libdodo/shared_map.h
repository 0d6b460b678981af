/* SPDX-License-Identifier: MIT */
/* What processes that share regions (sharing.h) know in common of one of them. It lies in memory
 * that all of them have mapped, and that outlives each. */
#ifndef DODO_LIBDODO_SHARED_MAP_H
#define DODO_LIBDODO_SHARED_MAP_H

#include <stdatomic.h>

#include "libdodo/core.h"

/* What a host must return for a block. */
typedef struct BlockCheck {
    uint32_t sum;     /* of the file's bytes; 0: not known */
    uint32_t written; /* the write counter, cut, when a write last touched it */
} BlockCheck;

enum { SHARE_MAP_VERSION = 1 };

/* In memory that the processes have in common, and that outlives each of them. */
struct ShareMap {
    _Atomic uint32_t version;
    ShareName name;
    uint64_t seed;            /* of the checks */
    _Atomic uint32_t present; /* processes; of one that died it is not known */
    _Atomic uint32_t changed; /* a block of the file is not what it was: nothing here counts */
    _Atomic uint32_t vacant;  /* the opener has no memory, and will not try again */
    _Atomic uint32_t keep;    /* one of them has DODO_RETAIN: the opener retains it for all */
    _Atomic uint32_t turn;    /* of place; odd: it is being written */
    OpOpenReply place;        /* of the region; address.region 0: nowhere */
    BlockCheck checks[];
};

/* Bytes of a map for a region of @len bytes. */
size_t share_map_bytes(uint64_t len);
/* An empty one, in memory that is zero. */
void share_map_begin(ShareMap *map, const ShareName *name);
/* What lies there is a map of that name. */
bool share_map_good(const ShareMap *map, const ShareName *name);

#endif
