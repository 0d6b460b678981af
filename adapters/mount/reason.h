/* SPDX-License-Identifier: MIT */
/* Why a read of a file did not come from the region cache. Pure. */
#ifndef DODO_ADAPTERS_MOUNT_REASON_H
#define DODO_ADAPTERS_MOUNT_REASON_H

#include <stdbool.h>

enum Reason {
    REASON_NONE, /* it did */
    REASON_SMALL,
    REASON_LEFT_OUT,
    REASON_ENDING,
    REASON_WRITTEN,
    REASON_OTHER_HOSTS,
    REASON_NOT_OURS,
    REASON_NO_LEASES,
    REASON_BROKEN,
    REASON_WRITER,
    REASON_OPENING,
    REASON_NO_REGION,
    REASON_FAST, /* where the cache waits until the kernel is slow */
};

/* What is known of the file. */
typedef struct ReasonFacts {
    bool small;      /* below --min-size */
    bool left_out;   /* by --only or --never */
    bool ending;     /* the mount is at its end */
    bool written;    /* open for writing through the mount */
    bool unleasable; /* no lease for good */
    bool local;      /* only this host writes its file system */
    bool ours;       /* this process may have a lease on it */
    bool plain;      /* there is no lease */
    bool broken;     /* somebody wanted to write */
    bool opening;    /* its region is being opened */
} ReasonFacts;

/* The first that holds, from what lasts to what passes. */
enum Reason reason_of(const ReasonFacts *f);
const char *reason_text(enum Reason reason);

#endif
