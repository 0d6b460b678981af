/* SPDX-License-Identifier: MIT */
/* The library in processes that fork, exit, run out of descriptors, or start over, on a real
 * cluster. What ends a process runs in a child: this program again, as "PROGRAM child SCENARIO". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/call_asserts.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SLOW 1
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#define FOR_SANITIZER __attribute__((visibility("default"))) /* its library calls it */
#ifdef SLOW
/* TSan does not follow a thread in the child of a process with threads: there, it starts none. */
enum { SCALE = 4, CHILD_HAS_THREADS = 0 };
#else
enum { SCALE = 1, CHILD_HAS_THREADS = 1 };
#endif

/* What the parent's other threads own is leaked in a forked child, by nature. */
static atomic_bool forked_child;
FOR_SANITIZER int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return forked_child;
}

enum { THREADS = 6, PIECE = 100 * 1000, SMALL = 8192 };

static const char config[] = "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
                             "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n"
                             "refraction = 20ms\n";
static const char hasty[] = "[client]\ntransfer_deadline = 2s\nrefraction = 20ms\n";
/* Time that no test would wait for each region. */
static const char slow_requests[] = "[client]\nrequest_deadline = 5s\nrefraction = 20ms\n";

static Cluster cluster;
static int fd = -1;
static char path[128];

static void pieces_make(unsigned count)
{
    static uint8_t data[PIECE];
    for (unsigned i = 0; i < count; i++) {
        load_fresh(i * PIECE, data, PIECE);
        if (pwrite(fd, data, PIECE, (off_t)i * PIECE) != PIECE)
            abort();
    }
}

static int set_up_with(const char *text, bool sealed)
{
    cluster_start(&cluster, text, sealed);
    (void)cluster_imd(&cluster, "64M");
    fd = cluster_file(&cluster, path);
    pieces_make(40);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(config, true);
}

static int set_up_hasty(void **state)
{
    (void)state;
    return set_up_with(hasty, false);
}

static int set_up_slow(void **state)
{
    (void)state;
    return set_up_with(slow_requests, false);
}

static int tear_down(void **state)
{
    (void)state;
    (void)dodo_shutdown();
    (void)close(fd);
    cluster_end(&cluster);
    return 0;
}

static int piece_open(unsigned piece, unsigned flags)
{
    return dodo_mopen_flags(PIECE, fd, (off_t)piece * PIECE, flags);
}

/* 0 when the piece of the file reads as it was made, twice: the second time from remote memory. */
static int piece_check(int rd, unsigned piece)
{
    uint8_t *want = malloc(PIECE), *got = malloc(PIECE);
    int bad = 0;
    load_fresh(piece * PIECE, want, PIECE);
    for (int i = 0; i < 2; i++) {
        memset(got, 0, PIECE);
        bad |= dodo_mread(rd, 0, got, PIECE) != PIECE || memcmp(want, got, PIECE) != 0;
    }
    free(want);
    free(got);
    return bad;
}

