/* SPDX-License-Identifier: MIT */
/* failover-load DIRECTORY PROCESSES REGIONS OPENERS: programs that hold regions of 8 KiB each,
 * REGIONS together, while scripts/bench-failover kills their manager. Each process has files of its
 * own in DIRECTORY, OPENERS threads that open a region every 200 ms and have it closed by
 * another thread, and one that reads and writes. An open is due every 200 ms whether the one before
 * has come back or not: its wait is counted from then.
 *
 * It prints "ready" when all is open. Each line on standard input is answered by a line of JSON:
 *   kill PID  that process is killed; what follows counts from then
 *   look      what came to pass since the kill
 *   still, go opens pause, or go on
 *   count     how many of the held regions have remote memory, as the programs know
 *   sweep     reads a block of each held region
 *   end       all end, and leave the cluster
 * Status 1 if a byte was wrong. DODO_MANAGER and DODO_KEY in the environment name the cluster. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/num.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"

enum {
    PROCESSES_MAX = 64,
    OPENERS_MAX = 4,
    REGION_BYTES = 8192,
    BLOCK = 4096,
    FILE_REGIONS = 256, /* in a file: the kernel walks through all locks of one at each open */
    HOT = 256,          /* of the held regions of a process, those that are read and written */
    RING = 64,          /* regions of an opener that are to be closed */
    FILLERS = 4,        /* threads that open what is held */
    OPENS_MAX = 1 << 17,
    CALLS_MAX = 1 << 19,
    WRITE_PERCENT = 20,
    PATIENCE_S = 1800, /* for all regions to be opened, or swept */
};

static const uint64_t OPEN_EVERY_NS = 200 * NS_PER_MS, CALL_EVERY_NS = 100 * NS_PER_MS;
static const uint64_t LOOK_NS = 50 * NS_PER_MS;

enum Command { COMMAND_NONE, COMMAND_COUNT, COMMAND_SWEEP, COMMAND_END };

typedef struct Open {
    uint64_t due_ns, begun_ns, ended_ns;
    bool good;
} Open;

typedef struct OpenerLog {
    atomic_uint count;
    atomic_bool still; /* it has seen that it is to pause */
    Open of[OPENS_MAX];
} OpenerLog;

typedef struct CallEntry {
    uint64_t begun_ns;
    uint32_t took_ns;
} CallEntry;

/* What a process tells its parent. */
typedef struct Child {
    atomic_uint held, calls_count, done; /* done: number of the last command */
    atomic_ulong reads, writes, closes, failed, wrong, closes_failed, result;
    CallEntry calls[CALLS_MAX];
    OpenerLog openers[OPENERS_MAX];
} Child;

typedef struct Shared {
    atomic_bool over, still, begun;
    atomic_uint command, number; /* a command is for all processes */
} Shared;

/* Regions that an opener has opened and its closer is to close. */
typedef struct Ring {
    sem_t wake; /* of the closer, once for each region and for the end */
    atomic_uint put, taken;
    int rds[RING];
} Ring;

static Shared *shared;
static Child *children;
static unsigned processes, regions_each, openers;
static Child *self;      /* in a child */
static int *files, *rds; /* one file more: what openers open */
static Ring rings[OPENERS_MAX];

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "failover-load: %s\n", what);
    exit(2);
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static void sleep_until(uint64_t at_ns)
{
    const uint64_t now = os_now_ns();
    if (at_ns > now)
        sleep_ns(at_ns - now);
}

/* ---- in a process: what it holds ------------------------------------------------------------ */

static off_t place_of(unsigned region)
{
    return (off_t)(region % FILE_REGIONS) * REGION_BYTES;
}

static unsigned files_held(void)
{
    return (regions_each + FILE_REGIONS - 1) / FILE_REGIONS;
}

static int file_of(unsigned region)
{
    return files[region / FILE_REGIONS];
}

static void *filler_main(void *ctx)
{
    for (unsigned i = (unsigned)(uintptr_t)ctx; i < regions_each; i += FILLERS) {
        rds[i] = dodo_mopen(REGION_BYTES, file_of(i), place_of(i));
        if (rds[i] < 0)
            die(dodo_last_error());
        self->held++;
    }
    return NULL;
}

