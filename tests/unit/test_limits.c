/* SPDX-License-Identifier: MIT */
/* The library in processes that lack something: descriptors, randomness, room on the stack; on a
 * real cluster. */
#include "tests/lib/case.h"
#include "tests/unit/process_fixture.h"

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

CASE(limits__full_table)
{
    const char *args[] = {"table", path, NULL};
    child_must_succeed(child_start(args), "full table of descriptors");
}

/* Many threads call at once, and the program still has most of its descriptors. */
static int scenario_threads(char **argv)
{
    enum { LIMIT = 256, CALLERS = LIMIT };
    struct rlimit limit = {LIMIT, LIMIT};
    pthread_t threads[CALLERS];
    void *bad;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    int rd = piece_open(0, 0);
    if (rd < 0)
        return 1;
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&threads[i], NULL, reader_main, &rd) != 0)
            return 2;
    for (int i = 0; i < CALLERS; i++)
        if (pthread_join(threads[i], &bad) != 0 || bad)
            return 3;
    table_fill();
    bool enough = filled >= LIMIT / 2;
    table_free();
    return enough && dodo_mclose(rd) == 0 ? 0 : 4;
}

CASE(limits__many_threads)
{
    const char *args[] = {"threads", path, NULL};
    child_must_succeed(child_start(args), "many threads");
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

CASE(limits__no_standard_descriptors)
{
    const char *args[] = {"bare", path, NULL};
    child_must_succeed(child_start(args), "no standard descriptors");
}

/* The program's sandbox refuses getrandom(2) in all its threads from now on. */
static bool random_refuse(void)
{
    char byte;
    return seccomp_refuse(SYS_getrandom, EPERM) && getrandom(&byte, 1, 0) == -1;
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

CASE(limits__no_randomness)
{
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
CASE(limits__small_stack)
{
#if UNDER_SANITIZER
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

int main(int argc, char **argv)
{
    static const Child children[] = {
        {"table", scenario_table},
        {"threads", scenario_threads},
        {"bare", scenario_bare},
        {"sandbox", scenario_sandbox},
    };
    int status = child_main(argc, argv, children, ARRAY_SIZE(children));
    if (status >= 0)
        return status;
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
