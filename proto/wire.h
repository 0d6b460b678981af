/* SPDX-License-Identifier: MIT */
/* The wire format: every message's layout, encoders and total, bounds-checked decoders.
 *
 * A datagram is a 16-byte header and a payload. Sealed, a 64-bit counter stands between them and
 * a 16-byte tag at the end (proto/endpoint.h does that; here payloads are plain). All integers
 * little-endian. Decoders read nothing beyond @len, and accept no value outside the ranges named
 * here; on failure they return -EBADMSG and leave the output untouched. Reserved bytes, and what
 * follows the last field, they do not look at: a later build has more to say there. A status that
 * is not in status.def is decoded as STATUS_PROTOCOL. Encoders return the length written; the
 * caller gives WIRE_PAYLOAD_MAX bytes of room unless said otherwise. They do not check ranges: a
 * message that breaks one is refused by the peer; only what would not fit (counts, bodies) is
 * asserted.
 *
 * To add a message: its struct here, its fields in proto/messages.def, a golden line in
 * tests/lib/wire_golden.h, its layout in docs/dodo-protocol.7; a body also in WIRE_BODIES below. */
#ifndef DODO_PROTO_WIRE_H
#define DODO_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/id.h"

enum {
    WIRE_MAGIC = 0xD0,
    WIRE_VERSION = 1,
    WIRE_HEADER_SIZE = 16,
    WIRE_COUNTER_SIZE = 8,
    WIRE_TAG_SIZE = 16,
    WIRE_SEAL_OVERHEAD = WIRE_COUNTER_SIZE + WIRE_TAG_SIZE,
    WIRE_PAYLOAD_MAX =
        1152, /* of every message but DATA and WRITE: fits IPv6's least MTU, sealed */

    WIRE_BLOCK_SIZE = 4096,
    WIRE_CHUNK_MAX = 14 * WIRE_BLOCK_SIZE, /* bytes of one ask or write: below one GSO message */
    WIRE_CHUNK_BLOCKS_MAX = 15,            /* blocks an unaligned chunk can touch */
    WIRE_SEGMENTS_MAX = 64,                /* of one chunk: maps are 64 bits */
    WIRE_SEGMENT_MIN = WIRE_CHUNK_MAX / WIRE_SEGMENTS_MAX, /* 896 bytes of data a datagram */
    WIRE_SEGMENT_MAX = WIRE_CHUNK_MAX,
    WIRE_INDEX_NONE = 0xFFFF, /* DATA without data: a status; WRITE without data: a poll */

    WIRE_READ_SIZE = 68,
    WIRE_DATA_HEADER_SIZE = 16,
    WIRE_DATA_INDEX_AT = 8, /* offset of the segment index in the DATA header */
    WIRE_WRITE_HEADER_SIZE = 72,
    WIRE_WRITE_INDEX_AT = 38,
    WIRE_WRITE_ACK_SIZE = 32,
    WIRE_REQUEST_HEADER_SIZE = 24,
    WIRE_REPLY_HEADER_SIZE = 16,
    WIRE_BODY_MAX = WIRE_PAYLOAD_MAX - WIRE_REQUEST_HEADER_SIZE,
};

enum WireType {
    WIRE_HELLO = 1,
    WIRE_HELLO_ACK = 2,
    WIRE_RESET = 3,
    WIRE_READ = 16,
    WIRE_DATA = 17,
    WIRE_WRITE = 18,
    WIRE_WRITE_ACK = 19,
    WIRE_PING = 22,
    WIRE_PONG = 23,
    WIRE_GOODBYE = 24,
    WIRE_PROBE = 25,
    WIRE_PROBE_ACK = 26,
    WIRE_REQUEST = 32,
    WIRE_REPLY = 33,
};

/* Another one is a later build's. */
static inline bool wire_type_is_known(uint8_t type)
{
    switch (type) {
    case WIRE_HELLO:
    case WIRE_HELLO_ACK:
    case WIRE_RESET:
    case WIRE_READ:
    case WIRE_DATA:
    case WIRE_WRITE:
    case WIRE_WRITE_ACK:
    case WIRE_PING:
    case WIRE_PONG:
    case WIRE_GOODBYE:
    case WIRE_PROBE:
    case WIRE_PROBE_ACK:
    case WIRE_REQUEST:
    case WIRE_REPLY:
        return true;
    default:
        return false;
    }
}

