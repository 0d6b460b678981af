/* SPDX-License-Identifier: MIT */
/* A host that is asked to end (SIGTERM) while programs read: with DODO_FALLBACK no read fails, else
 * exactly one, with ENOMEM, for each region that was there; opened again, it is elsewhere. */
#include "tests/lib/case.h"
#include "tests/unit/api_fixture.h"

#include <sys/wait.h>

enum { REGIONS = 10, LEN = 512 * KIB, PIECE = 8 * KIB, ROUNDS_AFTER = 20 };

typedef struct Reader {
    int rd;
    off_t start;
    unsigned flags;
    bool there; /* on the host that ends */
    unsigned failed;
} Reader;

static void read_one(Reader *r, off_t at)
{
    uint8_t got[PIECE];
    ssize_t n = dodo_mread(r->rd, at, got, sizeof got);
    if (n < 0) {
        assert_int_equal(errno, ENOMEM);
        r->failed++;
        (void)dodo_mclose(r->rd);
        r->rd = opened_again(LEN, r->start, r->flags);
        n = dodo_mread(r->rd, at, got, sizeof got);
    }
    assert_int_equal(n, sizeof got);
    assert_memory_equal(got, content + r->start + at, sizeof got);
}

static void read_round(Reader *readers, unsigned round)
{
    for (unsigned i = 0; i < REGIONS; i++)
        read_one(&readers[i], (off_t)(round * 13 + i * 7) % (LEN / PIECE) * PIECE);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == pid;
}

TEST_WITH(leave__costs_one_read_a_region_at_most, NULL, tear_down)
{
    Reader readers[REGIONS];
    unsigned there = 0, failed = 0, round = 0;
    begin(no_refraction, "16M");
    Daemon *leaving = &cluster.imds[0];
    (void)cluster_imd(&cluster, "16M");
    for (unsigned i = 0; i < REGIONS; i++) {
        Reader *r = &readers[i];
        *r = (Reader){.start = (off_t)i * LEN, .flags = i % 2 ? DODO_FALLBACK : 0};
        r->rd = opened(LEN, r->start, r->flags);
        fill(r->rd, r->start, 0, LEN);
        r->there = cluster_is_host(leaving, stat_of(r->rd).host);
        there += r->there && !(r->flags & DODO_FALLBACK);
    }
    read_round(readers, round++);
    assert_int_equal(kill(leaving->pid, SIGTERM), 0);
    while (!has_ended(leaving->pid))
        read_round(readers, round++);
    for (unsigned i = 0; i < ROUNDS_AFTER; i++)
        read_round(readers, round++);
    for (unsigned i = 0; i < REGIONS; i++) {
        bool fallback = readers[i].flags & DODO_FALLBACK;
        assert_int_equal(readers[i].failed, readers[i].there && !fallback ? 1 : 0);
        failed += readers[i].failed;
        assert_int_equal(dodo_mclose(readers[i].rd), 0);
    }
    assert_int_equal(failed, there);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
