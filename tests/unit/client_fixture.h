/* SPDX-License-Identifier: MIT */
/* What the tests of the client's core run in: a manager that answers as each test wants and the
 * real core of an imd's data thread, on a clock of the test's own. The file is an array. */
#ifndef DODO_TESTS_CLIENT_FIXTURE_H
#define DODO_TESTS_CLIENT_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "dodo/dodo.h"
#include "imd/data.h"
#include "libdodo/core.h"
#include "libdodo/shared_map.h"

enum {
    FILE_BYTES = 1 << 20,
    FILE_BYTES_MAX = 3 << 20, /* for tests of more than one window of a transfer */
    POOL_BYTES = 4 << 20,
    CONTROL_PORT = 4711, /* of the imd, as the manager tells it */
    STRIPE_BYTES = 64 << 10,
    CHANNELS = 3, /* 0 is the background's */
    QUEUE_MAX = 512,
    DATAGRAM_MAX = 16384,
    SHARES_MAX = 4,
};

typedef struct Datagram {
    Addr from, to;
    size_t len;
    size_t segment; /* of each of several */
    uint8_t bytes[DATAGRAM_MAX];
} Datagram;

/* The datagrams under way, and how the network and the imd treat them. */
typedef struct WorldNet {
    Datagram queue[QUEUE_MAX];
    unsigned head, tail;
    unsigned datagrams;   /* to anyone */
    uint64_t datagram_ns; /* that each takes; 0: a microsecond */
    bool joins;           /* datagrams from the imd come joined */
    unsigned joined;
    size_t datagram_max; /* that the route promises; 0: 1472 */
    uint16_t segment;    /* of the imd's last answer */
    bool imd_dead;
    uint64_t trickle_ns; /* the imd serves one ask or write in so long, else it is busy; 0: all */
    uint64_t trickle_at;
    uint16_t refuse; /* the imd answers reads with this status; 0: it serves them */
    size_t path_mtu; /* larger datagrams vanish between client and imd; 0: none does */
} WorldNet;

/* How the manager behaves. */
typedef struct WorldManager {
    bool dead;
    bool slow;           /* it answers PINGs alone */
    bool other_refuses;  /* the other one answers that it stands by */
    unsigned standbys;   /* so often */
    unsigned asked_last; /* the host of the manager that was asked last */
    uint16_t open_status, close_status, leave_status, take_status;
    bool elsewhere; /* the manager names a host on the network */
    bool limited;   /* it has room for so many regions only: */
    unsigned room;
    uint64_t regions; /* ids given */
    RegionAddress last;
    bool reuse;             /* the next OPEN gets that region once more, as one that was retained */
    unsigned close_gone;    /* the next CLOSEs, so many, find no region */
    unsigned close_last;    /* it dies when it has answered so many more; 0: it does not */
    unsigned opens_unheard; /* it does what the next OPENs want, so many; its answers are lost */
    struct {
        uint64_t id;
        uint16_t status;
        size_t len;
        uint8_t body[WIRE_BODY_MAX];
    } opened[8];         /* its answers to the last OPENs, which repeats get once more */
    uint64_t drained[2]; /* epochs of hosts that it wants empty */
    unsigned drained_count;
    uint64_t move_rate;
    uint64_t second_room; /* the second host has none for longer regions; 0: for any */
    bool want_list;
} WorldManager;

/* What the manager has heard: how often, and the last one. */
typedef struct WorldHeard {
    unsigned opens, closes, releases, alives, claims, reports, moves_asked;
    unsigned avoided; /* hosts that the last OPEN named */
    OpMoves moves;
    RegionAddress closed;
    Stamp close_stamp;
    OpTake take;
    OpReport report;
    OpClaim claim;
    OpOpen open;
} WorldHeard;

/* The file, and how it behaves. */
typedef struct WorldFile {
    uint8_t bytes[FILE_BYTES_MAX];
    size_t size;
    int write_error, read_error;
    uint64_t error_from; /* file offset from which on these two are meant */
    uint64_t bytes_read;
    size_t write_short; /* bytes taken at most; 0: all */
    int sync_error;
    bool stamp_moved;
    enum FileLease lease;
    Stamp stamp; /* if its size is not 0 */
    uint64_t stamp_taken_ns;
    unsigned released, syncs;
} WorldFile;

