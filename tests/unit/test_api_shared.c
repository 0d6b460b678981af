/* SPDX-License-Identifier: MIT */
/* Processes that read the same part of the same file share its remote memory. The host has room for
 * it once. */
#include "tests/lib/case.h"
#include "tests/unit/api_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

enum { LEN = 3 * MIB + 777, AT = 4096, READERS = 8 };
static const char pool[] = "4M";

static void begin_reading(const char *config)
{
    begin(config, pool);
    nobody_writes();
    await_settled();
}

/* ---- another process ------------------------------------------------------------------------ */

/* argv: the file, a socket. Each byte from there is something to do; the answer is 8 bytes. */
static int child_main(char **argv)
{
    static uint8_t want[LEN], got[LEN];
    int peer = atoi(argv[1]), rd = -1;
    char what;
    fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    if (pread(fd, want, LEN, AT) != LEN)
        return 1;
    while (read(peer, &what, 1) == 1) {
        DodoStat st;
        uint64_t answer = 0;
        if (what == 'o')
            answer = (rd = dodo_mopen_flags(LEN, fd, AT, DODO_RDONLY)) >= 0;
        else if (what == 'c')
            answer = dodo_mclose(rd) == 0;
        else if (what == 'x')
            exit(0);
        else if (dodo_mread(rd, 0, got, LEN) != LEN || memcmp(want, got, LEN) != 0 ||
                 dodo_stat(rd, &st) != 0)
            return 2;
        else
            answer = st.misses;
        if (write(peer, &answer, sizeof answer) != sizeof answer)
            return 3;
    }
    return 0;
}

typedef struct Child {
    pid_t pid;
    int peer;
} Child;

static Child child_new(void)
{
    int pair[2];
    char number[16];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(fcntl(pair[0], F_SETFD, FD_CLOEXEC), 0);
    (void)snprintf(number, sizeof number, "%d", pair[1]);
    const char *args[] = {path, number, NULL};
    Child c = {.pid = child_start(args), .peer = pair[0]};
    assert_int_equal(close(pair[1]), 0);
    return c;
}

static uint64_t ask(const Child *c, char what)
{
    uint64_t answer = 0;
    assert_int_equal(write(c->peer, &what, 1), 1);
    assert_int_equal(read(c->peer, &answer, sizeof answer), sizeof answer);
    return answer;
}

static void child_end(Child *c)
{
    assert_int_equal(close(c->peer), 0);
    child_must_succeed(c->pid, "a reader");
}

/* Until it reads all from remote memory. */
static void ask_full(const Child *c)
{
    uint64_t misses = UINT64_MAX;
    for (uint64_t now; (now = ask(c, 'r')) != misses;)
        misses = now;
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

/* ---- cases ---------------------------------------------------------------------------------- */

CASE(shared__eight_processes_hold_one_copy)
{
    Child readers[READERS];
    begin_reading(no_refraction);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = child_new();
        assert_int_equal(ask(&readers[i], 'o'), 1);
        if (i == 0)
            ask_full(&readers[i]);
        else
            assert_int_equal(ask(&readers[i], 'r'), 0); /* all of it was there */
    }
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(ask(&readers[i], 'c'), 1);
        child_end(&readers[i]);
    }
}

/* What it held is not read from the file again. */
CASE(shared__the_first_one_closes_first)
{
    begin_reading(no_refraction);
    Child first = child_new();
    assert_int_equal(ask(&first, 'o'), 1);
    ask_full(&first);
    int rd = opened(LEN, AT, DODO_RDONLY);
    assert_reads(rd, AT, 0, LEN);
    assert_int_equal(stat_of(rd).misses, 0);
    assert_int_equal(ask(&first, 'c'), 1);
    child_end(&first);
    uint64_t hits = stat_of(rd).hits;
    while (stat_of(rd).hits == hits) /* the file serves until the region is its own */
        assert_reads(rd, AT, 0, 4096);
    uint64_t misses = stat_of(rd).misses;
    assert_reads(rd, AT, 0, LEN);
    assert_int_equal(stat_of(rd).misses, misses);
    Child next = child_new();
    assert_int_equal(ask(&next, 'o'), 1);
    assert_int_equal(ask(&next, 'r'), 0); /* it finds that there is an opener */
    child_end(&next);
    assert_int_equal(dodo_mclose(rd), 0);
}

/* One of the others opens it again, for all. */
CASE(shared__the_first_one_exits_without_closing)
{
    char leave = 'x';
    uint64_t misses = 0, now = UINT64_MAX;
    begin_reading(no_refraction);
    Child first = child_new(), second = child_new();
    assert_int_equal(ask(&first, 'o'), 1);
    ask_full(&first);
    assert_int_equal(ask(&second, 'o'), 1);
    int rd = opened(LEN, AT, DODO_RDONLY);
    assert_reads(rd, AT, 0, LEN);
    assert_int_equal(write(first.peer, &leave, 1), 1);
    child_end(&first);
    for (unsigned i = 0; i < 500 && now != misses; i++) {
        misses = now;
        assert_reads(rd, AT, 0, LEN);
        now = ask(&second, 'r') + stat_of(rd).misses;
    }
    assert_int_equal(now, misses); /* both have it */
    child_end(&second);
}

