/* SPDX-License-Identifier: MIT */
/* What dodo drain makes of the manager's answers: whether the drain goes on, is over, or cannot get
 * on, and what it says of that. Pure: answers in, verdicts and text out. */
#ifndef DODO_TOOLS_DRAIN_JUDGE_H
#define DODO_TOOLS_DRAIN_JUDGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"

enum DrainVerdict {
    DRAIN_GOES_ON,
    DRAIN_AGAIN,   /* this manager does not know of it: start it again */
    DRAIN_DONE,    /* nothing is left there */
    DRAIN_STUCK,   /* what is left cannot get on */
    DRAIN_STOPPED, /* somebody has cancelled it */
    DRAIN_LOST,    /* the host has gone, or has started again, and what was left has gone with it */
    DRAIN_UNHEARD, /* no manager has answered for long */
    DRAIN_LATE,    /* it has not come to an end within the time that it was given */
    DRAIN_VERDICT_MAX
};
/* One word: "draining", "done". */
const char *drain_verdict_text(enum DrainVerdict v);

/* One question, and what came back. */
typedef struct DrainLook {
    uint64_t at_ns;
    bool answered;
    uint64_t manager; /* another start of it, another lease, and another manager have another */
    bool gone;        /* it knows no such host */
    bool kept_stay;   /* what is kept there could not be brought elsewhere just now */
    OpDrainReply reply;
} DrainLook;

enum { DRAIN_RATE_LOOKS = 16 };
typedef struct DrainSample {
    uint64_t at_ns, left_bytes;
} DrainSample;

/* Begins zeroed, but for the first three. */
typedef struct DrainJudge {
    const char *host;  /* as people call it; borrowed */
    bool drop;         /* kept regions are freed */
    uint64_t until_ns; /* nothing is waited for then; 0: there is no limit */
    bool begun;
    bool known; /* to this manager */
    uint64_t manager, epoch;
    uint64_t heard_ns; /* when a manager answered last */
    uint64_t moved_ns; /* when anything got on */
    OpDrainReply last;
    bool kept_stay;                        /* as the last look had it */
    DrainSample samples[DRAIN_RATE_LOOKS]; /* of the last looks, the oldest is overwritten */
    unsigned looks;
} DrainJudge;

enum DrainVerdict drain_judge(DrainJudge *j, const DrainLook *look);
/* Bytes a second that have got on of late; 0: not known. */
uint64_t drain_rate(const DrainJudge *j);
/* Appends how far it is, in a line without its end. */
void drain_say_progress(const DrainJudge *j, GString *out);
/* Appends how it ended, whole lines: also what is left, why, and what can be done. */
void drain_say_end(const DrainJudge *j, enum DrainVerdict v, GString *out);
/* Appends an object of JSON, and the end of its line. */
void drain_say_json(const DrainJudge *j, enum DrainVerdict v, GString *out);

#endif
