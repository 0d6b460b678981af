/* SPDX-License-Identifier: MIT */
/* Asynchronous writes and syncs on a real cluster: errors by name, the order of what is submitted,
 * cancelling, hosts that die, other threads, and the ends of regions and queues. */
#include "tests/lib/case.h"
#include "tests/unit/queue_fixture.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char striped[] = "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
                              "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n"
                              "refraction = 1us\nstripe = 64K\n";

#define CASE(name) TEST_WITH(name, NULL, tear_down)

static void write_to(int rd, off_t at, const void *buf, size_t len, void *tag)
{
    if (dodo_queue_write(q, rd, at, buf, len, tag) != 0)
        fail_msg("write: %s", dodo_last_error());
}

static void read_from(int rd, off_t at, void *buf, size_t len, void *tag)
{
    if (dodo_queue_read(q, rd, at, buf, len, tag) != 0)
        fail_msg("read: %s", dodo_last_error());
}

static void sync_it(int rd, void *tag)
{
    if (dodo_queue_sync(q, rd, tag) != 0)
        fail_msg("sync: %s", dodo_last_error());
}

static void take(void *tag, ssize_t result, int error)
{
    DodoDone done = take_one();
    assert_ptr_equal(done.tag, tag);
    assert_int_equal(done.result, result);
    assert_int_equal(done.error, error);
    if (result < 0)
        assert_true(strlen(dodo_last_error()) > 0);
}

static void assert_file(off_t at, const void *bytes, size_t len)
{
    uint8_t *there = malloc(len);
    assert_int_equal(pread(fd, there, len, at), len);
    assert_memory_equal(there, bytes, len);
    free(there);
}

/* ---- arguments ------------------------------------------------------------------------------ */

CASE(calls__einval)
{
    char byte = 0;
    begin(patient, 1, 1);
    assert_fails(dodo_queue_write(NULL, 0, 0, &byte, 1, NULL), EINVAL);
    assert_fails(dodo_queue_sync(NULL, 0, NULL), EINVAL);
    assert_fails(dodo_queue_cancel(NULL, NULL), EINVAL);
}

CASE(calls__errors_come_by_the_completion)
{
    char byte = 'x';
    begin(patient, 1, DEPTH_MAX);
    int rd = opened(10000, 0, 0), fixed = opened(10000, MIB, DODO_RDONLY);
    const struct {
        int rd;
        off_t at;
        const void *buf;
        size_t len;
        ssize_t result;
        int error;
    } rows[] = {
        {-1, 0, &byte, 1, -1, ENOMEM},
        {rd + 2, 0, &byte, 1, -1, ENOMEM},
        {fixed, 0, &byte, 1, -1, EINVAL},
        {rd, -1, &byte, 1, -1, EINVAL},
        {rd, 10001, &byte, 1, -1, EINVAL},
        {rd, 0, NULL, 1, -1, EINVAL},
        {rd, 0, &byte, (size_t)SSIZE_MAX + 1, -1, EINVAL},
        {rd, 0, NULL, 0, 0, 0},
        {rd, 10000, &byte, 1, 0, 0},
        {rd, 9999, content, 100, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_to(rows[i].rd, rows[i].at, rows[i].buf, rows[i].len, (void *)&rows[i]);
        take((void *)&rows[i], rows[i].result, rows[i].error);
    }
    assert_file(9999, content, 1);
    sync_it(-1, &rd);
    take(&rd, -1, EINVAL);
    sync_it(fixed, &fixed);
    take(&fixed, 0, 0);
    assert_int_equal(stat_of(rd).active, 1);
}

CASE(calls__eagain_when_full)
{
    begin(patient, 1, 3);
    int rd = opened(MIB, 0, 0);
    write_to(rd, 0, content + 5, 100, NULL);
    read_from(rd, 0, jobs[0].buf, 100, NULL);
    sync_it(rd, NULL);
    assert_fails(dodo_queue_write(q, rd, 0, content, 1, NULL), EAGAIN);
    assert_fails(dodo_queue_sync(q, rd, NULL), EAGAIN);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take_one().error, 0);
    assert_memory_equal(jobs[0].buf, content + 5, 100);
}

