/* SPDX-License-Identifier: MIT */
#include "libmanage/worth.h"

#include "base/time.h"

enum {
    SURE = 16,        /* the cache is to be cheaper by such a part, to be kept */
    MARGIN = 4,       /* such a part more than the cache had cost ends it early */
    REMOTE_SHARE = 8, /* of the misses come from remote memory: it is of use */
    PATIENCE = 16,    /* times what it took to find out, before it is looked again; doubles */
    DOUBLINGS = 10,
    KEPT_SHARE = 8, /* of the cache's size: what is measured while it is kept */
};
/* A cluster may come, a file may get slow. */
static const uint64_t LEFT_MAX_NS = 60 * NS_PER_S;
static const uint64_t TOOK_MAX_NS = 600 * NS_PER_S;

void worth_init(Worth *w, uint64_t limit_bytes)
{
    *w = (Worth){.limit_bytes = limit_bytes};
}

void worth_again(Worth *w)
{
    *w = (Worth){.limit_bytes = w->limit_bytes, .turns = w->turns + w->left, .now_ns = w->now_ns};
}

static void stretch_begin(Worth *w, bool settled)
{
    w->settled = settled;
    w->read_bytes = w->read_ns = w->missed_bytes = w->remote_bytes = w->fresh_bytes = 0;
}

/* The next one, in which what was before counts, too: as much as if it had been as long as the
 * cache is large. */
static void stretch_go_on(Worth *w)
{
    w->read_bytes -= w->read_bytes / KEPT_SHARE;
    w->read_ns -= w->read_ns / KEPT_SHARE;
    w->missed_bytes -= w->missed_bytes / KEPT_SHARE;
    w->remote_bytes -= w->remote_bytes / KEPT_SHARE;
    w->fresh_bytes = 0;
}

static void turn(Worth *w, bool left, uint64_t now_ns)
{
    w->left = left;
    w->turns++;
    w->since_ns = now_ns;
    stretch_begin(w, false);
}

static uint64_t patience_ns(const Worth *w, unsigned times, uint64_t now_ns)
{
    unsigned shift = times < DOUBLINGS ? times : DOUBLINGS;
    return time_add(now_ns, (w->took_ns * PATIENCE) << shift);
}

/* A full cache that misses more than it hits: would the kernel do better? */
static void kept(Worth *w, bool may_leave, uint64_t now_ns)
{
    w->kept_cost = (double)w->read_ns / (double)w->read_bytes;
    bool misses = w->missed_bytes * 16 > w->read_bytes * 9; /* clearly more than half */
    bool remote = w->remote_bytes * REMOTE_SHARE > w->missed_bytes;
    if (misses && !remote && may_leave && now_ns >= w->until_ns) {
        turn(w, true, now_ns);
        w->until_ns = 0; /* not known yet how long */
    } else {
        stretch_go_on(w);
    }
}

static void lost(Worth *w, uint64_t now_ns)
{
    w->won = 0;
    w->until_ns = patience_ns(w, 2 * w->lost++, now_ns);
    turn(w, false, now_ns);
}

/* What a trial sees varies from one to the next by more than there often is between the two. In
 * doubt it is let go: that is never slower than the file, and that was promised. */
static void left(Worth *w, uint64_t now_ns)
{
    double cost = (double)w->read_ns / (double)w->read_bytes;
    bool first = w->until_ns == 0;
    unsigned part = first ? SURE : MARGIN;
    if (first)
        w->took_ns = time_min(now_ns - w->since_ns, TOOK_MAX_NS);
    if (cost * part > w->kept_cost * (part + 1)) {
        lost(w, now_ns);
        return;
    }
    if (first) {
        w->lost = 0;
        w->until_ns = time_min(patience_ns(w, w->won++, now_ns), time_add(now_ns, LEFT_MAX_NS));
    }
    if (now_ns >= w->until_ns) {
        w->until_ns = 0;
        turn(w, false, now_ns);
        return;
    }
    stretch_begin(w, true);
}

/* A miss brings a piece, or lets one go: what was here before has gone after as many. While it is
 * kept, only misses change it; and where that is the slower way, each stretch is one too many. */
static bool is_over(const Worth *w)
{
    if (w->left)
        return w->read_bytes >= (w->settled ? 1 : 2) * w->limit_bytes;
    return w->fresh_bytes >= w->limit_bytes / (w->settled ? KEPT_SHARE : 1);
}

bool worth_read(Worth *w, uint64_t bytes, uint64_t ns, enum WorthFrom from, uint64_t now_ns)
{
    if (!w->limit_bytes)
        return false;
    if (now_ns > w->now_ns)
        w->now_ns = now_ns;
    w->read_bytes += bytes;
    w->read_ns += ns;
    w->missed_bytes += from != WORTH_LOCAL ? bytes : 0;
    w->fresh_bytes += from != WORTH_LOCAL ? bytes : 0;
    w->remote_bytes += from == WORTH_REMOTE ? bytes : 0;
    return is_over(w);
}

bool worth_turn(Worth *w, bool may_leave)
{
    if (!w->settled)
        stretch_begin(w, true);
    else if (w->left)
        left(w, w->now_ns);
    else
        kept(w, may_leave, w->now_ns);
    return w->left;
}