static void thread_start(pthread_t *id, void *(*fn)(void *), unsigned number)
{
    if (os_thread_start(id, fn, (void *)(uintptr_t)number) != 0)
        die("no thread");
}

static void hold_all(void)
{
    pthread_t id[FILLERS];
    rds = calloc(regions_each, sizeof *rds);
    if (!rds)
        die("no memory");
    for (unsigned i = 0; i < FILLERS; i++)
        thread_start(&id[i], filler_main, i);
    for (unsigned i = 0; i < FILLERS; i++)
        (void)pthread_join(id[i], NULL);
}

/* Blocks beyond the data are holes of the file. */
static uint64_t wrong_bytes(unsigned region, const uint8_t *block, unsigned hot)
{
    uint64_t wrong = 0;
    if (region < hot)
        return bench_data_wrong((uint64_t)place_of(region), block, BLOCK);
    for (unsigned i = 0; i < BLOCK; i++)
        wrong += block[i] != 0;
    return wrong;
}

static unsigned hot_regions(void)
{
    return regions_each < HOT ? regions_each : HOT;
}

static void one_call(Random *random, uint8_t *block)
{
    const unsigned i = (unsigned)random_below(random, hot_regions());
    const bool writes = random_below(random, 100) < WRITE_PERCENT;
    if (writes)
        bench_data_make((uint64_t)place_of(i), block, BLOCK);
    const uint64_t begun = os_now_ns();
    const ssize_t n =
        writes ? dodo_mwrite(rds[i], 0, block, BLOCK) : dodo_mread(rds[i], 0, block, BLOCK);
    const uint64_t took = os_now_ns() - begun;
    self->failed += n != BLOCK;
    if (n == BLOCK && !writes)
        self->wrong += wrong_bytes(i, block, hot_regions());
    if (writes)
        self->writes++;
    else
        self->reads++;
    if (self->calls_count == CALLS_MAX)
        die("too many calls");
    self->calls[self->calls_count] =
        (CallEntry){.begun_ns = begun, .took_ns = (uint32_t)min_u64(took, UINT32_MAX)};
    self->calls_count++;
}

static void *caller_main(void *ctx)
{
    static uint8_t block[BLOCK];
    Random random = {.state = (uint64_t)(uintptr_t)ctx};
    for (uint64_t due = os_now_ns(); !shared->over; due += CALL_EVERY_NS) {
        sleep_until(due);
        one_call(&random, block);
    }
    return NULL;
}

/* ---- in a process: openers ------------------------------------------------------------------ */

static void *closer_main(void *ctx)
{
    Ring *ring = ctx;
    for (;;) {
        while (sem_wait(&ring->wake) < 0)
            ;
        if (ring->taken == ring->put)
            return NULL;
        self->closes_failed += dodo_mclose(ring->rds[ring->taken % RING]) < 0;
        self->closes++;
        ring->taken++;
    }
}

static bool opener_pauses(OpenerLog *log, const Ring *ring)
{
    const bool pauses = shared->still;
    log->still = pauses && ring->taken == ring->put;
    if (pauses)
        sleep_ns(LOOK_NS);
    return pauses;
}

static void open_one(unsigned number, OpenerLog *log, Ring *ring, uint64_t due_ns)
{
    const unsigned at = log->count;
    if (at == OPENS_MAX)
        die("too many opens");
    while (ring->put - ring->taken == RING && !shared->over)
        sleep_ns(LOOK_NS); /* it waits for its regions to be closed, and so does its open */
    const unsigned place = number * RING + ring->put % RING;
    Open o = {.due_ns = due_ns, .begun_ns = os_now_ns()};
    const int rd = dodo_mopen(REGION_BYTES, files[files_held()], place_of(place));
    o.ended_ns = os_now_ns();
    o.good = rd >= 0;
    log->of[at] = o;
    log->count++;
    if (!o.good)
        (void)fprintf(stderr, "failover-load: mopen: %s\n", dodo_last_error());
    else {
        ring->rds[ring->put % RING] = rd;
        ring->put++;
        (void)sem_post(&ring->wake);
    }
}