/* Reads until remote memory has the whole piece; the parent's copy is alive, that is. */
static void assert_remote(int rd, unsigned piece)
{
    uint64_t misses;
    do {
        misses = stat_of(rd).misses;
        assert_int_equal(piece_check(rd, piece), 0);
        assert_int_equal(stat_of(rd).active, 1);
    } while (stat_of(rd).misses != misses);
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* In the child: the parent's regions are not there, regions of its own are. 0 or what is wrong. */
static int child_works(int parents, unsigned piece)
{
    char buf[10];
    DodoStat st;
    forked_child = true;
    if (dodo_mread(parents, 0, buf, 1) != -1 || errno != ENOMEM)
        return 2;
    if (dodo_mclose(parents) != -1 || errno != EINVAL)
        return 3;
    if (!CHILD_HAS_THREADS)
        return 0;
    int rd = piece_open(piece, 0);
    if (rd < 0)
        return 4;
    if (piece_check(rd, piece) != 0)
        return 5;
    if (dodo_mread(rd, 500, buf, sizeof buf) != sizeof buf ||
        dodo_mwrite(rd, 500, buf, sizeof buf) != sizeof buf || piece_check(rd, piece) != 0)
        return 6;
    if (dodo_stat(rd, &st) != 0 || !st.active)
        return 7;
    return piece % 2 ? dodo_mclose(rd) : 0; /* or leaves it open */
}

static void fork__while_threads_work(void **state)
{
    (void)state;
    LoadConfig load = {.fd = fd, .base = 40 * PIECE, .regions = 2, .threads = THREADS};
    Load *l = load_start(&load);
    for (unsigned i = 0; i < 16 / SCALE; i++) {
        load_wait(l, 20 / SCALE);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int status = child_works(load_rd(l, 0), i);
            if (i / 2 % 2)
                exit(status);
            _exit(status);
        }
        child_must_succeed(child, "forked child");
    }
    load_stop(l);
    assert_int_equal(load_join(l), 0);
    assert_int_equal(load_lost(l), 0);
    load_free(l);
}

/* Neither its exit handlers nor what it says for itself end anything of its parent's. */
static void fork__exit_says_nothing(void **state)
{
    (void)state;
    int rd = piece_open(20, 0);
    assert_remote(rd, 20);
    for (int how = 0; how < 3; how++) {
        pid_t child = fork();
        if (child == 0) {
            forked_child = true;
            if (how == 1 && dodo_shutdown() != 0)
                _exit(1);
            if (how == 2 && child_works(rd, 21) != 0)
                _exit(1);
            exit(0);
        }
        child_must_succeed(child, "child that exits");
        uint64_t misses = stat_of(rd).misses;
        assert_int_equal(piece_check(rd, 20), 0);
        assert_int_equal(stat_of(rd).misses, misses);
        assert_int_equal(stat_of(rd).active, 1);
    }
    assert_int_equal(dodo_mclose(rd), 0);
}

/* A grandchild may fork too; and each has the library to itself. */
static void fork__of_a_fork(void **state)
{
    (void)state;
    int rd = piece_open(22, 0);
    pid_t child = fork();
    if (child == 0) {
        int bad = child_works(rd, 23);
        int own = CHILD_HAS_THREADS ? piece_open(24, 0) : -1;
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(child_works(own, 26));
        int status = child_wait(grandchild);
        exit(bad || status || (own >= 0 && piece_check(own, 24)) ? 1 : 0);
    }
    child_must_succeed(child, "child that forks");
    assert_int_equal(piece_check(rd, 22), 0);
    assert_int_equal(dodo_mclose(rd), 0);
}

/* Each thread keeps the last so many regions that it opened. */
enum { HOLDERS = 40 / SCALE, OPENERS = 4, KEPT = 120 };
static atomic_bool stop_opening;

static void *opening_main(void *arg)
{
    int rds[KEPT];
    unsigned first = *(unsigned *)arg * KEPT;
    for (unsigned i = 0; !stop_opening || i < KEPT; i++) {
        off_t at = (off_t)(first + i % KEPT) * SMALL;
        if (i >= KEPT && dodo_mclose(rds[i % KEPT]) != 0)
            abort();
        rds[i % KEPT] = dodo_mopen_flags(SMALL, fd, at, DODO_FALLBACK);
        if (rds[i % KEPT] < 0)
            abort();
    }
    return NULL;
}

/* A child that only lives, until the end of the pipe. */
static void holder_fork(int ready, int hold)
{
    char byte = 'c';
    if (fork() != 0)
        return;
    (void)!write(ready, &byte, 1);
    (void)close(ready);
    (void)!read(hold, &byte, 1);
    _exit(0);
}

