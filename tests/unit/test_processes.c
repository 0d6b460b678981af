/* SPDX-License-Identifier: MIT */
/* The library in processes that fork, exit or start over, on a real cluster. */
#include "tests/lib/case.h"
#include "tests/unit/process_fixture.h"

static const char hasty[] = "[client]\ntransfer_deadline = 2s\nrefraction = 20ms\n";
/* Time that no test would wait for each region. */
static const char slow_requests[] = "[client]\nrequest_deadline = 5s\nrefraction = 20ms\n";

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

#if !UNDER_ASAN
/* ASan's allocator does not survive a fork beside threads that allocate: a lock of it that one of
 * them has is never free in the child. */
TEST_WITH(fork__while_threads_work, set_up, tear_down)
{
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
#endif

/* Neither its exit handlers nor what it says for itself end anything of its parent's. */
TEST_WITH(fork__exit_says_nothing, set_up, tear_down)
{
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
TEST_WITH(fork__of_a_fork, set_up, tear_down)
{
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

#if !UNDER_ASAN /* as above */
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
TEST_WITH(fork__child_keeps_no_lock, set_up, tear_down)
{
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
#endif

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

TEST_WITH(fork__child_forgets_the_key, set_up, tear_down)
{
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

#define HASTY(name) TEST_WITH(name, set_up_hasty, tear_down)

HASTY(hook__forks)
{
    run_hook("fork");
}

HASTY(hook__exits)
{
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

TEST_WITH(exit__while_threads_work, set_up, tear_down)
{
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

TEST_WITH(exit__calls_of_later_handlers, set_up, tear_down)
{
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
TEST_WITH(exit__gives_the_memory_back, set_up, tear_down)
{
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

#define SILENT(name) TEST_WITH(name, set_up_slow, tear_down)

/* A manager that does not answer is not waited for, region by region. */
SILENT(exit__manager_is_silent)
{
    run_silent("exit");
}

SILENT(shutdown__manager_is_silent)
{
    run_silent("shutdown");
}

TEST_WITH(shutdown__and_start_again, set_up, tear_down)
{
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

/* ---- ---------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    static const Child children[] = {
        {"exit", scenario_exit},
#if !UNDER_ASAN
        {"holder", scenario_holder},
#endif
        {"hog", scenario_hog},
        {"hook", scenario_hook},
        {"late", scenario_late},
        {"silent", scenario_silent},
    };
    int status = child_main(argc, argv, children, ARRAY_SIZE(children));
    if (status >= 0)
        return status;
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