CASE(calls__errno_is_left_alone)
{
    begin(patient, 1, 2);
    int rd = opened(MIB, 0, 0);
    errno = 12345;
    assert_int_equal(dodo_queue_write(q, rd, 0, content, 5000, NULL), 0);
    assert_int_equal(dodo_queue_sync(q, rd, NULL), 0);
    assert_int_equal(dodo_queue_cancel(q, &rd), 0);
    assert_int_equal(errno, 12345);
}

CASE(write__of_a_file_that_fails)
{
    struct rlimit old, small = {.rlim_cur = 2 * MIB};
    begin(patient, 1, 8);
    int rd = opened(4 * MIB, 0, 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_to(rd, 3 * MIB, content, 5000, &old);
    read_from(rd, 3 * MIB, jobs[0].buf, 5000, &small);
    take(&old, -1, EFBIG);
    take(&small, 5000, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_memory_equal(jobs[0].buf, content + 3 * MIB, 5000);
    write_to(rd, 3 * MIB, content, 5000, &old);
    take(&old, 5000, 0);
    assert_file(3 * MIB, content, 5000);
}

/* ---- order ---------------------------------------------------------------------------------- */

enum { OPS = 64, OP_BYTES = 30000, REGIONS = 3, REGION = MIB };

/* A request, and what it must bring: what its region held when it was submitted. */
typedef struct Op {
    bool under_way, reads;
    size_t len;
    uint8_t buf[OP_BYTES], wanted[OP_BYTES];
} Op;

static void op_over(void)
{
    DodoDone done = take_one();
    Op *op = done.tag;
    assert_true(op->under_way);
    op->under_way = false;
    assert_int_equal(done.error, 0);
    assert_int_equal(done.result, op->len);
    if (op->reads)
        assert_memory_equal(op->buf, op->wanted, op->len);
}

static void all_over(const Op *ops)
{
    for (int i = 0; i < OPS; i++)
        while (ops[i].under_way)
            op_over();
}

static void op_begin(Op *op, int rd, uint8_t *model, uint32_t draw)
{
    off_t at = (off_t)(draw >> 8) % (REGION - OP_BYTES);
    if (draw >> 5 & 1) /* often to the same few blocks */
        at %= 5 * 4096;
    op->len = 1 + draw % OP_BYTES;
    op->under_way = true;
    op->reads = draw >> 3 & 1;
    if (op->reads) {
        memcpy(op->wanted, model + at, op->len);
        read_from(rd, at, op->buf, op->len, op);
    } else if (draw >> 4 & 15) {
        load_fresh(draw, op->buf, op->len);
        memcpy(model + at, op->buf, op->len);
        write_to(rd, at, op->buf, op->len, op);
    } else {
        op->len = 0;
        sync_it(rd, op);
    }
}

/* On a plain region, a striped one, and one without memory. */
CASE(order__as_if_one_after_the_other)
{
    begin(striped, 2, OPS);
    Op *ops = calloc(OPS, sizeof *ops);
    uint8_t *model = malloc(FILE_BYTES);
    uint32_t draw = 7;
    memcpy(model, content, FILE_BYTES);
    int rds[REGIONS] = {opened(REGION, 0, 0), opened(REGION, REGION, DODO_STRIPE),
                        dodo_mopen_flags(64 * MIB, fd, 2 * REGION, DODO_FALLBACK)};
    assert_int_equal(stat_of(rds[2]).active, 0);
    for (unsigned i = 0; i < 4000; i++) {
        draw = draw * 1664525u + 1013904223u;
        Op *op = &ops[draw >> 20 & (OPS - 1)];
        while (op->under_way)
            op_over();
        op_begin(op, rds[i % REGIONS], model + i % REGIONS * REGION, draw);
        if (i % 1000 == 999) {
            all_over(ops);
            fill(rds[0], REGION); /* from remote memory from now on */
        }
    }
    all_over(ops);
    assert_file(0, model, FILE_BYTES);
    assert_true(stat_of(rds[0]).hits > 0);
    free(ops);
    free(model);
}

/* It looks at its region when it begins, not when it was submitted beside the write. */
CASE(order__a_read_behind_a_write_comes_from_memory)
{
    begin(patient, 1, 4);
    int rd = opened_full(MIB, 0);
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t hits = stat_of(rd).hits;
        write_to(rd, 8192, content + i, 20480, &rd);
        read_from(rd, 8192, jobs[0].buf, 20480, &fd);
        take(&rd, 20480, 0);
        take(&fd, 20480, 0);
        assert_memory_equal(jobs[0].buf, content + i, 20480);
        assert_int_equal(stat_of(rd).hits - hits, 20480);
    }
}

/* A sync waits for the writes before it, and no read or write waits for the sync. */
CASE(order__sync_behind_its_writes)
{
    DodoDone done;
    begin(patient, 1, 8);
    int rd = opened(MIB, 0, 0), other = opened(MIB, MIB, 0);
    fill(rd, MIB);
    process_pause(cluster.imds[0].pid);
    write_to(rd, 0, content + 9, 10000, &rd);
    sync_it(rd, &other);
    sync_it(other, &fd); /* which has no writes */
    take(&fd, 0, 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, 0), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, 30), 0);
    (void)kill(cluster.imds[0].pid, SIGCONT);
    take(&rd, 10000, 0);
    take(&other, 0, 0);
    assert_file(0, content + 9, 10000);
}

