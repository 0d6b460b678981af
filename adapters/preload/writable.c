/* SPDX-License-Identifier: MIT */
/* The kernel writes a few bytes to each page, and says whether it could. MADV_POPULATE_WRITE tells
 * the same of all pages at once, but takes several times as long where a program has just waited
 * for its data: some microseconds, more than all else that a read from memory takes. */
#include "adapters/preload/writable.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"

enum { MASK = 8 /* bytes of the kernel's signal mask */ };

/* Asks for the thread's signal mask; at 0 that would be to ask for none. */
static bool takes_mask(uintptr_t at)
{
    return at != 0 && syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, (void *)at, MASK) == 0; // NOLINT
}

static bool populates(uintptr_t from, uintptr_t end, uintptr_t page)
{
    static atomic_int tells; /* 0: it is not known yet */
    if (tells == 0) {
        uintptr_t own = (uintptr_t)&tells & ~(page - 1);
        tells = madvise((void *)own, page, MADV_POPULATE_WRITE) == 0 ? 1 : -1; // NOLINT
    }
    from &= ~(page - 1);
    return tells < 0 || madvise((void *)from, end - from, MADV_POPULATE_WRITE) == 0; // NOLINT
}

bool writable(void *at, size_t len)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)at, end = from + len, last = end - MASK;
    if (len < MASK)
        return len == 0 || populates(from, end, page);
    for (;;) { /* each page once; the last mask may lie in two */
        if (!takes_mask(from))
            return false;
        uintptr_t next = (from & ~(page - 1)) + page;
        if (next >= end || from == last)
            return true;
        from = min_u64(next, last);
    }
}
