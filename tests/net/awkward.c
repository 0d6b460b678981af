/* SPDX-License-Identifier: MIT */
/* awkward FILE CASE...: things that programs do, and that a library which redirects their reads
 * must leave as they are. FILE is made first, and read so often that it may be cached. All cases
 * without CASE. They pass plainly, too. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 4 << 20, WORD = sizeof(uint64_t), THREADS = 4, PATIENCE_S = 20 };

static const char *path, *case_name;
static int file; /* a descriptor of it */
static _Atomic uint64_t version;

static _Noreturn void fail_at(int line, const char *what)
{
    (void)fprintf(stderr, "awkward: %s: line %d: %s (%s)\n", case_name, line, what,
                  strerror(errno));
    _exit(1);
}
#define CHECK(condition)                   \
    do {                                   \
        if (!(condition))                  \
            fail_at(__LINE__, #condition); \
    } while (0)

static const char *how_ended(int status)
{
    return WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it failed";
}

/* ---- the file: each word tells its place and version ------------------------------------------
 */

static uint64_t word_at(size_t at, uint64_t v)
{
    return v << 32 | at / WORD;
}

static void fill(uint64_t v)
{
    static uint64_t words[SIZE / WORD];
    for (size_t i = 0; i < SIZE / WORD; i++)
        words[i] = word_at(i * WORD, v);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, words, SIZE) == SIZE && close(fd) == 0);
    version = v;
}

/* The bytes at @at are of this version. */
static bool is_right(const void *bytes, size_t len, size_t at)
{
    for (size_t i = 0; i + WORD <= len; i += WORD) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + i, WORD);
        if (word != word_at(at + i, version))
            return false;
    }
    return true;
}

static void check_pread(int fd, size_t at)
{
    char buf[4096];
    CHECK(pread(fd, buf, sizeof buf, (off_t)at) == sizeof buf);
    CHECK(is_right(buf, sizeof buf, at));
}

/* So often that it may be cached. */
static void read_all(int fd)
{
    for (int round = 0; round < 4; round++)
        for (size_t at = 0; at < SIZE; at += 4096)
            check_pread(fd, (at * 37) % SIZE / 4096 * 4096);
}

/* Another process writes the file. True: it did not wait for longer than a moment. */
static bool written_by_another(uint64_t v)
{
    struct timespec began, ended;
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close_range(3, ~0u, 0); /* it may have no more */
        fill(v);
        _exit(0);
    }
    int status;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    version = v;
    return ended.tv_sec - began.tv_sec < 5;
}

static void change(void)
{
    CHECK(written_by_another(version + 1));
}

/* ---- signals ----------------------------------------------------------------------------------
 */

static atomic_ulong handled;

static void on_alarm(int number)
{
    int saved = errno;
    check_pread(file, handled++ * 4096 % SIZE);
    errno = saved;
}

/* A handler reads the file while the program reads it; nothing is broken off. */
static void case_handler(void)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {0};
    char buf[8192];
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned i = 0; i < 5000; i++) {
        off_t at = (off_t)(i * 4096ul % (SIZE - sizeof buf));
        CHECK(lseek(file, at, SEEK_SET) == at);
        errno = 0;
        CHECK(read(file, buf, sizeof buf) == sizeof buf && errno == 0);
        CHECK(is_right(buf, sizeof buf, (size_t)at));
        CHECK(lseek(file, 0, SEEK_CUR) == at + (off_t)sizeof buf);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0 && handled > 0);
}

/* The numbers that the program may use are all its own. */
static void case_queued(void)
{
    sigset_t all;
    const struct timespec patience = {PATIENCE_S, 0};
    CHECK(sigfillset(&all) == 0 && sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    for (int round = 0; round < 20; round++) {
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
            siginfo_t info;
            const union sigval value = {.sival_int = round};
            CHECK(sigqueue(getpid(), number, value) == 0);
            CHECK(sigtimedwait(&all, &info, &patience) == number);
            CHECK(info.si_value.sival_int == round);
        }
        check_pread(file, (size_t)round * 4096);
    }
    change(); /* which a lease hears of by a signal of its own */
    CHECK(sigtimedwait(&all, NULL, &(struct timespec){0, 1000000}) <= SIGCHLD);
    check_pread(file, 0);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static void *read_on(void *arg)
{
    for (size_t at = 0;; at = (at + 4096) % SIZE)
        check_pread(file, at);
    return NULL;
}

/* A read is where a thread ends that was cancelled; it leaves nothing locked. */
static void case_cancelled(void)
{
    for (int round = 0; round < 30; round++) {
        pthread_t threads[THREADS];
        void *result;
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, read_on, NULL) == 0);
        check_pread(file, (size_t)round * 8192);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_cancel(threads[i]) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
    read_all(file);
}

