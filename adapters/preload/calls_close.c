/* SPDX-License-Identifier: MIT */
/* The calls that close or replace descriptors: those of the libraries are not the program's. Some
 * programs close all numbers there are. */
#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>

#include "adapters/preload/calls.h"
#include "adapters/preload/files.h"
#include "adapters/preload/here.h"
#include "adapters/preload/own.h"
#include "adapters/preload/real.h"
#include "base/os.h"

/* Whose call it is. */
enum Who { PROGRAM, LIBRARY, CHILD /* of a bare clone(2): no other thread is there */ };

/* The program waits until the libraries have no descriptor with a number that it may mean. */
static enum Who begin(const void *caller)
{
    if (own_calls(caller))
        return LIBRARY;
    if (!here_is())
        return CHILD;
    own_close_begin();
    return PROGRAM;
}

static void end(enum Who who)
{
    if (who == PROGRAM)
        own_close_end();
}

/* A number that lasts: from here on it is not the libraries'. */
static int close_own(int fd)
{
    OS_DESCRIPTORS_BUSY;
    own_remove(fd);
    return real_close(fd);
}

static int close_number(enum Who who, int fd)
{
    bool own = own_has(fd);
    if (own && who != LIBRARY) {
        errno = EBADF;
        return -1;
    }
    files_forget(fd);
    return own ? close_own(fd) : real_close(fd);
}

static int do_close(const void *caller, int fd)
{
    enum Who who = begin(caller);
    int res = close_number(who, fd);
    end(who);
    return res;
}

/* False: @fd is not for the program to replace. */
static bool may_replace(enum Who who, int fd)
{
    if (own_has(fd) && who != LIBRARY) {
        errno = EBUSY; /* as if it were about to be opened */
        return false;
    }
    files_forget(fd);
    return true;
}

static int do_dup2(const void *caller, int fd, int to)
{
    enum Who who = begin(caller);
    int res = may_replace(who, to) ? real_dup2(fd, to) : -1;
    end(who);
    return res;
}

static int do_dup3(const void *caller, int fd, int to, int flags)
{
    enum Who who = begin(caller);
    int res = may_replace(who, to) ? real_dup3(fd, to, flags) : -1;
    end(who);
    return res;
}

/* Around what is not the program's. */
static int close_numbers(unsigned from, unsigned to, int flags)
{
    int own, res = 0;
    files_forget_range(from, to);
    while (res == 0 && from <= to && (own = own_next(from, to)) >= 0) {
        if ((unsigned)own > from)
            res = real_close_range(from, (unsigned)own - 1, flags);
        from = (unsigned)own + 1;
    }
    return res == 0 && from <= to ? real_close_range(from, to, flags) : res;
}

/* Ours are closed by exec anyway. */
static int do_close_range(const void *caller, unsigned from, unsigned to, int flags)
{
    if (from > to || (flags & (int)CLOSE_RANGE_CLOEXEC))
        return real_close_range(from, to, flags);
    enum Who who = begin(caller);
    int res = close_numbers(from, to, flags);
    end(who);
    return res;
}

static void do_closefrom(const void *caller, int from)
{
    (void)do_close_range(caller, from > 0 ? (unsigned)from : 0, UINT_MAX, 0);
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
    return do_close_range(CALLER, from, to, flags);
}

void call_closefrom(int from) EXPORTED("closefrom");
void call_closefrom(int from)
{
    do_closefrom(CALLER, from);
}

int call_dup2(int fd, int to) EXPORTED("dup2");
int call_dup2(int fd, int to)
{
    return do_dup2(CALLER, fd, to);
}

int call_dup2_(int fd, int to) EXPORTED("__dup2");
int call_dup2_(int fd, int to)
{
    return do_dup2(CALLER, fd, to);
}

int call_dup3(int fd, int to, int flags) EXPORTED("dup3");
int call_dup3(int fd, int to, int flags)
{
    return do_dup3(CALLER, fd, to, flags);
}
