/* SPDX-License-Identifier: MIT */
/* Where users of this host ask their rmd, and tell it to pause: a socket of the file system, of
 * datagrams, on which the kernel says who sent each. The network has no way to it. What is to
 * survive rmd is in a file.
 *
 * A question is a line, "status", "pause SECONDS", "pause forever", "resume", "allow" (which
 * does not mind that there is no pause), "resume all" (root's alone); the answer begins with
 * "dodo-owner 1 ok", or with "dodo-owner 1 error WHY". */
#ifndef DODO_RMD_OWNER_DESK_H
#define DODO_RMD_OWNER_DESK_H

#include "rmd/options.h"
#include "rmd/owner_record.h"

#define OWNER_ANSWER_START "dodo-owner 1 "
enum {
    OWNER_ASK_MAX = 64,
    OWNER_ANSWER_MAX = OWNER_RECORD_TEXT_MAX + 1024,
    OWNER_PAUSE_MAX_S = 366 * 24 * 3600,
};

typedef struct OwnerDesk {
    int fd;            /* the socket; -1: there is none */
    char *socket_path; /* on the heap, as the next */
    char *file;        /* NULL: nothing survives */
    OwnerTurn turn;
    bool unsaved; /* the file does not hold all of the record */
    bool lost;    /* it could not be written, and the log says so */
    OwnerRecord record;
} OwnerDesk;

/* What of it does not work is logged, and rmd works without. */
void owner_desk_open(OwnerDesk *d, const RmdOptions *o);
void owner_desk_close(OwnerDesk *d);
/* Answers who asks; pauses count at once. When the descriptor is readable: some of them, for whom
 * the disk is waited for once. */
void owner_desk_take(OwnerDesk *d, Monitor *m);
/* Each time that the host has been looked at, and before the first time: the monitor learns how
 * long it is paused, and the record of how it was since the last time. Saves now and then. */
void owner_desk_step(OwnerDesk *d, Monitor *m);

#endif
