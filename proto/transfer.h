/* SPDX-License-Identifier: MIT */
/* Bulk transfer, the client's side of both directions, as pure state machines (the paper's 4.4).
 * The imd only reacts: it serves READs statelessly and keeps a map of received segments per write.
 * The client owns every timer.
 *
 * A transfer covers up to TRANSFER_CHUNKS_MAX chunks of one region; a longer call runs several in
 * turn. Loss: data of a later position or ask shows a gap, re-asked after max(50 us, srtt/4);
 * a lost tail is probed after srtt + 4 rttvar + outstanding/rate (floor 200 us, doubling) with one
 * missing segment, never the window. Every re-ask has a new number.
 * A transfer belongs to one thread; only the CreditPool is shared (its fields are atomic).
 *
 * Silence. The host's silence counts from the moment in which it is asked for something, or was
 * heard last; a transfer that waits for its turn waits for no host. When the tail timer runs out
 * without a sign of life, nothing of the transfer counts as under way: its credit goes back, and
 * until the host is heard again only probes go to it, which need no credit. So a dead host holds
 * up no transfer from another one.
 * The times are those of the channel's listening clock: a pause of the process is no silence.
 *
 * How a shell drives one: after start, after every batch of inputs, after resend and after expire
 * call output until it has nothing; sleep until the deadline or a datagram; call expire.
 *
 * What a writer expects of the imd: it acknowledges every poll; when the last segment came (DONE);
 * and every datagram of an open write that leaves a gap below it or closes a part of one (OPEN),
 * so that the writer can distinguish reordering from loss before the reorder time is over. A poll
 * for a fill that it does not know (given way, another session) is answered OPEN with nothing
 * received. */
#ifndef DODO_PROTO_TRANSFER_H
#define DODO_PROTO_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/burst.h"
#include "proto/wire.h"

enum {
    TRANSFER_CHUNKS_MAX = 64,
    TRANSFER_BYTES_MAX = TRANSFER_CHUNKS_MAX * WIRE_CHUNK_MAX,
    TRANSFER_BLOCKS_MAX = TRANSFER_BYTES_MAX / WIRE_BLOCK_SIZE + 1,
};

/* Bytes that may be on their way to this process, over all hosts (incast). 64 KiB at first,
 * additive growth, halved at most once a round trip on loss, capped at about half the granted
 * receive buffer. While a channel wants more and has less than its share, an equal part of the
 * window, those that have theirs take no more: else a thread that has credit, and so is awake as
 * data comes, would take again what it gives back, and the others would wait for its end. */
enum {
    CREDIT_START_BYTES = 64 * 1024,
    CREDIT_FLOOR_BYTES = 16 * 1024,    /* no loss takes the window below it */
    CREDIT_GROWTH_BYTES = 4096,        /* a window's worth of bytes that came without loss */
    CREDIT_LEAST = WIRE_CHUNK_MAX / 4, /* what is worth an ask or a burst of its own */
};
typedef struct CreditPool {
    _Atomic uint64_t window_bytes;
    _Atomic uint64_t used_bytes;
    _Atomic uint64_t last_cut_ns;
    _Atomic uint32_t sharers; /* channels that were held back, or took some while others were */
    _Atomic uint32_t hungry;  /* of these, those that want more and have less than their share */
    uint64_t floor_bytes, cap_bytes; /* set at init */
} CreditPool;
/* What a channel has of it. Starts all zero. */
typedef struct CreditShare {
    uint64_t bytes;      /* its transfers have under way */
    bool shares, hungry; /* counted in the pool */
} CreditShare;
void credit_init(CreditPool *c, uint64_t cap_bytes);
/* Takes up to @want bytes; at least @least or nothing. A channel that has nothing outstanding
 * itself is always given @least, so that nobody starves. Returns what was taken. */
uint64_t credit_take(CreditPool *c, uint64_t want, uint64_t least, bool has_none);
void credit_return(CreditPool *c, uint64_t bytes);
/* Arrived without loss, while the window was what held the sender back. */
void credit_on_success(CreditPool *c, uint64_t bytes);
void credit_on_loss(CreditPool *c, uint64_t now_ns, uint64_t rtt_ns);

/* Round-trip and rate estimate of one host on one channel (RFC 6298's filter). Starts all zero. */
typedef struct PathEstimate {
    uint64_t srtt_ns; /* 0: no sample yet */
    uint64_t rttvar_ns;
    uint64_t bytes_per_s; /* of long answers; 0 unknown */
} PathEstimate;
void path_sample_rtt(PathEstimate *p, uint64_t rtt_ns);
void path_sample_rate(PathEstimate *p, uint64_t bytes, uint64_t ns);
uint64_t path_probe_ns(const PathEstimate *p, uint64_t outstanding_bytes); /* tail timer */
uint64_t path_reorder_ns(const PathEstimate *p);                           /* gap timer */

