/* SPDX-License-Identifier: MIT */
/* The calls that close or replace descriptors: those of the libraries are not the program's. Some
 * programs close all numbers there are. */
#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>

#include "adapters/preload/calls.h"
#include "adapters/preload/files.h"
#include "adapters/preload/own.h"
#include "adapters/preload/real.h"

static int do_close(const void *caller, int fd)
{
    if (own_has(fd)) {
        if (!own_calls(caller)) {
            errno = EBADF;
            return -1;
        }
        own_remove(fd);
    }
    files_forget(fd);
    return real_close(fd);
}

/* False: @fd is not for the program to replace. */
static bool may_replace(const void *caller, int fd)
{
    if (own_has(fd) && !own_calls(caller)) {
        errno = EBUSY; /* as if it were about to be opened */
        return false;
    }
    files_forget(fd);
    return true;
}

/* Around what is not the program's. Ours are closed by exec anyway. */
static int do_close_range(unsigned from, unsigned to, int flags)
{
    int own, res = 0;
    if (from > to || (flags & (int)CLOSE_RANGE_CLOEXEC))
        return real_close_range(from, to, flags);
    files_forget_range(from, to);
    while (res == 0 && from <= to && (own = own_next(from, to)) >= 0) {
        if ((unsigned)own > from)
            res = real_close_range(from, (unsigned)own - 1, flags);
        from = (unsigned)own + 1;
    }
    return res == 0 && from <= to ? real_close_range(from, to, flags) : res;
}

static void do_closefrom(int from)
{
    (void)do_close_range(from > 0 ? (unsigned)from : 0, UINT_MAX, 0);
}

/* ---- the names --------------------------------------------------------------------------------
 */

int call_close(int fd) EXPORTED("close");
int call_close(int fd)
{
    return do_close(CALLER, fd);
}

int call_close_(int fd) EXPORTED("__close");
int call_close_(int fd)
{
    return do_close(CALLER, fd);
}

int call_close_range(unsigned from, unsigned to, int flags) EXPORTED("close_range");
int call_close_range(unsigned from, unsigned to, int flags)
{
    return do_close_range(from, to, flags);
}

void call_closefrom(int from) EXPORTED("closefrom");
void call_closefrom(int from)
{
    do_closefrom(from);
}

int call_dup2(int fd, int to) EXPORTED("dup2");
int call_dup2(int fd, int to)
{
    return may_replace(CALLER, to) ? real_dup2(fd, to) : -1;
}

int call_dup2_(int fd, int to) EXPORTED("__dup2");
int call_dup2_(int fd, int to)
{
    return may_replace(CALLER, to) ? real_dup2(fd, to) : -1;
}

int call_dup3(int fd, int to, int flags) EXPORTED("dup3");
int call_dup3(int fd, int to, int flags)
{
    return may_replace(CALLER, to) ? real_dup3(fd, to, flags) : -1;
}
