/* SPDX-License-Identifier: MIT */
/* What the files of the client's core share. Not for shells. */
#ifndef DODO_LIBDODO_CORE_PRIVATE_H
#define DODO_LIBDODO_CORE_PRIVATE_H

#include "base/hmap.h"
#include "base/list.h"
#include "base/listen_clock.h"
#include "base/time.h"
#include "libdodo/core.h"
#include "libdodo/shared_map.h"
#include "libdodo/debt.h"
#include "libdodo/path_probe.h"
#include "proto/fence.h"
#include "proto/rules.h"

enum {
    RD_INDEX_BITS = 20, /* a descriptor: generation above, table index below */
    RD_GENERATIONS = 1 << (30 - RD_INDEX_BITS),
    REGIONS_MAX = 1 << RD_INDEX_BITS,
    WRITE_WINDOW_CHUNKS = 32,       /* of one mwrite under way at once */
    FILL_RUN_BLOCKS = 64,           /* blocks read from the file and offered in one piece */
    EXTENT_BYTES = 1 << 20,         /* ... one piece after the other, where they were announced */
    REPORTS_MAX = 4,                /* of hosts, that wait to be sent; more are not taken */
    PREFETCH_RANGES_MAX = 64,       /* hints that wait; more are not taken */
    PREFETCH_LOOK_BLOCKS = 1 << 13, /* looked at in one go for one that is not filled */
    SAFE_DATAGRAM = 1232,           /* fits every path: IPv6's least MTU less its headers */
    PIECES_EXTRA = 15,              /* states of a channel for pieces, besides one a call */
    VECTOR_SMALL_BYTES = 4 * WIRE_BLOCK_SIZE, /* shorter buffers are gathered, up to a chunk */
    STRIPES_MAX = 1024,                       /* of a region */
    STRIPE_REQUESTS = 16,                     /* to the manager at once, for one region */
    WINDOW_TURNS_MAX = 4,                     /* of one window of a read, from copy to copy */
    MOVES_AT_ONCE = 4,                        /* regions: while one is opened, others are copied */
    MOVES_DONE_MAX = 16, /* given up, not freed yet; more wait to be given up */
    LONE_SOONER = 16,    /* a second copy is tried for so much more often than other regions */
};

/* One write under way, linked in its region: its blocks are not read remotely meanwhile. */
typedef struct WriteRecord {
    ListNode link;
    uint64_t first_block, last_block;
} WriteRecord;

/* What is known of the blocks at one address. */
typedef struct RegionBlocks {
    uint64_t *filled; /* what we saw filled, a bit a block; NULL: not tracked */
    uint64_t filled_count;
    uint64_t given_up;  /* the write counter, when blocks were last unfilled on purpose */
    BlockCheck *checks; /* one a block; NULL: none are kept */
    uint64_t seed;      /* of the checks */
    uint64_t rest_ns;   /* no fills before: the host has no memory for them */
} RegionBlocks;

/* A striped or mirrored region has no memory of its own: its members are regions. It has the file,
 * the flags and the calls in progress for all of them. A mirrored one has two members for each
 * stripe, its copies; without DODO_STRIPE it is one stripe. */
typedef struct Stripes {
    struct Region *parent; /* of a member */
    struct Region **of;    /* the first copies of all stripes, then the second ones; NULL: none */
    unsigned count;        /* stripes */
    unsigned members, active;
    unsigned waiting; /* members that wait for what another process opens (sharing.c) */
    uint64_t len;     /* of each stripe; the last one may be shorter */
} Stripes;

/* A region that other processes have, too (sharing.c). */
typedef struct Sharing {
    Share *share; /* NULL: it is this process's alone, */
    bool over;    /* ... or is so from now on */
    bool may;     /* of a member that is about to be opened: FileGiven.shareable */
    bool guest;   /* its memory was opened by another process, which claims it */
    bool waits;   /* for another process to open it: the file serves until then */
    uint64_t wait_ns;
} Sharing;

