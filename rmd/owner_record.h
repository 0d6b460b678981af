/* SPDX-License-Identifier: MIT */
/* What a host's rmd keeps for its users: who has paused the lending until when, and what each hour
 * of the last week was lent, or why it was not. Pure; bounded, whatever comes in. Times are
 * CLOCK_REALTIME [s]. */
#ifndef DODO_RMD_OWNER_RECORD_H
#define DODO_RMD_OWNER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmd/monitor.h"

#define OWNER_FOREVER UINT64_MAX
enum {
    OWNER_HOURS = 7 * 24,
    OWNER_PAUSES_MAX = 16,
    OWNER_RECORD_TEXT_MAX = 32768,
};

typedef struct OwnerPause {
    uint32_t uid;     /* whose it is; only this user and root end it */
    uint64_t until_s; /* OWNER_FOREVER: it has no end */
    bool asked;       /* for so long, since the clock was known; else it was read */
} OwnerPause;

typedef struct OwnerHour {
    uint64_t hour;                /* since 1970; 0: nothing is known of it */
    uint64_t ms[MONITOR_WHY_MAX]; /* lent, and not lent, by reason */
    uint64_t mib_ms;              /* the sum of what was lent: MiB times ms */
} OwnerHour;

typedef struct OwnerRecord {
    unsigned pauses_count;
    OwnerPause pauses[OWNER_PAUSES_MAX];
    bool unknown; /* users may have paused it, and nobody knows any more: until all resume */
    OwnerHour hours[OWNER_HOURS]; /* that of hour H is at H % OWNER_HOURS */
    uint64_t clock_s;             /* as owner_record_clock() had it last; 0: it is not known */
} OwnerRecord;                    /* zeros: nothing */

/* Instead of the pause that @uid had. 0; 1: it had that one; -ENOSPC: too many others have one. One
 * place is root's. */
int owner_record_pause(OwnerRecord *r, uint32_t uid, uint64_t until_s, uint64_t now_s);
/* Ends the pause of @uid. False: there was none. */
bool owner_record_resume(OwnerRecord *r, uint32_t uid, uint64_t now_s);
/* No pause is left, nor any that is not known. */
void owner_record_resume_all(OwnerRecord *r);
/* The end of the last pause; 0: there is none. */
uint64_t owner_record_paused_until(const OwnerRecord *r, uint64_t now_s);

/* CLOCK_REALTIME less CLOCK_BOOTTIME is @clock_s now. Where the clock was set, a pause that was
 * asked for since the first time ends as much later or earlier: it takes as long as was asked for.
 * True: so it is. */
bool owner_record_clock(OwnerRecord *r, uint64_t clock_s);

/* For @ms until now it was so; @lent_bytes counts while it is lent. */
void owner_record_note(OwnerRecord *r, uint64_t now_s, uint64_t ms, enum MonitorWhy why,
                       uint64_t lent_bytes);
/* The hour, if it is one of the last week, and something is known of it; or NULL. */
const OwnerHour *owner_record_hour(const OwnerRecord *r, uint64_t hour, uint64_t now_s);

/* When the record was noted in and saved last, CLOCK_MONOTONIC. */
typedef struct OwnerTurn {
    uint64_t noted_ns, saved_ns;
} OwnerTurn;
enum { OWNER_NOTES = 1, OWNER_SAVES = 2 };
/* What is due now. OWNER_NOTES: *ret_ms since the last time are to be noted; not if they are
 * @gap_ns or more, for then nobody watched. */
unsigned owner_turn(OwnerTurn *t, uint64_t gap_ns, uint64_t now_ns, uint64_t *ret_ms);

/* Those who ask get a tenth of rmd's time, however many they are. After some that took from
 * @from_ns to @now_ns the next wait so long, a second at most. */
uint64_t owner_turn_rest_ns(uint64_t from_ns, uint64_t now_ns);

/* As text, lines: what is over is left out. The length, below @cap; @cap of OWNER_RECORD_TEXT_MAX
 * is enough. */
size_t owner_record_write(const OwnerRecord *r, uint64_t now_s, char *buf, size_t cap);
/* Lines of another kind are left out, and so is what is over or to come. False: it is not, or not
 * all, of what owner_record_write() wrote; a pause may be missing. */
bool owner_record_read(OwnerRecord *r, const char *text, uint64_t now_s);

#endif
