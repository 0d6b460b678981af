/* SPDX-License-Identifier: MIT */
/* The conversation with the owner's resource monitor, rmd, which started this imd: messages of
 * ASCII text, one to a packet.
 *
 * rmd says "limit BYTES", "beat" once a second, and "reload LEVEL BYTES PACKETS MANAGER" when it
 * has read its own files again. imd says "ready epoch=HEX pool=BYTES" once, then "used BYTES limit
 * BYTES" when a limit is reached, and once a second while that changes.
 *
 * "save BYTES MS": the owner is back. No more than so many bytes stay in use, programs are to move
 * these to other hosts, and imd leaves when that is done, or after so many milliseconds. rmd says
 * it to an imd that has answered its "saves?" with "saves": an older one knows neither.
 *
 * imd leaves when rmd hangs up, or falls silent for long after it has begun to beat. Pure. */
#ifndef DODO_IMD_OWNER_H
#define DODO_IMD_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/places.h"
#include "proto/silence.h"

enum { OWNER_TEXT_MAX = PLACES_TEXT_MAX + 64 }; /* a reload's numbers, and all that may be named */

/* Level of the log and the cap, as rmd has them now. */
typedef struct OwnerReload {
    uint32_t log_level;
    uint64_t rate_bytes, rate_packets;
    char manager[PLACES_TEXT_MAX]; /* where it may be; empty: where it was */
} OwnerReload;

/* How the owner's return is to go. */
typedef struct OwnerSave {
    uint64_t bytes, within_ns;
} OwnerSave;

typedef struct Owner {
    bool on;                          /* there is one */
    bool reach;                       /* a limit was given, and was not reported as reached yet */
    bool deaf;                        /* it did not listen when it was to hear of that */
    uint64_t used_bytes, limit_bytes; /* as reported last */
    uint64_t told_ns;                 /* reported, or tried to; 0: never */
    bool beats;                       /* it says that it is there, again and again */
    Silence silence;                  /* since anything was heard */
    OwnerReload reload;               /* the last one */
    OwnerSave save;                   /* likewise */
} Owner;

/* A message came. OWNER_LIMIT: with the limit. OWNER_RELOAD, OWNER_SAVE: @o's is new. OWNER_ASKS:
 * whether we know OWNER_SAVE. */
enum OwnerEvent {
    OWNER_BEAT,
    OWNER_LIMIT,
    OWNER_RELOAD,
    OWNER_SAVE,
    OWNER_ASKS,
    OWNER_UNKNOWN,
};
enum OwnerEvent owner_heard(Owner *o, const char *text, size_t len, uint64_t *ret_limit,
                            uint64_t now_ns);
/* Has rmd been silent for @silence_ns, in which we ran ourselves? A message counts when it was
 * received, not while it waits. */
bool owner_is_silent(Owner *o, uint64_t silence_ns, uint64_t now_ns);
/* When to ask that, at the latest, if nothing more comes; TIME_NEVER: it need not say anything. */
uint64_t owner_silent_ns(const Owner *o, uint64_t silence_ns);
/* When to say what is in use, at the latest; TIME_NEVER: not before something changes. */
uint64_t owner_deadline(const Owner *o, uint64_t used_bytes, uint64_t limit_bytes);
/* It was said. Did rmd listen? */
void owner_told(Owner *o, uint64_t used_bytes, uint64_t limit_bytes, bool listened,
                uint64_t now_ns);

/* "limit BYTES", the whole of the @len bytes. */
bool owner_parse_limit(const char *text, size_t len, uint64_t *ret);
/* "save BYTES MS", likewise. */
bool owner_parse_save(const char *text, size_t len, OwnerSave *ret);
/* "reload LEVEL BYTES PACKETS" and perhaps " MANAGER", likewise. */
bool owner_parse_reload(const char *text, size_t len, OwnerReload *ret);

#endif
