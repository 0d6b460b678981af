/* SPDX-License-Identifier: MIT */
/* Calls: what each knows of itself, how they begin, and their pieces. Not for shells. */
#ifndef DODO_LIBDODO_CALLS_H
#define DODO_LIBDODO_CALLS_H

#include "libdodo/checks.h"
#include "libdodo/fills.h"
#include "libdodo/run.h"

/* What the user gave, and how far it is. */
typedef struct CallUser {
    uint8_t *buf;
    uint64_t offset; /* in the region */
    size_t len;      /* clipped to the region */
    size_t done;     /* windows before this one */
    size_t window;   /* bytes of this one */
} CallUser;

typedef struct CallRead {
    bool looked;         /* these are known of the next window: */
    bool active, beside; /* ... is there remote memory; a write under way for it */
    Addr host;
    uint8_t *edges;                 /* blocks of which only a part is asked for: first, last */
    size_t edge_head, edge_tail;    /* bytes there */
    bool apart;                     /* all of the window goes there, not only these blocks */
    uint64_t counter, seed;         /* of the region, when the window was asked for */
    unsigned turns;                 /* of this window to the other copy, for what the one lacks */
    uint64_t asked_ns, patience_ns; /* when it was asked for; how long that may be silent */
    Region *waits_for;              /* it is among the reads of that copy; NULL: of none */
    uint64_t asked_clock_ns;        /* the same on the listening clock */
    uint64_t
        turn_ns; /* there: when silence is looked at next; 0: it is not, for there is one copy */
    uint64_t miss_block, miss_end;  /* block run being read from the file */
    bool hints;                     /* something is announced: of this region, or of another */
    uint64_t extent_at, extent_end; /* what else is, from the next byte on; the same: nothing */
    FillItem *fill;                 /* being read; NULL: straight into the user's buffer */
    bool short_file;                /* the file ended: the call ends too */
    uint64_t missed;                /* bytes of the user's that came from the file */
    uint64_t began_ns, heard_ns;    /* heard: when the call last got on */
    uint64_t file_ns, file_bytes;   /* what its reads of the file took */
} CallRead;

typedef struct CallWrite {
    WriteRecord record;
    bool recorded;
    bool twin;   /* this is the remote half of another copy, a piece of the call that writes */
    bool remote; /* the remote half is wanted */
    bool remote_failed;
    bool file_started, file_done;
    ssize_t file_count;
    int file_error;
    size_t sent;      /* bytes whose windows are over */
    size_t void_at;   /* start of the window being voided */
    unsigned numbers; /* taken for the window */
    unsigned edge;    /* of the first and last block, the next to be looked at */
    bool summed;      /* CallState.sums are the window's */
} CallWrite;

typedef struct CallOpen {
    uint64_t apart; /* the epoch of the other copy's host; 0: there is none */
    bool fresh;     /* it may be retained as the other one may */
    bool left;      /* to the background: the manager did not answer in time */
    FileGiven given;
    OpOpenReply reply; /* while the record is read */
    uint64_t len, offset;
    unsigned flags;
    ShareAsk share;
    bool asked;   /* ... and that was asked for */
    uint8_t turn; /* enum ShareTurn: what came of it */
} CallOpen;

/* What is kept for the next run, at opening and closing. */
typedef struct CallKept {
    CheckRecord *record;
    size_t len;
    bool release;
    Stamp stamp;
} CallKept;

typedef struct CallClaim {
    RegionName *names;
    uint32_t names_count, page;
    uint64_t before;
} CallClaim;

/* Where a piece stands in the call that it is a part of. */
typedef struct CallPart {
    size_t at, len;    /* in that call's bytes */
    uint8_t *stage;    /* small buffers, gathered here; NULL: it is the caller's memory */
    int stage_iov;     /* the first of them, */
    size_t stage_skip; /* from so far on */
} CallPart;

