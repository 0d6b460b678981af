/* SPDX-License-Identifier: MIT */
/* Programs that use libmanage, on the simulated cluster: the cache's core above the client's core,
 * on the same virtual clock and network, with the same manager and hosts. The programs take turns
 * at the ranges of a few files, are killed at any step and run again; files are full, fail and take
 * less than asked. */
#ifndef DODO_TESTS_SIM_MANAGE_H
#define DODO_TESTS_SIM_MANAGE_H

#include "libmanage/core.h"
#include "libmanage/guards.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world.h"

enum {
    USERS_MAX = 3,
    USER_CALLERS_MAX = 3,                                   /* threads that call */
    USER_WORKERS = 2,                                       /* libmanage's own */
    USER_THREADS_MAX = USER_CALLERS_MAX + USER_WORKERS + 1, /* the last is libdodo's own */
    USER_REGIONS_MAX = 4,
    USER_FILES = 2,
    USER_RANGES = 4,
    USER_FILE_BLOCKS = 20,
    USER_FILE_BYTES = USER_FILE_BLOCKS * 4096,
    USER_STREAM_READ_MAX = 8192,
    USER_DEPTH = 2,              /* of what runs beside a copy */
    USER_VALUES = 62,            /* 1 .. 62: what programs write */
    LIE_VALUE = USER_VALUES + 1, /* what nobody writes, and a lying host returns */
};
#define LIE_SET (1ull << LIE_VALUE)

/* X(name, text): what the seeds exercised. */
#define MANAGE_COVERS(X)                                    \
    X(OPENS, "copen")                                       \
    X(OPENS_BUSY, "copen: another program has it")          \
    X(READS, "cread")                                       \
    X(READS_FAILED, "cread: the file failed")               \
    X(HITS, "... that took no lock, of local memory")       \
    X(HITS_STOOD, "... whose thread stood still meanwhile") \
    X(HITS_FILE, "... of a cheap file")                     \
    X(HITS_PART, "... that failed or came short")           \
    X(WRITES, "cwrite")                                     \
    X(WRITES_FAILED, "cwrite: the file failed")             \
    X(WRITES_SHORT, "cwrite: the file took less")           \
    X(SYNCS, "csync")                                       \
    X(SYNCS_FAILED, "csync: the file failed")               \
    X(CLOSES, "cclose")                                     \
    X(CLOSES_QUIET, "... that waited for no fdatasync")     \
    X(CLOSES_FAILED, "cclose: the file failed")             \
    X(KILLED, "programs killed")                            \
    X(KILLED_DIRTY, "... with dirty data")                  \
    X(KILLED_JOB, "... in the midst of a job")              \
    X(EXITED, "programs that ended in order")               \
    X(EXITED_WRITES, "... and wrote what was dirty then")   \
    X(REMOTE_OPENS, "remote memory opened")                 \
    X(REMOTE_HELD, "... with an earlier run's data")        \
    X(REMOTE_REFUSED, "... refused")                        \
    X(REMOTE_READS, "read from remote memory")              \
    X(REMOTE_LOST, "... lost meanwhile")                    \
    X(LIED, "... and got other bytes than it was given")    \
    X(FILLS, "read past the cache, and filled")             \
    X(PARTS, "parts of files that were read unasked")       \
    X(PARTS_ON, "parts that go on in the next region")      \
    X(PARTS_SWEPT, "parts that no read has missed for")     \
    X(RECALLS, "orders of an earlier run that came")        \
    X(BESIDE, "jobs of the background beside another")      \
    X(TOGETHER, "... reads of a file that go together")     \
    X(COMPLETED, "pieces completed ahead")                  \
    X(CLONES, "cloned")                                     \
    X(WRITES_BOTH, "written to the file and remote memory") \
    X(WRITES_BOTH_LOST, "... which was lost meanwhile")     \
    X(WRITEBACKS_FAILED, "written back: the file failed")   \
    X(DATASYNCS_FAILED, "fdatasync failed")                 \
    X(REVERTED, "bytes lost by a failed fdatasync")         \
    X(FULL, "the file system was full")                     \
    X(EVICTIONS, "pieces evicted")                          \
    X(BYPASSES, "read past the cache")                      \
    X(READAHEADS, "pieces read ahead")                      \
    X(LET_GO, "caches that let go of what they held")       \
    X(KEPT_AGAIN, "... and were kept again")                \
    X(REFRACTIONS, "refractions")                           \
    X(NO_MEMORY, "allocations that failed")                 \
    X(FILE_CHANGED, "files changed while nobody had them")  \
    X(FILE_GREW, "files that others appended to meanwhile") \
    X(GREW_NOTICED, "... which a read has noticed")         \
    X(FILE_CUT, "files that others cut meanwhile")          \
    X(READ_AGAIN, "ranges read again when all was over")

