/* SPDX-License-Identifier: MIT */
/* What libmanage does where things end: the process, the room of a file system, the file's limit;
 * fork; and what it makes of its settings. No cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "tests/lib/bad_conf.h"
#include "tests/lib/forked.h"
#include "tests/lib/sanitizer.h"
#include "tests/lib/scenario.h"

/* TSan does not follow a thread in the child of a threaded program. */
enum { CHILD_HAS_THREADS = !UNDER_TSAN };

enum { FILE_BYTES = 200000, PIECE = 16384, SHARED_FD = 9 };

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8));
}

static int open_good(size_t len, int fd, off_t offset)
{
    int rd = copen(len, fd, offset);
    CHECK(rd >= 0);
    return rd;
}

static struct manage_stats stats(void)
{
    struct manage_stats st;
    CHECK(manage_stats(&st) == 0);
    return st;
}

static void write_hello(int rd)
{
    CHECK(cwrite(rd, 100, "hello", 5) == 5 && cwrite(rd, 50000, "world", 5) == 5);
}

static int file_says_hello(int fd)
{
    char a[5], b[5];
    CHECK(pread(fd, a, 5, 100) == 5 && pread(fd, b, 5, 50000) == 5);
    return memcmp(a, "hello", 5) == 0 && memcmp(b, "world", 5) == 0;
}

/* ---- the end of the process ------------------------------------------------------------------ */

/* The steps of these run in another process, on the file that SHARED_FD is. */
static void child__returns_from_main(void)
{
    write_hello(open_good(FILE_BYTES, SHARED_FD, 0));
}

static void child__exits(void)
{
    write_hello(open_good(FILE_BYTES, SHARED_FD, 0));
    exit(7);
}

/* An exit handler of before the library's, so run after it, opens a region and writes. */
static void late_handler(void)
{
    write_hello(open_good(FILE_BYTES, SHARED_FD, 0));
}

static void child__writes_after_the_exit_handler(void)
{
    CHECK(atexit(late_handler) == 0);
    CHECK(cclose(open_good(FILE_BYTES, SHARED_FD, 0)) == 0);
    exit(7);
}

static void child__exits_at_once(void)
{
    write_hello(open_good(FILE_BYTES, SHARED_FD, 0));
    _exit(7);
}

/* Another thread is closing a region, and has much to write, when the process ends. */
enum { MUCH_BYTES = 48 << 20 };

static void *close_it(void *arg)
{
    (void)!cclose(*(int *)arg);
    return NULL;
}

static void child__exits_beside_a_close(void)
{
    static int rd;
    static uint8_t buf[1 << 20];
    pthread_t thread;
    memset(buf, 'x', sizeof buf);
    rd = open_good(MUCH_BYTES, SHARED_FD, 0);
    for (off_t at = 0; at < MUCH_BYTES; at += (off_t)sizeof buf)
        CHECK(cwrite(rd, at, buf, sizeof buf) == sizeof buf);
    uint64_t written = stats().writebacks;
    CHECK(pthread_create(&thread, NULL, close_it, &rd) == 0);
    CHECK(pthread_detach(thread) == 0);
    while (stats().writebacks == written)
        (void)sched_yield();
    exit(7);
}

/* Wait status of @scenario on a file, which is left in SHARED_FD. */
static int run_on_file(const char *scenario)
{
    int fd = scenario_file(FILE_BYTES, byte_at);
    CHECK(dup2(fd, SHARED_FD) == SHARED_FD && close(fd) == 0);
    return scenario_wait(scenario_start(scenario));
}

static void end__main_returns(void)
{
    CHECK(run_on_file("child__returns_from_main") == 0 && file_says_hello(SHARED_FD));
}

static void end__exit(void)
{
    int status = run_on_file("child__exits");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7 && file_says_hello(SHARED_FD));
}

static void end__writes_after_the_exit_handler(void)
{
    int status = run_on_file("child__writes_after_the_exit_handler");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7 && file_says_hello(SHARED_FD));
}

