/* SPDX-License-Identifier: MIT */
/* The programs: processes of several threads, which open regions and use them. */
#ifndef DODO_TESTS_SIM_PROCESS_H
#define DODO_TESTS_SIM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/sim/alloc.h"
#include "tests/sim/oracle.h"
#include "tests/sim/params.h"
#include "tests/sim/port.h"

typedef struct Process Process;

/* What the program knows of a region it opened. */
typedef struct Desc {
    enum { DESC_FREE, DESC_OPENING, DESC_OPEN, DESC_CLOSING } state;
    int rd;
    SimFile *file;
    SimHandle *handle;
    uint64_t offset, len;
    unsigned flags;
    unsigned users;
    bool lost, killed_writing;
    bool written;   /* since the opening */
    Stamp stamp;    /* at the opening */
    bool settled;   /* ... and a later change would have changed it */
    bool must_open; /* nothing excuses a failure */
    bool leased;    /* at the opening: nobody could write the file */
    bool retained;  /* at the opening: a host kept it, with the same stamp, ... */
    bool stale;     /* ... or with another */
    bool reused;    /* it was found there: what the host has of it is a belief, until it is read */
    bool dead;      /* it was seen without any memory */
    unsigned discards; /* that have begun */
    uint64_t read; /* the memory it had when the script read it last; 0: not all of it had any */
    uint64_t filled_bytes; /* when it was last looked at */
    struct {
        uint64_t epoch;   /* of its host when it was last looked at; 0: inactive */
        bool lost;        /* it had one before */
        uint64_t gone_ns; /* since when that host is no more; 0: it is there */
    } seen[MEMBERS_MAX];  /* a stripe, its second copy; an ordinary region has one */
} Desc;

typedef struct Thread Thread;
/* Blocking system calls on files. */
typedef struct ThreadFile {
    bool waits; /* in one */
    bool read_done, write_done;
    SimFsResult read_result, write_result;
    uint8_t need;                 /* of the blocking one */
    Call *read_call, *write_call; /* whose they are: pieces of calls too */
} ThreadFile;

/* How it was when the call began. */
typedef struct ThreadBegan {
    uint64_t at_ns, paused_ns;
    int rd;
    bool closing;
    uint64_t host_epoch; /* of the region's host; 0: none */
    uint64_t hits;
    unsigned discards;             /* of its region */
    uint64_t holders[MEMBERS_MAX]; /* numbers of the copies that held all that the call reads */
} ThreadBegan;

struct Thread {
    Process *process;
    unsigned index;
    Channel *channel;
    SimPort port;
    SimTimer timer;
    bool background;
    Thread *owner;        /* not NULL: a call that this thread does not wait for, on its channel */
    bool held, cancelled; /* ... */
    bool in_call;
    ThreadFile file;
    Call call;
    /* the call */
    enum ProgramOp op;
    Desc *desc;
    ThreadBegan began;
    bool must_hit; /* all of it must be remote */
    bool thinking;
    Desc *write_at_once; /* the next call is a write to it */
    int bad_errno;
    ssize_t bad_result;
    uint64_t offset;
    size_t len;
    bool injected; /* a file failure hit this call */
    bool synced;   /* an fdatasync of this call came to its end */
    ReadWatch read;
    WriteWatch write;
    uint8_t *buf; /* region_max and a guard */
    /* a vectored call: the same bytes, scattered */
    struct {
        bool on;
        int buffers;
        struct iovec iov[VECTOR_BUFFERS];
        uint8_t *scattered;
    } vector;
    unsigned stripes_begun; /* that it touches */
};

struct Process {
    World *world;
    unsigned index;
    uint16_t host;
    uint32_t life;   /* raised at its end: voids its events */
    uint32_t number; /* this run's, unique in the world */
    bool running, paused;
    bool leaving; /* DO_EXIT: no new calls, then the script's end */
    struct {
        bool on; /* thread 0 follows the script, the others rest */
        unsigned step, desc, open_tries;
    } script;
    uint64_t clock_offset_ns;
    uint64_t paused_at_ns, paused_total_ns;
    SimRng rng; /* the program's */
    SimEnv env;
    SimHeap heap;
    Client *client;
    Id128 self;
    Thread threads[THREADS_MAX + 1]; /* the last is the background's */
    Thread async[THREADS_MAX][ASYNC_MAX];
    unsigned threads_count;
    Desc descs[DESCS_MAX];
    int carried[CARRIED_MAX]; /* descriptors of regions that leave a host by carry.c */
    unsigned carried_count;
    bool wake_pending, background_pending;
    bool kill_when_writing;
    struct {
        ClientStats stats; /* counted into the coverage already */
        uint64_t hosts_lost, poisoned, moves, unfilled;
    } seen;
};

