/* SPDX-License-Identifier: MIT */
/* The calls by which a process gives up rights. Only a file's owner, or who has CAP_LEASE, may give
 * a lease back: one that such a call leaves behind would make a writer wait for the kernel's 45 s.
 * So all leases are given back before. The file is held again if the rights that are left allow it.
 */
#include <errno.h>
#include <sys/types.h>

#include "adapters/preload/calls.h"
#include "adapters/preload/files.h"
#include "adapters/preload/own.h"
#include "adapters/preload/real.h"
#include "adapters/preload/start.h"

typedef struct Change {
    bool ours; /* no lease is taken until it is over */
    OwnBefore before;
} Change;

static Change begin(const void *caller)
{
    Change change = {.ours = start_check() && !own_calls(caller)};
    if (!change.ours)
        return change;
    own_begin(&change.before);
    files_lock();
    files_give_up_all();
    return change;
}

static int end(const Change *change, int res)
{
    int error = errno;
    if (change->ours) {
        files_unlock();
        own_end(&change->before);
    }
    errno = error;
    return res;
}

int call_setuid(uid_t user) EXPORTED("setuid");
int call_setuid(uid_t user)
{
    Change change = begin(CALLER);
    return end(&change, real_setuid(user));
}

int call_seteuid(uid_t user) EXPORTED("seteuid");
int call_seteuid(uid_t user)
{
    Change change = begin(CALLER);
    return end(&change, real_seteuid(user));
}

int call_setreuid(uid_t user, uid_t effective) EXPORTED("setreuid");
int call_setreuid(uid_t user, uid_t effective)
{
    Change change = begin(CALLER);
    return end(&change, real_setreuid(user, effective));
}

int call_setresuid(uid_t user, uid_t effective, uid_t saved) EXPORTED("setresuid");
int call_setresuid(uid_t user, uid_t effective, uid_t saved)
{
    Change change = begin(CALLER);
    return end(&change, real_setresuid(user, effective, saved));
}

int call_setfsuid(uid_t user) EXPORTED("setfsuid");
int call_setfsuid(uid_t user)
{
    Change change = begin(CALLER);
    return end(&change, real_setfsuid(user));
}

int call_capset(CapHeader header, CapData data) EXPORTED("capset");
int call_capset(CapHeader header, CapData data)
{
    Change change = begin(CALLER);
    return end(&change, real_capset(header, data));
}