/* X(name): what a seed is about, if the seed does not decide it: guards that few seeds notice have
 * one of their own. */
#define MANAGE_SCENARIOS(X)                                               \
    X(any)                                                                \
    X(held)  /* an earlier run's data, and a write as it is opened */     \
    X(fill)  /* fills beside a write that began before memory was open */ \
    X(clone) /* writes past the cache beside clones and fetches */        \
    X(sync)  /* csyncs that fail beside write-backs */                    \
    X(led)   /* reads along an earlier run's */                           \
    X(brief) /* regions that are closed while the background is busy */   \
    X(grows) /* another program appends to the files, or cuts them */

enum ManageScenario {
#define X(name) SCENARIO_##name,
    MANAGE_SCENARIOS(X)
#undef X
};

enum ManageCover {
#define X(name, text) MANAGE_COVER_##name,
    MANAGE_COVERS(X)
#undef X
        MANAGE_COVER_MAX
};

#define NOT_GROWN UINT64_MAX

typedef struct ManageWorld ManageWorld;
typedef struct User User;

/* A file, with what each of its bytes may be. A write fills its range with one value, so that this
 * is a set in 64 bits. LIE_VALUE is in `may` where a host returned it and no write has replaced it
 * since: a read may give it; the file never has it. */
typedef struct UserFile {
    SimFile *sim;
    uint64_t may[USER_FILE_BYTES];      /* a read */
    uint64_t allowed[USER_FILE_BYTES];  /* the file, when the program is killed now */
    uint64_t reverted[USER_FILE_BYTES]; /* what a failed fdatasync brought back */
    uint64_t lost[USER_FILE_BYTES];     /* the same, of what no program that has it open wrote */
    bool
        unsynced[USER_FILE_BLOCKS + 1]; /* by an earlier opening: it may be lost with nobody told */
    bool cut; /* while it was open, for reading: what was cut off may be in caches still */
    struct {
        uint64_t offset, len;
    } ranges[USER_RANGES];
} UserFile;

/* A region that a program has open. */
typedef struct UserRegion {
    enum { REGION_FREE, REGION_BUSY, REGION_OPENED, REGION_CLOSING } state;
    User *user;
    UserFile *file;
    SimHandle *handle;
    int rd;
    unsigned flags, calls;
    uint64_t offset, len;
    uint64_t since_ns;   /* when it was opened: nothing was read from the file before */
    bool write_first;    /* nobody has called it yet, and a write is to be first */
    bool synced;         /* an fdatasync went well since it is open */
    bool written;        /* a cwrite has begun */
    uint64_t size;       /* that its own writes gave it */
    uint64_t size_most;  /* that its file has had since it is open */
    uint64_t grown_from; /* others have appended there, and no read has noticed; NOT_GROWN */
    uint64_t failures, failures_told;      /* of the file: writes, syncs */
    bool must_tell;                        /* a write-back failed, and no call has told it yet */
    bool lost;                             /* each sync reports the failed one again */
    uint64_t refused_ns, refused_until_ns; /* remote memory */
} UserRegion;

