/* SPDX-License-Identifier: MIT */
/* Asynchronous reads that meet something else on a real cluster: hosts that die, slow files,
 * regions that are closed, shutdown, fork, exit, and threads with a queue each. */
#include "tests/lib/case.h"
#include "tests/unit/queue_fixture.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/needs.h"
#include "tests/lib/sanitizer.h"

enum { CHILDS_THREADS = !UNDER_TSAN }; /* which allows a child of fork none */

#define CASE(name) TEST_WITH(name, NULL, tear_down)

/* ---- hosts that die ------------------------------------------------------------------------- */

CASE(lost__all_that_are_in_flight)
{
    begin(hasty_host, 1, READS);
    int rd = opened_full(4 * MIB, 0);
    process_pause(cluster.imds[0].pid); /* nothing is answered any more */
    for (int i = 0; i < READS; i++)
        submit(&jobs[i], rd, 0, i * 1000, 64 * KIB);
    daemon_kill(&cluster.imds[0]);
    for (int i = 0; i < READS; i++) {
        DodoDone done = take_one();
        Job *job = done.tag;
        assert_true(job->under_way); /* each just once */
        job->under_way = false;
        assert_int_equal(done.result, -1);
        assert_int_equal(done.error, ENOMEM);
    }
    assert_int_equal(stat_of(rd).active, 0);
    assert_int_equal(dodo_queue_read(q, rd, 0, jobs[0].buf, 1, NULL), 0);
    assert_int_equal(take_one().error, ENOMEM);
    (void)dodo_mclose(rd);
}

CASE(lost__fallback_goes_on_with_the_file)
{
    begin(hasty_host, 1, READS);
    int rd = opened_full(4 * MIB, DODO_FALLBACK);
    process_pause(cluster.imds[0].pid);
    for (int i = 0; i < READS; i++)
        submit(&jobs[i], rd, 0, i * 1000, 64 * KIB);
    daemon_kill(&cluster.imds[0]);
    take_good(READS);
    assert_int_equal(stat_of(rd).active, 0);
}

/* ---- a file that takes its time ---------------------------------------------------------------
 */

/* -1: this kernel has none to give to us. */
static int userfaultfd_open(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    int slow = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (slow >= 0 && ioctl(slow, UFFDIO_API, &api) == 0)
        return slow;
    if (slow >= 0)
        (void)close(slow);
    return -1;
}

static bool have_userfaultfd(void)
{
    int slow = userfaultfd_open();
    return slow >= 0 && close(slow) == 0;
}

/* Memory that is not there before somebody brings it: the file's reader, in the kernel, waits. */
static int slow_memory(uint8_t **ret, size_t len)
{
    int slow = userfaultfd_open();
    assert_true(slow >= 0);
    *ret = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register reg = {.range = {(uintptr_t)*ret, len},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
    assert_int_equal(ioctl(slow, UFFDIO_REGISTER, &reg), 0);
    return slow;
}

/* What comes from memory does not wait for what comes from a file that takes its time. */
CASE(read__a_slow_file_stops_nobody_else)
{
    enum { SLOW = 64 * KIB };
    uint8_t *memory = NULL;
    begin(patient, 1, 16);
    int slow = slow_memory(&memory, SLOW);
    int rd = opened(MIB, 0, 0);
    fill(rd, MIB);
    int far = dodo_mopen_flags(64 * MIB, fd, MIB, DODO_FALLBACK); /* more than the pool has */
    assert_true(far >= 0);
    assert_int_equal(stat_of(far).active, 0);
    assert_int_equal(dodo_queue_read(q, far, 0, memory, SLOW, memory), 0);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 15; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        take_good(15);
    }
    int cancelled = dodo_queue_cancel(q, memory); /* whose buffer the kernel has */
    struct uffdio_zeropage zero = {.range = {(uintptr_t)memory, SLOW}};
    assert_int_equal(ioctl(slow, UFFDIO_ZEROPAGE, &zero), 0);
    assert_int_equal(cancelled, 0);
    DodoDone done = take_one();
    assert_ptr_equal(done.tag, memory);
    assert_int_equal(done.result, SLOW);
    assert_memory_equal(memory, content + MIB, SLOW);
    (void)close(slow);
    (void)munmap(memory, SLOW);
}

/* ---- closing -------------------------------------------------------------------------------- */