/* Forks while it opens and closes, then waits with regions open. argv: pipes, the file. */
static int scenario_holder(char **argv)
{
    pthread_t threads[OPENERS];
    unsigned numbers[OPENERS];
    int ready = atoi(argv[0]), hold = atoi(argv[1]);
    (void)unsetenv("DODO_MANAGER"); /* opening takes the file alone */
    fd = open(argv[2], O_RDWR | O_CLOEXEC);
    for (unsigned i = 0; i < OPENERS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, opening_main, &numbers[i]) != 0)
            return 1;
    }
    for (int i = 0; i < HOLDERS; i++)
        holder_fork(ready, hold);
    stop_opening = true;
    for (unsigned i = 0; i < OPENERS; i++)
        (void)pthread_join(threads[i], NULL);
    holder_fork(ready, hold);
    for (;;)
        (void)pause(); /* until it is killed */
}

/* No child shares a lock with its parent: when that is killed, all ranges are free. */
static void fork__child_keeps_no_lock(void **state)
{
    (void)state;
    int ready[2], hold[2];
    char byte, fds[2][12];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    int hold_end = dup(hold[0]); /* this one the child has */
    (void)snprintf(fds[0], sizeof fds[0], "%d", ready[1]);
    (void)snprintf(fds[1], sizeof fds[1], "%d", hold_end);
    (void)fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    const char *args[] = {"holder", fds[0], fds[1], path, NULL};
    pid_t child = child_start(args);
    (void)close(ready[1]);
    (void)close(hold_end);
    for (int i = 0; i < HOLDERS + 1; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(dodo_mopen(SMALL, fd, 0), -1);
    assert_int_equal(errno, EBUSY);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (unsigned i = 0; i < OPENERS * KEPT; i++) {
        int rd = dodo_mopen_flags(SMALL, fd, (off_t)i * SMALL, DODO_FALLBACK);
        assert_true(rd >= 0);
        assert_int_equal(dodo_mclose(rd), 0);
    }
    for (int i = 0; i < 2; i++)
        (void)close(hold[i]); /* and the grandchildren end */
    (void)close(ready[0]);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static uint8_t masked_key[32]; /* so that this is not found itself */

static bool chunk_has_key(const uint8_t *p, size_t len)
{
    const uint8_t *end = p + len;
    while ((p = memchr(p, masked_key[0] ^ 0xff, (size_t)(end - p)))) {
        size_t k = 0;
        while (k < sizeof masked_key && p + k < end && (p[k] ^ masked_key[k]) == 0xff)
            k++;
        if (k == sizeof masked_key)
            return true;
        p++;
    }
    return false;
}

static bool range_has_key(int mem, unsigned long from, unsigned long to)
{
    static uint8_t chunk[1 << 16];
    enum { OVERLAP = sizeof masked_key };
    bool found = false;
    for (unsigned long at = from; at < to && !found; at += sizeof chunk - OVERLAP) {
        size_t want = to - at < sizeof chunk ? to - at : sizeof chunk;
        if (at < (unsigned long)chunk + sizeof chunk && (unsigned long)chunk < at + want)
            continue; /* what was looked at before */
        ssize_t n = pread(mem, chunk, want, (off_t)at);
        found = n > 0 && chunk_has_key(chunk, (size_t)n);
    }
    explicit_bzero(chunk, sizeof chunk);
    return found;
}

/* Looks for the cluster's key in all memory of this process that it may write. */
static bool memory_has_key(void)
{
    char line[512], mode[8];
    unsigned long from, to;
    bool found = false;
    int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    FILE *maps = fopen("/proc/self/maps", "re");
    while (!found && maps && mem >= 0 && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strncmp(mode, "rw", 2) != 0)
            continue;
        if (to - from < 1ul << 28) /* not a sanitizer's shadow */
            found = range_has_key(mem, from, to);
    }
    if (maps)
        (void)fclose(maps);
    (void)close(mem);
    return found;
}

static void fork__child_forgets_the_key(void **state)
{
    (void)state;
    cluster_key(&cluster, masked_key);
    for (size_t i = 0; i < sizeof masked_key; i++)
        masked_key[i] ^= 0xff;
    LoadConfig load = {.fd = fd, .base = 40 * PIECE, .regions = 1, .threads = THREADS};
    Load *l = load_start(&load);
    load_wait(l, 100 / SCALE);
    assert_true(memory_has_key());
    pid_t child = fork();
    if (child == 0)
        _exit(memory_has_key());
    child_must_succeed(child, "child that looks for the key");
    load_stop(l);
    (void)load_join(l);
    load_free(l);
    assert_int_equal(dodo_shutdown(), 0);
    assert_false(memory_has_key());
}

/* ---- the log hook --------------------------------------------------------------------------- */

static atomic_uint hook_forks;
static atomic_bool hook_exits;

static void forking_hook(void *ctx, int level, const char *text)
{
    (void)ctx, (void)level, (void)text;
    if (hook_exits)
        exit(0);
    if (hook_forks++ > 0)
        return;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    child_must_succeed(child, "child of the log hook");
}

/* argv: fork or exit, the file, the pid of the imd. */
static int scenario_hook(char **argv)
{
    char buf[100];
    hook_exits = strcmp(argv[0], "exit") == 0;
    fd = open(argv[1], O_RDWR | O_CLOEXEC);
    int rd = dodo_mopen(SMALL, fd, 0);
    while (rd < 0 || dodo_mread(rd, 0, buf, sizeof buf) != sizeof buf) {
        if (errno != ENOMEM) { /* else a busy machine held somebody up for too long */
            (void)fprintf(stderr, "hook: %s\n", dodo_last_error());
            return 1;
        }
        (void)dodo_mclose(rd);
        rd = dodo_mopen(SMALL, fd, 0);
    }
    dodo_set_log(forking_hook, NULL);
    (void)kill(atoi(argv[2]), SIGKILL); /* which is something to tell */
    while (dodo_mread(rd, 0, buf, sizeof buf) == sizeof buf)
        ;
    if (errno != ENOMEM)
        return 2;
    while (hook_exits || hook_forks == 0) /* the library's own thread may have been first to see */
        (void)sched_yield();
    return 0;
}

static void run_hook(const char *what)
{
    char pid[12];
    Daemon *imd = &cluster.imds[cluster.imds_count - 1];
    (void)snprintf(pid, sizeof pid, "%d", (int)imd->pid);
    const char *args[] = {"hook", what, path, pid, NULL};
    child_must_succeed(child_start(args), what);
    daemon_kill(imd);
}

static void hook__forks(void **state)
{
    (void)state;
    run_hook("fork");
}

static void hook__exits(void **state)
{
    (void)state;
    run_hook("exit");
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* argv: the file, calls before the end, flags. */
static int scenario_exit(char **argv)
{
    LoadConfig load = {.base = 40 * PIECE,
                       .regions = 2,
                       .threads = THREADS,
                       .flags = (unsigned)atoi(argv[2]),
                       .may_lose = true};
    load.fd = open(argv[0], O_RDWR | O_CLOEXEC);
    Load *l = load_start(&load);
    load_wait(l, (uint64_t)atoi(argv[1]));
    exit(0);
}

static void exit__while_threads_work(void **state)
{
    (void)state;
    for (int i = 0; i < 24 / SCALE; i++) {
        char ops[12], flags[12];
        (void)snprintf(ops, sizeof ops, "%d", i * 7 / SCALE);
        (void)snprintf(flags, sizeof flags, "%d", i % 2 ? DODO_FALLBACK : 0);
        const char *args[] = {"exit", path, ops, flags, NULL};
        child_must_succeed(child_start(args), "exit while threads work");
    }
}

/* A handler that runs after the library's own: there, regions are without their hosts. */
static void late_handler(void)
{
    char buf[10];
    int rd = hook_forks ? (int)hook_forks - 1 : -1;
    bool good = dodo_mread(rd, 0, buf, sizeof buf) == sizeof buf;            /* FALLBACK */
    good &= dodo_mwrite(rd, 0, buf, sizeof buf) == sizeof buf;               /* the file */
    good &= dodo_mread(rd + 1, 0, buf, sizeof buf) == -1 && errno == ENOMEM; /* not FALLBACK */
    good &= piece_open(2, 0) == -1 && errno == ENOMEM;
    good &= dodo_mclose(rd + 1) == -1 && errno == EINVAL;
    good &= dodo_mclose(rd) == 0;
    good &= dodo_shutdown() == 0;
    _exit(good ? 0 : 3);
}

static int scenario_late(char **argv)
{
    (void)atexit(late_handler);
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    int one = piece_open(0, DODO_FALLBACK), two = piece_open(1, 0);
    if (one < 0 || two != one + 1 || piece_check(one, 0) != 0 || piece_check(two, 1) != 0)
        return 1;
    hook_forks = (unsigned)one + 1;
    exit(0);
}

static void exit__calls_of_later_handlers(void **state)
{
    (void)state;
    const char *args[] = {"late", path, NULL};
    child_must_succeed(child_start(args), "calls of later handlers");
}

/* argv: the file; the whole pool is left open. */
static int scenario_hog(char **argv)
{
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    return dodo_mopen_flags(40u << 20, fd, 1u << 30, DODO_RDONLY) >= 0 ? 0 : 1;
}

/* The good-bye frees the memory at once: the next has it. */
static void exit__gives_the_memory_back(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *args[] = {"hog", path, NULL};
        child_must_succeed(child_start(args), "a program that leaves all to exit()");
    }
}

/* Again where a busy machine's manager did not answer in time. */
static int piece_open_patiently(unsigned piece)
{
    int rd;
    do
        rd = piece_open(piece, 0);
    while (rd < 0 && errno == ENOMEM);
    return rd;
}

/* argv: exit or shutdown, the file, the pid of cmd. */
static int scenario_silent(char **argv)
{
    fd = open(argv[1], O_RDWR | O_CLOEXEC);
    for (unsigned i = 0; i < 40; i++)
        if (piece_open_patiently(i) < 0)
            return 1;
    pid_t cmd = atoi(argv[2]);
    process_pause(cmd);
    if (strcmp(argv[0], "exit") == 0)
        exit(0);
    if (dodo_shutdown() != -1 || errno != EINVAL)
        return 2;
    (void)kill(cmd, SIGCONT);
    int rd = piece_open_patiently(3);
    return rd < 0 || piece_check(rd, 3) != 0 || dodo_shutdown() != 0 ? 3 : 0;
}

static void run_silent(const char *what)
{
    char pid[12];
    (void)snprintf(pid, sizeof pid, "%d", (int)cluster.cmd.pid);
    const char *args[] = {"silent", what, path, pid, NULL};
    child_must_succeed(child_start(args), what);
}

/* A manager that does not answer is not waited for, region by region. */
static void exit__manager_is_silent(void **state)
{
    (void)state;
    run_silent("exit");
}

static void shutdown__manager_is_silent(void **state)
{
    (void)state;
    run_silent("shutdown");
}

static void shutdown__and_start_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        LoadConfig load = {
            .fd = fd, .base = 40 * PIECE, .regions = 1, .threads = THREADS, .ops = 20 / SCALE};
        Load *l = load_start(&load);
        assert_int_equal(load_join(l), 0);
        int rd = load_rd(l, 0);
        assert_int_equal(dodo_shutdown(), 0);
        assert_int_equal(dodo_mclose(rd), -1);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(dodo_shutdown(), 0);
        Load *again = load_start(&load);
        assert_int_equal(load_join(again), 0);
        load_free(again);
        load_discard(l);
    }
}