enum UserOp {
    USER_READ,
    USER_WRITE,
    USER_SYNC,
    USER_CLOSE,
    USER_RETAIN /* exit()'s */,
    USER_ADVISE
};

typedef struct UserThread {
    User *user;
    unsigned index;
    Channel *channel;
    SimPort port;
    SimTimer timer, wait;
    struct {
        Call call;
        bool in_call, in_file;
        Call *file_call, *write_call;
        uint8_t file_need;
    } dodo; /* a call of libdodo's */
    struct {
        CacheJob *of, work;
        CacheResult result;
        CacheRange earlier[16]; /* of a file: what a run is said to have needed */
        uint64_t began_ns, digest;
        size_t at;     /* of a write of the file alone */
        bool injected; /* the file failed its write or sync */
        uint8_t *bounce;
        bool copied; /* a clone: into there */
        struct iovec copy;
    } job; /* of the cache's */
    /* a call of the program's */
    bool busy, woken, thinking;
    struct Lane *lane; /* NULL: it has no hits */
    CacheHit hit;
    uint64_t hit_ns; /* when it began to read the file */
    CacheCall cache_call;
    enum UserOp op;
    UserRegion *region;
    uint64_t offset, len, size_min, failures;
    struct {
        UserRegion *region; /* NULL: none */
        uint64_t next, len;
        int64_t step;
    } stream; /* reads at a fixed distance from each other */
    uint8_t value;
    bool injected, must_fail;
    bool beside; /* of a read: the file was written, or brought back, meanwhile */
    uint8_t *buf;
    uint64_t *may; /* of the whole file */
} UserThread;

/* What a program does when it is to end; RETAIN: by exit(). */
enum UserStep { STEP_RUN, STEP_READ, STEP_SYNC, STEP_CLOSE, STEP_RETAIN, STEP_LEAVE, STEP_GONE };

struct User {
    ManageWorld *m;
    unsigned index;
    uint32_t life, number;
    bool running;
    struct {
        bool leaving, dying, exiting;
        CacheEnd rest; /* what exit() writes at last */
        bool failed;   /* the file did not take it */
        unsigned retain_at;
    } end;
    bool checking; /* the last run: reads all that is there */
    unsigned tries, check_at;
    enum UserStep step;
    unsigned depth;    /* of what runs beside a copy */
    uint64_t reads_ns; /* that its calls' reads took */
    struct {
        const UserFile *file; /* for a part of it, of which not all is taken yet, ... */
        uint64_t from, to;    /* ... from there to there: the ledger was looked at then */
    } asked;
    uint64_t kill_after; /* steps */
    uint64_t clock_offset_ns;
    SimRng rng;
    SimEnv env;
    SimHeap heap;
    Client *client;
    Cache *cache;
    Id128 self;
    UserThread threads[USER_THREADS_MAX];
    UserRegion regions[USER_REGIONS_MAX];
    struct {
        const UserFile *file;
        CacheRange ranges[16];
        size_t count, at;
    } led; /* the order of its reads, as an earlier run is said to have had it */
    bool wake_pending, background_pending, work_pending;
    uint64_t refraction_from_ns, refraction_until_ns;
};

typedef struct ManageParams {
    unsigned users, callers, regions;
    CacheConfig cache;
    uint64_t copy_ns, think_ns, recall_ns;
    uint32_t rdonly_ppm, retain_ppm, stripe_ppm, through_ppm, stream_ppm, large_ppm;
    struct {
        unsigned writes, syncs, opens, closes, changes, exits, policies, others;
    } weights;
    uint64_t kill_steps; /* on average; 0: nobody is killed */
    uint64_t full_every_ns;
    uint32_t beside_ppm;
    uint32_t led_ppm;         /* of the reads: as an earlier run had them */
    uint32_t write_first_ppm; /* of the openings: the first call is a write */
    uint64_t hot_bytes;       /* not 0: calls are of the region's first ones */
    uint32_t end_ppm;         /* of the calls: where the file ends */
    uint32_t held_ppm;        /* the kernel has in memory what is read; 0: nobody knows */
    uint32_t lie_ppm;         /* of the reads from remote memory: a host returns something else */
    bool small_writes, hits;
    bool side_by_side; /* a file's ranges, which are all of it */
    bool one_worker;   /* the other could not be started */
} ManageParams;