static void *opener_main(void *ctx)
{
    const unsigned number = (unsigned)(uintptr_t)ctx;
    OpenerLog *log = &self->openers[number];
    Ring *ring = &rings[number];
    /* Not all at the same moment. */
    uint64_t due = os_now_ns() + mix64(number + (uint64_t)getpid()) % OPEN_EVERY_NS;
    while (!shared->over) {
        if (opener_pauses(log, ring)) {
            due = os_now_ns();
            continue;
        }
        sleep_until(due);
        open_one(number, log, ring, due);
        due += OPEN_EVERY_NS;
    }
    (void)sem_post(&ring->wake);
    return NULL;
}

/* ---- in a process: commands ----------------------------------------------------------------- */

static unsigned long count_held(void)
{
    unsigned long n = 0;
    for (unsigned i = 0; i < regions_each; i++) {
        DodoStat st;
        n += dodo_stat(rds[i], &st) == 0 && st.copies > 0;
    }
    return n;
}

/* How many of the reads failed. */
static unsigned long sweep(void)
{
    static uint8_t block[BLOCK];
    unsigned long failed = 0;
    for (unsigned i = 0; i < regions_each; i++) {
        const bool good = dodo_mread(rds[i], 0, block, BLOCK) == BLOCK;
        failed += !good;
        if (good)
            self->wrong += wrong_bytes(i, block, hot_regions());
    }
    return failed;
}

static void follow_commands(void)
{
    for (enum Command command = COMMAND_NONE; command != COMMAND_END;) {
        if (self->done == shared->number) {
            sleep_ns(LOOK_NS);
            continue;
        }
        command = (enum Command)shared->command;
        if (command == COMMAND_COUNT)
            self->result = count_held();
        else if (command == COMMAND_SWEEP)
            self->result = sweep();
        self->done++;
    }
}

static int file_make(const char *directory, unsigned child, unsigned number)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/held-%u-%u", directory, child, number);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || unlink(path) < 0 || ftruncate(file, (off_t)FILE_REGIONS * REGION_BYTES) < 0)
        die(path);
    return file;
}

/* The first one has data, the others are holes. */
static void files_make(const char *directory, unsigned child)
{
    files = calloc(files_held() + 1, sizeof *files);
    if (!files)
        die("no memory");
    for (unsigned i = 0; i <= files_held(); i++)
        files[i] = file_make(directory, child, i);
    if (bench_file_write(files[0], 0, (uint64_t)hot_regions() * REGION_BYTES) < 0)
        die("the data cannot be written");
}

static int child_main(const char *directory, unsigned number)
{
    pthread_t caller, opener[OPENERS_MAX], closer[OPENERS_MAX];
    self = &children[number];
    files_make(directory, number);
    hold_all();
    while (!shared->begun)
        sleep_ns(LOOK_NS);
    thread_start(&caller, caller_main, number);
    for (unsigned i = 0; i < openers; i++) {
        if (sem_init(&rings[i].wake, 0, 0) < 0)
            die("no semaphore");
        thread_start(&opener[i], opener_main, i);
        if (os_thread_start(&closer[i], closer_main, &rings[i]) != 0)
            die("no thread");
    }
    follow_commands();
    (void)pthread_join(caller, NULL);
    for (unsigned i = 0; i < openers; i++) {
        (void)pthread_join(opener[i], NULL);
        (void)pthread_join(closer[i], NULL);
    }
    return EXIT_SUCCESS; /* what it holds goes with it: the library says farewell at exit */
}

/* ---- in the parent: commands ---------------------------------------------------------------- */

static void mind_children(uint64_t until_ns)
{
    int ended;
    if (waitpid(-1, &ended, WNOHANG) != 0)
        die("a process has ended");
    if (os_now_ns() > until_ns)
        die("it takes too long");
    sleep_ns(LOOK_NS);
}

static uint64_t patience(void)
{
    return os_now_ns() + PATIENCE_S * NS_PER_S;
}

/* The sum of what they answer. */
static unsigned long tell_all(enum Command command)
{
    const uint64_t until = patience();
    unsigned long sum = 0;
    shared->command = command;
    const unsigned number = ++shared->number;
    for (unsigned i = 0; i < processes; i++) {
        while (children[i].done != number)
            mind_children(until);
        sum += children[i].result;
    }
    return sum;
}