/* ---- cancelling ----------------------------------------------------------------------------- */

CASE(cancel__what_waits)
{
    char a, b, c;
    begin(patient, 1, 8);
    int rd = opened_full(MIB, 0);
    process_pause(cluster.imds[0].pid);
    write_to(rd, 0, content + 100, 5000, &a);
    write_to(rd, 4000, content + 200, 5000, &b);
    read_from(rd, 8000, jobs[0].buf, 2000, &b);
    sync_it(rd, &b);
    read_from(rd, 4096, jobs[1].buf, 900, &c);     /* behind both writes */
    assert_int_equal(dodo_queue_cancel(q, &a), 0); /* too late */
    assert_int_equal(dodo_queue_cancel(q, &rd), 0);
    assert_int_equal(dodo_queue_cancel(q, &b), 3);
    assert_int_equal(dodo_queue_cancel(q, &b), 0);
    assert_true(readable(-1));
    for (int i = 0; i < 3; i++) {
        take(&b, -1, ECANCELED);
        assert_says("cancelled");
    }
    (void)kill(cluster.imds[0].pid, SIGCONT);
    take(&a, 5000, 0);
    take(&c, 900, 0);
    assert_memory_equal(jobs[1].buf, content + 100 + 4096, 900);
    assert_file(0, content + 100, 5000);
    assert_file(5000, content + 5000, 5000);
}

/* What its host says later finds no buffer. */
CASE(cancel__a_read_under_way)
{
    static uint8_t pattern[64 * KIB];
    begin(patient, 1, READS);
    int rd = opened_full(4 * MIB, 0);
    memset(pattern, 0xA5, sizeof pattern);
    for (int round = 0; round < 5; round++) {
        process_pause(cluster.imds[0].pid);
        for (int i = 0; i < READS; i++)
            submit(&jobs[i], rd, 0, i * 1000, 64 * KIB);
        for (int i = 0; i < READS; i += 2) {
            assert_int_equal(dodo_queue_cancel(q, &jobs[i]), 1);
            DodoDone done = take_one();
            assert_int_equal(done.error, ECANCELED);
            ((Job *)done.tag)->under_way = false;
            memset(((Job *)done.tag)->buf, 0xA5, sizeof pattern);
        }
        (void)kill(cluster.imds[0].pid, SIGCONT);
        take_good(READS / 2);
        for (int i = 0; i < READS; i += 2)
            assert_memory_equal(jobs[i].buf, pattern, sizeof pattern);
    }
    assert_int_equal(stat_of(rd).active, 1);
}

/* The descriptor tells of it now, not when the host would be asked again. */
CASE(cancel__is_heard_at_once)
{
    DodoDone done;
    begin(patient, 1, 1);
    int rd = opened_full(MIB, 0);
    process_pause(cluster.imds[0].pid);
    submit(&jobs[0], rd, 0, 0, 1000);
    while (readable(100)) /* until the next question is a while off */
        assert_int_equal(dodo_queue_wait(q, &done, 1, 0), 0);
    assert_int_equal(dodo_queue_cancel(q, &jobs[0]), 1);
    assert_true(readable(0));
    take(&jobs[0], -1, ECANCELED);
}

/* ---- hosts that die ------------------------------------------------------------------------- */