struct ManageWorld {
    World w; /* the cluster; no clients of its own */
    ManageParams p;
    UserFile files[USER_FILES];
    User users[USERS_MAX];
    enum ManageScenario scenario;
    SimRng lies;
    bool poking;
    uint32_t full_ppm_before;
    uint64_t *cover;
};

static inline void manage_cover(ManageWorld *m, enum ManageCover what)
{
    m->cover[what]++;
}

/* Runs one seed. */
void manage_run(uint64_t seed, enum ManageScenario scenario, FILE *trace, uint64_t *cover,
                SeedResult *ret);
void manage_params_choose(ManageWorld *m);
/* Much slower than the network, on which nothing goes wrong. */
void manage_file_is_slow(ManageWorld *m, SimRng *r);
/* manage_scenarios.c: after all else was chosen */
void manage_scenario_choose(ManageWorld *m);
/* Most reads of a program are as an earlier run is said to have had them. */
void manage_run_is_led(ManageParams *p);

/* manage_user.c: the shell around both cores */
bool user_file_held(void *ctx, const void *file, uint64_t offset, uint64_t len);
uint64_t user_now(const User *u);
void user_start(User *u);
void user_kill(User *u);
void user_start_later(User *u);
void user_end(User *u); /* orderly, after its last call */
bool user_idle(const User *u);
void user_look(UserThread *t);   /* at its call of the cache's */
void user_work(User *u);         /* there may be something for the workers */
void user_leave(UserThread *t);  /* tells the manager */
void user_left(User *u);         /* ... has heard it, or will not: all is written at last */
void user_flushed(User *u);      /* the end */
bool user_step_counts(User *u);  /* false: it is about to be killed */
void thread_kick(UserThread *t); /* its channel has something new to do */

/* manage_job.c: what carry.c does */
void job_start(UserThread *t, CacheJob *job);
void job_answered(UserThread *t); /* libdodo's call is over */
void job_flush(User *u);          /* what exit() writes; then user_flushed() */

/* manage_program.c: what the programs do */
void user_think(UserThread *t);
void user_act(UserThread *t);
void user_beside(User *u);           /* perhaps another thread does something now */
bool user_opened(const UserFile *f); /* by anybody */

/* manage_other.c: another program, which changes the end of a file that programs have open */
void other_act(UserThread *t);
/* The manual forbids a write where others have appended: the program reads first. True: @t, of a
 * write, has become a read. */
bool other_is_read_first(UserThread *t);

/* manage_oracle.c */
void truth_begin(ManageWorld *m);
void truth_changed(void *ctx, SimFile *file, uint64_t offset, size_t len, void *cookie);
void truth_opened(UserRegion *r);
bool truth_written_now(ManageWorld *m, const UserFile *f);
/* Another program: @f has got @len bytes more of @value; it is shorter; nobody has it open now. */
void truth_grown(ManageWorld *m, UserFile *f, uint64_t from, uint64_t len, uint8_t value);
void truth_cut(ManageWorld *m, UserFile *f);
void truth_cut_over(UserFile *f);
void truth_lied(UserRegion *r, uint64_t offset); /* a host returned LIE_VALUE for that byte */
void truth_call_begin(UserThread *t);
void truth_call_over(UserThread *t);
void truth_region_gone(UserRegion *r, bool killed); /* its file has what it has */
void truth_job_begin(UserThread *t);
void truth_job_over(UserThread *t);
void truth_exited(User *u); /* exit() has written all */

#endif
