/* SPDX-License-Identifier: MIT */
/* Filling remote memory from an expensive file, unasked. A drive that has moved its head for a read
 * that missed reads on behind it in hardly more time. The program has its bytes already: it waits
 * only if it asks the drive for something else meanwhile. So a part behind the read is read into
 * remote memory in the background. As long as the drive idles then, further parts follow, region
 * after region of the file.
 *
 * The ledger decides how much (ledger.h). What reads take longer while a part is being read is
 * spent. A later read that finds there what a part has brought, or finds that the kernel has it in
 * memory since then, has earned the time that the file would have taken longer. A part that fits
 * between two reads of the drive costs nothing. Where the program leaves no time, a part is as long
 * as its reading takes no longer than a read of the program's. Where parts have earned more than
 * was spent, a part no longer waits for a read that misses: what lacks near what was read is swept.
 */
#ifndef DODO_LIBMANAGE_FILL_H
#define DODO_LIBMANAGE_FILL_H

#include "libmanage/core.h"
#include "libmanage/ledger.h"

struct Region;

/* ---- pure values ---------------------------------------------------------------------------- */

typedef struct FillClock {
    unsigned reads;         /* of the program from the drive, under way */
    uint64_t read_ended_ns; /* the last one; 0: there was none */
    bool gap_known;
    uint64_t gap_ns;            /* from one to the next: the median, about */
    bool busy;                  /* a part is being read */
    uint64_t begun_ns, busy_ns; /* busy: all that are over took so long */
    uint64_t mib_ns;            /* what a MiB of them takes, on average; 0: unknown */
} FillClock;

/* The program's read of the drive begins; ends. */
void fill_drive_begin(FillClock *f, uint64_t now_ns);
void fill_drive_end(FillClock *f, uint64_t now_ns);
/* How long the drive will probably idle from now on. @alone_ns: what a read of the program takes.
 */
uint64_t fill_idle_ns(const FillClock *f, uint64_t alone_ns, uint64_t now_ns);
/* How long a part of @bytes takes that lies @far bytes behind the last read; @alone_ns: a read of
 * the program's, with its way of the head. While nothing is known of parts: as long as that. */
uint64_t fill_takes_ns(const FillClock *f, uint64_t far, uint64_t bytes, uint64_t alone_ns);
/* How many bytes fit into @ns. While nothing is known of parts: 0. */
uint64_t fill_fits(const FillClock *f, uint64_t far, uint64_t alone_ns, uint64_t ns);
/* How long parts were being read, in all. */
uint64_t fill_busy_ns(const FillClock *f, uint64_t now_ns);
void fill_begin(FillClock *f, uint64_t now_ns);
/* It is over. @bytes came, with those that were passed over; 0: that says nothing of what they
 * take. */
void fill_over(FillClock *f, uint64_t bytes, uint64_t now_ns);
/* A part took @ns from its beginning on, and the background worked at it for the last @work_ns of
 * them; @alone_ns: as above. Was it so late that nobody knows how long the drive took? */
bool fill_began_late(uint64_t ns, uint64_t work_ns, uint64_t alone_ns);

/* A part of so many bytes, @bytes, took @ns: how long are those to be that the ledger pays? */
uint64_t fill_paid_bytes(uint64_t bytes, uint64_t ns, uint64_t alone_ns, uint64_t most);

/* What the latest parts were expected to cost the program, and what they cost it. A part takes as
 * long as its drive and its network take; the program waits for the drive alone, and for a part of
 * that. How much, no clock of the parts tells, but the ledger does. */
typedef struct FillCost {
    uint64_t expected_ns;
    int64_t charged_ns;
} FillCost;

/* A part that was expected to cost @expected_ns is over; reads took so much longer. */
void fill_cost_add(FillCost *k, uint64_t expected_ns, int64_t charged_ns);
/* What one will cost that is expected to cost @expected_ns. */
uint64_t fill_cost_ns(const FillCost *k, uint64_t expected_ns);

/* ---- of the cache; with the lock held ------------------------------------------------------- */

/* A part that is being read, or about to be. It takes several jobs: each has no more in memory than
 * the network needs to be busy. It may go on from one region into the next one of the file. */
typedef struct FillPart {
    bool due;               /* for its next job */
    uint64_t from, len;     /* in Fill.region: what no job has taken yet */
    struct Region *next;    /* then the beginning of that one; NULL: it ends before */
    uint64_t rest;          /* so much of it */
    uint64_t passed;        /* bytes between the last read and the part */
    bool asks;              /* the background is to ask the kernel for all of it first */
    uint64_t takes_ns;      /* so much longer than the drive idles */
    uint64_t expected_ns;   /* so much is spent for now */
    uint64_t came, work_ns; /* of the jobs that are over */
} FillPart;

typedef struct Fill {
    FillClock clock;
    Ledger ledger;
    FillCost cost;
    int64_t charged_ns;              /* for the latest part */
    uint64_t most_bytes, paid_bytes; /* of a part: at most; where the ledger pays */
    struct Region *region;           /* where it goes on; NULL: nowhere */
    uint64_t at;                     /* in it: behind what was read last */
    bool near;                       /* at its start: the head is there */
    uint64_t read_bytes;             /* of the read behind which it goes on */
    unsigned beside;                 /* reads in a row beside which there was a part */
    unsigned full;                   /* regions in a row that lacked nothing */
    FillPart part;
} Fill;

void fill_init(Fill *f, uint64_t most_bytes, unsigned percent);
/* A read of a call begins; and is over. */
void fill_note_begin(Cache *c, CacheJob *job, uint64_t now_ns);
void fill_note_end(Cache *c, const CacheJob *job, const CacheResult *result, uint64_t now_ns);
/* Was a part being read during that read? What it took then says nothing of what it usually takes.
 */
bool fill_ran_beside(const Cache *c, const CacheJob *job, uint64_t now_ns);
/* That read, which took @ns, found in the kernel's memory what it asked for. */
void fill_found_held(Cache *c, const CacheJob *job, uint64_t ns);
/* The kernel was asked for a part. */
void fill_asked(Cache *c, const CacheResult *result);
/* A part's job is over. */
void fill_end(Cache *c, const CacheJob *job, const CacheResult *result, uint64_t now_ns);
/* Region @r is closed, or has lost its remote memory: a part of it that has not begun is dropped.
 */
void fill_forget(Cache *c, const struct Region *r, uint64_t now_ns);
/* fill_plan.c: a read misses: remote memory of its region will be wanted. */
void fill_prepare(Cache *c, struct Region *r, uint64_t bytes, uint64_t now_ns);
/* A read of @bytes has missed, and ended at @end of the region. True: a part is due, and @job asks
 * the kernel to begin with it at once. */
bool fill_behind(Cache *c, CacheJob *job, struct Region *r, uint64_t end, uint64_t bytes,
                 uint64_t now_ns);
/* Is there time for more, behind what was read last? */
bool fill_goes_on(const Cache *c, uint64_t now_ns);
/* The next part's job. False: none now. */
bool fill_take(Cache *c, CacheJob *job, uint64_t now_ns);

#endif