static void *read_cancelled(void *arg)
{
    char buf[4096];
    CHECK(pthread_cancel(pthread_self()) == 0);
    (void)!read(file, buf, sizeof buf);
    return NULL;
}

/* One that was cancelled before ends in the read, and has read nothing. */
static void case_cancelled_before(void)
{
    pthread_t thread;
    void *result;
    CHECK(lseek(file, 4096, SEEK_SET) == 4096);
    CHECK(pthread_create(&thread, NULL, read_cancelled, NULL) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    CHECK(lseek(file, 0, SEEK_CUR) == 4096);
}

static void *read_little(void *arg)
{
    uint64_t word;
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* a first read of a descriptor, too */
    for (off_t at = 0; at < SIZE; at += 8192)
        CHECK(pread(fd, &word, sizeof word, at) == sizeof word &&
              word == word_at((size_t)at, version));
    (void)close(fd);
    return NULL;
}

/* The smallest stack that a thread can have is enough. */
static void case_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    CHECK(pthread_create(&thread, &attributes, read_little, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    (void)pthread_attr_destroy(&attributes);
}

static void *read_shared(void *arg)
{
    uint64_t words[512];
    unsigned long *sum = arg;
    ssize_t n;
    while ((n = read(file, words, sizeof words)) > 0) {
        CHECK(n == sizeof words && is_right(words, sizeof words, (words[0] & 0xffffffff) * WORD));
        *sum += (unsigned long)words[0] & 0xffffffff;
    }
    CHECK(n == 0);
    return NULL;
}

/* Threads that read on from the same position get each piece once. */
static void case_position(void)
{
    for (int round = 0; round < 4; round++) {
        pthread_t threads[THREADS];
        unsigned long sums[THREADS] = {0}, sum = 0, wanted = 0;
        CHECK(lseek(file, 0, SEEK_SET) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, read_shared, &sums[i]) == 0);
        for (int i = 0; i < THREADS; i++) {
            CHECK(pthread_join(threads[i], NULL) == 0);
            sum += sums[i];
        }
        for (size_t at = 0; at < SIZE; at += 4096)
            wanted += at / WORD;
        CHECK(sum == wanted);
    }
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

/* Where libdodo-preload.so is in this program: until it has the file. */
static void await_cache(void)
{
    const struct timespec moment = {.tv_nsec = 500000};
    bool (*holds)(int fd) = NULL;
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    for (int i = 0; holds && i < 10000 && !holds(file); i++) {
        check_pread(file, 0);
        (void)nanosleep(&moment, NULL);
    }
}

/* All are closed, also those that the program has not opened; then others get their numbers, and
 * the file is changed. */
static void case_closed(void)
{
    int copies[100];
    await_cache();
    (void)close_range(3, ~0u, 0);
    for (int fd = 3; fd < 20000; fd++)
        (void)close(fd);
    CHECK((file = open(path, O_RDONLY | O_CLOEXEC)) >= 0);
    read_all(file);
    change();
    read_all(file);
    for (int i = 0; i < 100; i++)
        CHECK((copies[i] = dup(file)) >= 0);
    change();
    for (int i = 0; i < 100; i++)
        check_pread(copies[i], (size_t)i * 4096);
}

/* A descriptor of the file becomes one of another, by each call. Other threads may have the number
 * in between for a moment; false. */
static bool replace(int mine, int other, int how)
{
    if (how == 0)
        return dup2(other, mine) == mine;
    if (how == 1)
        return dup3(other, mine, 0) == mine;
    CHECK((how == 2 ? close(mine) : (int)syscall(SYS_close, mine)) == 0);
    return fcntl(other, F_DUPFD, mine) == mine;
}

/* What is read then is the other file. */
static void case_replaced(void)
{
    char other[PATH_MAX], buf[16];
    (void)snprintf(other, sizeof other, "%s.other", path);
    int fd = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "other", 5) == 5);
    for (int round = 0; round < 12; round++) {
        int mine = open(path, O_RDONLY | O_CLOEXEC);
        read_all(mine);
        if (!replace(mine, fd, round % 4))
            continue;
        CHECK(pread(mine, buf, sizeof buf, 0) == 5 && memcmp(buf, "other", 5) == 0);
        CHECK(lseek(mine, 2, SEEK_SET) == 2 && read(mine, buf, sizeof buf) == 3);
        CHECK(close(mine) == 0);
    }
    (void)close(fd);
    (void)unlink(other);
}

