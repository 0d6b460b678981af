/* SPDX-License-Identifier: MIT */
/* Why regions lose their memory, and what that says of others. Not for shells. */
#ifndef DODO_LIBDODO_LOSS_H
#define DODO_LIBDODO_LOSS_H

#include "libdodo/run.h"

/* Why a region has lost its remote memory, as far as the client knows. */
enum Loss {
    LOSS_SILENT,    /* the host does not answer */
    LOSS_RESTARTED, /* another epoch answers in its place */
    LOSS_LEAVING,   /* it said so: its owner came back, or somebody stopped imd */
    LOSS_SLOW,      /* it answers, but too slowly to be of use */
    LOSS_CORRUPT,   /* it returned other bytes than it was given */
    LOSS_DROPPED,   /* it has freed this region, and serves others */
    LOSS_REFUSED,   /* it refuses for another reason */
    LOSS_WRITE,     /* a write has failed in part, and the copy may be wrong */
    LOSS_SYNC       /* so has writing the file to disk */
};
/* What the end of a run, other than RUN_DONE, says; whether that holds for the whole host; the text
 * behind a call's errno. */
enum Loss loss_of(enum RunResult result, uint16_t status);
bool loss_of_host(enum Loss loss);
const char *loss_text(enum Loss loss);

/* But for client_report(), they take the lock themselves. */
/* This address is gone (no other region of its host is touched). */
void client_region_lost(Client *c, int rd, const RegionAddress *address, enum Loss loss,
                        uint64_t now_ns);
/* The host returned something else than it was given: its copy is never read again. */
void client_region_corrupt(Client *c, int rd, const RegionAddress *address, uint64_t now_ns);
/* A transfer with the host took too long, though it answered. */
void client_region_slow(Client *c, int rd, const RegionAddress *address, uint64_t now_ns);
/* The host is gone, or was restarted: all its regions are dropped at once. */
void client_host_lost(Client *c, uint64_t epoch, enum Loss loss, uint64_t now_ns);
/* A run for the region at this address ended so: drops what that says is lost. */
void client_blame(Client *c, int rd, const RegionAddress *address, enum Loss loss, uint64_t now_ns);
/* Under the lock: the manager is to know. */
void client_report(Client *c, uint64_t epoch, uint8_t fault);

#endif
