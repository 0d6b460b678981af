/* SPDX-License-Identifier: MIT */
#include "libmanage/together.h"

#include "libmanage/cost.h"

enum { FAILED_MOST = 6 /* then every 64 measurements */ };

unsigned together_count(const Together *t)
{
    unsigned count = (unsigned)TOGETHER_LEAST << t->doublings;
    if (t->trial == TOGETHER_NO_TRIAL)
        return count;
    return t->trial == TOGETHER_TWICE ? count * 2 : count / 2;
}

static void trial_begin(Together *t)
{
    bool most = together_count(t) >= TOGETHER_MOST, least = t->doublings == 0;
    t->trial = most || (t->down && !least) ? TOGETHER_HALF : TOGETHER_TWICE;
    t->changing = true;
}

/* The next one is of the other kind, unless the number has just changed. */
static void trial_end(Together *t, bool changes, uint64_t each_ns)
{
    if (changes) {
        t->doublings += t->trial == TOGETHER_TWICE ? 1u : -1u;
        t->each_ns = each_ns;
    }
    t->failed = changes ? 0 : t->failed + (t->failed < FAILED_MOST);
    t->down = (t->trial == TOGETHER_HALF) == changes;
    t->wait = 1u << t->failed;
    t->trial = TOGETHER_NO_TRIAL;
    t->seconds = false;
    t->changing = !changes;
}

static void trial_note(Together *t, uint64_t each_ns)
{
    bool twice = t->trial == TOGETHER_TWICE;
    uint64_t few_ns = twice ? t->each_ns : each_ns, many_ns = twice ? each_ns : t->each_ns;
    bool pays = many_ns + many_ns / COST_SAVES < few_ns;
    bool changes = pays == twice;
    if (changes && !t->seconds)
        t->seconds = true;
    else
        trial_end(t, changes, each_ns);
}

void together_note(Together *t, uint64_t each_ns)
{
    if (t->changing) {
        t->changing = false;
        return;
    }
    if (t->trial != TOGETHER_NO_TRIAL) {
        trial_note(t, each_ns);
        return;
    }
    t->each_ns = t->each_ns ? t->each_ns - t->each_ns / 4 + each_ns / 4 : each_ns;
    if (t->wait > 1)
        t->wait--;
    else
        trial_begin(t);
}
