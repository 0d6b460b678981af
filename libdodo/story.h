/* SPDX-License-Identifier: MIT */
/* What the client logs of its life, an event a line: "event key=value ...". Each event is logged
 * once, however many calls find out about it; single reads and writes are not logged. All here
 * lock for themselves except where it says otherwise, and log without the lock. */
#ifndef DODO_LIBDODO_STORY_H
#define DODO_LIBDODO_STORY_H

#include "libdodo/loss.h"
#include "libdodo/region.h"

/* Regions that were lost or came back one by one, for one reason at one host. */
enum { STORY_SUMS_MAX = 16 };
typedef struct StorySum {
    bool back;
    const char *reads; /* lost: what serves it now */
    uint8_t loss;      /* enum Loss */
    Addr host;
    int rd, stripe;    /* the last one */
    unsigned count;    /* since the last line */
    uint64_t until_ns; /* the end of the period; 0: not in use */
} StorySum;

/* What the log has said, and waits to say. */
typedef struct Story {
    enum { MANAGER_NEW, MANAGER_THERE, MANAGER_LOST } manager_is;
    Addr manager_at;            /* where it answered last */
    bool manager_waits;         /* it was asked, and has not answered since, */
    uint64_t manager_asked_ns;  /* first then */
    unsigned lease_told;        /* bit per enum FileLease: why a region is not retained */
    const char *refused_reason; /* of the last region that was refused */
    uint64_t refused_until_ns;  /* the same is no news until then */
    StorySum sums[STORY_SUMS_MAX];
} Story;

/* A request goes to the manager; it answered; it left one unanswered for the whole deadline. */
void story_manager_asked(Client *c, uint64_t now_ns);
void story_manager_heard(Client *c, const Addr *peer, uint64_t now_ns);
void story_manager_silent(Client *c, const Addr *peer, uint64_t now_ns);

/* Why a region is refused in the refraction period: only the beginning of the period is news. */
extern const char story_waiting[];
extern const char story_refracting[];
/* @reason: why it has no memory; NULL: it has some. */
void story_opened(Client *c, int rd, const char *reason);
void story_refused(Client *c, uint64_t inode, uint64_t offset, uint64_t len, int error,
                   const char *reason, uint64_t now_ns);
/* Before it is out of the table. @given_up: memory of stripes was freed or retained already.
 * @reason: why closing failed; NULL: it did not. */
void story_closed(Client *c, const Region *r, bool given_up, bool kept, const char *reason);
/* It is in remote memory again. */
void story_back(Client *c, int rd, uint64_t now_ns);

/* What one event costs: regions of one host. */
enum { STORY_RDS_MAX = 8 }; /* named in the line of a host */
typedef struct StoryLoss {
    enum Loss loss;
    Addr host;
    unsigned regions;         /* the user's; */
    unsigned failing, copied; /* those that now return ENOMEM; that another copy serves */
    int rds[STORY_RDS_MAX], stripe;
    const Region *last;
    bool last_copied;
} StoryLoss;
/* Under the lock: after @r lost its memory; after the last one. */
void story_loss_add(StoryLoss *l, const Region *r);
void story_loss_end(StoryLoss *l);
void story_host_lost(Client *c, const StoryLoss *l);
void story_region_lost(Client *c, const StoryLoss *l, uint64_t now_ns);

/* Under the lock: when story_step() has something to log. */
uint64_t story_due(const Client *c);
/* Logs the sums whose period is over. */
void story_step(Client *c, uint64_t now_ns);

/* For the lines of regions. Its number in its region; -1: it is no stripe. */
int story_stripe(const Region *r);
/* "rd=3", "rd=3 stripe=1". */
const char *story_name(int rd, int stripe, char *buf, size_t cap);

#endif