/* The thread that would move its own reads on is the one that waits for them. */
CASE(mclose__of_what_is_under_way)
{
    begin(patient, 1, 16);
    int other = opened(MIB, 4 * MIB, 0);
    for (int round = 0; round < 10; round++) {
        int rd = opened(MIB, 0, 0);
        if (round % 2)
            fill(rd, MIB);
        for (int i = 0; i < 8; i++) {
            submit(&jobs[i], rd, 0, i * 100000, 64 * KIB);
            submit(&jobs[8 + i], other, 4 * MIB, i * 100000, 64 * KIB);
        }
        assert_int_equal(dodo_mclose(rd), 0);
        take_good(16);
        assert_int_equal(dodo_queue_read(q, rd, 0, jobs[0].buf, 1, NULL), 0);
        assert_int_equal(take_one().error, ENOMEM);
    }
}

CASE(mclose__of_a_dead_host)
{
    begin(hasty_host, 1, 16);
    int rd = opened_full(MIB, 0);
    process_pause(cluster.imds[0].pid);
    for (int i = 0; i < 16; i++)
        submit(&jobs[i], rd, 0, i, 64 * KIB);
    assert_fails(dodo_mclose(rd), EINVAL); /* lost while it was closed */
    for (int i = 0; i < 16; i++)
        assert_int_equal(take_one().error, ENOMEM);
}

static void *close_main(void *arg)
{
    return dodo_mclose(*(int *)arg) == 0 ? NULL : arg;
}

/* By another thread, while the owner waits for its reads, or does something else. */
CASE(mclose__by_another_thread)
{
    void *bad;
    begin(patient, 1, 16);
    for (int round = 0; round < 10; round++) {
        pthread_t thread;
        int rd = opened(MIB, 0, 0);
        for (int i = 0; i < 16; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        assert_int_equal(pthread_create(&thread, NULL, close_main, &rd), 0);
        if (round % 2)
            take_good(16);
        assert_int_equal(pthread_join(thread, &bad), 0);
        assert_null(bad);
        if (round % 2 == 0)
            take_good(16);
    }
}

CASE(close__waits_for_what_is_under_way)
{
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 16; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        assert_int_equal(dodo_queue_close(q), 0);
        for (int i = 0; i < 16; i++)
            assert_memory_equal(jobs[i].buf, content + jobs[i].at, jobs[i].len);
        q = dodo_queue_open(16);
        assert_non_null(q);
    }
    assert_int_equal(dodo_mclose(rd), 0);
}

CASE(shutdown__with_reads_under_way)
{
    char byte;
    DodoDone done;
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    for (int i = 0; i < 16; i++)
        submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
    assert_int_equal(dodo_shutdown(), 0);
    assert_fails(dodo_queue_read(q, rd, 0, &byte, 1, NULL), EINVAL);
    assert_true(readable(0));
    take_good(16);
    assert_false(readable(0));
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 0);
    rd = opened(MIB, 0, 0); /* the library starts again; this queue does not */
    assert_fails(dodo_queue_read(q, rd, 0, &byte, 1, NULL), EINVAL);
    assert_int_equal(dodo_queue_close(q), 0);
    q = dodo_queue_open(1);
    submit(&jobs[0], rd, 0, 0, 64 * KIB);
    take_good(1);
}

/* ---- fork and exit -------------------------------------------------------------------------- */

static int child_of_fork(int rd)
{
    char byte;
    DodoDone done;
    int bad = 0;
    bad |= dodo_queue_read(q, rd, 0, &byte, 1, NULL) != -1 || errno != EINVAL;
    bad |= (dodo_queue_wait(q, &done, 1, -1) != -1 || errno != EINVAL) << 1;
    bad |= (dodo_queue_fd(q) != -1 || errno != EINVAL) << 2;
    bad |= (dodo_queue_close(q) != -1 || errno != EINVAL) << 3;
    if (!CHILDS_THREADS)
        return bad;
    q = dodo_queue_open(4); /* one of its own */
    bad |= !q << 4;
    bad |= (q && dodo_queue_close(q) != 0) << 5;
    bad |= (dodo_shutdown() != 0) << 6;
    return bad;
}

