/* SPDX-License-Identifier: MIT */
/* Which regions are retained (DODO_RETAIN): those whose file is proven to hold what they hold. A
 * stamp alone proves that only if every change moves it. It does not move during a long write(2),
 * or when a mapping is stored to. So a lease proves, too, that nobody can write. */
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/client.h"
#include "libdodo/region.h"
#include "libdodo/retain.h"
#include "libdodo/sharing.h"

/* ext4 with small inodes keeps whole seconds, FAT even ones. */
#define WHOLE_SECONDS_NS (2 * NS_PER_S)

/* A later change gives another stamp. */
static bool stamp_settled(const Stamp *s, uint64_t taken_ns, uint64_t granule)
{
    uint64_t latest = s->mtime_ns > s->ctime_ns ? s->mtime_ns : s->ctime_ns;
    if (RULE(COARSE_STAMP) && s->mtime_ns % NS_PER_S == 0 && s->ctime_ns % NS_PER_S == 0 &&
        granule < WHOLE_SECONDS_NS)
        granule = WHOLE_SECONDS_NS;
    return taken_ns > time_add(latest, granule);
}

static const char *const reasons[] = {
    [LEASE_NOT_ASKED] = "its file must be open for reading only, and the "
                        "region opened with DODO_RDONLY",
    [LEASE_WRITER] = "some program has its file open for writing or "
                     "mapped, maybe this one",
    [LEASE_REFUSED] = "the kernel gives no lease on its file, as it "
                      "belongs to another user, or its file system has no leases",
};

/* Logs each reason once. */
static bool lease_proves(Client *c, enum FileLease lease)
{
    if (!RULE(NO_WRITER) || lease == LEASE_GRANTED)
        return true;
    client_lock(c);
    bool told = c->story.lease_told >> lease & 1;
    c->story.lease_told |= 1u << lease;
    client_unlock(c);
    if (!told)
        client_log(c, DODO_LOG_WARN, "region_not_retained reason=\"%s\"", reasons[lease]);
    return false;
}

void retain_since(FileGiven *given, uint64_t since_ns)
{
    given->retainable &=
        since_ns == UINT64_MAX || stamp_settled(&given->stamp, since_ns, given->granule_ns);
}

/* A change right after the opening would leave an unsettled stamp as it is: the region may have
 * bytes of before, and its close would not notice. */
void retain_judge(Client *c, FileGiven *given, unsigned flags)
{
    bool settled = stamp_settled(&given->stamp, given->taken_ns, given->granule_ns);
    given->shareable = given->retainable && (flags & DODO_RDONLY) &&
                       (!RULE(NO_WRITER) || given->lease == LEASE_GRANTED) && settled;
    if (given->retainable && (flags & DODO_RETAIN))
        given->retainable = lease_proves(c, given->lease) && (settled || !RULE(RELEASE_UNWRITTEN));
}

bool retain_may_release(const Region *r)
{
    return (share_retains(r) || share_others(r)) && r->retainable && r->active &&
           !r->sharing.guest && !(RULE(RELEASE_UNWRITTEN) && r->written);
}

bool retain_is_proven(const Region *r, const FileResult *result)
{
    return result->count == 0 && result->lease == LEASE_GRANTED &&
           stamp_settled(&result->stamp, result->taken_ns, result->granule_ns) &&
           stamp_equal(&result->stamp, &r->stamp);
}

bool retain_is_fresh(Client *c, const Region *r, const FileResult *result)
{
    if (!(r->flags & DODO_RETAIN)) /* it is not asked for: a refusal is no news */
        return retain_is_proven(r, result);
    if (result->count != 0 || !lease_proves(c, result->lease))
        return false;
    return !RULE(STAMP) || (stamp_settled(&result->stamp, result->taken_ns, result->granule_ns) &&
                            stamp_equal(&result->stamp, &r->stamp));
}
