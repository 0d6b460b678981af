/* SPDX-License-Identifier: MIT */
/* The client's core: region table, hosts, refraction, and every call as a state machine. Pure:
 * datagrams, times and results of file operations come in; datagrams and needs go out. A call says
 * what it needs, and the shell does that (libdodo/shell*.c with blocking calls; the simulation with
 * events).
 *
 * There are two objects. The Client is the process's shared state: table, hosts, request ids, fill
 * queue. Its functions and the calls take the hooks' lock around it, for a few instructions at a
 * time. A Channel belongs to one socket: endpoint, ask numbers, path estimates, and the calls that
 * run on it, as many as it was made for. One thread at a time uses it, and it is never locked.
 *
 * No function here calls a hook or sink while it holds the lock, except unlock and wake. */
#ifndef DODO_LIBDODO_CORE_H
#define DODO_LIBDODO_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/blocksum.h"
#include "base/env.h"
#include "libdodo/program_page.h"
#include "proto/endpoint.h"
#include "proto/finder.h"
#include "proto/request.h"
#include "proto/transfer.h"
#include "proto/wire.h"

typedef struct Client Client;
typedef struct Channel Channel;
typedef struct Call Call;
typedef struct Share Share; /* a process's part in a region that several read */

/* ---- the process ---------------------------------------------------------------------------- */

typedef struct ClientHooks {
    void (*lock)(void *ctx); /* both NULL where there is one thread */
    void (*unlock)(void *ctx);
    /* A call that is NEED_BLOCKED may go on now (any thread's; channel_step() finds out). */
    void (*wake)(void *ctx);
    /* The background has something new to do: run channel_step() on its channel. */
    void (*wake_background)(void *ctx);
    /* The region is gone and no file write is in progress: unlock and close its file. */
    void (*file_release)(void *ctx, void *file);
    /* The region is gone, or it never came to be: leave those who read the same. NULL: nothing is
     * shared. */
    void (*share_end)(void *ctx, Share *share);
    /* Lines for the log; level as in DODO_LOG_*; NULL: none. */
    void (*log)(void *ctx, int level, const char *text);
    /* Whether anybody reads lines of this level: others are not made. NULL: all are read. */
    bool (*log_wanted)(void *ctx, int level);
    /* The manager's names are to be resolved: client_found() follows. NULL: there are none. */
    void (*resolve)(void *ctx);
    void *ctx;
} ClientHooks;

typedef struct ClientConfig {
    Addr manager;
    const Finder *finder;                      /* where it may be; NULL: at @manager alone */
    Id128 self;                                /* this process's session in the cluster: random */
    uint64_t refraction_ns, refraction_max_ns; /* it doubles while failures repeat */
    uint64_t transfer_deadline_ns;             /* silence of a host after which it is dead */
    uint64_t alive_ns;                         /* between keep-alives */
    uint64_t reopen_ns;        /* DODO_FALLBACK: between tries to establish regions again */
    RequestTimes request;      /* to the manager */
    uint64_t credit_cap_bytes; /* until client_receive_granted() gives the real value */
    unsigned regions_max;      /* stripes and copies count */
    BlockSumFn *block_sum;     /* what a host returns is checked by it; NULL: it is believed */
    size_t fill_queue_bytes;   /* offered fills beyond it are not made */
    unsigned generation;   /* of the first descriptors: client_generation() of the client before */
    uint64_t stripe_bytes; /* DODO_STRIPE: of a stripe, longer where a region would have too many;
                              0: the default */
    bool loopback_only;    /* no key, and not insecure: a host elsewhere is refused */
} ClientConfig;

Client *client_new(const ClientConfig *config, const Env *env, const ClientHooks *hooks);
/* What the kernel granted the sockets for receiving, as it counts it: bounds the credit. */
void client_receive_granted(Client *c, size_t bytes);
/* What the manager's names stand for; none: they could not be resolved. */
void client_found(Client *c, const Addr *found, unsigned count);
/* All regions must be closed: a client that begins with this gives none of their descriptors. */
unsigned client_generation(const Client *c);
/* All channels and calls must be gone. Releases the files of regions that are left. */
Client *client_free(Client *c);
/* The process is about to end: a close waits no longer than this for the manager, and no close does
 * after one that was not answered. */