typedef struct World {
    uint64_t now, random;
    bool locked;
    unsigned asleep; /* a channel whose thread is held up; 0: none */
    Client *client;
    Channel *channels[CHANNELS];
    Endpoint *manager, *imd;
    Endpoint *other; /* another manager; NULL: none */
    uint64_t epoch;  /* of the imd */
    uint64_t first_epoch;
    ImdData *data;
    uint8_t pool[POOL_BYTES];
    uint64_t pool_used;
    struct { /* another host with an imd; epoch 0: none. Regions that may not be on the first one
                go there */
        uint64_t epoch;
        bool dead;
        Endpoint *imd;
        ImdData *data;
        uint8_t pool[POOL_BYTES];
        uint64_t pool_used;
        unsigned reads;
    } second;
    /* with each READ that comes, the program has asked for so much; 0: it has not */
    uint64_t beside;
    WorldNet net;
    WorldManager cmd;
    WorldHeard heard;
    WorldFile disk;
    unsigned wakes, background_wakes;
    bool shares; /* processes share what they read; set before the start */
    struct {
        ShareMap *map;
        Share of[SHARES_MAX];
        bool joined[SHARES_MAX], opener[SHARES_MAX];
        bool elsewhere;      /* a process that is none of ours opens it */
    } shared;                /* of one region */
    uint8_t record[1 << 16]; /* what is kept of a retained region's blocks */
    size_t record_len;
} World;

extern World w;

/* A BlockSumFn. */
uint32_t sum_of(const void *data, size_t len, uint64_t seed);
extern int the_file;

/* ---- the wires ------------------------------------------------------------------------------ */

enum { HOST_MANAGER = 1, HOST_IMD = 2, HOST_SECOND = 3, HOST_OTHER = 5, HOST_CLIENT = 10 };
Addr addr_of(unsigned host);
void rng(void *ctx, void *buf, size_t len); /* as an Env wants it */
void wire(Addr from, const Addr *to, const uint8_t *bytes, size_t len);
/* What the other manager is, and from now on: see WireHello.epoch. */
void other_start(uint64_t number);
void other_is(uint64_t number);
void imd_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len);

/* ---- the manager ----------------------------------------------------------------------------- */

void manager_input(Endpoint *e, unsigned host, const EndpointInput *in);
/* A PING of the manager, in all sessions. */
void manager_ping(void);

/* ---- the file, and what is shared of it ------------------------------------------------------ */

Stamp file_stamp_now(void);
uint64_t file_stamp_taken(void);
void do_file(Call *call);
void hook_share_end(void *ctx, Share *share);

/* ---- the loop ------------------------------------------------------------------------------- */

void deliver(Datagram *d);
void channel_run(unsigned i);
/* Until nothing is on the wires and no timer is due before @until. */
void run_until(uint64_t until);
bool file_needed(const Call *call);
/* Of the calls on a channel, the core's own among them. */
Call *next_file_needed(Channel *ch);
/* The next datagram, or the next timer. */
void pump(void);
/* Moves all on until the call is over or one of its channel needs its file. Returns that one. */
Call *run_to_file(const Call *call);
/* One call to its end. */
ssize_t finish(Call *call);
void settle(void);

/* ---- calls ---------------------------------------------------------------------------------- */

extern int fail_error;
extern const char *fail_reason;
ssize_t done(Call *call);
int open_at(uint64_t len, uint64_t offset, unsigned flags);
ssize_t read_at(int rd, off_t offset, void *buf, size_t len);
ssize_t write_at(int rd, off_t offset, const void *buf, size_t len);
ssize_t close_rd(int rd);
ClientRegionInfo info(int rd);
ClientStats stats(void);
unsigned calls_on(Channel *ch);
void assert_reads_file(int rd, uint64_t region_offset, off_t offset, size_t len);
/* The first @len bytes of the file, of which its region at 0 has all in remote memory. */
void assert_reads_without_file(int rd, size_t len);
void write_some(int rd, off_t at, size_t len, uint8_t value);
/* The host remembers 64 numbers from the lowest open one: the write after these waits for it. */
void assert_writes_wait(int rd);

/* ---- set-up --------------------------------------------------------------------------------- */

void imd_start(uint64_t epoch);
void imd_stop(void);
enum { SECOND_EPOCH = 990 };       /* of the first second one */
void second_start(uint64_t epoch); /* in place of one that was there */
/* Checks (@block_sum) would hide what most tests are there for. */
void set_up_with(size_t file_bytes, BlockSumFn *block_sum);
int set_up_two(void **state); /* with a second host */
int set_up(void **state);
int tear_down(void **state);

#endif