/* A program sees descriptors where it left them: the lowest number is the next, but for moments in
 * which another thread opens something. */
static void case_numbers(void)
{
    unsigned kept = 0;
    for (int round = 0; round < 20; round++) {
        int first = dup(file);
        CHECK(first >= 0 && close(first) == 0);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        check_pread(fd, 0);
        int next = dup(fd);
        kept += fd == first && next == first + 1;
        CHECK(close(next) == 0 && close(fd) == 0);
        read_all(file);
    }
    CHECK(kept > 10);
}

/* None is left for anything else than the program's own. */
static void case_few(void)
{
    struct rlimit before, few;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    few = before;
    few.rlim_cur = 8;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    int fds[8], count = 0;
    while (count < 8 && (fds[count] = open(path, O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    CHECK(errno == EMFILE && count > 0);
    for (int i = 0; i < count; i++)
        read_all(fds[i]);
    change();
    for (int i = 0; i < count; i++)
        check_pread(fds[i], 0);
    for (int i = 0; i < count; i++)
        CHECK(close(fds[i]) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

/* ---- processes --------------------------------------------------------------------------------
 */

static pid_t raw_fork(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void wait_for(pid_t pid)
{
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (status != 0)
        fail_at(__LINE__, how_ended(status));
}

/* Children read right, also what is changed then, and leave the parent alone. */
static void case_children(void)
{
    for (int round = 0; round < 6; round++) {
        pid_t pid = round % 3 == 0 ? fork() : round % 3 == 1 ? _Fork() : raw_fork();
        if (pid == 0) {
            read_all(file);
            _exit(0);
        }
        wait_for(pid);
        read_all(file);
        change();
        read_all(file);
    }
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* there are no others */
}

/* A process that is left behind, which never runs another program, and whose parent is gone, holds
 * up no writer. */
static void case_orphan(void)
{
    int go[2], gone[2], status;
    char byte;
    CHECK(pipe(go) == 0 && pipe(gone) == 0);
    pid_t parent = fork();
    if (parent == 0) { /* a program of its own, which may have files cached */
        char text[16],
            *argv[] = {(char *)"awkward", (char *)path, (char *)"leave-behind", text, NULL};
        (void)snprintf(text, sizeof text, "%d", go[0]);
        (void)close(go[1]);
        (void)close(gone[0]);
        (void)execv("/proc/self/exe", argv);
        _exit(1);
    }
    (void)close(go[0]);
    (void)close(gone[1]);
    CHECK(waitpid(parent, &status, 0) == parent && WIFSIGNALED(status));
    change();
    read_all(file);
    (void)close(go[1]); /* it ends */
    CHECK(read(gone[0], &byte, 1) == 0);
    (void)close(gone[0]);
}

/* In the process that case_orphan() runs. */
static void leave_behind(int until)
{
    char byte;
    case_name = "leave-behind";
    version = UINT64_MAX;
    file = open(path, O_RDONLY | O_CLOEXEC);
    char buf[4096];
    for (int round = 0; round < 4; round++)
        for (off_t at = 0; at < SIZE; at += 4096)
            CHECK(pread(file, buf, sizeof buf, at) == sizeof buf);
    pid_t pid = fork();
    if (pid == 0) {
        (void)!read(until, &byte, 1);
        _exit(0);
    }
    (void)kill(getpid(), SIGKILL);
}

/* Descriptors that a program that is run would have. */
static unsigned count_inherited(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1 << 16; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

/* It finds none that the program itself has not opened. */
static void case_inherited(void)
{
    int fd = open(path, O_RDONLY); /* nobody knows it yet */
    unsigned before = count_inherited();
    read_all(fd);
    change();
    read_all(fd);
    CHECK(count_inherited() == before);
    CHECK(close(fd) == 0);
}

/* An end comes at once, though threads read. */
static void case_end(void)
{
    for (int round = 0; round < 3; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            char how[16], *argv[] = {(char *)"awkward", (char *)path, (char *)"end", how, NULL};
            (void)snprintf(how, sizeof how, "%d", round);
            (void)execv("/proc/self/exe", argv);
            _exit(1);
        }
        wait_for(pid);
    }
}

/* In the process that case_end() runs. */
static void end_while_threads_read(int how)
{
    pthread_t thread;
    case_name = "end";
    (void)alarm(PATIENCE_S);
    file = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t first;
    CHECK(pread(file, &first, sizeof first, 0) == sizeof first);
    version = first >> 32;
    read_all(file);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, read_on, NULL) == 0);
    read_all(file);
    if (how == 0)
        exit(0);
    if (how == 1)
        quick_exit(0);
    _exit(0);
}

/* ---- rights -----------------------------------------------------------------------------------
 */

/* Another user from here on: what is open stays readable. */
static void case_user(void)
{
    if (geteuid() != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {(char *)"awkward", (char *)path, (char *)"user", NULL};
        (void)execv("/proc/self/exe", argv);
        _exit(1);
    }
    wait_for(pid);
}

/* In the process that case_user() runs. */
static void become_another(void)
{
    uint64_t first;
    case_name = "user";
    (void)alarm(PATIENCE_S);
    file = open(path, O_RDONLY | O_CLOEXEC);
    int writable = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(pread(file, &first, sizeof first, 0) == sizeof first && writable >= 0);
    version = first >> 32;
    read_all(file);
    CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    read_all(file);
    CHECK(seteuid(0) < 0);
    exit(0);
}

/* ---- ------------------------------------------------------------------------------------------
 */

typedef struct Case {
    const char *name;
    void (*run)(void);
} Case;
static const Case cases[] = {
    {"handler", case_handler},
    {"queued", case_queued},
    {"cancelled", case_cancelled},
    {"cancelled-before", case_cancelled_before},
    {"stack", case_stack},
    {"position", case_position},
    {"replaced", case_replaced},
    {"numbers", case_numbers},
    {"few", case_few},
    {"children", case_children},
    {"orphan", case_orphan},
    {"inherited", case_inherited},
    {"end", case_end},
    {"user", case_user},
    {"closed", case_closed},
};

static bool is_wanted(const Case *c, char **names)
{
    bool wanted = !*names;
    for (; *names; names++)
        wanted |= strcmp(*names, c->name) == 0;
    return wanted;
}

/* Each in a process of its own, which is run, so that it has what a program has. */
static void run_case(const Case *c)
{
    char *argv[] = {(char *)"awkward", (char *)path, (char *)"only", (char *)c->name, NULL};
    pid_t pid;
    int status;
    case_name = c->name;
    CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status != 0)
        fail_at(__LINE__, how_ended(status));
}

static void run_only(const char *name)
{
    (void)alarm(3 * PATIENCE_S);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) != 0)
            continue;
        case_name = name;
        fill(1);
        file = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(file >= 0);
        read_all(file);
        cases[i].run();
    }
    exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    path = argv[1];
    if (argc == 4 && strcmp(argv[2], "only") == 0)
        run_only(argv[3]);
    if (argc == 4 && strcmp(argv[2], "leave-behind") == 0)
        leave_behind(atoi(argv[3]));
    if (argc == 4 && strcmp(argv[2], "end") == 0)
        end_while_threads_read(atoi(argv[3]));
    if (argc == 3 && strcmp(argv[2], "user") == 0)
        become_another();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (is_wanted(&cases[i], argv + 2))
            run_case(&cases[i]);
    return 0;
}