typedef struct TransferCounters {
    uint64_t asks;      /* READs and polls sent */
    uint64_t datagrams; /* of data: that came (reading), that were sent (writing) */
    uint64_t resent;    /* of data: asked for again, sent again */
    uint64_t ignored;   /* that came: duplicates, late, of other calls */
} TransferCounters;

typedef struct TransferConfig {
    uint16_t segment;        /* bytes of data a datagram (WIRE_SEGMENT_MIN..MAX) */
    uint64_t deadline_ns;    /* without any sign of life of the host for so long: dead */
    uint64_t silent_ns;      /* ... of which so much is over already, before the start */
    CreditPool *credit;      /* kept */
    PathEstimate *path;      /* kept */
    TransferCounters *count; /* kept; may be NULL */
    /* What the listening clock has left out so far; kept. NULL: nothing, ever. */
    const uint64_t *missed_ns;
    /* Where several transfers share a channel: what all of them have under way, so that one of
     * them at least moves, however scarce credit is; kept. NULL: this one is alone. */
    CreditShare *together;
    /* ... and asks are numbered so that a datagram shows whose it is: n << lane_bits | lane. */
    uint8_t lane, lane_bits;
} TransferConfig;

enum TransferState {
    TRANSFER_RUNNING,
    TRANSFER_COMPLETE,  /* every byte is here, or known to be unfilled */
    TRANSFER_REFUSED,   /* status says which: GONE, EPOCH, LEAVING, STALE, INVALID */
    TRANSFER_TIMED_OUT, /* the deadline passed, probes unanswered */
};

/* Private to proto/transfer_*.c: what both directions keep of time and of credit. */
typedef struct TransferClock {
    uint64_t heard_ns;      /* last sign of life; when it was asked, at first */
    uint64_t silent_ns;     /* the host's silence before that */
    uint64_t quiet_ns;      /* nothing was sent and nothing came since: the tail timer's start */
    uint64_t gap_ns;        /* since when a gap is known; TIME_NEVER: none is */
    uint64_t busy_until_ns; /* send nothing before; 0: free to send */
    uint32_t busy_ns;       /* the last time-out for BUSY, doubling; 0: none */
    uint8_t backoff;        /* doublings of the tail timer */
    bool probe_due;         /* the tail timer ran out */
} TransferClock;
typedef struct TransferFlight {
    uint64_t bytes;  /* under way */
    uint64_t given;  /* of these, so many were given back to the pool in a silence */
    uint64_t owed;   /* no longer under way, still to be given back to the pool */
    bool limited;    /* the window, not the work, was what held us back */
    bool starved;    /* others on the channel have all the credit: it is not our host's silence */
    CreditShare own; /* of a transfer that is alone on its channel */
} TransferFlight;

/* ---- reading -------------------------------------------------------------------------------- */

/* All maps: bit i is segment i. */
typedef struct ReadChunk {
    uint64_t missing; /* segments not here and not known unfilled */
    uint64_t asked;   /* of the missing, those under way */
    uint64_t ever;    /* asked for at least once */
    uint32_t offset;  /* from the transfer's start */
    uint32_t len;
    uint16_t unfilled; /* bit i: the chunk's i-th block was seen unfilled */
    uint16_t blocks;   /* as many low bits as blocks that it touches */
    uint8_t last;      /* index of the last segment */
} ReadChunk;

/* One READ sent. A segment under way is in the map of just one of them: the latest. */
typedef struct ReadAsk {
    uint64_t ask;   /* 0: the number was not used by this transfer */
    uint64_t guard; /* data of asks below it does not show this one to be lost */
    uint64_t map;   /* asked here and nowhere since; under way if in the chunk's asked too */
    uint64_t sent_ns, first_ns;
    uint64_t missed_ns; /* by the clock, when it was sent */
    uint32_t got;       /* bytes that came */
    uint16_t chunk;
    bool probe, replied, lossy;
} ReadAsk;

enum { READ_ASKS_MAX = 256 }; /* remembered; data of older ones is ignored */