void client_ends(Client *c, uint64_t patience_ns);
/* The process ends: from now on nothing is sent, received or ciphered. All regions are inactive,
 * and calls under way end as if nobody answered. No thread may be in a channel meanwhile. */
void client_stop(Client *c, uint64_t now_ns);

typedef struct ClientStats {
    uint64_t regions, active; /* now */
    uint64_t requests;        /* to the manager */
    uint64_t fills_offered, fills_done, fills_refused, fills_dropped;
    uint64_t hosts_lost, regions_lost, corrupt, poisoned, voided, refractions, reads_beside_writes;
    uint64_t reads, writes, blocked;
    uint64_t prefetches;        /* pieces read from the file */
    uint64_t extents;           /* reads that brought what was announced around them */
    uint64_t turns;             /* reads that went on at the other copy */
    uint64_t heals;             /* pieces read from one copy for the other */
    uint64_t moves;             /* copies that left a host which is drained */
    uint64_t shared, inherited; /* regions that another process had opened: used, taken over */
} ClientStats;
void client_stats(Client *c, ClientStats *ret);
/* What the program's own regions have done for it, for its page: under the hooks' lock. False:
 * that is not new. */
bool client_figures(Client *c, ProgramFigures *ret);
/* Invariants, for tests: digests, lists and counts agree. */
bool client_check(Client *c);

typedef struct ClientRegionInfo {
    Addr host;  /* its data thread */
    Addr named; /* the host, as dodo status names it */
    RegionAddress address;
    uint64_t len, filled_bytes, mirrored_bytes, hits, misses, written;
    unsigned flags; /* DODO_* as opened */
    bool active, reused;
    bool guest, waits; /* another process has opened it, or is about to */
    unsigned stripes;  /* 0: it is not striped, else what stands above is the sum, or the first
                          active one's; so of copies, but for what is filled */
    unsigned copies;   /* active, of the stripe that has the least */
} ClientRegionInfo;
/* 0, or -EINVAL. */
int client_region_info(Client *c, int rd, ClientRegionInfo *ret);
/* Of the region's @member-th one: the stripes, then the second copies of them; of one without,
 * there is the 0th, itself. */
int client_stripe_info(Client *c, int rd, unsigned member, ClientRegionInfo *ret);
/* Could what this member has of these bytes of the region be read from it now, as far as the
 * process knows? A number of that copy's own, or 0; UINT64_MAX: it has no part of them. For
 * tests. */
uint64_t client_copy_holds(Client *c, int rd, unsigned member, uint64_t from, uint64_t to);
/* Has every stripe of the region two copies, which have the same blocks? For tests. */
bool client_copies_even(Client *c, int rd);
/* Sets a bit of @map for each block of the region that its hosts may hold: of one that was found
 * retained, those with a checksum. 0, or -EINVAL. */
int client_region_held(Client *c, int rd, uint64_t *map);
/* A hint that these bytes of the region will be read. The background reads from the file what was
 * not seen filled, and fills it, a piece at a time. 0; -ENOMEM: the region is not active;
 * -EINVAL. */
int client_prefetch(Client *c, int rd, off_t offset, size_t len);
/* Next open descriptor after @rd (-1 starts), or -1. */
int client_region_next(Client *c, int rd);

/* ---- channels ------------------------------------------------------------------------------- */

typedef struct ChannelSink {
    /* A datagram to send as it is. */
    void (*datagram)(void *ctx, const Addr *to, const uint8_t *datagram, size_t len);
    /* A burst of WRITE data; the memory stays until the call that owns it is over. The shell
     * seals or scatters it with channel_endpoint(). */
    void (*burst)(void *ctx, Session *session, const Burst *burst);
    /* Largest datagram to @to without fragmentation, [bytes of payload]. */
    size_t (*datagram_max)(void *ctx, const Addr *to);
    void *ctx;
} ChannelSink;