static void end__exit_beside_a_close(void)
{
    static uint8_t got[1 << 20];
    int status = run_on_file("child__exits_beside_a_close");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    for (off_t at = 0; at < MUCH_BYTES; at += (off_t)sizeof got) {
        CHECK(pread(SHARED_FD, got, sizeof got, at) == sizeof got);
        CHECK(got[0] == 'x' && got[sizeof got - 1] == 'x');
    }
}

static void end__exit_at_once_flushes_nothing(void)
{
    int status = run_on_file("child__exits_at_once");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7 && !file_says_hello(SHARED_FD));
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* The child has no regions, flushes nothing of the parent's by its exit, does not hold the parent's
 * ranges, and has a cache of its own when it wants one. */
static void fork__child_starts_with_nothing(void)
{
    int fd = scenario_file(FILE_BYTES, byte_at), rd = open_good(FILE_BYTES / 2, fd, 0);
    uint8_t buf[5];
    write_hello(rd);
    pid_t pid = fork();
    if (pid == 0) {
        forked_child = true;
        CHECK_FAILS(cread(rd, 0, buf, 1), EINVAL);
        CHECK_FAILS(cclose(rd), EINVAL);
        CHECK(stats().regions == 0 && stats().dirty_bytes == 0);
        if (CHILD_HAS_THREADS) {
            CHECK_FAILS(copen(100, fd, 0), EBUSY);
            int own = open_good(1000, fd, FILE_BYTES / 2);
            CHECK(cread(own, 0, buf, 5) == 5 && buf[0] == byte_at(FILE_BYTES / 2));
            CHECK(cwrite(own, 10, "child", 5) == 5);
        }
        exit(0);
    }
    CHECK(scenario_wait(pid) == 0 && !file_says_hello(fd));
    if (CHILD_HAS_THREADS)
        CHECK(pread(fd, buf, 5, FILE_BYTES / 2 + 10) == 5 && memcmp(buf, "child", 5) == 0);
    CHECK(cread(rd, 100, buf, 5) == 5 && memcmp(buf, "hello", 5) == 0);
    CHECK(cclose(rd) == 0 && file_says_hello(fd));
}

/* A child that lives on keeps no range of its parent's. */
static void fork__child_holds_no_range(void)
{
    int fd = scenario_file(FILE_BYTES, byte_at), rd = open_good(FILE_BYTES, fd, 0), ends[2];
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        (void)close(ends[1]);
        _exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
    }
    CHECK(cclose(rd) == 0);
    CHECK(cclose(open_good(FILE_BYTES, fd, 0)) == 0);
    CHECK(close(ends[1]) == 0 && scenario_wait(pid) == 0);
}

static unsigned long mapped_pages(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return pages;
}

/* Nor the parent's cache: a fork that copies its page tables takes tens of milliseconds. */
static void fork__child_has_no_cache(void)
{
    enum { CACHE = 64 << 20 };
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, CACHE) == 0);
    int fd = scenario_file(FILE_BYTES, byte_at), rd = open_good(FILE_BYTES, fd, 0);
    unsigned long before = mapped_pages(), page = (unsigned long)sysconf(_SC_PAGESIZE);
    pid_t pid = fork();
    if (pid == 0) {
        forked_child = true;
        _exit(mapped_pages() + CACHE / page <= before ? 0 : 1);
    }
    CHECK(scenario_wait(pid) == 0);
    CHECK(cclose(rd) == 0);
}

/* ---- files that do not take it ----------------------------------------------------------------
 */

/* A region whose file cannot grow beyond @room for a while: dirty data stays in the cache, is
 * reported, and is written once there is room. @make_room makes it. */
