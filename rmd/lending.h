/* SPDX-License-Identifier: MIT */
/* How much is lent: the limit on the pool's use follows what the owner can spare. Down at once, up
 * slowly, and not for noise: a slack of 1 % of the memory lies to both sides. But who takes memory
 * so fast that the headroom would soon be touched gets it before that. And what the owner's
 * programs lose to swap, or read again because their cache had to go, beyond what was usual before
 * the lending, is given back and not lent again in this lending. Pure. */
#ifndef DODO_RMD_LENDING_H
#define DODO_RMD_LENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "rmd/pool_size.h"

#define LENDING_GROW_BYTES_PER_S (64ull << 20)
#define LENDING_GROW_PAUSE_NS (5 * NS_PER_S) /* after the limit had to be lowered */
#define LENDING_AHEAD_NS (500 * NS_PER_MS)   /* what is taken until then is given back now */
#define LENDING_RATE_NS (100 * NS_PER_MS)    /* the rate is one of about so long */
#define LENDING_USUAL_NS (60 * NS_PER_S)     /* what was usual before is a mean of about so long */
#define LENDING_LOSS_LEAST 1e-6              /* bytes a second: less than it is nothing */
#define LENDING_UNSEEN_NS (1 * NS_PER_S)     /* the kernel adds its counters up that often */
enum {
    LENDING_STEP_BYTES = 64 << 10, /* limits are multiples of it */
    LENDING_SLACK_DIVISOR = 100,   /* of all memory, or of a control group's limit, to both
                                      sides of what may be lent */
    LENDING_FAR_BELOW_DIVISOR = 3, /* less than this part of the headroom left: everything back */
    /* What the owner takes within LENDING_RATE_NS, as parts of all memory: makes it worth to look
     * again soon; is a storm. */
    LENDING_STIR_DIVISOR = 3200,
    LENDING_STORM_DIVISOR = 400,
    LENDING_READINGS = 16, /* remembered for the rate */
    /* So many readings, each lower than all before, are no noise: of independent ones, in any
     * order, one in 120 has it. */
    LENDING_FALLS = 5,
    /* Less than this part of all memory left beside what is held: a storm has it soon. */
    LENDING_FULL_DIVISOR = 8,
};

typedef struct LendingReading {
    uint64_t at_ns, there_bytes; /* not the owner's: spare or lent */
} LendingReading;

/* Falling readings, from the one before the first fall until half of it is back, or nothing falls
 * for LENDING_AHEAD_NS. */
typedef struct LendingRun {
    uint64_t top_bytes, low_bytes, fell_ns;
    unsigned falls;
    double rates[LENDING_FALLS]; /* of the last falls, bytes a second */
} LendingRun;

typedef struct LendingReadings {
    LendingReading of[LENDING_READINGS]; /* the newest is the one before @next */
    unsigned next, count;
} LendingReadings;

/* How fast others take memory. */
typedef struct LendingTrend {
    LendingReadings recent;
    LendingRun run;
    uint64_t taken_bytes; /* lately */
    uint64_t ahead_bytes; /* what they will have taken LENDING_AHEAD_NS from now, at that rate */
    bool stirs, steady;
} LendingTrend;

/* What the kernel evicts, and what is given back for it. */
typedef struct LendingLoss {
    bool known;
    uint64_t evicted_bytes, evicted_ns; /* at the last reading */
    uint64_t reclaimed_bytes;           /* at the last reading */
    uint64_t unmatched_bytes;           /* reclaimed in this lending, and not missed yet */
    uint64_t early_bytes; /* missed by the last reading, before it counted as reclaimed */
    double mean;          /* bytes a second, lately */
    double usual;         /* likewise, while nothing was lent; less, where less goes since */
    double excess_bytes;  /* beyond that, and not given back yet */
    uint64_t owed_bytes;  /* given back for it, in this lending */
    uint64_t lost_bytes;  /* of them, by this reading */
} LendingLoss;

typedef struct Lending {
    uint64_t cap_bytes; /* the owner's */
    uint64_t read_ns;   /* the last reading */
    bool known;         /* it had a value */
    bool far_below;
    uint64_t lendable_bytes; /* by the last reading, cap and slack not counted; the less of: */
    uint64_t host_lendable_bytes, group_lendable_bytes; /* UINT64_MAX: there is no limit */
    uint64_t slack_bytes;
    uint64_t group_bytes;   /* the control groups' limit; 0: none */
    uint64_t held_bytes;    /* by imd, at the last reading */
    uint64_t ceiling_bytes; /* the pool that a lending may begin with, below the cap */
    uint64_t limit_bytes;
    uint64_t grown_ns;        /* the limit stands since; in the future: it rests until then */
    LendingTrend host, group; /* of the whole host; of the control groups' limit */
    bool full;
    uint64_t free_bytes, others_bytes; /* at the last reading: free or spare; of programs but imd */
    uint64_t unseen_bytes; /* given back by imd, and not counted as free by the last reading */
    uint64_t released_ns;  /* when it last gave something back */
    uint64_t hidden_bytes; /* of the host's: unseen, or on the processors' lists; not lent */
    bool lends;
    uint64_t active_bytes; /* at the last reading */
    uint64_t kept_bytes; /* active file cache when the lending began: the owner's, if it ages too */
    uint64_t commit_bytes; /* that the kernel would promise a pool; UINT64_MAX: any */
    LendingLoss loss;
} Lending;

/* The owner's cap is another one now; what is lent beyond it is taken back. */
void lending_cap(Lending *l, uint64_t cap_bytes);
void lending_init(Lending *l, uint64_t cap_bytes, uint64_t now_ns);
/* @state NULL: not known. */
void lending_read(Lending *l, const MemoryState *state, uint64_t held_bytes, uint64_t now_ns);
/* What a lending that begins now could begin with; 0 if that is not known. */
uint64_t lending_spare(const Lending *l);
/* It begins: the limit. */
uint64_t lending_begin(Lending *l, uint64_t now_ns);
/* It has ended. */
void lending_end(Lending *l);
/* The owner takes memory: it should be read again soon. */
static inline bool lending_stirs(const Lending *l)
{
    return l->host.stirs || l->group.stirs;
}
/* Memory is lent, and hardly more is left than what stays with the owner: who takes it should be
 * seen soon. */
static inline bool lending_full(const Lending *l)
{
    return l->full;
}
/* What of the pool may be kept while it is saved, of @wanted_bytes: no more than the slack, which
 * is not lent; 0: the owner needs that too. */
uint64_t lending_keeps(const Lending *l, uint64_t wanted_bytes);
/* It is kept from now on. */
void lending_save(Lending *l, uint64_t kept_bytes);
/* True: the limit has changed. @pool_bytes: what the pool can hold. */
bool lending_follow(Lending *l, uint64_t pool_bytes, uint64_t now_ns);

#endif