/* The first write is in the file, and so it is no failure; nothing of the second one is. */
CASE(lost__what_waits_hears_of_it)
{
    char a, b, c;
    begin(hasty_host, 1, 8);
    int rd = opened_full(MIB, 0);
    process_pause(cluster.imds[0].pid);
    write_to(rd, 0, content + 100, 5000, &a);
    write_to(rd, 0, content + 200, 5000, &b);
    sync_it(rd, &c);
    take(&a, 5000, 0);
    take(&b, -1, ENOMEM);
    take(&c, 0, 0);
    assert_file(0, content + 100, 5000);
    assert_int_equal(stat_of(rd).active, 0);
}

CASE(lost__fallback_goes_on_with_the_file)
{
    char a, b, c, d;
    begin(hasty_host, 1, 8);
    int rd = opened_full(MIB, DODO_FALLBACK);
    process_pause(cluster.imds[0].pid);
    write_to(rd, 0, content + 100, 60000, &a);
    daemon_kill(&cluster.imds[0]);
    write_to(rd, 50000, content + 200, 50000, &b);
    read_from(rd, 49000, jobs[0].buf, 2000, &c);
    sync_it(rd, &d);
    take(&a, 60000, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take_one().error, 0);
    assert_file(0, content + 100, 50000);
    assert_file(50000, content + 200, 50000);
    assert_memory_equal(jobs[0].buf, content + 100 + 49000, 1000);
    assert_memory_equal(jobs[0].buf + 1000, content + 200, 1000);
}

/* ---- other threads -------------------------------------------------------------------------- */

enum { ROUNDS = 60, COMMON = 3 * 4096 };

static atomic_bool over;
static int common_rd;

static void *writer_main(void *arg)
{
    while (!over)
        if (dodo_mwrite(common_rd, 0, arg, COMMON) != COMMON)
            return NULL;
    return arg;
}

/* A write of the queue waits for one of another thread, which no descriptor shows. */
CASE(threads__write_the_same_blocks)
{
    static uint8_t theirs[COMMON], ours[COMMON];
    pthread_t threads[2];
    begin(patient, 1, 4);
    common_rd = opened(MIB, 0, 0);
    memset(theirs, 1, sizeof theirs);
    memset(ours, 2, sizeof ours);
    over = false;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, writer_main, theirs), 0);
    for (int i = 0; i < ROUNDS; i++) {
        write_to(common_rd, 0, ours, COMMON, ours);
        read_from(common_rd, 0, jobs[0].buf, COMMON, &jobs[0]);
        for (int n = 0; n < 2; n++) { /* by an event loop, too */
            DodoDone done;
            while (dodo_queue_wait(q, &done, 1, i % 2 ? -1 : 0) == 0)
                (void)readable(-1);
            assert_int_equal(done.result, COMMON);
        }
        for (int at = 0; at < COMMON; at++)
            assert_in_range(jobs[0].buf[at], 1, 2);
    }
    over = true;
    for (int i = 0; i < 2; i++) {
        void *good;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_ptr_equal(good, theirs);
    }
    write_to(common_rd, 0, ours, COMMON, ours);
    take(ours, COMMON, 0);
    assert_file(0, ours, COMMON);
}

/* A thread waits for its own write of another queue, so it serves that queue, too. The region has
 * no memory: a write is over when its queue has taken in that the file has it. */