/* ---- limits --------------------------------------------------------------------------------- */

static int filler[1024];
static unsigned filled;

static void table_fill(void)
{
    for (filled = 0; filled < 1024; filled++)
        if ((filler[filled] = dup(STDERR_FILENO)) < 0)
            return;
}

static void table_free(void)
{
    while (filled > 0)
        (void)close(filler[--filled]);
}

static void *reader_main(void *arg)
{
    int rd = *(int *)arg;
    for (int i = 0; i < 20 / SCALE; i++)
        if (piece_check(rd, 0) != 0)
            return arg;
    return NULL;
}

/* With no descriptor available, calls share the sockets there are. */
static int scenario_table(char **argv)
{
    struct rlimit limit = {256, 256};
    pthread_t threads[THREADS];
    void *bad;
    char byte;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    table_fill();
    if (piece_open(0, 0) != -1 || errno != ENOMEM) /* the library itself cannot start */
        return 1;
    table_free();
    int rd = piece_open(0, 0);
    if (rd < 0)
        return 2;
    table_fill();
    for (int i = 0; i < THREADS; i++)
        (void)pthread_create(&threads[i], NULL, reader_main, &rd);
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &bad) != 0 || bad)
            return 3;
    if (piece_open(1, 0) != -1 || errno != EMFILE)
        return 4;
    if (dodo_mread(rd, 0, &byte, 1) != 1 || dodo_mwrite(rd, 0, &byte, 1) != 1 ||
        dodo_msync(rd) != 0 || dodo_mclose(rd) != 0)
        return 5;
    table_free();
    return piece_open(1, 0) < 0 ? 6 : 0;
}