/* How far a read is. */
typedef struct ReadProgress {
    TransferClock clock;
    TransferFlight flight;
    uint64_t first_ask, last_ask; /* of this transfer; numbers between may be others' */
    uint64_t oldest_ask;          /* no older one has anything under way */
    uint64_t front_ask;           /* the latest ask, */
    uint64_t gap_ask;             /* ... and as it stood when the gap timer started */
    uint64_t sample_after;        /* asks up to it give no round-trip samples */
    uint16_t front_index;         /* and segment of it, that data came of */
    uint16_t gap_index;
    uint16_t done_chunks;
    uint16_t next_chunk; /* nothing to ask for in the chunks before it */
    bool any_unfilled;
    uint64_t whole; /* bit i: chunk i has come since read_transfer_take_whole() */
} ReadProgress;

typedef struct ReadTransfer {
    TransferConfig config;
    RegionAddress address;
    uint64_t offset; /* in the region */
    size_t len;
    uint8_t *buf;   /* borrowed until the end: the bytes [body, body_end) of the transfer, */
    uint8_t *edges; /* ... those before them, and from edges_tail on those after them */
    size_t body, body_end, edges_tail;
    uint64_t *next_ask; /* the lane's ask counter: numbers are never used again on it */
    uint8_t state;      /* enum TransferState */
    uint16_t status;    /* enum Status, when refused */
    uint16_t chunks_count;
    uint32_t progress; /* changes when segments come, or are known not to come */
    uint64_t unfilled[(TRANSFER_BLOCKS_MAX + 63) / 64 + 1]; /* bit i: block offset/4096 + i */
    ReadProgress p;
    ReadChunk chunks[TRANSFER_CHUNKS_MAX];
    ReadAsk asks[READ_ASKS_MAX]; /* at (ask - first_ask) % READ_ASKS_MAX */
} ReadTransfer;

/* @len 1 .. TRANSFER_BYTES_MAX. */
void read_transfer_start(ReadTransfer *t, const TransferConfig *config,
                         const RegionAddress *address, uint64_t offset, void *buf, size_t len,
                         uint64_t *next_ask, uint64_t now_ns);
/* Right after the start: the first @head bytes and the last @tail bytes go to @edges, one after the
 * other; what lies between goes to the buffer. @edges stays the caller's. */
void read_transfer_edges(ReadTransfer *t, uint8_t *edges, size_t head, size_t tail);
/* Next READ payload to send now, 0 when there is none now. */
size_t read_transfer_output(ReadTransfer *t, uint8_t *out, uint64_t now_ns);
/* One DATA message of the region's host. Copies what counts straight into the caller's buffer. */
void read_transfer_input(ReadTransfer *t, const WireData *m, uint64_t now_ns);
uint64_t read_transfer_deadline(const ReadTransfer *t); /* when to call output again, at latest */
void read_transfer_expire(ReadTransfer *t, uint64_t now_ns);
/* For how long the host has been silent now. */
uint64_t read_transfer_silent_ns(const ReadTransfer *t, uint64_t now_ns);
/* The session was renewed (same epoch): ask again for what is missing. */
void read_transfer_resend(ReadTransfer *t, uint64_t now_ns);
/* Others on its channel have all the credit: it waits for its turn. */
bool read_transfer_starved(const ReadTransfer *t);
/* The host has asked for patience, and this is the wait for it. */
bool read_transfer_busy(const ReadTransfer *t, uint64_t now_ns);
/* So many chunks are done. */
uint16_t read_transfer_chunks(const ReadTransfer *t);
/* There is more to ask for, but no credit for it: it goes on when any is given back, also by
 * others. So for writes. */
bool read_transfer_held(const ReadTransfer *t);
/* Gives back all credit; call once when done with it, in any state. */
void read_transfer_end(ReadTransfer *t);
/* Bit i: chunk i, WIRE_CHUNK_MAX bytes from the transfer's start on, has come since the last call.
 * Its bytes stay as they are, but a renewed transfer begins again. */
uint64_t read_transfer_take_whole(ReadTransfer *t);
/* Of a chunk that has come: bit i, its i-th block was filled. */
uint16_t read_transfer_chunk_filled(const ReadTransfer *t, unsigned chunk);
/* Must block @block (of the region) come from the file? A segment that touches an unfilled block is
 * not sent at all, so bytes of neighbouring blocks may be missing too: they are reported here as
 * well. True for every block of a transfer that is not complete. */
bool read_transfer_unfilled(const ReadTransfer *t, uint64_t block);
/* What came for @block of a complete transfer is not to be used: it counts as unfilled. */
void read_transfer_discard(ReadTransfer *t, uint64_t block);
bool read_transfer_all_filled(const ReadTransfer *t);

/* ---- writing and filling -------------------------------------------------------------------- */

