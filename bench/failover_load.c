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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os.h"
#include "bench/common.h"
#include "bench/failover_load.h"

enum { PATIENCE_S = 1800 /* for all regions to be opened, or swept */ };

Shared *shared;
Child *children;
unsigned processes, regions_each, openers;

void die(const char *what)
{
    (void)fprintf(stderr, "failover-load: %s\n", what);
    exit(2);
}

void sleep_ns(uint64_t ns)
{
    struct timespec t = time_to_timespec(ns);
    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* ---- commands ---------------------------------------------------------------- */

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

/* ---- a kill, and what came of it --------------------------------------------- */

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
            exit(program_main(directory, i));
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