enum Status {
#define X(name, number, text) STATUS_##name = number,
#include "proto/status.def"
#undef X
    STATUS_MAX
};
/* Text for the log; for unknown numbers too. */
const char *status_text(unsigned status);

/* ---- header -------------------------------------------------------------------------------- */

enum { WIRE_FLAG_SEALED = 1 };

typedef struct WireHeader {
    uint8_t version;
    uint8_t type;
    uint8_t flags;
    uint32_t cluster; /* from the cluster's name: keys are rotated, this stays */
    uint64_t tag; /* chosen by the receiver at HELLO: its name for the session; 0 in HELLO, RESET */
} WireHeader;

void wire_header_encode(const WireHeader *h, uint8_t out[WIRE_HEADER_SIZE]);
/* 0; -EBADMSG; or WIRE_E_VERSION when the magic is right but the version is not ours (then
 * ret->version is set, and only that). Unknown types decode; acting on them is the caller's. */
enum { WIRE_E_VERSION = 1 };
int wire_header_decode(const uint8_t *p, size_t len, WireHeader *ret);

/* ---- sessions (layout here, meaning in proto/endpoint.h) ----------------------------------- */

enum WireRole { ROLE_NONE, ROLE_CLIENT, ROLE_IMD, ROLE_CMD, ROLE_TOOL, ROLE_RMD, ROLE_MAX };

/* HELLO and HELLO_ACK have the same size, so that no answer is larger than its question. */
enum { WIRE_HELLO_SIZE = 104, WIRE_MAC_SIZE = 16, WIRE_SALT_SIZE = 16 };
typedef struct WireHello {
    uint64_t tag; /* that the other end must put on datagrams to the sender; not 0 */
    uint8_t salt[WIRE_SALT_SIZE];      /* the sender's */
    uint8_t peer_salt[WIRE_SALT_SIZE]; /* HELLO_ACK: the HELLO's salt; HELLO: zero */
    Id128 self;     /* the sender's identity: client session, cmd instance, imd */
    uint64_t epoch; /* imd: its epoch; cmd: the number of its lease, or what stands below; else 0 */
    uint32_t key_id; /* which cluster key; 0: none */
    uint8_t role;    /* enum WireRole */
    /* What the sender understands that not every build of this version does: a bit each. None is in
     * use. Other bits are later builds', and say nothing here. */
    uint64_t features;
    uint8_t mac[WIRE_MAC_SIZE]; /* over all before it, reserved bytes too; zero without a key */
} WireHello;
/* A cmd's epoch: it is active, and has no lease; it stands by. What lies between numbers leases: of
 * two managers that believe that they are active, the one with the smaller number is wrong. */
#define MANAGER_UNLEASED ((uint64_t)0)
#define MANAGER_STANDBY UINT64_MAX
size_t wire_hello_encode(const WireHello *m, uint8_t *out);
int wire_hello_decode(const uint8_t *p, size_t len, WireHello *ret);

/* RESET: "I know no session by that tag". Unauthenticated: only ever a hint. The header's tag
 * is 0, the payload the offending datagram's tag. 8 bytes. */
size_t wire_reset_encode(uint64_t tag, uint8_t *out);
int wire_reset_decode(const uint8_t *p, size_t len, uint64_t *ret_tag);

/* ---- regions ------------------------------------------------------------------------------- */

/* Who a read, write or fill is for: all of it is checked every time. 36 bytes. Wherever a range of
 * bytes (offset, len) is named, its end must not pass 2^64 - 1. */
typedef struct RegionAddress {
    uint64_t epoch;   /* of the imd: random, a start */
    uint64_t region;  /* never used again in an epoch; not 0 */
    uint32_t opening; /* counts the openings of a retained region, from 1 */
    Id128 capability; /* secret of this opening */
} RegionAddress;

typedef struct WireRead {
    uint64_t ask; /* new for every ask and re-ask of a session; not 0 */
    RegionAddress address;
    uint64_t offset;  /* [bytes] in the region */
    uint32_t len;     /* 1 .. WIRE_CHUNK_MAX */
    uint16_t segment; /* bytes of data a datagram, WIRE_SEGMENT_MIN .. WIRE_SEGMENT_MAX */
    uint64_t want;    /* bit i: send segment i; bits past the last segment are 0; not 0 */
} WireRead;
size_t wire_read_encode(const WireRead *m, uint8_t *out);
int wire_read_decode(const uint8_t *p, size_t len, WireRead *ret);