static void full_file(int fd, size_t room, int error, void (*make_room)(void))
{
    static uint8_t piece[PIECE], got[PIECE];
    enum { PIECES = 8 };
    uint64_t room_in_cache = 4;
    int rd = open_good(PIECES * PIECE, fd, 0);
    uint64_t taken = 0;
    CHECK(room < PIECE);
    for (; taken < PIECES; taken++) {
        memset(piece, (int)taken + 1, sizeof piece);
        errno = 0;
        ssize_t n = cwrite(rd, (off_t)(taken * PIECE), piece, PIECE);
        if (n != PIECE) {
            CHECK(n == -1 && errno == error);
            break;
        }
        CHECK(stats().cached_bytes <= stats().limit_bytes);
    }
    CHECK(taken >= room_in_cache - 1 && taken < PIECES);
    CHECK_FAILS(csync(rd), error);
    CHECK_FAILS(csync(rd), error);
    CHECK_FAILS(cclose(rd), error);
    for (uint64_t i = 0; i < taken; i++) {
        memset(piece, (int)i + 1, sizeof piece);
        CHECK(cread(rd, (off_t)(i * PIECE), got, PIECE) == PIECE);
        CHECK(memcmp(got, piece, PIECE) == 0);
    }
    make_room();
    memset(piece, (int)taken + 1, sizeof piece);
    CHECK(cwrite(rd, (off_t)(taken * PIECE), piece, PIECE) == PIECE);
    (void)!csync(rd); /* may still tell of what failed before */
    CHECK(csync(rd) == 0 && cclose(rd) == 0);
    for (uint64_t i = 0; i <= taken; i++) {
        memset(piece, (int)i + 1, sizeof piece);
        CHECK(pread(fd, got, PIECE, (off_t)(i * PIECE)) == PIECE);
        CHECK(memcmp(got, piece, PIECE) == 0);
    }
}

static void limit_file(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void unlimit_file(void)
{
    limit_file(RLIM_INFINITY);
}

static void file__at_its_limit(void)
{
    int fd = scenario_file(0, byte_at);
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 4 * PIECE) == 0);
    limit_file(5000);
    full_file(fd, 5000, EFBIG, unlimit_file);
}

static void file__at_its_limit_written_through(void)
{
    uint8_t buf[8192] = {1};
    int fd = scenario_file(0, byte_at);
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    limit_file(5000);
    int rd = dodo_copen_flags(PIECE, fd, 0, MANAGE_WRITE_THROUGH);
    CHECK(rd >= 0 && cwrite(rd, 0, buf, sizeof buf) == 5000); /* as write(2) does */
    CHECK_FAILS(cwrite(rd, 5000, buf, 1), EFBIG);
    CHECK(cread(rd, 0, buf, sizeof buf) == 5000 && csync(rd) == 0 && cclose(rd) == 0);
}

/* A file system of one MiB, which fills the file's room but for a page. False: not available. */
static char room_path[64] = "/tmp/dodo-test-room-XXXXXX";

static int small_file_system(void)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 0;
    CHECK(mkdtemp(room_path));
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("none", room_path, "tmpfs", 0, "size=1m") == 0)
        return 1;
    CHECK(rmdir(room_path) == 0);
    return 0;
}

static void room_make(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/filler", room_path);
    CHECK(unlink(path) == 0);
}

static void file__system_is_full(void)
{
    static uint8_t page[4096];
    char path[128];
    if (!small_file_system()) {
        (void)fprintf(stderr, "no mount namespace here: ENOSPC is not tested\n");
        return;
    }
    (void)snprintf(path, sizeof path, "%s/file", room_path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)snprintf(path, sizeof path, "%s/filler", room_path);
    int filler = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && filler >= 0);
    while (write(filler, page, sizeof page) == sizeof page)
        ;
    CHECK(errno == ENOSPC && close(filler) == 0);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 4 * PIECE) == 0);
    full_file(fd, 0, ENOSPC, room_make);
    CHECK(close(fd) == 0 && umount2(room_path, MNT_DETACH) == 0 && rmdir(room_path) == 0);
}

/* A file that answers EIO to each write: memory where none can be. */
static void file__answers_eio(void)
{
    uint8_t buf[4096];
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    int rd = open_good(PIECE, fd, 4096);
    memset(buf, 7, sizeof buf);
    CHECK(cwrite(rd, 0, buf, sizeof buf) == sizeof buf);
    CHECK_FAILS(csync(rd), EIO);
    CHECK_FAILS(cclose(rd), EIO);
    memset(buf, 0, sizeof buf);
    CHECK(cread(rd, 0, buf, sizeof buf) == sizeof buf && buf[0] == 7 && buf[4095] == 7);
    CHECK(stats().dirty_bytes >= sizeof buf);
    _exit(0); /* that file is never repaired */
}

