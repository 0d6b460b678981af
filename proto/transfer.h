/* SPDX-License-Identifier: MIT */
/* Bulk transfer, the client's side of both directions, as pure state machines (the paper's 4.4).
 * The imd only reacts: it serves READs statelessly and keeps a map of received segments per write.
 * The client owns every timer.
 *
 * A transfer covers up to TRANSFER_CHUNKS_MAX chunks of one region; a longer call runs several in
 * turn. Loss: data of a later position or ask shows a gap, re-asked after max(50 us, srtt/4);
 * a lost tail is probed after srtt + 4 rttvar + outstanding/rate (floor 200 us, doubling) with one
 * missing segment, never the window. Every re-ask has a new number.
 * A transfer belongs to one thread; only the CreditPool is shared (its fields are atomic). */
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
 * receive buffer. */
typedef struct CreditPool {
    _Atomic uint64_t window_bytes;
    _Atomic uint64_t used_bytes;
    _Atomic uint64_t last_cut_ns;
    uint64_t floor_bytes, cap_bytes; /* set at init */
} CreditPool;
void credit_init(CreditPool *c, uint64_t cap_bytes);
/* Takes up to @want bytes; at least @least or nothing. A caller that has nothing outstanding
 * itself is always given @least, so that nobody starves. Returns what was taken. */
uint64_t credit_take(CreditPool *c, uint64_t want, uint64_t least, bool has_none);
void credit_return(CreditPool *c, uint64_t bytes);
void credit_on_success(CreditPool *c, uint64_t bytes); /* arrived without loss */
void credit_on_loss(CreditPool *c, uint64_t now_ns, uint64_t rtt_ns);

/* Round-trip and rate estimate of one host on one channel (RFC 6298's filter). */
typedef struct PathEstimate {
    uint64_t srtt_ns; /* 0: no sample yet */
    uint64_t rttvar_ns;
    uint64_t rate_bps; /* bytes a second, of long answers; 0 unknown */
} PathEstimate;
void path_sample_rtt(PathEstimate *p, uint64_t rtt_ns);
void path_sample_rate(PathEstimate *p, uint64_t bytes, uint64_t ns);
uint64_t path_probe_ns(const PathEstimate *p, uint64_t outstanding_bytes); /* tail timer */
uint64_t path_reorder_ns(const PathEstimate *p);                           /* gap timer */

typedef struct TransferCounters {
    uint64_t asks, datagrams, resent, ignored; /* ignored: duplicates, late, of other calls */
} TransferCounters;

typedef struct TransferConfig {
    uint16_t segment;        /* bytes of data a datagram (WIRE_SEGMENT_MIN..MAX) */
    uint64_t deadline_ns;    /* without any sign of life of the host for so long: dead */
    CreditPool *credit;      /* kept */
    PathEstimate *path;      /* kept */
    TransferCounters *count; /* kept; may be NULL */
} TransferConfig;

enum TransferState {
    TRANSFER_RUNNING,
    TRANSFER_COMPLETE,  /* every byte is here, or known to be unfilled */
    TRANSFER_REFUSED,   /* status tells: GONE, EPOCH, LEAVING, STALE, INVALID */
    TRANSFER_TIMED_OUT, /* the deadline passed, probes unanswered */
};

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct ReadChunk {
    uint64_t ask;       /* latest ask number, 0: never asked */
    uint64_t first_ask; /* data of any ask in [first_ask, ...] issued for this chunk counts */
    uint64_t missing;   /* segments not here and not known unfilled */
    uint64_t asked;     /* of the missing, those under way */
    uint64_t sent_ns;
    uint32_t offset; /* from the transfer's start */
    uint32_t len;
    uint32_t charged; /* credit taken */
    uint16_t highest; /* highest segment index seen of the latest ask */
    uint8_t tries;
    uint8_t flags;
} ReadChunk;

