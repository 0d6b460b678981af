/* SPDX-License-Identifier: MIT */
#include "libmanage/together.h"

#include "libmanage/cost.h"

enum { FAILED_MOST = 6 /* then every 64 measurements */ };

unsigned together_count(const Together *t)
{
    return (unsigned)TOGETHER_LEAST << t->doublings;
}

static void trial_end(Together *t, uint64_t each_ns)
{
    bool saves = each_ns + each_ns / COST_SAVES < t->each_ns;
    if (saves)
        t->each_ns = each_ns;
    t->trial = false;
    t->doublings -= !saves;
    t->failed = saves ? 0 : t->failed + (t->failed < FAILED_MOST);
    t->wait = 1u << t->failed;
}

void together_note(Together *t, uint64_t each_ns)
{
    if (t->trial) {
        trial_end(t, each_ns);
        return;
    }
    t->each_ns = t->each_ns ? t->each_ns - t->each_ns / 4 + each_ns / 4 : each_ns;
    if (t->wait > 1) {
        t->wait--;
    } else if (together_count(t) < TOGETHER_MOST) {
        t->doublings++;
        t->trial = true;
    }
}