typedef struct CallState {
    Call *call; /* whose it is; NULL: free */
    CallRun run;
    CallUser user;
    CallRead read;
    CallWrite write;
    CallOpen open;
    CallKept kept;
    CallClaim claim;
    CallPart part;
    uint64_t id; /* of an OPEN or CLOSE */
    int rd;      /* reopen, fill */
    /* What follows is not cleared for each call. */
    uint64_t next_ask; /* of the lane: outlives the call */
    Call piece;        /* the storage of a call that is a piece */
    /* Of a read: checksums of the filled blocks of what has come, from the first block on. Of a
     * write: those of the window. */
    BlockSums sums;
    /* The machine under way; it initializes itself. */
    union {
        Request request;
        ReadTransfer read;
        WriteTransfer write;
    } u;
} CallState;

/* The background's own calls, one of each kind at most. */
enum OwnCall {
    OWN_ALIVE,
    OWN_CLAIM,
    OWN_FILL,
    OWN_REOPEN,
    OWN_PREFETCH,
    OWN_REPORT,
    OWN_HEAL,
    OWN_LOOK,
    OWN_MOVES,
    OWN_FREE,
    BACKGROUND_CALLS
};

/* What a kind of call does; NULL where it has no use for it. */
typedef struct CallOps {
    void (*step)(Call *call, uint64_t now_ns); /* called until nothing changes */
    void (*file)(Call *call, const FileResult *result, uint64_t now_ns);
    void (*came)(Call *call); /* data has come */
    /* Of a call made of others: one of these is over in this moment. */
    void (*piece_over)(Call *piece, ssize_t result, int error, const char *reason);
    bool (*cancel)(Call *call); /* see call_cancel() */
} CallOps;

/* A call's place on its channel. */
void call_init(Call *call, Channel *ch, const CallOps *ops);
void call_attach(Call *call); /* with a state */
/* A call that is one request to the manager: its id; 0: none is free, and the call is over. */
uint64_t call_request(Call *call, Channel *ch, const CallOps *ops);
/* The background's own call of this kind, none of which is under way; with a state. */
Call *call_own(Channel *ch, enum OwnCall which, const CallOps *ops);
void call_attach_group(Call *call);
/* A piece of a group, with a state; only while there is one for it. What it does is set next. */
bool call_piece_free(const Call *call);
Call *call_piece(Call *call);
void call_finish(Call *call, ssize_t result, int error, const char *reason);
void call_need_file(Call *call, uint8_t need, void *file, uint8_t *buf, size_t len,
                    uint64_t offset);

/* ---- call_*.c: the call begins, one of each kind ---- */
/* On these bytes of the region, which has no members; @len > 0. The call has a state and was
 * counted in its region's refs. Under the lock. */
void call_read_begin(Call *call, Region *r, uint64_t offset, void *buf, size_t len,
                     uint64_t now_ns);
void call_write_begin(Call *call, Region *r, uint64_t offset, const void *buf, size_t len);
/* Of a write, or of what is unfilled as by one: how long the window is that begins @at bytes after
 * its start. */
size_t write_window_len(const CallState *st, size_t at);
/* Of a write: windows are left behind the one under way. */
bool write_has_more(const CallState *st);
/* The window's numbers are over; those of an address that we no longer have do not count. */
void write_numbers_over(Call *call);
void call_offer_begin(Call *call, Region *r, uint64_t offset, const void *buf, size_t len);
/* call->region: a member, or NULL: one is made. */
void call_open_begin(Call *call, const FileGiven *given, uint64_t len, uint64_t offset,
                     unsigned flags);
void call_close_begin(Call *call, Region *r);
/* One more member, whose file was synced for all. */
void call_close_stripe(Call *call, Region *stripe, bool release, const Stamp *stamp);
/* An offer of [@from, @to) of @r, no member, begins; ends; a write of [@from, @to) of @r begins.
 * All under the lock. */
void offer_enter(Call *call, Region *r, uint64_t from, uint64_t to);
void offer_leave(Call *call, Region *r);
void offers_overtaken(Region *r, uint64_t from, uint64_t to);

#endif
