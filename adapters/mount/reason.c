/* SPDX-License-Identifier: MIT */
#include "adapters/mount/reason.h"

enum Reason reason_of(const ReasonFacts *f)
{
    if (f->small)
        return REASON_SMALL;
    if (f->left_out)
        return REASON_LEFT_OUT;
    if (f->ending)
        return REASON_ENDING;
    if (f->unleasable && !f->local)
        return REASON_OTHER_HOSTS;
    if (f->unleasable)
        return f->ours ? REASON_NO_LEASES : REASON_NOT_OURS;
    if (f->written)
        return REASON_WRITTEN;
    if (f->plain)
        return f->broken ? REASON_BROKEN : REASON_WRITER;
    return f->opening ? REASON_OPENING : REASON_NO_REGION;
}

#define READING_ALONE \
    " (a program that only reads may have an option for that, as sqlite3 has -readonly)"

const char *reason_text(enum Reason reason)
{
    static const char *const texts[] = {
        [REASON_NONE] = "it is cached",
        [REASON_SMALL] = "it is smaller than --min-size",
        [REASON_LEFT_OUT] = "--only or --never leaves it out",
        [REASON_ENDING] = "the mount was ending",
        [REASON_WRITTEN] = "it was open for writing through the mount" READING_ALONE,
        [REASON_OTHER_HOSTS] =
            "a lease on its file system does not tell of all writers (see --local)",
        [REASON_NOT_OURS] = "it is another user's, and there is no lease on it without CAP_LEASE",
        [REASON_NO_LEASES] = "its file system has no leases",
        [REASON_BROKEN] = "somebody opened it for writing a moment ago",
        [REASON_WRITER] = "somebody had it open for writing" READING_ALONE,
        [REASON_OPENING] = "its region was being opened",
        [REASON_NO_REGION] = "its region cannot be opened (--log-level info says why)",
        [REASON_FAST] = "the program hardly waited for it",
    };
    return texts[reason];
}