/* One of the two copies of a stripe (copies.c). */
typedef struct Mirror {
    struct Region *twin;  /* the other one; NULL: there are no copies */
    bool second;          /* the other one comes first: it has what both share */
    bool spare;           /* no memory is wanted for it, but for the other one (move.c) */
    ListNode moving;      /* in Client.moves.under_way: its memory is to be elsewhere */
    uint64_t answer_ns;   /* how long a short read took of late; 0: not known */
    uint64_t asked_ns;    /* since when it owes an answer; 0: it owes none */
    uint64_t answered_ns; /* when it last gave one to a read */
    uint64_t heard_ns;    /* ... or to anything else */
    ListNode heard;       /* in Client.copies, by that time */
    ListNode uneven;      /* in Client.uneven: it lacks blocks that the other one has */
    bool again;           /* ... also some before heal_at */
    uint64_t heal_at;     /* the next block that is looked at */
    uint64_t heal_ns;     /* not before; 0: to be set */
    uint64_t heal_wait_ns;
} Mirror;

typedef struct Region {
    int rd;
    bool active;  /* the address below is good as far as we know */
    bool closing; /* mclose has begun: no new calls */
    bool claimed; /* part of the client's claims (digest) */
    bool written; /* in this opening */
    bool reused;
    bool retainable;
    bool carried;   /* it has no file, nor checksums (call_take.c) */
    unsigned flags; /* DODO_* */
    unsigned refs;  /* calls in progress */
    uint64_t len, file_offset;
    void *file;
    FileKey key;
    Stamp stamp; /* at the opening, before the first fill */
    Addr host;
    uint16_t control_port; /* of @host, by which people know it */
    RegionAddress address;
    Numbers numbers;     /* of the writes to this address */
    ListNode writes;     /* under way: WriteRecord. A first copy has those of both */
    RegionBlocks blocks; /* of this address */
    Call *offers;        /* under way; one with members has those of theirs */
    uint64_t hits, misses, written_bytes;
    uint64_t inode;     /* of the file, for the log */
    uint64_t reopen_ns; /* FALLBACK or a member, and inactive: try again then */
    uint64_t asked_id;  /* of the request for memory that mopen left to the background; 0: none */
    ListNode idle;      /* ... in Client.idle, .lone or .moves.wanting, by that time */
    ListNode link;      /* in Client.regions, by age; its members come after it */
    Stripes stripe;
    Mirror mirror;
    Sharing sharing;
} Region;

/* The copy of a region that a fill is for. */
typedef struct FillTarget {
    int rd; /* < 0: none */
    Addr host;
    RegionAddress address;
    uint64_t counter; /* before its bytes were read */
    uint64_t seed;    /* of its checksums */
} FillTarget;

/* What the file held, on its way to the region's host. */
typedef struct FillItem {
    ListNode link;
    FillTarget to, then; /* the other copy, after this one */
    uint64_t region_len;
    uint64_t offset; /* in the region, a multiple of the block size */
    size_t len;      /* whole blocks, or to the region's end */
    size_t cap;      /* charged to the queue */
    uint8_t data[];
} FillItem;

/* A stretch that dodo_prefetch() was given: bytes of the region. */
typedef struct PrefetchRange {
    int rd;
    bool of_call; /* it was given for one read, and is forgotten with it */
    uint64_t at, end;
} PrefetchRange;

/* The oldest first. */
typedef struct PrefetchList {
    PrefetchRange ranges[PREFETCH_RANGES_MAX];
    unsigned count;
} PrefetchList;

/* Regions that were lost or came back one by one, for one reason at one host. */
enum { STORY_SUMS_MAX = 16 };
typedef struct StorySum {
    bool back;
    const char *reads; /* lost: what serves it now */
    uint8_t loss;      /* enum Loss */
    Addr host;
    int rd, stripe;    /* the last one */
    unsigned count;    /* since the last line */
    uint64_t until_ns; /* the end of the period; 0: not in use */
} StorySum;