/* @calls_max: calls at the same time, 1 .. CHANNEL_CALLS_MAX; the pieces of one do not count.
 * @background: this channel also sends keep-alives, claims and fills, establishes FALLBACK regions
 * again, and reads files for prefetches. Those are calls of its own beside the others. A client has
 * one such channel. @endpoint is transferred. NULL: no memory. */
enum { CHANNEL_CALLS_MAX = 128 };
Channel *channel_new(Client *c, Endpoint *endpoint, const ChannelSink *sink, unsigned calls_max,
                     bool background);
Channel *channel_free(Channel *ch); /* its calls must be over */
/* The same with calls on it that are no concern of this process: those of its parent's threads. */
Channel *channel_abandon(Channel *ch);
Endpoint *channel_endpoint(Channel *ch);
/* Walk over the calls that are not over, the core's own among them: each may need its shell. NULL
 * starts and ends. After call_file_done() or channel_step() start again. */
Call *channel_next(Channel *ch, Call *after);
/* Has a call ended, or come to need its file, since this was last asked? If not, the owner of many
 * calls need not walk over them. */
bool channel_take_news(Channel *ch);

/* One datagram came. It is overwritten. Its effects may end calls. */
void channel_input(Channel *ch, const Addr *from, uint8_t *datagram, size_t len, uint64_t now_ns);
/* Several that came joined: each of @segment bytes but the last; 0: it is one. */
void channel_input_joined(Channel *ch, const Addr *from, uint8_t *datagrams, size_t len,
                          size_t segment, uint64_t now_ns);
/* Sends what is to be sent now, fires timers, moves all calls on. Call it after input, after
 * call_*_start(), after call_file_done(), and at the deadline. */
void channel_step(Channel *ch, uint64_t now_ns);
/* TIME_NEVER: nothing to do before a datagram comes. A channel_step() much later than this means
 * that the process itself was stopped: all clocks of the channel start again. */
uint64_t channel_deadline(Channel *ch);
/* What its calls wait for comes in one piece, if it comes. It is no stream of data, which is best
 * awaited without falling asleep in between. */
bool channel_is_brief(const Channel *ch);
/* Its calls have more to send, or data comes: it wants to be served before its hosts' last words.
 */
bool channel_is_busy(const Channel *ch);

/* ---- calls ---------------------------------------------------------------------------------- */

enum CallNeed {
    NEED_NETWORK,     /* datagrams, or the channel's deadline */
    NEED_BLOCKED,     /* hooks.wake */
    NEED_FILE_READ,   /* pread(file, file_buf, file_len, file_offset), whole or to the file's end */
    NEED_FILE_WRITE,  /* pwrite(file, file_buf, file_len, file_offset): start it. Until
                         call_file_done() the channel may be served: the halves overlap */
    NEED_FILE_SYNC,   /* fdatasync(file) */
    NEED_CHECKS_SAVE, /* keep the CheckRecord in [file_buf, file_len) for later processes of this
                         user, in place of any with the same name */
    NEED_CHECKS_LOAD, /* read the record kept under the name that file_buf begins with, whole, up to
                         file_len bytes; the result is how many, 0: there is none */
    NEED_FILE_STAMP,  /* the file's stamp now */
    NEED_SHARE,       /* join those who read the same: file_buf is a ShareAsk */
    NEED_NOTHING,     /* over: result, error */
};

/* What must be known of a retained region's blocks to trust what its host returns. The client's
 * host keeps it, not that host. */
typedef struct CheckName {
    FileKey key;
    uint64_t offset, len; /* of the region (of the stripe), in the file */
} CheckName;
typedef struct CheckRecord {
    CheckName name;
    uint64_t version;
    Stamp stamp;
    uint64_t seed;
    uint32_t sums[]; /* one a block; 0: not known */
} CheckRecord;
enum { CHECK_RECORD_VERSION = 1 };

/* Regions of several processes of a user on this host that hold the same bytes (sharing.h). */
typedef struct ShareName {
    CheckName name;
    Stamp stamp;
} ShareName;

/* A process's part in that. The shell has more behind it. */
typedef struct ShareMap ShareMap;
struct Share {
    ShareMap *map; /* memory of all of them */
    bool opener;   /* core: this one may open the region: nobody else may, until it ends */
};

