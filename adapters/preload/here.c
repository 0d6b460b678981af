/* SPDX-License-Identifier: MIT */
#include "adapters/preload/here.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* On a page that the kernel clears in every child that has a copy of it; NULL: none. */
static bool *here;

void here_make(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, page, MADV_WIPEONFORK) < 0)
        return;
    here = at;
    *here = true;
}

bool here_is(void)
{
    return !here || *here;
}

void here_again(void)
{
    if (here)
        *here = true;
}