CASE(fork__child_has_no_queues)
{
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    (void)fflush(NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 16; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        pid_t child = fork();
        if (child == 0)
            _exit(child_of_fork(rd));
        take_good(16); /* whatever the child does */
        int status = child_wait(child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static unsigned count_open(void)
{
    unsigned count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static unsigned count_open_in_child(void)
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit((int)count_open());
    int status = child_wait(child);
    assert_true(WIFEXITED(status));
    return (unsigned)WEXITSTATUS(status);
}

CASE(close__leaves_no_descriptors)
{
    begin(patient, 1, 1);
    unsigned before = count_open();
    for (int i = 0; i < 3; i++)
        assert_int_equal(dodo_queue_close(dodo_queue_open(4)), 0);
    assert_int_equal(count_open(), before);
}

CASE(fork__child_has_no_descriptors_of_queues)
{
    begin(patient, 1, 1);
    unsigned with_one = count_open_in_child();
    DodoQueue *second = dodo_queue_open(4), *third = dodo_queue_open(4);
    unsigned with_three = count_open_in_child();
    assert_int_equal(dodo_queue_close(second), 0);
    assert_int_equal(dodo_queue_close(third), 0);
    assert_int_equal(with_three, with_one);
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* argv: the file. Ends in the middle of its reads. */
static int child_main(char **argv)
{
    static uint8_t buf[READS][64 * KIB];
    DodoQueue *mine = dodo_queue_open(READS);
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    int rd = dodo_mopen(MIB, fd, 0);
    if (!mine || rd < 0)
        return 1;
    for (int i = 0; i < READS; i++)
        if (dodo_queue_read(mine, rd, i, buf[i], sizeof buf[i], NULL) != 0)
            return 2;
    return 0;
}

CASE(exit__with_reads_under_way)
{
    begin(patient, 1, 1);
    const char *args[] = {path, NULL};
    for (int round = 0; round < 3; round++)
        child_must_succeed(child_start(args), "exit");
}

/* ---- threads -------------------------------------------------------------------------------- */

enum { THREADS = 6, EACH_DEPTH = 8, EACH_READS = 150 };

static int shared_rds[2];
static atomic_uint wrong;

static void *reader_main(void *arg)
{
    unsigned self = *(unsigned *)arg;
    uint8_t(*bufs)[20000] = malloc(EACH_DEPTH * sizeof *bufs);
    off_t ats[EACH_DEPTH];
    DodoQueue *mine = dodo_queue_open(EACH_DEPTH);
    unsigned sent = 0, under_way = 0;
    bool idle[EACH_DEPTH];
    memset(idle, true, sizeof idle);
    while (mine && (sent < EACH_READS || under_way > 0)) {
        for (size_t i = 0; i < EACH_DEPTH && sent < EACH_READS; i++) {
            if (!idle[i])
                continue;
            unsigned n = self * 7919 + sent++;
            ats[i] = (off_t)(n * 13337u % (MIB - 20000)) + (n % 2) * MIB;
            idle[i] = false;
            under_way++;
            wrong += dodo_queue_read(mine, shared_rds[n % 2], ats[i] % MIB, bufs[i], 20000,
                                     (void *)i) != 0;
        }
        DodoDone done;
        if (dodo_queue_wait(mine, &done, 1, -1) != 1) {
            wrong++;
            break;
        }
        size_t i = (size_t)done.tag;
        wrong += done.result != 20000 || memcmp(bufs[i], content + ats[i], 20000) != 0;
        idle[i] = true;
        under_way--;
    }
    wrong += !mine || dodo_queue_close(mine) != 0;
    free(bufs);
    return NULL;
}

/* Many queues at once, beside plain calls, opening and closing. */
CASE(threads__a_queue_each)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    begin(patient, 2, 1);
    shared_rds[0] = opened(MIB, 0, 0);
    shared_rds[1] = opened(MIB, MIB, 0);
    wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, reader_main, &numbers[i]), 0);
    }
    for (int round = 0; round < 10; round++) {
        int rd = opened(MIB, 3 * MIB, 0);
        submit(&jobs[0], rd, 3 * MIB, round * 1000, 64 * KIB);
        assert_int_equal(dodo_mwrite(shared_rds[0], 0, content, 64 * KIB), 64 * KIB);
        assert_int_equal(dodo_mclose(rd), 0);
        take_good(1);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child_main(argv + 2);
    cluster_arguments(argc, argv);
    case_if(have_userfaultfd(), read__a_slow_file_stops_nobody_else, "no userfaultfd(2) for us");
    return cases_run(NULL, NULL);
}