static void limits__full_table(void **state)
{
    (void)state;
    const char *args[] = {"table", path, NULL};
    child_must_succeed(child_start(args), "full table of descriptors");
}

static void *small_stack_main(void *arg)
{
    (void)arg;
    int rd = piece_open(30, DODO_RETAIN); /* starts the library */
    if (rd < 0 || piece_check(rd, 30) != 0)
        return NULL;
    char byte = 0;
    if (dodo_mread(rd, 7, &byte, 1) != 1 || dodo_mwrite(rd, 7, &byte, 1) != 1)
        return NULL;
    if (dodo_msync(rd) != 0 || dodo_mclose(rd) != 0 || dodo_shutdown() != 0)
        return NULL;
    return &fd;
}

static int standard_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 3; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* A program that prints, though it has no standard output, must not meet the library's files and
 * sockets there. */
static int scenario_bare(char **argv)
{
    void *tag;
    uint8_t buf[SMALL];
    fd = fcntl(open(argv[0], O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++)
        (void)close(i);
    int rd = piece_open(0, 0);
    if (rd < 0 || piece_check(rd, 0) != 0 || standard_descriptors() != 0)
        return 1;
    DodoQueue *q = dodo_queue_open(2);
    DodoDone done;
    if (!q || dodo_queue_read(q, rd, 0, buf, sizeof buf, &tag) != 0 ||
        dodo_queue_wait(q, &done, 1, -1) != 1 || dodo_prefetch(rd, 0, PIECE) != 0 ||
        standard_descriptors() != 0)
        return 2;
    if (dodo_queue_close(q) != 0 || dodo_mclose(rd) != 0 || standard_descriptors() != 0)
        return 3;
    return dodo_shutdown() == 0 && standard_descriptors() == 0 ? 0 : 4;
}

static void limits__no_standard_descriptors(void **state)
{
    (void)state;
    const char *args[] = {"bare", path, NULL};
    child_must_succeed(child_start(args), "no standard descriptors");
}

/* The program's sandbox refuses getrandom(2) in all its threads from now on. */
static bool random_refuse(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    char byte;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0 &&
           getrandom(&byte, 1, 0) == -1;
}

/* argv: the file; "first": before the library starts. */
static int scenario_sandbox(char **argv)
{
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    if (strcmp(argv[1], "first") == 0) {
        if (!random_refuse() || piece_open(0, 0) != -1 || errno != ENOMEM)
            return 1;
        return strstr(dodo_last_error(), "getrandom") ? 0 : 2;
    }
    int rd = piece_open(0, 0);
    if (rd < 0 || !random_refuse() || piece_check(rd, 0) != 0)
        return 3;
    DodoQueue *q = dodo_queue_open(2); /* a socket and sessions of its own */
    uint8_t buf[SMALL];
    DodoDone done;
    if (!q || dodo_queue_read(q, rd, 0, buf, sizeof buf, NULL) != 0 ||
        dodo_queue_wait(q, &done, 1, -1) != 1 || done.result != sizeof buf)
        return 4;
    int other = piece_open(1, 0);
    return other < 0 || piece_check(other, 1) != 0 || dodo_queue_close(q) != 0 ||
                   dodo_mclose(other) != 0
               ? 5
               : 0;
}

static void limits__no_randomness(void **state)
{
    (void)state;
    const char *first[] = {"sandbox", path, "first", NULL};
    const char *later[] = {"sandbox", path, "later", NULL};
    child_must_succeed(child_start(first), "no randomness");
    child_must_succeed(child_start(later), "no randomness any more");
}

static void hook_ignores(void *ctx, int level, const char *text)
{
    (void)ctx, (void)level, (void)text;
}

/* As small as musl's stacks, with a page below that must not be touched. */
static void limits__small_stack(void **state)
{
    (void)state;
#if defined(SLOW) || defined(SANITIZED)
    const size_t size = 1 << 20, mine = 0; /* their frames are larger */
#else
    const size_t size = 128 << 10, mine = size / 2; /* the program needs some, too */
#endif
    pthread_t thread;
    pthread_attr_t attr;
    void *good;
    uint8_t *stack =
        mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    assert_int_equal(mprotect(stack, 4096, PROT_NONE), 0);
    memset(stack + 4096, 0xa5, size);
    dodo_set_log(hook_ignores, NULL);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, stack + 4096, size), 0);
    assert_int_equal(pthread_create(&thread, &attr, small_stack_main, NULL), 0);
    assert_int_equal(pthread_join(thread, &good), 0);
    assert_ptr_equal(good, &fd);
    size_t untouched = 0;
    while (stack[4096 + untouched] == 0xa5)
        untouched++;
    assert_true(untouched >= mine);
    dodo_set_log(NULL, NULL);
    (void)pthread_attr_destroy(&attr);
    (void)munmap(stack, size + 4096);
}