/* All maps: bit i is segment i. What is neither received nor in flight is to be sent. */
typedef struct WriteChunk {
    uint64_t received;  /* by the imd, as far as we know */
    uint64_t flight;    /* sent, and nothing known of it since */
    uint64_t sent;      /* at least once */
    uint64_t suspect;   /* lost if still in flight when the gap timer runs out */
    uint64_t passed;    /* the next suspects: noticed while the timer was running */
    uint64_t polled;    /* in flight when a poll was sent whose answer will say */
    uint64_t sent_ns;   /* the last burst */
    uint64_t missed_ns; /* by the clock, at that time */
    uint32_t offset, len;
    uint32_t bursts;
    uint32_t order;      /* of the last burst or poll among the transfer's */
    uint32_t full_order; /* of the burst with which every segment was sent once; 0: not yet */
    uint8_t state;       /* enum WriteState */
    uint8_t last;        /* index of the last segment */
    uint8_t flags;
    uint8_t burst_of[WIRE_SEGMENTS_MAX]; /* sent segments: low bits of the burst's number */
} WriteChunk;

typedef struct WriteTransfer {
    TransferConfig config;
    RegionAddress address;
    uint8_t kind; /* enum WriteKind */
    uint64_t offset;
    size_t len;
    const uint8_t *data; /* borrowed until the end; NULL for VOID */
    uint64_t number, transfer;
    uint8_t state; /* enum TransferState; COMPLETE when every chunk is done; for FILL also
                      when chunks were refused as STALE (refused_chunks counts) */
    uint16_t status;
    uint16_t chunks_count;
    uint16_t refused_chunks;
    uint32_t progress; /* changes when the imd is known to have more */
    struct {
        TransferClock clock;
        TransferFlight flight;
        uint64_t grant; /* UINT64_MAX: none was given yet */
        /* Bit i: chunk i */
        uint64_t open;                          /* begun and not over */
        uint64_t poll_wanted;                   /* send a poll */
        uint64_t hold;                          /* send no data before a poll's answer */
        uint64_t suspect_chunks, passed_chunks; /* as in WriteChunk: then a poll asks */
        uint32_t order;                         /* counts bursts and polls */
        uint16_t done_chunks;
        uint16_t next_chunk; /* the first that is not begun */
    } p;
    WriteChunk chunks[TRANSFER_CHUNKS_MAX]; /* set up when begun */
} WriteTransfer;

/* Chunks end at block boundaries of the region, so that no block is in two chunks. Returns how many
 * chunks [offset, offset + len) makes: each DATA chunk needs a number. One transfer takes at most
 * TRANSFER_CHUNKS_MAX. */
unsigned write_chunk_count(uint64_t offset, size_t len);
/* @number: of the first chunk; chunk i has number + i for DATA and VOID, and the same number for
 * FILL. @transfer: the name of the first chunk; chunk i has transfer + i. A name is never used
 * again on the session, so that an acknowledgment counts for this very call only. 0 (not FILL): the
 * chunks have no names. */
void write_transfer_start(WriteTransfer *t, const TransferConfig *config,
                          const RegionAddress *address, enum WriteKind kind, uint64_t offset,
                          const void *data, size_t len, uint64_t number, uint64_t transfer,
                          uint64_t now_ns);
/* What to send now: a burst (returns 1), a poll (returns 2: *ret_poll is encoded in @poll, its
 * length in *ret_poll_len), or nothing (0). */
enum { WRITE_NOTHING, WRITE_BURST, WRITE_POLL };
int write_transfer_output(WriteTransfer *t, Burst *ret_burst, uint8_t poll[WIRE_WRITE_HEADER_SIZE],
                          size_t *ret_poll_len, uint64_t now_ns);
void write_transfer_input(WriteTransfer *t, const WireWriteAck *m, uint64_t now_ns);
uint64_t write_transfer_deadline(const WriteTransfer *t);
void write_transfer_expire(WriteTransfer *t, uint64_t now_ns);
uint64_t write_transfer_silent_ns(const WriteTransfer *t, uint64_t now_ns);
void write_transfer_resend(WriteTransfer *t, uint64_t now_ns);
bool write_transfer_starved(const WriteTransfer *t);
/* All of it has been sent once, and nothing is known to be lost: it is the host's turn. */
bool write_transfer_sent(const WriteTransfer *t);
bool write_transfer_busy(const WriteTransfer *t, uint64_t now_ns);
uint16_t write_transfer_chunks(const WriteTransfer *t);
bool write_transfer_held(const WriteTransfer *t);
void write_transfer_end(WriteTransfer *t);

#endif