typedef struct ReadTransfer {
    TransferConfig config;
    RegionAddress address;
    uint64_t offset; /* in the region */
    size_t len;
    uint8_t *buf;       /* borrowed until the end */
    uint64_t *next_ask; /* the channel's ask counter: numbers are never used again on it */
    uint8_t state;      /* enum TransferState */
    uint16_t status;    /* enum Status, when refused */
    uint16_t chunks_count;
    uint64_t heard_ns, started_ns, timer_ns, probe_ns;
    uint64_t first_ask, last_ask; /* asks of this transfer: (first_ask, last_ask] may be sparse */
    uint64_t unfilled[(TRANSFER_BLOCKS_MAX + 63) / 64 + 1]; /* bit i: block offset/4096 + i */
    ReadChunk chunks[TRANSFER_CHUNKS_MAX];
    /* more private state may follow: the owner of transfer_read.c may add fields */
    struct {
        uint64_t rtt_ask, rtt_sent_ns;
        uint32_t backoff;
        uint32_t done_chunks;
        uint32_t next_chunk;
        uint64_t outstanding;
    } p;
} ReadTransfer;

/* @len 1 .. TRANSFER_BYTES_MAX. */
void read_transfer_start(ReadTransfer *t, const TransferConfig *config,
                         const RegionAddress *address, uint64_t offset, void *buf, size_t len,
                         uint64_t *next_ask, uint64_t now_ns);
/* Next READ payload to send now, 0 when there is none now. */
size_t read_transfer_output(ReadTransfer *t, uint8_t *out, uint64_t now_ns);
/* One DATA message of the region's host. Copies what counts straight into the caller's buffer. */
void read_transfer_input(ReadTransfer *t, const WireData *m, uint64_t now_ns);
uint64_t read_transfer_deadline(const ReadTransfer *t); /* when to call output again, at latest */
void read_transfer_expire(ReadTransfer *t, uint64_t now_ns);
/* The process itself was stopped for @gap_ns: all clocks start anew. */
void read_transfer_postpone(ReadTransfer *t, uint64_t gap_ns, uint64_t now_ns);
/* The session was renewed (same epoch): ask again for what is missing. */
void read_transfer_resend(ReadTransfer *t, uint64_t now_ns);
/* Gives back all credit; call once when done with it, in any state. */
void read_transfer_end(ReadTransfer *t);
/* Complete: is block @index (of the region) one that must come from the file? A segment that
 * touches an unfilled block is not sent at all, so bytes of neighbouring blocks may be missing
 * too: they are reported here likewise. */
bool read_transfer_unfilled(const ReadTransfer *t, uint64_t block);
bool read_transfer_all_filled(const ReadTransfer *t);

/* ---- writing and filling -------------------------------------------------------------------- */

typedef struct WriteChunk {
    uint64_t number;   /* DATA, VOID: of this chunk */
    uint64_t transfer; /* FILL: of this chunk */
    uint64_t received; /* by the imd */
    uint64_t sent;     /* at least once */
    uint64_t resend;   /* known lost */
    uint64_t sent_ns;
    uint32_t offset, len;
    uint32_t charged;
    uint8_t state; /* enum WriteState, or WRITE_STATE_MAX: not begun */
    uint8_t flags;
    uint16_t status;
} WriteChunk;

typedef struct WriteTransfer {
    TransferConfig config;
    RegionAddress address;
    uint8_t kind; /* enum WriteKind */
    uint64_t offset;
    size_t len;
    const uint8_t *data; /* borrowed until the end; NULL for VOID */
    uint8_t state;       /* enum TransferState; COMPLETE when every chunk is done; for FILL also
                            when chunks were refused as STALE (refused_chunks counts) */
    uint16_t status;
    uint16_t chunks_count;
    uint16_t refused_chunks;
    uint64_t heard_ns, started_ns, timer_ns, probe_ns;
    WriteChunk chunks[TRANSFER_CHUNKS_MAX];
    struct {
        uint32_t backoff;
        uint32_t done_chunks;
        uint32_t next_chunk;
        uint64_t outstanding;
        uint64_t grant;
        uint64_t rtt_sent_ns;
        uint32_t rtt_chunk;
    } p;
} WriteTransfer;

/* Chunks end at block boundaries of the region, so that no block is in two chunks.
 * Number of chunks that [offset, offset + len) makes: each DATA chunk needs a number. */
unsigned write_chunk_count(uint64_t offset, size_t len);
/* @number: of the first chunk; chunk i has number + i for DATA and VOID, the same for all for FILL.
 * @transfer: FILL: name of the first chunk, chunk i has transfer + i; else 0. */
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
void write_transfer_postpone(WriteTransfer *t, uint64_t gap_ns, uint64_t now_ns);
void write_transfer_resend(WriteTransfer *t, uint64_t now_ns);
void write_transfer_end(WriteTransfer *t);

#endif
