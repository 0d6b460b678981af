/* SPDX-License-Identifier: MIT */
/* What is kept for the next run (DODO_RETAIN): found again, and not when it may be stale. */
#include "tests/lib/case.h"
#include "tests/unit/api_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* As another program does. */
static int writer_open(void)
{
    int writer = open(path, O_RDWR | O_CLOEXEC);
    assert_true(writer >= 0);
    return writer;
}

enum { KEEP = DODO_RETAIN | DODO_RDONLY, KEPT_BYTES = 3 * MIB + 777, KEPT_AT = 4097 };

/* argv: the file; whether a region from before is to be found; "write" or "read"; how it ends. As
 * the next run of a program would be. */
static int child_main(char **argv)
{
    bool expected = strcmp(argv[1], "found") == 0, writing = strcmp(argv[2], "write") == 0;
    static uint8_t want[KEPT_BYTES], got[KEPT_BYTES];
    DodoStat st;
    fd = open(argv[0], writing ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
    if (pread(fd, want, KEPT_BYTES, KEPT_AT) != KEPT_BYTES)
        return 1;
    int rd = dodo_mopen_flags(KEPT_BYTES, fd, KEPT_AT,
                              writing ? DODO_RETAIN : DODO_RETAIN | DODO_RDONLY);
    if (rd < 0 || dodo_stat(rd, &st) != 0)
        return 2;
    if (st.reused != expected)
        return 3;
    for (uint64_t misses = UINT64_MAX; misses != st.misses;) {
        misses = st.misses;
        if (dodo_mread(rd, 0, got, KEPT_BYTES) != KEPT_BYTES || memcmp(want, got, KEPT_BYTES) != 0)
            return 4;
        if (dodo_stat(rd, &st) != 0 || (expected && st.misses > 0))
            return 5; /* what was found is all there */
    }
    if (st.hits == 0 || (writing && dodo_mwrite(rd, 5, "w", 1) != 1))
        return 6;
    if (strcmp(argv[3], "close") == 0)
        return dodo_mclose(rd) == 0 ? 0 : 7;
    return strcmp(argv[3], "shutdown") == 0 ? dodo_shutdown() : 0;
}

static void run(const char *found, const char *what, const char *end)
{
    const char *args[] = {path, found, what, end, NULL};
    child_must_succeed(child_start(args), found);
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

CASE(retain__the_next_run_has_hits_alone)
{
    begin(no_refraction, "16M");
    nobody_writes();
    await_settled();
    run("nothing", "read", "close");
    run("found", "read", "close");
    run("found", "read", "shutdown"); /* which closes, too */
    run("found", "read", "close");
}

static int open_kept(off_t offset)
{
    for (unsigned i = 0; i < 1000; i++) {
        int rd = dodo_mopen_flags(MIB, fd, offset, KEEP);
        if (rd >= 0)
            return rd;
        assert_int_equal(errno, ENOMEM); /* the manager has not heard of it all */
    }
    fail_msg("no region after 1000 times");
    return -1;
}

/* A region that was lost fails to close, at once. That ends nobody else's. */
CASE(retain__beside_a_region_that_is_gone)
{
    static uint8_t got[MIB];
    DodoStat st;
    cluster_start(&cluster, no_refraction, false);
    Daemon *first = cluster_imd(&cluster, "16M");
    file_make();
    nobody_writes();
    await_settled();
    int gone = dodo_mopen_flags(MIB, fd, 0, DODO_RDONLY);
    assert_true(gone >= 0);
    assert_int_equal(dodo_mread(gone, 0, got, MIB), MIB);
    assert_int_equal(kill(first->pid, SIGTERM), 0);
    while (dodo_mread(gone, 0, got, MIB) == MIB)
        (void)sched_yield();
    daemon_kill(first);
    (void)cluster_imd(&cluster, "16M");
    int kept = open_kept(MIB);
    assert_true(kept > gone); /* so it is closed after it */
    assert_int_equal(dodo_stat(kept, &st), 0);
    assert_int_equal(st.reused, 0);
    assert_int_equal(dodo_mread(kept, 0, got, MIB), MIB);
    assert_int_equal(dodo_shutdown(), 0);
    kept = open_kept(MIB);
    assert_int_equal(dodo_stat(kept, &st), 0);
    assert_int_equal(st.reused, 1);
}

CASE(retain__not_after_a_change)
{
    begin(no_refraction, "16M");
    nobody_writes();
    await_settled();
    run("nothing", "read", "close");
    int writer = writer_open();
    assert_int_equal(pwrite(writer, "changed", 7, KEPT_AT + 100), 7);
    assert_int_equal(close(writer), 0);
    await_settled();
    run("nothing", "read", "close");
    run("found", "read", "close");
    assert_int_equal(truncate(path, FILE_BYTES + 1), 0);
    await_settled();
    run("nothing", "read", "close");
}

/* Nor a region that could be written, and none beside one. */
CASE(retain__not_what_was_written)
{
    begin(no_refraction, "16M");
    nobody_writes();
    await_settled();
    run("nothing", "read", "close");
    run("nothing", "write", "close");
    await_settled();
    run("nothing", "read", "close");
    run("found", "read", "close");
}

/* The stamp stays as it is while somebody has the file open for writing, or mapped so: what he
 * still writes may not move it. */
CASE(retain__not_while_somebody_can_write)
{
    begin(no_refraction, "16M");
    nobody_writes();
    int writer = writer_open();
    char *map = mmap(NULL, KIB, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    await_settled();
    run("nothing", "read", "close");
    run("nothing", "read", "close");
    assert_int_equal(close(writer), 0);
    run("nothing", "read", "close");
    run("nothing", "read", "close");
    assert_int_equal(munmap(map, KIB), 0);
    run("nothing", "read", "close");
    run("found", "read", "close");
}

static void state_rename(const char *from, const char *to)
{
    char a[160], b[160];
    (void)snprintf(a, sizeof a, "%s/dodo/%s", cluster.dir, from);
    (void)snprintf(b, sizeof b, "%s/dodo/%s", cluster.dir, to);
    assert_int_equal(rename(a, b), 0);
}

/* Nobody finds or replaces a region who does not know the user's secret, though he knows all else
 * of the file. */
CASE(retain__only_for_the_same_secret)
{
    begin(no_refraction, "16M");
    nobody_writes();
    await_settled();
    run("nothing", "read", "close");
    state_rename("secret", "first");
    run("nothing", "read", "close");
    run("found", "read", "close");
    state_rename("secret", "second");
    state_rename("first", "secret");
    run("found", "read", "close");
}

/* Without a secret nothing is retained; a program that retains nothing needs none. */
CASE(retain__not_without_a_secret)
{
    char name[160];
    struct stat st;
    begin(no_refraction, "16M");
    assert_int_equal(dodo_mclose(opened(MIB, 0, 0)), 0);
    assert_int_equal(dodo_shutdown(), 0);
    nobody_writes();
    await_settled();
    (void)snprintf(name, sizeof name, "%s/dodo/secret", cluster.dir);
    assert_int_equal(stat(name, &st), -1);
    run("nothing", "read", "close");
    assert_int_equal(chmod(name, 0644), 0);
    run("nothing", "read", "close");
    run("nothing", "read", "close");
    assert_int_equal(chmod(name, 0600), 0);
    run("found", "read", "close");
}

CASE(retain__not_without_a_clean_release)
{
    begin(no_refraction, "16M");
    nobody_writes();
    await_settled();
    run("nothing", "read", "exit");
    run("nothing", "read", "close");
    run("found", "read", "exit");
    run("nothing", "read", "close");
}

/* What is only kept gives way, the least recently used first. */
CASE(retain__gives_way_when_room_is_needed)
{
    begin(no_refraction, "8M");
    nobody_writes();
    await_settled();
    for (int i = 0; i < 4; i++) {
        int rd = opened(2 * MIB, i * 2 * MIB, KEEP);
        fill(rd, i * 2 * MIB, 0, 2 * MIB);
        assert_int_equal(dodo_mclose(rd), 0);
    }
    int fresh = opened(2 * MIB, 8 * MIB, DODO_RDONLY), rd = opened(2 * MIB, 2 * MIB, KEEP);
    assert_int_equal(stat_of(fresh).reused, 0);
    assert_int_equal(stat_of(rd).reused, 1);
    assert_reads(rd, 2 * MIB, 0, 2 * MIB);
    assert_int_equal(stat_of(rd).misses, 0);
    int gone = opened(2 * MIB, 0, KEEP);
    assert_int_equal(stat_of(gone).reused, 0);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "child") == 0)
        return child_main(argv + 2);
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