static void set_still(bool still)
{
    const uint64_t until = patience();
    shared->still = still;
    for (unsigned i = 0; still && i < processes * openers; i++)
        while (!children[i / openers].openers[i % openers].still)
            mind_children(until);
}

/* ---- in the parent: a kill, and what came of it --------------------------------------------- */

typedef struct Kill {
    uint64_t at_ns, dead_ns; /* before the signal; when the process was no more */
    unsigned opens[PROCESSES_MAX * OPENERS_MAX], calls[PROCESSES_MAX];
} Kill;

/* What came to pass since the last kill is counted from these places on. */
static void mark(Kill *k)
{
    for (unsigned i = 0; i < processes; i++) {
        k->calls[i] = children[i].calls_count;
        for (unsigned j = 0; j < openers; j++)
            k->opens[i * openers + j] = children[i].openers[j].count;
    }
}

static void kill_one(Kill *k, pid_t pid)
{
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        die("there is no such process to be killed");
    mark(k);
    k->at_ns = os_now_ns();
    if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 || poll(&gone, 1, 10000) != 1)
        die("it could not be killed");
    k->dead_ns = os_now_ns();
    (void)close(fd);
    printf("{\"at\":%.6f,\"dead_ms\":%.3f}\n", (double)k->at_ns / 1e9,
           (double)(k->dead_ns - k->at_ns) / 1e6);
}

/* [ms] from the kill to the end of the first open that a thread began after it; -1: none. */
static double first_open(const OpenerLog *log, unsigned from, const Kill *k)
{
    for (unsigned i = from; i < log->count; i++)
        if (log->of[i].good && log->of[i].begun_ns > k->dead_ns)
            return (double)(log->of[i].ended_ns - k->at_ns) / 1e6;
    return -1;
}

static void tell_firsts(const Kill *k, double *ret_first)
{
    *ret_first = -1;
    printf("\"openers\":[");
    for (unsigned i = 0; i < processes * openers; i++) {
        const double ms = first_open(&children[i / openers].openers[i % openers], k->opens[i], k);
        if (ms >= 0 && (*ret_first < 0 || ms < *ret_first))
            *ret_first = ms;
        printf("%s%.1f", i ? "," : "", ms);
    }
    printf("],");
}

/* The waits of the opens that were under way at the kill or due before the first one succeeded, and
 * the longest of all later ones. */
static void tell_waits(const Kill *k, double first_ms)
{
    const uint64_t until = k->at_ns + (uint64_t)(first_ms * 1e6);
    size_t opens = 0, failed = 0;
    double later = 0;
    const char *comma = "";
    printf("\"waits\":[");
    for (unsigned i = 0; i < processes * openers; i++) {
        const OpenerLog *log = &children[i / openers].openers[i % openers];
        for (unsigned j = k->opens[i]; j < log->count; j++) {
            const Open *o = &log->of[j];
            const double ms = (double)(o->ended_ns - o->due_ns) / 1e6;
            opens++;
            failed += !o->good;
            if (o->ended_ns >= k->dead_ns && o->due_ns < until) {
                printf("%s%.1f", comma, ms);
                comma = ",";
            } else if (o->due_ns >= until && ms > later) {
                later = ms;
            }
        }
    }
    printf("],\"opens\":%zu,\"opens_failed\":%zu,\"later_worst_ms\":%.1f,", opens, failed, later);
}

/* Of the calls that began since the kill, within @for_ns of it. */
static void tell_calls(const Kill *k, uint64_t for_ns)
{
    static uint32_t all[PROCESSES_MAX * 4096];
    size_t n = 0;
    for (unsigned i = 0; i < processes; i++)
        for (unsigned j = k->calls[i]; j < children[i].calls_count; j++)
            if (children[i].calls[j].begun_ns < k->at_ns + for_ns && n < sizeof all / sizeof all[0])
                all[n++] = children[i].calls[j].took_ns;
    printf("\"calls\":%zu,\"calls_p50_us\":%.0f,\"calls_p99_us\":%.0f,\"calls_worst_us\":%.0f,", n,
           bench_percentile(all, n, 500) / 1e3, bench_percentile(all, n, 990) / 1e3,
           bench_percentile(all, n, 1000) / 1e3);
}