/* ---- ---------------------------------------------------------------------------------------- */

static int child_main(const char *scenario, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **argv);
    } scenarios[] = {
        {"exit", scenario_exit},   {"holder", scenario_holder}, {"hog", scenario_hog},
        {"hook", scenario_hook},   {"late", scenario_late},     {"silent", scenario_silent},
        {"table", scenario_table}, {"bare", scenario_bare},     {"sandbox", scenario_sandbox},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenario, scenarios[i].name) == 0)
            return scenarios[i].run(argv);
    return 99;
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define HASTY(f) cmocka_unit_test_setup_teardown(f, set_up_hasty, tear_down)
#define SILENT(f) cmocka_unit_test_setup_teardown(f, set_up_slow, tear_down)
    const struct CMUnitTest tests[] = {
        T(fork__while_threads_work),
        T(fork__exit_says_nothing),
        T(fork__of_a_fork),
        T(fork__child_keeps_no_lock),
        T(fork__child_forgets_the_key),
        HASTY(hook__forks),
        HASTY(hook__exits),
        T(exit__while_threads_work),
        T(exit__calls_of_later_handlers),
        T(exit__gives_the_memory_back),
        SILENT(exit__manager_is_silent),
        SILENT(shutdown__manager_is_silent),
        T(shutdown__and_start_again),
        T(limits__full_table),
        T(limits__no_standard_descriptors),
        T(limits__no_randomness),
        T(limits__small_stack),
    };
    if (argc > 2 && strcmp(argv[1], "child") == 0)
        return child_main(argv[2], argv + 3);
    cluster_arguments(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
