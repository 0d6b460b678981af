/* SPDX-License-Identifier: MIT */
/* The conversation with the owner's resource monitor, rmd, which started this imd: a socket pair of
 * packets (SOCK_SEQPACKET), with one message of ASCII text in each.
 *
 * rmd says "limit BYTES", "beat" once a second, and "reload LEVEL BYTES PACKETS" when it has read
 * its own files again. imd says "ready epoch=HEX pool=BYTES" once, then "used BYTES limit BYTES"
 * when a limit is reached, and once a second while that changes.
 *
 * imd leaves when rmd hangs up, or falls silent for long after it has begun to beat. */
#ifndef DODO_IMD_OWNER_H
#define DODO_IMD_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_TEXT_MAX = 256 };

/* Level of the log and the cap, as rmd has them now. */
typedef struct OwnerReload {
    uint32_t log_level;
    uint64_t rate_bytes, rate_packets;
} OwnerReload;

typedef struct Owner {
    int fd;                           /* -1: there is none */
    bool reach;                       /* a limit was given, and was not reported as reached yet */
    bool deaf;                        /* it did not listen when it was to hear of that */
    uint64_t used_bytes, limit_bytes; /* as reported last */
    uint64_t told_ns;                 /* reported, or tried to; 0: never */
    bool beats;                       /* it says that it is there, again and again */
    uint64_t heard_ns;                /* anything */
    OwnerReload reload;               /* the last one */
} Owner;

/* @fd is the owner's socket from now on. 0; -errno, and @error says what is wrong with it. */
int owner_open(Owner *o, int fd, char *error, size_t error_cap);
void owner_close(Owner *o); /* also where there is none */

void owner_ready(Owner *o, uint64_t epoch, uint64_t pool_bytes);
/* The next message that came: OWNER_LIMIT with the limit; OWNER_RELOAD with @o's @reload;
 * OWNER_NOTHING for now; OWNER_GONE: rmd hung up. Beats are noted. What is not understood is logged
 * and ignored. */
enum OwnerEvent { OWNER_NOTHING, OWNER_LIMIT, OWNER_RELOAD, OWNER_GONE };
enum OwnerEvent owner_receive(Owner *o, uint64_t *ret_limit, uint64_t now_ns);
/* When rmd will have been silent for @silence_ns, if nothing more comes; TIME_NEVER: it need not
 * say anything. A message counts when it was received, not while it waits. */
uint64_t owner_silent_ns(const Owner *o, uint64_t silence_ns);
/* Says what is in use, if it is time to. */
void owner_tell(Owner *o, uint64_t used_bytes, uint64_t limit_bytes, uint64_t now_ns);
/* When owner_tell() has something to say at the latest; TIME_NEVER: not before something changes.
 */
uint64_t owner_deadline(const Owner *o, uint64_t used_bytes, uint64_t limit_bytes);

/* "limit BYTES", the whole of the @len bytes. */
bool owner_parse_limit(const char *text, size_t len, uint64_t *ret);
/* "reload LEVEL BYTES PACKETS", likewise. */
bool owner_parse_reload(const char *text, size_t len, OwnerReload *ret);

#endif