CASE(threads__one_waits_for_its_own_queue)
{
    char ours, theirs;
    begin(patient, 1, 4);
    int rd = dodo_mopen_flags(64 * MIB, fd, 0, DODO_FALLBACK);
    DodoQueue *first = q, *second = dodo_queue_open(4);
    for (int i = 0; i < 20; i++) {
        write_to(rd, 0, content + 100, 5000, &ours);
        assert_int_equal(dodo_mwrite(rd, 0, content + 200, 5000), 5000);
        assert_file(0, content + 200, 5000);
        write_to(rd, 0, content + 300, 5000, &theirs); /* ours is over, and not taken */
        q = second;
        write_to(rd, 4000, content + 400, 5000, &ours);
        take(&ours, 5000, 0);
        assert_file(4000, content + 400, 5000);
        q = first;
        for (int n = 0; n < 2; n++)
            assert_int_equal(take_one().result, 5000);
    }
    assert_int_equal(dodo_queue_close(second), 0);
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* One write under way, and others behind it. The last one is content + 300. */
static void submit_chain(int rd, char tags[5])
{
    write_to(rd, 0, content + 100, 20000, &tags[0]);
    read_from(rd, 0, jobs[0].buf, 20000, &tags[1]);
    write_to(rd, 0, content + 200, 20000, &tags[2]);
    sync_it(rd, &tags[3]);
    write_to(rd, 0, content + 300, 20000, &tags[4]);
}

static void assert_chain(char tags[5])
{
    for (int i = 0; i < 5; i++) {
        DodoDone done = take_one();
        ssize_t n = (char *)done.tag - tags;
        assert_in_range(n, 0, 4);
        assert_int_equal(done.error, 0);
        assert_int_equal(done.result, n == 3 ? 0 : 20000);
    }
    assert_memory_equal(jobs[0].buf, content + 100, 20000);
}

CASE(mclose__runs_what_waits)
{
    char tags[5];
    begin(patient, 1, 8);
    for (int round = 0; round < 5; round++) {
        int rd = opened(MIB, 0, 0);
        submit_chain(rd, tags);
        assert_int_equal(dodo_mclose(rd), 0);
        assert_file(0, content + 300, 20000);
        assert_chain(tags);
    }
}

CASE(shutdown__runs_what_waits)
{
    char tags[5];
    begin(patient, 1, 8);
    submit_chain(opened(MIB, 0, 0), tags);
    assert_int_equal(dodo_shutdown(), 0);
    assert_file(0, content + 300, 20000);
    assert_int_equal(dodo_queue_cancel(q, &tags[4]), 0);
    assert_fails(dodo_queue_write(q, 0, 0, content, 1, NULL), EINVAL);
    assert_fails(dodo_queue_sync(q, 0, NULL), EINVAL);
    assert_chain(tags);
}

CASE(close__runs_what_waits)
{
    char tags[5];
    begin(patient, 1, 8);
    submit_chain(opened(MIB, 0, 0), tags);
    assert_int_equal(dodo_queue_close(q), 0);
    q = NULL;
    assert_file(0, content + 300, 20000);
}

/* One write each, to common blocks: @second's waits for that of @first. The region has no memory:
 * a write is over when its queue has taken in that the file has it. */
static int submit_to_both(DodoQueue *first, DodoQueue *second, char tags[2])
{
    int rd = dodo_mopen_flags(64 * MIB, fd, 0, DODO_FALLBACK);
    q = first;
    write_to(rd, 0, content + 100, 5000, &tags[0]);
    q = second;
    write_to(rd, 4000, content + 200, 5000, &tags[1]);
    return rd;
}

/* No thread serves the other queue meanwhile. */
CASE(close__serves_the_queue_that_it_waits_for)
{
    char tags[2];
    begin(patient, 1, 4);
    DodoQueue *first = q, *second = dodo_queue_open(4);
    (void)submit_to_both(first, second, tags);
    q = first;
    assert_int_equal(dodo_queue_close(second), 0);
    assert_file(4000, content + 200, 5000);
    assert_true(readable(0)); /* its descriptor tells of it, too */
    take(&tags[0], 5000, 0);
}

CASE(mclose__serves_the_queue_that_it_waits_for)
{
    char tags[2];
    begin(patient, 1, 4);
    DodoQueue *first = q, *second = dodo_queue_open(4);
    int rd =
        submit_to_both(second, first, tags); /* the one that waits is the first to be seen to */
    assert_int_equal(dodo_mclose(rd), 0);
    assert_file(4000, content + 200, 5000);
    assert_true(readable(0));
    take(&tags[1], 5000, 0);
    q = second;
    assert_true(readable(0));
    take(&tags[0], 5000, 0);
    q = first;
    assert_int_equal(dodo_queue_close(second), 0);
}

static int child_of_fork(int rd)
{
    int bad = 0;
    bad |= dodo_queue_write(q, rd, 0, "x", 1, NULL) != -1 || errno != EINVAL;
    bad |= (dodo_queue_sync(q, rd, NULL) != -1 || errno != EINVAL) << 1;
    bad |= (dodo_queue_cancel(q, NULL) != -1 || errno != EINVAL) << 2;
    return bad;
}

CASE(fork__child_has_no_queues)
{
    char tags[5];
    begin(patient, 1, 8);
    int rd = opened(MIB, 0, 0);
    (void)fflush(NULL);
    submit_chain(rd, tags);
    pid_t child = fork();
    if (child == 0)
        _exit(child_of_fork(rd));
    assert_chain(tags);
    int status = child_wait(child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_file(0, content + 300, 20000);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