/* ---- settings ---------------------------------------------------------------------------------
 */

static void check_setting(const char *name, const char *value, int good, uint64_t limit)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = scenario_file(100, byte_at);
        CHECK(setenv(name, value, 1) == 0);
        if (good) {
            (void)open_good(100, fd, 0);
            CHECK(limit == 0 || stats().limit_bytes == limit);
        } else {
            CHECK_FAILS(copen(100, fd, 0), EINVAL);
            CHECK_FAILS(csetPolicy(MANAGE_MRU), EINVAL);
        }
        exit(0);
    }
    CHECK(scenario_wait(pid) == 0);
}

static void settings__environment(void)
{
    check_setting("DODO_CACHE_SIZE", "", 1, 64 << 20);
    check_setting("DODO_CACHE_SIZE", "1000000", 1, 1000000);
    check_setting("DODO_CACHE_SIZE", "16K", 1, 16 << 10);
    check_setting("DODO_CACHE_SIZE", "3M", 1, 3 << 20);
    check_setting("DODO_CACHE_SIZE", "2G", 1, 2ull << 30);
    check_setting("DODO_CACHE_SIZE", "much", 0, 0);
    check_setting("DODO_CACHE_SIZE", "-1", 0, 0);
    check_setting("DODO_READAHEAD", "0", 1, 0);
    check_setting("DODO_READAHEAD", "1M", 1, 0);
    check_setting("DODO_READAHEAD", "no", 0, 0);
    check_setting("DODO_READAHEAD", "64M", 1, 64 << 20); /* as much as the cache has */
    check_setting("DODO_READAHEAD", "67108865", 0, 0);
}

static void config_write(char path[64], const char *text)
{
    (void)strcpy(path, "/tmp/dodo-test-conf-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static void settings__file(void)
{
    static const struct {
        const char *text;
        int good;
        uint64_t limit;
    } rows[] = {
        {"[manage]\ncache_size = 2M\nreadahead = 0\n", 1, 2 << 20},
        {"[client]\nrefraction = 1s\n[manage]\ncache_size = 1M\n", 1, 1 << 20},
    };
    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        char path[64];
        config_write(path, rows[i].text);
        check_setting("DODO_CONFIG", path, rows[i].good, rows[i].limit);
        CHECK(unlink(path) == 0);
    }
}

/* The first call fails and says why, in the words that all use; so does the next. */
static void settings__mistakes_are_reported_as_by_all(void)
{
    for (unsigned i = 0; i < BAD_CONFS; i++) {
        char path[64];
        config_write(path, bad_confs[i].text);
        pid_t pid = fork();
        if (pid == 0) {
            int fd = scenario_file(100, byte_at);
            CHECK(setenv("DODO_CONFIG", path, 1) == 0);
            for (int times = 0; times < 2; times++) {
                CHECK_FAILS(copen(100, fd, 0), EINVAL);
                char want[512];
                (void)snprintf(want, sizeof want, "copen: %s%s", path, bad_confs[i].says);
                CHECK(strcmp(dodo_last_error(), want) == 0);
            }
            exit(0);
        }
        CHECK(scenario_wait(pid) == 0);
        CHECK(unlink(path) == 0);
    }
}

static void settings__variables_contradict(void)
{
    CHECK(setenv("DODO_CACHE_SIZE", "1M", 1) == 0 && setenv("DODO_READAHEAD", "2M", 1) == 0);
    CHECK_FAILS(copen(100, scenario_file(100, byte_at), 0), EINVAL);
    CHECK(strcmp(dodo_last_error(),
                 "copen: readahead (DODO_READAHEAD) of 2 MiB must be at most cache_size "
                 "(DODO_CACHE_SIZE), 1 MiB; otherwise the cache has no room for what is read "
                 "ahead") == 0);
}

/* The program's word is above the environment's, which is above the file's. */
static void settings__order(void)
{
    char path[64];
    config_write(path, "[manage]\ncache_size = 2M\n");
    CHECK(setenv("DODO_CONFIG", path, 1) == 0);
    check_setting("DODO_CACHE_SIZE", "3M", 1, 3 << 20);
    CHECK(unlink(path) == 0);
    CHECK(setenv("DODO_CONFIG", "/dev/null", 1) == 0 && setenv("DODO_CACHE_SIZE", "3M", 1) == 0);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 5 << 20) == 0);
    CHECK(cclose(open_good(100, scenario_file(100, byte_at), 0)) == 0);
    CHECK(stats().limit_bytes == 5 << 20);
}