static unsigned map_files(void)
{
    unsigned count = 0;
    char at[512];
    (void)snprintf(at, sizeof at, "%s/dodo/shared", getenv("XDG_RUNTIME_DIR"));
    DIR *dir = opendir(at);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

/* Their memory is not the host's for ever. */
CASE(shared__no_map_stays_after_the_last_exit)
{
    const char leave = 'x';
    begin_reading(no_refraction);
    Child readers[2] = {child_new(), child_new()};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ask(&readers[i], 'o'), 1);
    assert_int_equal(map_files(), 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(write(readers[i].peer, &leave, 1), 1);
        child_end(&readers[i]);
        assert_int_equal(map_files(), i == 0);
    }
}

CASE(shared__the_first_one_is_killed)
{
    begin_reading(no_refraction);
    Child first = child_new();
    assert_int_equal(ask(&first, 'o'), 1);
    ask_full(&first);
    int rd = opened(LEN, AT, DODO_RDONLY);
    assert_int_equal(kill(first.pid, SIGKILL), 0);
    (void)child_wait(first.pid);
    (void)close(first.peer);
    for (unsigned i = 0; i < 20; i++)
        assert_reads(rd, AT, 0, LEN);
    assert_int_equal(dodo_mclose(rd), 0);
}

/* Each gets what the file held since its own opening. */
CASE(shared__not_across_a_change)
{
    begin_reading(no_refraction);
    Child first = child_new();
    assert_int_equal(ask(&first, 'o'), 1);
    ask_full(&first);
    int writer = open(path, O_RDWR | O_CLOEXEC);
    memset(content + AT + 100000, 0x5a, 50000);
    assert_int_equal(pwrite(writer, content + AT + 100000, 50000, AT + 100000), 50000);
    assert_int_equal(close(writer), 0);
    await_settled();
    int rd = dodo_mopen_flags(LEN, fd, AT, DODO_RDONLY | DODO_FALLBACK);
    assert_true(rd >= 0);
    for (unsigned i = 0; i < 5; i++)
        assert_reads(rd, AT, 0, LEN);
    assert_int_equal(dodo_mclose(rd), 0);
    child_end(&first);
}

/* There is room for one only: a second one finds none. */
CASE(shared__not_when_it_is_off)
{
    begin_reading(PATIENT "refraction = 1us\nshare = no\n");
    Child first = child_new();
    assert_int_equal(ask(&first, 'o'), 1);
    assert_int_equal(dodo_mopen_flags(LEN, fd, AT, DODO_RDONLY), -1);
    assert_int_equal(errno, ENOMEM);
    child_end(&first);
}

/* A program that may write the file is no reader. */
CASE(shared__not_with_a_writer)
{
    begin_reading(no_refraction);
    int writer = open(path, O_RDWR | O_CLOEXEC);
    Child first = child_new();
    assert_int_equal(ask(&first, 'o'), 1);
    assert_int_equal(dodo_mopen_flags(LEN, fd, AT, DODO_RDONLY), -1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(close(writer), 0);
    child_end(&first);
}

static unsigned descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

/* A program may have few of them. */
CASE(shared__takes_no_descriptors)
{
    enum { REGIONS = 16, EACH = 65536 };
    int rd[REGIONS];
    begin_reading(no_refraction);
    int warm = opened(EACH, REGIONS * EACH, DODO_RDONLY);
    unsigned before = descriptors();
    for (unsigned i = 0; i < REGIONS; i++)
        rd[i] = opened(EACH, (off_t)i * EACH, DODO_RDONLY);
    assert_int_equal(descriptors(), before + REGIONS); /* their files */
    for (unsigned i = 0; i < REGIONS; i++)
        assert_int_equal(dodo_mclose(rd[i]), 0);
    assert_int_equal(dodo_mclose(warm), 0);
}

/* The parent's locks do not go on in it. */
CASE(shared__a_forked_child_holds_nothing)
{
    begin_reading(no_refraction);
    int rd = opened(LEN, AT, DODO_RDONLY), wait[2];
    fill(rd, AT, 0, LEN);
    assert_int_equal(pipe(wait), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(wait[1]);
        _exit(read(wait[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(dodo_mclose(rd), 0);
    Child other = child_new();
    assert_int_equal(ask(&other, 'o'), 1); /* it is the first one again */
    ask_full(&other);
    child_end(&other);
    (void)close(wait[0]);
    (void)close(wait[1]);
    assert_int_equal(child_wait(pid), 0);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "child") == 0)
        return child_main(argv + 2);
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
