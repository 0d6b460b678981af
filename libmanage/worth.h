/* SPDX-License-Identifier: MIT */
/* Is a local cache worth its memory here, or would the kernel's cache make more of it? If remote
 * memory saves nothing, a miss costs what the file costs and our bookkeeping, too, and the kernel
 * could keep as much of the file in the same memory. That is measured, not guessed. When a full
 * cache misses more than it hits, it lets go of its pieces, one for each that is read past it, and
 * the times of reads then decide. Later the trial is repeated.
 *
 * Time is counted in stretches of bytes read, about as long as the cache is large: in one the
 * change takes effect, the next is measured. Pure. */
#ifndef DODO_LIBMANAGE_WORTH_H
#define DODO_LIBMANAGE_WORTH_H

#include <stdbool.h>
#include <stdint.h>

/* What reads cost a byte, and how sure that is. */
typedef struct WorthSums {
    double bytes, ns, bytes_squared, ns_squared, bytes_ns;
} WorthSums;

typedef struct Worth {
    uint64_t limit_bytes; /* the cache's; 0: never let go */
    bool left;            /* it lets go, or has */
    bool settled;         /* this stretch counts */
    /* In this stretch; while it is kept also in those before, each less the longer ago it is. */
    uint64_t read_bytes, missed_bytes, remote_bytes;
    WorthSums hits, misses;
    uint64_t fresh_bytes; /* missed in this stretch alone */
    uint64_t now_ns;      /* the latest that was given */
    uint64_t since_ns;    /* it keeps, or has let go, since */
    uint64_t took_ns;     /* the last trial */
    uint64_t until_ns;  /* that is not changed before; 0 while letting go: nor known to be right */
    unsigned won, lost; /* times in a row that letting go was better, or not */
    unsigned turns;     /* from one to the other, ever */
    double kept_cost;   /* ns a byte, when it was kept last */
    double kept_doubt;  /* the square of that mean's standard error */
} Worth;

void worth_init(Worth *w, uint64_t limit_bytes);
/* It is kept, and nothing is known of what that is worth: it is used otherwise from now on. */
void worth_again(Worth *w);
enum WorthFrom { WORTH_LOCAL, WORTH_FILE, WORTH_REMOTE };
/* A read of @bytes took @ns, and ended at @now_ns (0: nobody looked). True: a stretch is over, ask
 * worth_turn(). */
bool worth_read(Worth *w, uint64_t bytes, uint64_t ns, enum WorthFrom from, uint64_t now_ns);
/* As so many reads that found all in local memory, of @bytes and @ns in all. */
void worth_hits(Worth *w, uint64_t reads, uint64_t bytes, uint64_t ns);
/* Whether the cache lets go from now on. @may_leave: nothing but its worth speaks for it. */
bool worth_turn(Worth *w, bool may_leave);

#endif