static void settings__config_that_is_not_there(void)
{
    CHECK(setenv("DODO_CONFIG", "/nonexistent/dodo.conf", 1) == 0);
    CHECK_FAILS(copen(100, scenario_file(100, byte_at), 0), ENOENT);
}

/* ---- the line of figures -----------------------------------------------------------------------
 */

static void child__reads_a_little(void)
{
    uint8_t b;
    int rd = open_good(FILE_BYTES, SHARED_FD, 0);
    CHECK(cwrite(rd, 0, "x", 1) == 1);
    for (int i = 0; i < 3; i++)
        CHECK(cread(rd, 0, &b, 1) == 1 && b == 'x');
}

/* What the child prints on standard error. */
static void child_output(char *text, size_t cap)
{
    int ends[2], stderr_was = dup(2);
    size_t at = 0;
    ssize_t n;
    CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && close(ends[1]) == 0);
    pid_t pid = scenario_start("child__reads_a_little");
    CHECK(dup2(stderr_was, 2) == 2 && close(stderr_was) == 0);
    while (at < cap - 1 && (n = read(ends[0], text + at, cap - 1 - at)) > 0)
        at += (size_t)n;
    text[at] = '\0';
    CHECK(close(ends[0]) == 0 && scenario_wait(pid) == 0);
}

static void stats__line_at_exit(void)
{
    char text[2048];
    int fd = scenario_file(FILE_BYTES, byte_at);
    CHECK(dup2(fd, SHARED_FD) == SHARED_FD);
    child_output(text, sizeof text); /* nothing is printed unasked */
    CHECK(!*text);
    CHECK(setenv("DODO_STATS", "0", 1) == 0);
    child_output(text, sizeof text);
    CHECK(!*text);
    CHECK(setenv("DODO_STATS", "1", 1) == 0);
    child_output(text, sizeof text);
    const char *line = strstr(text, "dodo manage: local_hits=3 remote_hits=0 disk_reads=0 ");
    CHECK(line && strstr(line, " writebacks=1 ") && strstr(line, " local_bytes=3 "));
    CHECK(text[strlen(text) - 1] == '\n');
}

static const Scenario scenarios[] = {
    SCENARIO(end__main_returns),
    SCENARIO(end__exit),
    SCENARIO(end__exit_beside_a_close),
    SCENARIO(end__writes_after_the_exit_handler),
    SCENARIO(end__exit_at_once_flushes_nothing),
    SCENARIO(fork__child_starts_with_nothing),
    SCENARIO(fork__child_holds_no_range),
    SCENARIO(fork__child_has_no_cache),
    SCENARIO(file__at_its_limit),
    SCENARIO(file__at_its_limit_written_through),
    SCENARIO(file__system_is_full),
    SCENARIO(file__answers_eio),
    SCENARIO(settings__environment),
    SCENARIO(settings__file),
    SCENARIO(settings__mistakes_are_reported_as_by_all),
    SCENARIO(settings__variables_contradict),
    SCENARIO(settings__order),
    SCENARIO(settings__config_that_is_not_there),
    SCENARIO(stats__line_at_exit),
    /* which are no cases by themselves */
    SCENARIO(child__returns_from_main),
    SCENARIO(child__exits),
    SCENARIO(child__writes_after_the_exit_handler),
    SCENARIO(child__exits_at_once),
    SCENARIO(child__exits_beside_a_close),
    SCENARIO(child__reads_a_little),
};
enum { CASES = ARRAY_SIZE(scenarios) - 6 };

int main(int argc, char **argv)
{
    return scenario_main_alone(argc, argv, scenarios, ARRAY_SIZE(scenarios), CASES);
}