/* Regions leave hosts that are being drained (move.c). */
typedef struct Moves {
    bool wanted; /* the manager said that there are such hosts, and was not asked which, */
    uint64_t hosts[MOVES_MAX]; /* their epochs */
    unsigned hosts_count;
    uint64_t until_ns;      /* what it said holds so long */
    uint64_t rate, pace_ns; /* bytes a second, 0: as it comes; nothing is copied before */
    ListNode under_way;     /* of Region */
    ListNode wanting;       /* of Region: without memory, their other copies are to be moved */
    uint64_t rest_until_ns, rest_ns; /* the refraction period of these */
    unsigned at;                     /* the next place of the table that is looked at */
    unsigned count_at;               /* ... for what there is left to copy */
    uint64_t counted, left_blocks, copied_bytes;
    unsigned refused; /* openings elsewhere in a row that found no room */
    RegionAddress done[MOVES_DONE_MAX];
    unsigned done_count;
} Moves;

/* What the program has asked of hosts since a copy's last piece was read (heal.c), which the next
 * one must not keep waiting for long. */
typedef struct HealBeside {
    uint64_t calls, bytes;
    uint64_t piece_blocks; /* of the last one */
} HealBeside;

/* What the log (story.h) has said, and waits to say. */
typedef struct Story {
    enum { MANAGER_NEW, MANAGER_THERE, MANAGER_LOST } manager_is;
    Addr manager_at;            /* where it answered last */
    bool manager_waits;         /* it was asked, and has not answered since, */
    uint64_t manager_asked_ns;  /* first then */
    unsigned lease_told;        /* bit per enum FileLease: why a region is not retained */
    const char *refused_reason; /* of the last region that was refused */
    uint64_t refused_until_ns;  /* the same is no news until then */
    StorySum sums[STORY_SUMS_MAX];
} Story;

struct Client {
    ClientConfig config;
    Env env;
    ClientHooks hooks;
    /* all below under the lock */
    Finder manager; /* of its addresses */
    Fence fence;    /* of managers */
    Region **table; /* by index; NULL: free */
    uint16_t *generations;
    unsigned table_size, free_hint;
    unsigned count;
    ListNode regions;
    ListNode idle;      /* of Region: to be established again, */
    ListNode lone;      /* ... the other copy of which is active */
    ListNode uneven;    /* of Region: to be healed from its other copy */
    uint64_t uneven_ns; /* none of them is due before */
    ListNode copies;    /* of Region: active ones that have a twin */
    uint64_t digest;    /* over the claimed regions */
    uint32_t claimed;
    Numbers ids;
    /* None of the copies that nobody reads is looked at before. */
    uint64_t look_ns;
    uint64_t refraction_until_ns;
    uint64_t refraction_ns; /* of the failures so far; 0: none since the last success */
    uint64_t copies_until_ns, copies_ns; /* the same for second copies, which nobody lacks */
    bool manager_late;                   /* it left an OPEN unanswered, and was not heard since */
    struct {
        uint64_t epoch, until_ns;
        unsigned logged;    /* bit per enum HostFault */
    } lost[OPEN_AVOID_MAX]; /* hosts that did not answer of late: new regions go elsewhere */
    unsigned lost_next;
    OpReport reports[REPORTS_MAX];
    unsigned reports_count;
    ListNode fills;
    size_t fill_bytes;
    PrefetchList prefetch;
    Moves moves;
    HealBeside beside;
    Story story;
    bool alive_due; /* something for cmd to know before the next keep-alive */
    ClientStats stats;
    CreditPool credit;       /* atomic, outside the lock */
    _Atomic bool stopped;    /* outside the lock */
    _Atomic uint32_t losses; /* of regions' memory; changes under the lock */
};