/* Segments of @len bytes: (len + segment - 1) / segment, at most WIRE_SEGMENTS_MAX. */
static inline unsigned wire_segment_count(uint32_t len, uint16_t segment)
{
    return (len + segment - 1u) / segment;
}
static inline uint64_t wire_segment_mask(unsigned count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

typedef struct WireData {
    uint64_t ask;        /* echoed */
    uint16_t index;      /* segment of the ask, or WIRE_INDEX_NONE */
    uint16_t status;     /* not OK only with WIRE_INDEX_NONE */
    uint32_t filled;     /* bit i < WIRE_CHUNK_BLOCKS_MAX: block (offset / 4096 + i) was filled when
                            this ask was served */
    const uint8_t *data; /* decoded: points into the datagram */
    size_t data_len;
} WireData;
size_t wire_data_encode_header(const WireData *m, uint8_t *out); /* 16 bytes, no data */
int wire_data_decode(const uint8_t *p, size_t len, WireData *ret);

enum WriteKind {
    WRITE_DATA, /* the remote half of an mwrite */
    WRITE_FILL, /* what the file holds, offered for unfilled blocks */
    WRITE_VOID, /* write @number failed at the file: unfill its blocks. Has no data: a poll */
    WRITE_KIND_MAX
};
typedef struct WireWrite {
    RegionAddress address;
    uint8_t kind;      /* enum WriteKind */
    uint16_t index;    /* segment, or WIRE_INDEX_NONE: a poll, "what have you got?" */
    uint64_t number;   /* DATA, VOID: this write's number; FILL: the counter before its file read */
    uint64_t transfer; /* the sender's name for this chunk, echoed; FILL: not 0 */
    uint64_t offset;
    uint32_t len; /* of the whole chunk */
    uint16_t segment;
    const uint8_t *data;
    size_t data_len;
} WireWrite;
size_t wire_write_encode_header(const WireWrite *m, uint8_t *out); /* 72 bytes, no data */
/* Checks too that data_len is just what segment @index of the chunk must have. */
int wire_write_decode(const uint8_t *p, size_t len, WireWrite *ret);

enum WriteState { WRITE_OPEN, WRITE_DONE, WRITE_REFUSED, WRITE_STATE_MAX };
typedef struct WireWriteAck {
    uint64_t number;
    uint64_t transfer; /* echoed: numbers are a region's, and regions share a session */
    uint8_t kind;
    uint8_t state;     /* enum WriteState */
    uint16_t status;   /* why refused: not OK if and only if state is REFUSED */
    uint32_t grant;    /* bytes that the imd can take from this client beyond those it has */
    uint64_t received; /* bit i: segment i is here (state OPEN) */
} WireWriteAck;
size_t wire_write_ack_encode(const WireWriteAck *m, uint8_t *out);
int wire_write_ack_decode(const uint8_t *p, size_t len, WireWriteAck *ret);

/* PING and PONG: 24 bytes each. */
typedef struct WirePing {
    uint64_t nonce; /* echoed in PONG; also an ask number for round-trip samples */
    uint64_t epoch; /* PING: 0; PONG: of an imd, else 0 */
    uint64_t flags; /* PONG: PONG_LEAVING; else 0 */
} WirePing;
enum { PONG_LEAVING = 1 };
size_t wire_ping_encode(const WirePing *m, uint8_t *out);
int wire_ping_decode(const uint8_t *p, size_t len, WirePing *ret);

/* PROBE: as long as the datagrams that its sender would like to use, so that it arrives only where
 * the path carries them. PROBE_ACK, of the same length, shows that both directions do. What follows
 * the nonce means nothing. */
enum { WIRE_PROBE_MIN = 8, WIRE_PROBE_MAX = WIRE_SEGMENT_MAX + WIRE_WRITE_HEADER_SIZE };
/* @out has @len bytes, WIRE_PROBE_MIN .. WIRE_PROBE_MAX. */
size_t wire_probe_encode(uint64_t nonce, size_t len, uint8_t *out);
int wire_probe_decode(const uint8_t *p, size_t len, uint64_t *ret_nonce);

/* GOODBYE: the imd of this epoch is leaving; or the cmd of this epoch is active no more. 8 bytes.
 */
size_t wire_goodbye_encode(uint64_t epoch, uint8_t *out);
int wire_goodbye_decode(const uint8_t *p, size_t len, uint64_t *ret_epoch);

/* ---- control: requests and replies (proto/request.h runs them) ------------------------------ */

enum Op {
    OP_OPEN = 1,     /* client -> cmd */
    OP_CLOSE = 2,    /* client -> cmd */
    OP_ALIVE = 3,    /* client -> cmd */
    OP_CLAIM = 4,    /* client -> cmd */
    OP_LEAVE = 5,    /* client -> cmd */
    OP_STATUS = 6,   /* tool -> cmd */
    OP_EXPLAIN = 7,  /* tool -> rmd */
    OP_REPORT = 8,   /* client -> cmd */
    OP_EVENTS = 9,   /* tool -> cmd */
    OP_MOVES = 10,   /* client -> cmd */
    OP_DRAIN = 11,   /* tool -> cmd; imd -> cmd */
    OP_REGIONS = 12, /* tool -> cmd */
    OP_TAKE = 13,    /* client -> cmd */
    OP_DRAINS = 14,  /* tool -> cmd */
    OP_COPIES = 15,  /* tool -> cmd */
    OP_JOIN = 16,    /* imd -> cmd */
    OP_BEAT = 17,    /* imd -> cmd */
    OP_LISTING = 18, /* imd -> cmd */
    OP_PART = 19,    /* imd -> cmd */
    OP_HOST = 20,    /* rmd -> cmd */
    OP_ALLOC = 32,   /* cmd -> imd */
    OP_FREE = 33,    /* cmd -> imd */
    OP_RELEASE = 34, /* cmd -> imd */
    OP_REOPEN = 35,  /* cmd -> imd */
};

typedef struct WireRequest {
    uint64_t id;      /* counts up from 1 per requester identity */
    uint64_t settled; /* every id below it is over at the requester: never execute one again */
    uint16_t op;      /* 6 reserved bytes follow */
    const uint8_t *body;
    size_t body_len;
} WireRequest;
size_t wire_request_encode(const WireRequest *m, uint8_t *out); /* header and body */
int wire_request_decode(const uint8_t *p, size_t len, WireRequest *ret);

typedef struct WireReply {
    uint64_t id;
    uint16_t op;
    uint16_t status;     /* a body only with STATUS_OK, but see each op */
    const uint8_t *body; /* after 4 reserved bytes */
    size_t body_len;
} WireReply;
size_t wire_reply_encode(const WireReply *m, uint8_t *out);
int wire_reply_decode(const uint8_t *p, size_t len, WireReply *ret);

/* What names a piece of a file in the whole cluster: an HMAC over (boot id, uid, file system id,
 * device, inode, generation) under a secret of the user's, or random. Opaque to everyone else. */
typedef struct FileKey {
    uint8_t bytes[32];
} FileKey;

/* The file's state that proves a retained region fresh. */
typedef struct Stamp {
    uint64_t size;
    uint64_t mtime_ns;
    uint64_t ctime_ns;
} Stamp;
static inline bool stamp_equal(const Stamp *a, const Stamp *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

enum RegionFlags {
    REGION_RDONLY = 1,   /* opened for reading only */
    REGION_RETAIN = 2,   /* a retained region may be found, this one may be retained */
    REGION_RELEASED = 4, /* has a clean release record: unopened, for the next run */
    REGION_FLAGS_MASK = 7,
    /* Of OPEN alone, with REGION_RETAIN: a new region, not one kept from an earlier run. A manager
     * that has never answered OP_MOVES does not know it. */
    REGION_FRESH = 8,
};

/* Piggybacked on everything an imd sends to cmd: hints, verified on use. 40 bytes. */
typedef struct ImdHint {
    uint64_t epoch;
    uint64_t free_bytes;
    uint64_t largest_free_bytes;
    uint64_t evictable_bytes; /* free + what unopened retained regions hold */
    uint32_t regions;
    uint32_t reserved;
} ImdHint;

enum { OPEN_AVOID_MAX = 8 };
typedef struct OpOpen {
    FileKey key;
    uint64_t offset; /* in the file */
    uint64_t len;    /* of the region, > 0 */
    uint32_t flags;  /* REGION_RDONLY, REGION_RETAIN, REGION_FRESH */
    Stamp stamp;     /* of the file now; a retained region is given only if its stamp is equal */
    uint32_t avoid_count;
    /* Epochs of hosts that the client could not reach of late; of that of the other copy. */
    uint64_t avoid[OPEN_AVOID_MAX];
} OpOpen;
typedef struct OpOpenReply {
    Addr host; /* data address of the imd: UDP address and the port of the region's thread; not
                  ADDR_NONE. Addresses travel in one form: bytes that a kind does not use are 0 */
    RegionAddress address;
    uint8_t reused;        /* 1: a retained region with its filled blocks */
    uint16_t control_port; /* of the imd, not 0: people know it by @host with this port */
} OpOpenReply;

enum CloseMode { CLOSE_FREE, CLOSE_RELEASE, CLOSE_MODE_MAX };
typedef struct OpClose {
    RegionAddress address;
    uint8_t mode; /* CLOSE_RELEASE: keep it for the next run, proven by @stamp */
    Stamp stamp;
} OpClose; /* the reply has no body */

typedef struct OpAlive {
    uint32_t regions;
    uint64_t digest; /* XOR of region_digest() over the client's regions */
} OpAlive;
enum {
    ALIVE_WANT_LIST = 1, /* digests differ, send CLAIMs */
    /* Some of its regions are on hosts that are being drained: ask OP_MOVES. Older clients do not
     * decode it: it never stands beside the other one, which all must hear. */
    ALIVE_MOVE = 2,
};
typedef struct OpAliveReply {
    uint32_t flags;
} OpAliveReply;

/* A region in a list of claims; its contribution to the digest of a list. 20 bytes. */
typedef struct RegionName {
    uint64_t epoch;
    uint64_t region;
    uint32_t opening;
} RegionName;
static inline uint64_t region_digest(const RegionName *n)
{
    return mix64(n->epoch ^ mix64(n->region ^ ((uint64_t)n->opening << 32)));
}

/* A list is sent in pages, each a request of its own; it counts when all pages of one @list came.
 * Openings with ids at or above @before were still in flight when it was taken. */
enum { CLAIM_NAMES_MAX = 48 };
typedef struct OpClaim {
    uint32_t list;  /* counts the client's lists */
    uint32_t page;  /* < pages */
    uint32_t pages; /* >= 1, an empty list is one empty page */
    uint32_t count;
    uint64_t before;
    RegionName names[CLAIM_NAMES_MAX];
} OpClaim; /* the reply has no body */

/* OP_LEAVE: no body either way. */

/* A client asks which hosts its regions are to leave, and says how far it is. */
enum { MOVES_MAX = 64 };
typedef struct OpMoves {
    uint64_t left_bytes;   /* of its regions on those hosts: what is still to be copied */
    uint64_t copied_bytes; /* by moves, since its start */
    uint32_t refused;      /* so often in a row no other host had room */
} OpMoves;
typedef struct OpMovesReply {
    uint64_t rate; /* bytes a second that it may copy; 0: no limit */
    uint32_t count;
    uint64_t epochs[MOVES_MAX]; /* of hosts that are being drained, where it has regions */
} OpMovesReply;

/* What a client found wrong with a host. */
enum HostFault {
    HOST_FAULT_CORRUPT, /* it returned other bytes than it was given */
    HOST_FAULT_SLOW,    /* it answers, but too slowly to be of use */
    HOST_FAULT_MAX
};
typedef struct OpReport {
    uint64_t epoch; /* the host's */
    uint8_t fault;  /* enum HostFault */
} OpReport;         /* the reply has no body */

/* Why a host lends or not, in plain words: printable ASCII; "" where there is nothing to say. The
 * maker of the text sees to both; decoders refuse anything else. Travels as its length (1) and its
 * bytes. */
enum { REASON_MAX = 96 };
typedef struct Reason {
    char text[REASON_MAX + 1];
} Reason;

enum { STATUS_HOSTS_MAX = 6 };
typedef struct HostStatus {
    Addr address;  /* of its control socket; HOST_BUSY: of its rmd's */
    uint8_t state; /* enum HostState */
    uint64_t epoch;
    uint64_t pool_bytes, free_bytes, largest_free_bytes;
    uint64_t regions;
    uint64_t read_bytes, write_bytes; /* served since its start */
    Reason reason;                    /* its rmd's */
} HostStatus;
enum HostState { HOST_IDLE, HOST_LEAVING, HOST_SILENT, HOST_BUSY, HOST_STATE_MAX };
/* "idle", as users see it; for unknown numbers, too. */
const char *host_state_text(unsigned state);
typedef struct OpStatus {
    uint64_t cursor; /* 0 starts; then OpStatusReply.next */
} OpStatus;
typedef struct OpStatusReply {
    uint64_t next;             /* 0: that was all */
    uint64_t regions, clients; /* of the whole cluster */
    uint64_t uptime_ms;
    uint32_t count;
    HostStatus hosts[STATUS_HOSTS_MAX];
} OpStatusReply;

/* What came to pass in the cluster, as the manager keeps it: the oldest first, by numbers that only
 * grow. It keeps so many and no more, so that numbers may be missing. */
enum EventKind {
#define X(name, number, word) EVENT_##name = number,
#include "proto/events.def"
#undef X
    EVENT_KIND_MAX
};
/* "host_joined"; for unknown numbers, too. */
const char *event_kind_text(unsigned kind);
enum { EVENTS_PAGE_MAX = 6 };
typedef struct EventEntry {
    uint64_t number; /* from 1 */
    uint64_t age_ms;
    uint8_t kind;     /* enum EventKind */
    Addr address;     /* as in HostStatus, or a program's; none: of a program that is gone */
    uint64_t id;      /* a host's epoch, the first bytes of a program's identity; 0: none */
    uint64_t regions; /* that went with it, or were lost */
    Reason reason;
} EventEntry;
typedef struct OpEvents {
    uint64_t after; /* number of the last one that is known; 0: none is */
} OpEvents;
typedef struct OpEventsReply {
    uint64_t instance; /* of the manager: another start has another, and counts from 1 again */
    uint64_t last;     /* number of its newest event: there are more pages up to that */
    uint32_t count;
    EventEntry events[EVENTS_PAGE_MAX];
} OpEventsReply;

/* A client opens a region that is kept on a host which is being drained, and a new one for it
 * elsewhere, to copy the one to the other and to release that: nobody else would move it.
 * STATUS_GONE: there is no such region any more; DENIED: the host is not being drained; NO_MEMORY:
 * there is no room elsewhere. */
typedef struct CopyPlace {
    Addr host;             /* as in OpOpenReply */
    uint16_t control_port; /* ... */
    RegionAddress address;
} CopyPlace;
typedef struct OpTake {
    uint64_t epoch, region;
} OpTake;
typedef struct OpTakeReply {
    CopyPlace from, to;
    uint64_t len;
    Stamp stamp; /* of its file, when it was released */
} OpTakeReply;

/* Taking a host out of service: it gets no new regions, clients move those that they have there.
 * Any repetition is harmless. STATUS_GONE: the manager knows no such host.
 *
 * An imd whose owner is back begins the drain of its own host, and asks so how far it is. An older
 * manager answers DENIED; NO_MEMORY: no other host has room; BUSY: too many are drained. */
enum DrainWhat { DRAIN_LOOK, DRAIN_START, DRAIN_CANCEL, DRAIN_WHAT_MAX };
typedef struct OpDrain {
    Addr host;     /* as in HostStatus; kind ADDR_NONE: of the imd that asks */
    uint8_t what;  /* enum DrainWhat; of an imd: START */
    uint8_t drop;  /* START: 1: kept regions there are freed */
    uint64_t rate; /* START: bytes a second that all clients together may copy; 0: no limit */
} OpDrain;
enum DrainState { DRAIN_OFF, DRAIN_ON, DRAIN_STATE_MAX };
/* What is left there. Nothing is, only if all four counts of regions are 0, @listed is 1, and the
 * host is heard. */
typedef struct OpDrainReply {
    uint64_t epoch;
    uint8_t state;     /* enum DrainState */
    uint8_t listed;    /* 0: the host has not said yet which regions it has */
    uint32_t silent_s; /* it has not been heard for so long; 0: it is, or cmd is older */
    uint64_t open_regions, open_bytes;
    uint64_t kept_regions, kept_bytes;
    uint64_t busy_regions;             /* that are being allocated, opened, closed or freed */
    uint64_t host_regions;             /* as the host itself has said last */
    uint64_t clients;                  /* that have regions open there; of them: */
    uint64_t asking;                   /* those that sent MOVES within the last dead_ms */
    uint64_t refused;                  /* of those: for which no other host had room */
    uint64_t left_bytes, copied_bytes; /* of those: the sums */
    uint64_t dead_ms; /* a client that is silent for so long is dead: who can, has asked by then */
} OpDrainReply;

/* All hosts that are being drained, and how far each is, in pages. */
typedef struct DrainStatus {
    Addr host; /* as in HostStatus */
    OpDrainReply progress;
    uint64_t limit;   /* OpDrain.rate */
    uint64_t ahead;   /* bytes that are to be moved, as far as clients say it; with what is kept,
                         unless it is dropped */
    uint64_t pace;    /* the rate at which they fall, [bytes/s]; 0: not known */
    uint64_t seconds; /* that this takes; 0: not known */
} DrainStatus;
enum { DRAINS_PAGE_MAX = 6 };
typedef struct OpDrains {
    uint64_t cursor; /* 0 starts; then OpDrainsReply.next */
} OpDrains;
typedef struct OpDrainsReply {
    uint64_t next; /* 0: that was all */
    uint32_t count;
    DrainStatus drains[DRAINS_PAGE_MAX];
} OpDrainsReply;

/* The region directory in pages, in an order of its own: regions that come and go neither repeat
 * nor hide others. A page may be empty and not the last. */
enum { REGIONS_PAGE_MAX = 16 };
enum RegionUse {
    REGION_USE_OPEN,
    REGION_USE_KEPT,    /* for the next run */
    REGION_USE_BUSY,    /* being opened or closed */
    REGION_USE_FREEING, /* nobody's any more */
    REGION_USE_MAX
};
/* "open", as users see it; for unknown numbers, too. */
const char *region_use_text(unsigned use);
typedef struct RegionStatus {
    Addr host; /* as in HostStatus */
    uint64_t region;
    uint32_t opening;
    uint8_t use;          /* enum RegionUse */
    uint8_t retain;       /* 1: it may be kept when it is closed */
    Id128 client;         /* null unless it is open */
    uint64_t offset, len; /* in the file */
} RegionStatus;
typedef struct OpRegions {
    uint64_t cursor; /* 0 starts; then OpRegionsReply.next */
    Addr host;       /* only what is there; kind ADDR_NONE: anywhere */
    uint64_t client; /* only what a client has open, by the first bytes of its identity; 0: all */
} OpRegions;
typedef struct OpRegionsReply {
    uint64_t next; /* 0: that was all */
    uint32_t count;
    RegionStatus regions[REGIONS_PAGE_MAX];
} OpRegionsReply;

/* OP_COPIES: as OP_REGIONS, which older managers know, and with the same request; and which of them
 * move, and which are copies of the same. */
typedef struct RegionCopy {
    RegionStatus region;
    uint8_t leaves; /* 1: its host is being drained */
    uint64_t piece; /* the same, only if they have the same piece of the same file: a client's are
                       the copies of one region. It says nothing of the file, and is another one
                       with each start of the manager */
} RegionCopy;
enum { COPIES_PAGE_MAX = 14 };
typedef struct OpCopiesReply {
    uint64_t next; /* as in OpRegionsReply */
    uint32_t count;
    RegionCopy copies[COPIES_PAGE_MAX];
} OpCopiesReply;

/* rmd's text about its host in pages. Each page says how long the whole text is and which page it
 * is. The text is the one made when somebody last asked for offset 0. A page shorter than
 * EXPLAIN_PAGE_MAX is the last. */
enum { EXPLAIN_MAX = 16 << 10, EXPLAIN_PAGE_MAX = 1024 };
typedef struct OpExplain {
    uint32_t offset; /* <= EXPLAIN_MAX */
} OpExplain;
typedef struct OpExplainReply {
    uint32_t total;   /* bytes of the whole text, <= EXPLAIN_MAX */
    uint32_t version; /* another text has another: its pages do not fit this one's */
    uint32_t len;     /* of this page */
    uint8_t text[EXPLAIN_PAGE_MAX];
} OpExplainReply;

/* What the owner's resource monitor says of its host. BUSY with an epoch: that imd is gone. */
enum HostOwner {
    HOST_OWNER_BUSY,
    HOST_OWNER_IDLE, /* imd is being started */
    HOST_OWNER_LENDING,
    HOST_OWNER_MAX
};
typedef struct OpHost {
    uint8_t state;           /* enum HostOwner */
    uint64_t epoch;          /* of the imd that runs, or ran last; 0: none */
    uint64_t lendable_bytes; /* what the owner could spare now */
    Reason reason;
} OpHost; /* the reply has no body */

enum { JOIN_PORTS_MAX = 64 };
typedef struct OpJoin {
    ImdHint hint;
    uint64_t pool_bytes;
    uint32_t ports_count;
    uint16_t ports[JOIN_PORTS_MAX]; /* of the data threads, on the address the request came from */
} OpJoin;                           /* reply: OpBeatReply */
/* What an imd has done for programs since its start. */
typedef struct Served {
    uint64_t read_bytes, write_bytes, fill_bytes;
    uint64_t reads, reads_unfilled; /* of the reads, those that touched a block without data */
} Served;
typedef struct OpBeat {
    ImdHint hint;
    uint64_t digest; /* over the imd's regions, as for claims */
    Served served;
} OpBeat;
enum { BEAT_WANT_LIST = 1 };
typedef struct OpBeatReply {
    uint32_t flags;
    uint64_t settled; /* as in WireRequest, of the manager's requests to the imd; 0: unknown */
} OpBeatReply;

/* All that a region directory needs to be built again. */
typedef struct RegionListing {
    RegionAddress address; /* epoch is that of the hint, and not sent again */
    Id128 client;          /* who has it open; null when released */
    FileKey key;
    uint64_t offset, len;
    uint32_t flags; /* enum RegionFlags */
    Stamp stamp;    /* when released */
    uint16_t port;
} RegionListing;
enum { LISTING_MAX = 6 };
typedef struct OpListing {
    ImdHint hint;
    uint32_t list, page, pages, count; /* as in OpClaim */
    uint64_t before; /* ALLOC and REOPEN requests with ids at or above it are not reflected */
    RegionListing regions[LISTING_MAX];
} OpListing; /* the reply has no body */
typedef struct OpPart {
    ImdHint hint;
} OpPart; /* the reply has no body */

typedef struct OpAlloc {
    Id128 client;
    FileKey key;
    uint64_t offset, len;
    uint32_t flags; /* REGION_RDONLY, REGION_RETAIN; OpReopen's likewise */
    uint8_t evict;  /* 1: drop unopened retained regions, least recently used first, to make room */
} OpAlloc;
/* Also OP_REOPEN's. Every reply of an imd carries the hint, with any status; address and port
 * are zero unless STATUS_OK. */
typedef struct OpAllocReply {
    ImdHint hint;
    RegionAddress address;
    uint16_t port;
} OpAllocReply;
typedef struct OpFree {
    uint64_t epoch;
    uint64_t region;
    uint32_t opening; /* 0: whatever its opening */
} OpFree;
typedef struct OpRelease {
    RegionAddress address;
    Stamp stamp;
} OpRelease;
typedef struct OpReopen {
    uint64_t epoch;
    uint64_t region;
    uint32_t opening; /* the one it was released in */
    Id128 client;
    uint32_t flags;
    Stamp stamp; /* of the file now: must equal the record's */
} OpReopen;
/* Of FREE and RELEASE; with any status. */
typedef struct OpFreeReply {
    ImdHint hint;
} OpFreeReply;

/* One pair per body: wire_NAME_encode(const T *, uint8_t *out) -> bytes, at most WIRE_BODY_MAX;
 * wire_NAME_decode(const uint8_t *p, size_t len, T *ret) -> 0 or -EBADMSG. */
#define WIRE_BODIES(X)               \
    X(open, OpOpen)                  \
    X(open_reply, OpOpenReply)       \
    X(close, OpClose)                \
    X(alive, OpAlive)                \
    X(alive_reply, OpAliveReply)     \
    X(claim, OpClaim)                \
    X(report, OpReport)              \
    X(moves, OpMoves)                \
    X(moves_reply, OpMovesReply)     \
    X(status, OpStatus)              \
    X(status_reply, OpStatusReply)   \
    X(events, OpEvents)              \
    X(events_reply, OpEventsReply)   \
    X(take, OpTake)                  \
    X(take_reply, OpTakeReply)       \
    X(drain, OpDrain)                \
    X(drain_reply, OpDrainReply)     \
    X(drains, OpDrains)              \
    X(drains_reply, OpDrainsReply)   \
    X(regions, OpRegions)            \
    X(regions_reply, OpRegionsReply) \
    X(copies, OpRegions)             \
    X(copies_reply, OpCopiesReply)   \
    X(explain, OpExplain)            \
    X(explain_reply, OpExplainReply) \
    X(host, OpHost)                  \
    X(join, OpJoin)                  \
    X(beat, OpBeat)                  \
    X(beat_reply, OpBeatReply)       \
    X(listing, OpListing)            \
    X(part, OpPart)                  \
    X(alloc, OpAlloc)                \
    X(alloc_reply, OpAllocReply)     \
    X(free, OpFree)                  \
    X(release, OpRelease)            \
    X(reopen, OpReopen)              \
    X(free_reply, OpFreeReply)
#define X(name, type)                                         \
    size_t wire_##name##_encode(const type *m, uint8_t *out); \
    int wire_##name##_decode(const uint8_t *p, size_t len, type *ret);
WIRE_BODIES(X)
#undef X

#endif
