/* SPDX-License-Identifier: MIT */
#include "adapters/preload/numbers.h"

#include <stdatomic.h>
#include <stdbool.h>

static atomic_uint makers, closers;
/* Closers that are not waited for: they take too long, or have left by longjmp(3) or by the end of
 * their thread. */
static atomic_uint lost;
/* Counts the times that makers have begun, and is 0 at none; at which of them closers gave up. */
static atomic_uint begun, given_up;

void numbers_make_begin(void (*nap)(void))
{
    (void)atomic_fetch_add(&begun, 1);
    (void)atomic_fetch_add(&makers, 1);
    for (unsigned naps = 0; closers > lost; naps++) {
        if (naps == NUMBERS_MAKER_NAPS) {
            lost = closers;
            return;
        }
        nap();
    }
}

void numbers_make_end(void)
{
    (void)atomic_fetch_sub(&makers, 1);
}

/* A wait that was given up is not begun again, for each number of a row. */
static bool makers_end(void (*nap)(void))
{
    for (unsigned naps = 0; makers > 0; naps++) {
        unsigned at = begun;
        if (given_up == at)
            return false;
        if (naps == NUMBERS_CLOSER_NAPS) {
            given_up = at;
            return false;
        }
        nap();
    }
    return true;
}

void numbers_close_begin(void (*nap)(void))
{
    for (bool wait = true;;) {
        (void)atomic_fetch_add(&closers, 1);
        if (makers == 0 || !wait)
            return;
        (void)atomic_fetch_sub(&closers, 1);
        wait = makers_end(nap);
    }
}

void numbers_close_end(void)
{
    unsigned left = atomic_fetch_sub(&closers, 1) - 1, were_lost = lost;
    while (were_lost > left && !atomic_compare_exchange_weak(&lost, &were_lost, left))
        ;
}

void numbers_forget(void)
{
    makers = closers = lost = 0;
}