/* Per session of a channel. */
typedef struct ChannelPeer {
    PathEstimate path;
    PathProbe probe;
    Debt debt;
    uint16_t read_segment, write_segment;
} ChannelPeer;

/* What a call is doing on the network. */
enum RunKind { RUN_NONE, RUN_REQUEST, RUN_READ, RUN_WRITE };
enum RunResult {
    RUN_RUNNING,
    RUN_DONE,         /* complete, or answered */
    RUN_REFUSED,      /* with status */
    RUN_TIMED_OUT,    /* nobody there */
    RUN_HOST_CHANGED, /* another epoch, or no imd at all, answers there */
};

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

/* What goes on between the channel and one peer: a request, a read or a write. */
typedef struct CallRun {
    uint8_t kind;         /* enum RunKind */
    bool begun;           /* the machine was started */
    bool renewed;         /* the session was made for this run, after one of another epoch */
    uint32_t progress;    /* of the transfer when it last made some, */
    uint64_t progress_ns; /* and when that was, on the listening clock; so are all here */
    bool asking;          /* it counts in its host's Debt, */
    uint16_t counted;     /* with so many finished chunks */
    Addr peer;
    Session *session;
    uint64_t give_up_ns; /* while the session is not up; 0: to be set. Of a request: another manager
                            is asked then; TIME_NEVER: there is none */
    uint8_t pings;       /* that the manager has not answered */
    uint8_t passed;      /* managers in a row that stand by; */
    bool rests;          /* all of them do: the request waits a while */
    uint16_t status;     /* of RUN_REFUSED */
    uint32_t losses;     /* Client.losses when the region was last known to have its memory */
    /* what the machine is started with once the session is up */
    RegionAddress address;
    uint8_t write_kind;
    uint64_t offset; /* in the region */
    size_t len;
    uint8_t *buf;
    uint64_t number, transfer;
} CallRun;

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
    uint64_t counter, seed;         /* of the region, when the window was asked for */
    unsigned turns;                 /* of this window to the other copy, for what the one lacks */
    uint64_t asked_ns, patience_ns; /* when it was asked for; how long that may be silent */
    uint64_t asked_clock_ns;        /* the same on the listening clock */
    uint64_t
        turn_ns; /* there: when silence is looked at next; 0: it is not, for there is one copy */
    uint64_t miss_block, miss_end;  /* block run being read from the file */
    bool hints;                     /* something is announced: of this region, or of another */
    uint64_t extent_at, extent_end; /* what else is, from the next byte on; the same: nothing */
    FillItem *fill;                 /* being read; NULL: straight into the user's buffer */
    bool short_file;                /* the file ended: the call ends too */
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
    /* Of a read: checksums of the filled blocks of what has come, from the first block on. */
    uint32_t sums[TRANSFER_BLOCKS_MAX];
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

enum { STATES_MAX = CHANNEL_CALLS_MAX + PIECES_EXTRA + BACKGROUND_CALLS };

struct Channel {
    Client *client;
    Endpoint *endpoint;
    ChannelSink sink;
    bool background;
    Call *calls, *calls_last; /* the oldest first: so credit goes round */
    Wake wake;                /* the earliest of theirs, or earlier */
    uint32_t losses;          /* Client.losses when they were last looked at */
    bool news;                /* for channel_take_news() */
    CreditShare together;     /* that their transfers have */
    ListenClock clock;        /* of its requests, transfers and sessions' waits */
    uint64_t next_transfer;   /* names of writes and fills: none is used again on this channel */
    unsigned extra;           /* pieces, but for one of each call */
    bool again;               /* a call's pieces have changed: it goes on in this very step */
    uint64_t turns;           /* calls so far, but for pieces */
    /* background */
    Call own[BACKGROUND_CALLS];
    bool own_busy[BACKGROUND_CALLS];
    uint64_t alive_at_ns;
    struct {
        Session *session; /* with a manager's address that is looked at; NULL: none is */
        unsigned at;      /* its place in the list */
        bool over;        /* it has answered */
    } scout;              /* of the background */
    bool want_list;
    uint32_t lists;
    uint8_t lane_bits;
    unsigned states_count;
    uint64_t states_free[(STATES_MAX + 63) / 64]; /* bit i: the i-th is */
    CallState states[]; /* an ask's lane is the index of the call's state */
};