/* What NEED_FILE_STAMP tells. */
void file_proof(const SimFile *f, FileResult *ret);
/* records.c: NEED_CHECKS_SAVE and NEED_CHECKS_LOAD. What they give call_file_done(). */
ssize_t records_do(World *w, const Call *call);
void records_free(World *w);
/* shares.c: NEED_SHARE, hooks.share_end, and the end of a process. */
void shares_join(Process *p, const Call *call);
void shares_end(Share *share);
void shares_kill(World *w, const Process *p);

/* process.c */
void process_start(Process *p);
void process_kill(Process *p);
void process_pause(Process *p);
void process_resume(Process *p);
uint64_t process_now(const Process *p);
void thread_step(Thread *t);
void thread_begin(Thread *t); /* after call_*_start() */
/* It has lost its processor for so long, where it is. */
void thread_hold_up(Thread *t, uint64_t ns);
void process_end(Process *p);           /* orderly, after its last call */
unsigned thread_calls(const Thread *t); /* of its own channel, under way */

/* program.c */
enum { GUARD = 64, GUARD_BYTE = 0xA5 }; /* behind each read's buffer */
void program_start(Process *p);
void program_call_over(Thread *t); /* results.c */
void program_note_held(const Thread *t,
                       uint64_t held[MEMBERS_MAX]); /* as Thread.began.holders, now */
void program_think(Thread *t);
bool process_idle(const Process *p);
void program_file_released(Process *p, SimHandle *h);
void program_forget(Process *p); /* killed: watches end */
/* Takes a kept region, or closes one that it has taken. */
void program_carry(Thread *t);
void program_carry_close(Thread *t); /* carried_count > 0 */
void program_carry_over(Thread *t);
void program_change_file(Thread *t);
SimFs *program_fs(Process *p);
static inline bool program_chance(Process *p, uint32_t ppm)
{
    return sim_rng_chance(&p->rng, ppm);
}

/* choices.c */
Desc *program_desc_in(Process *p, int state); /* any one in this state; NULL: none is */
Desc *program_desc_for_use(Process *p);       /* an open one, or one that is being closed */
void program_choose_range(Process *p, Desc *d);
void program_choose_piece(Thread *t);

/* calls.c */
void program_begin_on(Thread *t, Desc *d, enum ProgramOp op);
void program_open(Thread *t, Desc *d);
void program_read(Thread *t);
void program_read_all(Thread *t, Desc *d);
void program_write(Thread *t);
void program_write_all(Thread *t, Desc *d);
void program_close(Thread *t, Desc *d);
void program_cancel(Thread *t);
size_t program_clipped(const Thread *t); /* the call's length inside the region */
void program_note_written(Thread *t);    /* the call writes */
/* Does a host keep just this piece with this stamp? @ret_other: ... or with another. */
bool program_kept(Process *p, const Desc *d, const Stamp *stamp, bool *ret_other);
uint64_t opening_id(const RegionAddress *a); /* names an opening in World.written */

/* vector.c */
void vector_scatter(Thread *t, bool writing); /* makes iov of the call's bytes */
bool vector_gather(Thread *t);                /* after a read; false: wrote beside its buffers */
void vector_free(Thread *t);

/* script.c: what each process does after the faults have healed */
enum ScriptStep {
    SCRIPT_READ,      /* all regions, and ... */
    SCRIPT_READ_MORE, /* ... again: what was not remote is filled */
    SCRIPT_READ_HITS, /* all must be remote now */
    SCRIPT_READ_DONE, /* waits for PHASE_CLOSE */
    SCRIPT_CLOSE,
    SCRIPT_CLOSED, /* waits for PHASE_WORK */
    SCRIPT_OPEN,   /* a new region is needed */
    SCRIPT_NEW_READ,
    SCRIPT_NEW_WRITE,
    SCRIPT_NEW_READ_MORE,
    SCRIPT_NEW_READ_HITS,
    SCRIPT_NEW_CLOSE,
    SCRIPT_LEAVE,
    SCRIPT_END
};
void script_begin(Process *p, enum ScriptStep step);
void script_next(Thread *t);
uint64_t script_wait(Thread *t);
unsigned script_open_failed(Thread *t); /* how often */
void script_left(Process *p);           /* DO_LEAVE is over */

#endif