/* Since the beginning: reads, writes, closes, and those that failed. */
static void tell_sums(void)
{
    unsigned long reads = 0, writes = 0, closes = 0, failed = 0, wrong = 0, closes_failed = 0;
    for (unsigned i = 0; i < processes; i++) {
        reads += children[i].reads;
        writes += children[i].writes;
        closes += children[i].closes;
        failed += children[i].failed;
        wrong += children[i].wrong;
        closes_failed += children[i].closes_failed;
    }
    printf("\"reads\":%lu,\"writes\":%lu,\"failed\":%lu,\"wrong\":%lu,\"closes\":%lu,"
           "\"closes_failed\":%lu}\n",
           reads, writes, failed, wrong, closes, closes_failed);
}

static void look(const Kill *k)
{
    double first;
    printf("{");
    tell_firsts(k, &first);
    printf("\"first_ms\":%.1f,", first);
    tell_waits(k, first);
    tell_calls(k, 10 * NS_PER_S);
    tell_sums();
}

static void follow_lines(void)
{
    static Kill k;
    char line[64];
    bool ended = false;
    while (!ended && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        ended = strcmp(line, "end") == 0;
        if (strncmp(line, "kill ", 5) == 0)
            kill_one(&k, (pid_t)strtol(line + 5, NULL, 10));
        else if (strcmp(line, "look") == 0)
            look(&k);
        else if (strcmp(line, "count") == 0)
            printf("{\"live\":%lu}\n", tell_all(COMMAND_COUNT));
        else if (strcmp(line, "sweep") == 0)
            printf("{\"failed\":%lu}\n", tell_all(COMMAND_SWEEP));
        else {
            set_still(strcmp(line, "still") == 0);
            printf("{}\n");
        }
        (void)fflush(stdout);
    }
}

/* ---- life ----------------------------------------------------------------------------------- */

static void *common_memory(size_t size)
{
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        die("no memory");
    return p;
}

static void start_all(const char *directory)
{
    const pid_t parent = getpid();
    for (unsigned i = 0; i < processes; i++) {
        const pid_t pid = fork();
        if (pid < 0)
            die("no process");
        if (pid == 0) {
            if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                die("the parent has ended");
            exit(child_main(directory, i));
        }
    }
}

static void wait_until_held(void)
{
    const uint64_t begun = os_now_ns(), until = patience();
    for (unsigned i = 0; i < processes; i++)
        while (children[i].held != regions_each)
            mind_children(until);
    printf("ready %u regions after %.1f s\n", processes * regions_each,
           (double)(os_now_ns() - begun) / 1e9);
    (void)fflush(stdout);
    shared->begun = true;
}

static int end_all(void)
{
    int ended, status = EXIT_SUCCESS;
    shared->over = true;
    (void)tell_all(COMMAND_END);
    while (wait(&ended) > 0)
        if (ended != 0)
            status = EXIT_FAILURE;
    for (unsigned i = 0; i < processes; i++)
        if (children[i].wrong > 0)
            status = EXIT_FAILURE;
    return status;
}

static unsigned number_of(const char *text, unsigned max)
{
    char *end;
    const unsigned long n = strtoul(text, &end, 10);
    return *end == '\0' && n >= 1 && n <= max ? (unsigned)n : 0;
}

int main(int argc, char **argv)
{
    unsigned regions = 0;
    if (argc == 5) {
        processes = number_of(argv[2], PROCESSES_MAX);
        regions = number_of(argv[3], 1 << 26);
        openers = number_of(argv[4], OPENERS_MAX);
    }
    if (!processes || !openers || regions < processes) {
        (void)fprintf(stderr, "usage: failover-load DIRECTORY PROCESSES REGIONS OPENERS\n");
        return 2;
    }
    regions_each = regions / processes;
    shared = common_memory(sizeof *shared);
    children = common_memory(processes * sizeof *children);
    start_all(argv[1]);
    wait_until_held();
    follow_lines();
    return end_all();
}