/* ---- table.c ---- */
void client_lock(Client *c);
void client_unlock(Client *c);
/* Who is asked; kind ADDR_NONE: nobody, for none is named or its names have no address yet. */
Addr client_manager(Client *c);
/* @peer has not answered for a while, or not at all: who is asked now. */
Addr client_manager_next(Client *c, const Addr *peer);
Addr client_manager_silent(Client *c, const Addr *peer);
/* Whether the manager of this session may be asked: it is active, and has no older lease than one
 * that was heard. */
bool client_manager_allowed(Client *c, const Session *s, uint64_t now_ns);
/* It has answered. */
void client_manager_heard(Client *c, const Session *s, uint64_t now_ns);
/* It has a newer lease than any that was heard: it is asked from now on. */
void client_manager_scouted(Client *c, const Session *s, uint64_t now_ns);
/* How many addresses it may have. */
unsigned client_managers(Client *c);
void client_log(Client *c, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether anybody reads lines of this level. */
bool client_logs(Client *c, int level);
void client_settle(Client *c, uint64_t id); /* this request is over */
/* All below under the lock. */
Region *client_region(Client *c, int rd);      /* NULL: not open */
Region *client_user_region(Client *c, int rd); /* ... or closing, or a stripe: none of a user's */
/* The host of an active region, as dodo status names it. */
Addr client_region_named(const Region *r);
bool region_write_overlaps(const Region *r, uint64_t first_block, uint64_t last_block);
/* The stripe that holds @offset of the region (the last one holds its end), its first copy, and the
 * offset in that stripe; the region itself if it has no members. */
Region *region_part(Region *r, uint64_t offset, uint64_t *ret_inner);

/* ---- claims.c: all under the lock ---- */
uint64_t region_claim(const Region *r); /* the share of an active one in Client.digest */
void client_region_activate(Client *c, Region *r, const OpOpenReply *reply, bool reused,
                            uint64_t now_ns);
void client_region_deactivate(Client *c, Region *r, uint64_t now_ns); /* it is lost */
/* The same of an active one, but that nothing is lost: the other copy has all that it has. */
void client_region_retire(Client *c, Region *r, uint64_t now_ns);
void client_region_unclaim(Client *c, Region *r);
/* It has no memory now; the background tries again later, if it is of the kind. */
void client_region_idle(Client *c, Region *r, uint64_t now_ns);
/* In the list of its kind. */
void client_region_file(Client *c, Region *r);
/* ... at once: the manager was not asked for it, or has not answered yet. */
void client_region_ask(Client *c, Region *r, uint64_t now_ns);
/* mopen's request for memory for it is over, if there is one: what it gave is not claimed, and so
 * is freed. */
void client_region_unask(Client *c, Region *r);
/* ... then. */
void client_region_soon(Client *c, Region *r, uint64_t at_ns);
/* No memory was given: the period in which nobody asks begins. Memory was given: it is over. */
void client_refract(Client *c, uint64_t now_ns);
/* ... in which nobody asks for second copies, which nobody lacks. */
void client_refract_copies(Client *c, uint64_t now_ns);
/* ... in which nobody asks for what a drain waits for (move.c). */
void client_refract_moves(Client *c, uint64_t now_ns);
void client_refract_end(Client *c, bool copy);
bool region_wants_memory(const Region *r);
/* Remote memory serves it, or some of it. */
bool region_active(const Region *r);
/* Calls on it do not fail: what is not remote comes from the file. */
bool region_file_serves(const Region *r);
/* For another process to open its memory: it is not lost. */
bool region_waits(const Region *r);

/* ---- loss.c: but for client_report(), they take the lock themselves ---- */
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

/* ---- client.c ---- */
/* Under the lock. */
int client_region_new(Client *c, Region **ret); /* 0, -ENOMEM, -EMFILE */
/* Out of the table, with its stripes; free it after unlocking. */
void client_region_remove(Client *c, Region *r);
/* Not under the lock. */
void client_region_free(Client *c, Region *r); /* releases the file */
/* The file held @count bytes of what the item is for: offers what may be filled of it. */
void client_fill_read(Client *c, FillItem *item, size_t count);
/* Offers all of it. False: there is no room for it in the queue. */
bool client_fill_put(Client *c, FillItem *item);
/* Under the lock: @item, with room for as many bytes, is for [start, end) of the region, which is
 * active, and for its other copy. False: there is no room for it in the queue. */
bool fill_item_init(const Client *c, const Region *r, FillItem *item, uint64_t start, uint64_t end);
FillTarget fill_target(const Region *r); /* under the lock */
/* The item is over for this copy. True: it is for another one now. */
bool fill_item_next(FillItem *item);

/* ---- checks.c ---- */
/* Of consecutive whole blocks. */
enum { BLOCK_SUMS_MAX = TRANSFER_BLOCKS_MAX };
typedef struct BlockSums {
    uint64_t first;
    unsigned count;
    uint32_t sum[BLOCK_SUMS_MAX];
} BlockSums;
/* The sums of the whole blocks in [from, from + len) of the region, at most BLOCK_SUMS_MAX; the
 * region's end ends its last block. None if nothing is checked. @seed: the region's, read under the
 * lock. */
void block_sums(const Client *c, uint64_t region_len, uint64_t seed, uint64_t from,
                const uint8_t *data, size_t len, BlockSums *ret);
/* All below under the lock. The region has a new address: nothing is known of it. */
void checks_begin(Client *c, Region *r);
void checks_end(Region *r);
/* There was no memory for what is to be known: tries once more. Until then no block is believed. */
void checks_want(Client *c, Region *r);
void checks_forget(Region *r, uint64_t first, uint64_t last);
/* The file held these bytes, as it was read after the write counter stood at @counter. */
void checks_read(Region *r, const BlockSums *sums, uint64_t counter);
/* The write that is on record for these blocks writes these bytes. */
void checks_written(Region *r, const BlockSums *sums);
/* Is there one of each? Or none are kept. */
bool checks_known(const Region *r, uint64_t first, uint64_t last);
/* It is over: bytes that were read from the file before it say nothing now. */
void checks_write_over(Region *r, uint64_t first, uint64_t last);
/* What a host returned, asked when the write counter stood at @counter. UNKNOWN: that cannot
 * be checked, so it is not used. BAD: it is not what the host was given. */
enum CheckVerdict { CHECK_GOOD, CHECK_UNKNOWN, CHECK_BAD };
enum CheckVerdict checks_compare(const Region *r, uint64_t block, uint32_t sum, uint64_t counter);

/* ---- ... those of a retained region, from one opening to the next ---- */
/* The record of @r, or NULL: nothing is checked, or there is no memory. free() it. Under the lock.
 */
CheckRecord *checks_record(const Client *c, const Region *r, const Stamp *stamp, size_t *ret_len);
/* An empty one, to be read into. */
CheckRecord *checks_record_new(const CheckName *name, size_t *ret_len);
/* The region was just activated with what a former opening left. False: the record is not of it. */
bool checks_restore(Region *r, const CheckRecord *record, size_t len);

/* ---- the channel ---- */
/* The channel's listening clock. Calls begin and are stepped in monotonic time; what they have
 * under way on the network goes by this. Silence counts only while the listener itself ran. */
static inline uint64_t channel_clock(Channel *ch, uint64_t now_ns)
{
    return RULE(OWN_SILENCE) ? listen_clock_at(&ch->clock, now_ns) : now_ns;
}
static inline bool wake_has_come(const Wake *w, uint64_t clock_ns)
{
    return w->at_next || clock_ns >= w->due_ns;
}
/* Something happened to the call: step it. */
static inline void call_stir(Call *call)
{
    call->wake.at_next = true;
    call->channel->wake.at_next = true;
}
/* Something that may concern any call on the channel. */
static inline void channel_stir(Channel *ch)
{
    for (Call *call = ch->calls; call; call = call->next)
        call_stir(call);
}

/* ---- run.c: requests and transfers over a session that may have to be set up first ---- */
/* The id was taken under the lock; the caller settles it. */
void run_request(Call *call, uint64_t id, uint16_t op, const uint8_t *body, size_t len,
                 const RequestTimes *times, uint64_t now_ns);
void run_read(Call *call, const Addr *host, const RegionAddress *address, uint64_t offset,
              uint8_t *buf, size_t len, uint64_t now_ns);
void run_write(Call *call, const Addr *host, const RegionAddress *address, enum WriteKind kind,
               uint64_t offset, const uint8_t *data, size_t len, uint64_t number, uint64_t now_ns);
/* Sends what is due; returns the state. */
enum RunResult run_step(Call *call, uint64_t now_ns);
/* Between run.c and run_request.c. */
void run_prepare(Call *call, enum RunKind kind, const Addr *peer, uint64_t clock_ns);
Session *run_session(Call *call, uint64_t now_ns); /* up, or NULL */
void run_send(Channel *ch, Session *s, uint8_t type, const uint8_t *payload, size_t len);
enum RunResult run_request_step(Call *call, uint64_t now_ns);
/* The manager was heard, or begins to be asked in this session. */
void run_request_heard(CallState *st, uint64_t clock_ns);
bool run_is_held(const Call *call);      /* by want of credit: others' progress lets it go on */
uint64_t run_deadline(const Call *call); /* on the listening clock */
bool run_is_brief(const Call *call);     /* one chunk of data at most */
void run_session_up(Call *call, Session *session, uint64_t now_ns);
/* No call is on it afterwards. */
void runs_session_closed(Channel *ch, Session *session);
/* The same, and the session is forgotten: a new one is begun when somebody wants it. */
void channel_forget(Channel *ch, Session *s);
void run_data(Call *call, Session *session, const WireData *data, uint64_t now_ns);
/* Any other message. */
void run_message(Call *call, Session *session, uint8_t type, const uint8_t *payload, size_t len,
                 uint64_t now_ns);
void run_end(Call *call);

/* ---- calls.c: a call's place on its channel ---- */
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

/* ---- retain.c: whether a region may stay in remote memory for the next run ---- */
/* At opening: leaves @given retainable only if nobody can be writing its file. */
void retain_judge(Client *c, FileGiven *given, unsigned flags);
/* Only what was never written in this opening. */
bool retain_may_release(const Region *r);
/* ... and only if its file is unchanged since the opening, nobody writes it, and each later change
 * will change its stamp. */
bool retain_is_fresh(Client *c, const Region *r, const FileResult *result);
/* The same of a region that is shared; nothing is logged. */
bool retain_is_proven(const Region *r, const FileResult *result);

/* ---- call_*.c: the call begins, one of each kind ---- */
/* On these bytes of the region, which has no members; @len > 0. The call has a state and was
 * counted in its region's refs. Under the lock. */
void call_read_begin(Call *call, Region *r, uint64_t offset, void *buf, size_t len,
                     uint64_t now_ns);
void call_write_begin(Call *call, Region *r, uint64_t offset, const void *buf, size_t len);
/* Of a write, or of what is unfilled as by one: how long the window is that begins @at bytes after
 * its start. */
size_t write_window_len(const CallState *st, size_t at);
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

/* ---- copies.c: under the lock ---- */
bool region_has_filled(const Region *r, uint64_t block); /* as far as was seen */
void region_saw_filled(Client *c, Region *r, uint64_t block, bool filled);
/* They are being unfilled: by a discard, or as the file of a write failed. What was asked before
 * that says nothing of them. */
void region_gave_up(Client *c, Region *r, uint64_t first, uint64_t last);
/* Does an answer, to what was asked at @counter, tell that blocks are filled? */
static inline bool region_answer_counts(const Region *r, uint64_t counter)
{
    return !RULE(GIVEN_UP) || counter >= r->blocks.given_up;
}

/* ---- stripe.c: calls on all members of a region ---- */
bool stripe_wanted(const Client *c, unsigned flags, uint64_t len);
void stripe_open_start(Call *call, const FileGiven *given, uint64_t len, uint64_t offset,
                       unsigned flags);
void stripe_close_start(Call *call, Region *r);

/* ---- background.c ---- */
void background_step(Channel *ch, uint64_t now_ns);
/* A session is up. */
void background_up(Channel *ch, const Session *s, uint64_t now_ns);
uint64_t background_deadline(Channel *ch);

/* ---- prefetch.c ---- */
bool prefetch_due(Client *c); /* under the lock */
/* Under the lock: a call on a region, that is no stripe, is over. True: its close waits for that.
 */
bool region_leave(Client *c, Region *top);
/* The next piece, whose region has one call more in progress. False: none now. */
bool prefetch_start(Client *c, Region **ret, FillItem **ret_item);
extern const CallOps prefetch_ops;
/* Under the lock: @r lacks [*start, *end), bytes of it. If that was announced: they become all that
 * was announced of its extent, from @least on, and that is announced no more. */
bool prefetch_extent(Client *c, Region *r, uint64_t least, uint64_t *start, uint64_t *end);

/* What the manager answered to OP_OPEN. 0: it is a region on a host that may be used; else why not.
 */
enum OpenAnswer { OPEN_ANSWER_GOOD, OPEN_ANSWER_SENSELESS, OPEN_ANSWER_ELSEWHERE };
enum OpenAnswer open_answer(const Client *c, const Request *q, OpOpenReply *ret);
/* Under the lock: the OPEN request of a region, for mopen and for establishing it again. @flags:
 * DODO_*; @keep: REGION_RETAIN, REGION_FRESH; @apart: the epoch of a host that it must not be on;
 * 0: none. */
size_t open_body(const Client *c, const FileKey *key, const Stamp *stamp, uint64_t offset,
                 uint64_t len, unsigned flags, uint32_t keep, uint64_t apart, uint64_t now_ns,
                 uint8_t *out);

static inline bool region_address_equal(const RegionAddress *a, const RegionAddress *b)
{
    return a->epoch == b->epoch && a->region == b->region && a->opening == b->opening &&
           id128_equal(&a->capability, &b->capability);
}
/* Whose calls in progress, file and descriptor it is. */
static inline Region *region_top(Region *r)
{
    return r->stripe.parent ? r->stripe.parent : r;
}
/* The regions that have, or may have, memory for one that is no member: its members; or itself, and
 * the other copy if it has one. The first copies come before the second ones. */
static inline unsigned region_units(const Region *r)
{
    return r->stripe.of ? r->stripe.members : r->mirror.twin && !r->stripe.parent ? 2 : 1;
}
static inline Region *region_unit(const Region *r, unsigned i)
{
    return r->stripe.of ? r->stripe.of[i] : i ? r->mirror.twin : (Region *)(uintptr_t)r;
}
/* As the user sees them: of one that has members for its copies alone there are none. */
static inline unsigned region_stripes(const Region *r)
{
    return r->stripe.count > 1 ? r->stripe.count : 0;
}
static inline uint64_t block_of(uint64_t offset)
{
    return offset / WIRE_BLOCK_SIZE;
}

/* Of @len bytes from the start of a block on. */
static inline uint64_t blocks_in(uint64_t len)
{
    return (len + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE;
}

#endif