typedef struct ShareAsk {
    ShareName name;
    Share *share; /* joined before: it becomes the opener, if there is none. NULL: it joins; and
                     remains NULL if it cannot */
    bool opener;  /* out: it is the one that opens the region, from now on */
    bool made;    /* out: nobody was there before, and the map is empty */
} ShareAsk;

/* What the kernel said to a request for a read lease, which it grants only while nobody has the
 * file open for writing, or mapped so. */
enum FileLease {
    LEASE_NOT_ASKED, /* the library has the file open for writing itself, or no description of its
                        own */
    LEASE_GRANTED,
    LEASE_WRITER,
    LEASE_REFUSED /* not the file's owner, or no leases on this file system */
};

typedef struct FileResult {
    ssize_t count; /* bytes, or 0 for SYNC and STAMP; -1: failed with error */
    int error;
    enum FileLease lease; /* STAMP: asked for just before the stamp was taken, */
    Stamp stamp;
    uint64_t taken_ns;   /* at this instant of the clock that stamps files, */
    uint64_t granule_ns; /* which the file system keeps at least so fine */
} FileResult;

/* What the shell found out about the file of an mopen. */
typedef struct FileGiven {
    uint64_t inode; /* by which the log names it */
    void *file;     /* the shell's own description, locked; owned by the call, then the region,
                       until hooks.file_release() */
    FileKey key;
    enum FileLease lease; /* DODO_RDONLY: asked for just before the stamp was taken */
    Stamp stamp;
    uint64_t taken_ns, granule_ns; /* of the stamp, as in FileResult */
    bool retainable; /* a file system known to keep honest stamps, and a key that others find */
    bool shareable;  /* core: the file has not changed for long enough, and nobody can write it */
    bool cached;     /* for a cache of this process, which counts the program's reads and writes */
} FileGiven;

/* A call made of others, its pieces: a vectored one, or one on several stripes of a region. It
 * holds no state of its channel itself. A few states are reserved for pieces, so that each such
 * call always gets on. Private: libdodo/call_group.c, stripe.c */
enum VectorKind { VECTOR_READ, VECTOR_WRITE, VECTOR_OFFER };
typedef struct CallGroup {
    bool on;
    enum VectorKind kind; /* of one that is no opening or closing */
    unsigned running;     /* pieces under way */
    struct iovec one;     /* of a call with one buffer */
    const struct iovec *iov;
    int iov_count, iov_at; /* the next piece begins in this one, */
    size_t iov_skip;       /* so far from its start */
    uint64_t offset;       /* of the whole, in the region */
    size_t len, begun;     /* bytes: of the whole, of the pieces begun */
    size_t end;            /* where a piece ended that was short or failed; SIZE_MAX: none */
    int error;             /* ... and why; 0: short */
    const char *reason;
    unsigned stripe, good; /* opening, closing: the next member; those that went well */
    bool lone;             /* opening: no more second copies are asked for */
    bool release;
    Stamp stamp;
} CallGroup;

/* When a call, or any call of a channel, is stepped. */
typedef struct Wake {
    bool at_next;    /* the channel's next step, whatever the time is */
    uint64_t due_ns; /* else: not before; on the channel's listening clock */
} Wake;

/* In the caller's storage, opaque but for these. */
struct Call {
    uint8_t need;      /* enum CallNeed */
    bool file_pending; /* what it needs of its file was taken up and is not done */
    bool held;         /* by call_hold() */
    void *file;        /* of the need */
    uint8_t *file_buf; /* not written through for NEED_FILE_WRITE */
    size_t file_len;
    uint64_t file_offset;
    ssize_t result;     /* when over */
    int error;          /* errno when result is -1 */
    const char *reason; /* text for dodo_last_error(), or NULL; static */
    bool unanswered;    /* close: the manager does not answer; asking more costs its time each */
    /* private: libdodo/call*.c */
    const struct CallOps *ops;
    uint8_t phase;
    Wake wake;
    uint64_t turn; /* of the channel's calls; a piece has that of its call */
    Channel *channel;
    struct Call *next, *prev;
    struct Region *region;
    struct CallState *state; /* NULL: it is made of others */
    struct Call *parent;     /* it is a piece of that one */
    struct Call *next_offer; /* of the region's: what the program gives of [offer_from, offer_to) */
    uint64_t offer_from, offer_to;
    uint64_t fills_put; /* a part of the file: the client's, when the last of its fills was */
    bool overtaken;     /* ... may be older than a write that was under way, or began since */
    CallGroup group;
};

/* What the program may have read of the file since then (CLOCK_REALTIME; UINT64_MAX: nothing) will
 * be given to the region: one whose file may have changed after it is neither retained nor shared.
 */
void retain_since(FileGiven *given, uint64_t since_ns);
/* Each attaches the call to the channel. Go on with channel_step() and look at need; after
 * NEED_NOTHING the storage is the caller's again. Argument errors end the call immediately. Start
 * no more calls at the same time than the channel was made for. */
void call_open_start(Call *call, Channel *ch, const FileGiven *given, uint64_t len, uint64_t offset,
                     unsigned flags, uint64_t now_ns);
void call_read_start(Call *call, Channel *ch, int rd, off_t offset, void *buf, size_t len,
                     uint64_t now_ns);
void call_write_start(Call *call, Channel *ch, int rd, off_t offset, const void *buf, size_t len,
                      uint64_t now_ns);
/* One call over several buffers, as preadv() and pwritev(). @iov stays the caller's and must not
 * change until the call is over. Reads: the pieces run beside each other. The result ends at the
 * first short piece, whatever comes after it; the call fails if a piece failed and none before it
 * was short. Writes: one piece after the other; the result is what reached the file, also when the
 * next piece failed. Adjacent small buffers are gathered into one piece. */
void call_readv_start(Call *call, Channel *ch, int rd, off_t offset, const struct iovec *iov,
                      int count, uint64_t now_ns);
void call_writev_start(Call *call, Channel *ch, int rd, off_t offset, const struct iovec *iov,
                       int count, uint64_t now_ns);
/* The buffers hold what the file holds there: fills the region's whole blocks with it. The result
 * is the number of bytes looked at, fewer if a write was under way beside. */
void call_offerv_start(Call *call, Channel *ch, int rd, off_t offset, const struct iovec *iov,
                       int count, uint64_t now_ns);
/* Reads [@from, @to) of the region's file and offers it, as far as there is room for it. The result
 * is the number of bytes that were read; fewer: the rest would have to wait for others, or the file
 * ends. */
void call_fill_start(Call *call, Channel *ch, int rd, uint64_t from, uint64_t to, uint64_t now_ns);
/* [@offset, @offset + @len) need not be in remote memory any longer: its whole blocks are unfilled
 * there. Result 0. */
void call_discard_start(Call *call, Channel *ch, int rd, off_t offset, size_t len, uint64_t now_ns);
void call_close_start(Call *call, Channel *ch, int rd, uint64_t now_ns);
void call_sync_start(Call *call, Channel *ch, int rd, uint64_t now_ns);
/* OP_LEAVE: the process goes; result 0, or -1 when the manager did not answer in @deadline_ns. */
void call_leave_start(Call *call, Channel *ch, uint64_t deadline_ns, uint64_t now_ns);
/* Region @region, which is kept on the host of that epoch, is opened to leave it (call_take.c). The
 * result is a descriptor that can only be closed. */
void call_take_start(Call *call, Channel *ch, uint64_t epoch, uint64_t region, uint64_t now_ns);

/* Right after the start: the call does not go on before call_release(). It is on its region all the
 * same, whose close waits for it. */
void call_hold(Call *call);
void call_release(Call *call);
/* Ends a call that has changed nothing: -1, ECANCELED. Its buffer is the caller's again. False: it
 * is too late for that, and the call goes on. Not while the shell does what the call needs of its
 * file, unless that was taken. */
bool call_cancel(Call *call);

/* The result of what the call needed. NEED_FILE_WRITE and NEED_FILE_READ: at any time after
 * call_file_taken(). The others: while the call needs it. Then channel_step(). */
void call_file_taken(Call *call); /* it is being done; need changes */
void call_file_done(Call *call, const FileResult *result, uint64_t now_ns);

#endif
