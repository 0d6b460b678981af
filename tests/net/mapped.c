/* SPDX-License-Identifier: MIT */
/* mapped FILE COMMAND...: maps FILE, and has COMMAND run `mapped store FILE`, which maps it, too.
 * Both store into one page, in turns: no store may be lost, and each sees the other's. The command
 * may be refused such a mapping (ENODEV); that is said.
 *
 * mapped read FILE: a mapping for reading shows what is written by another descriptor as soon as
 * the write has ended; and a private one of a descriptor for writing shows the file.
 *
 * mapped mixed FILE: so it is whatever else has the file open, in which order. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 100, WRITES = 3000 };
enum { REFUSED = 3 };         /* the status of `store` */
enum { RELEASED_US = 50000 }; /* a mount has heard of a close by then */

/* In turns: the parent's word and the child's. */
typedef struct Words {
    volatile uint64_t parent, child;
} Words;

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "mapped: %s: %s\n", what, strerror(errno));
    exit(1);
}

static _Noreturn void lost(const char *whose, uint64_t found, uint64_t wanted)
{
    (void)fprintf(stderr, "mapped: the %s is %llu, not %llu\n", whose, (unsigned long long)found,
                  (unsigned long long)wanted);
    exit(1);
}

static int file_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static void *page_of(int fd, int protection, int kind)
{
    return mmap(NULL, PAGE, protection, kind, fd, 0);
}

/* Whether the other side has told to go on. */
static bool turn_is_ours(int from)
{
    char turn;
    return read(from, &turn, 1) == 1;
}
static bool turn_over(int to)
{
    return write(to, "t", 1) == 1;
}

/* ---- two who store --------------------------------------------------------------------------- */

static int store(const char *path)
{
    Words *words = page_of(file_open(path, O_RDWR), PROT_READ | PROT_WRITE, MAP_SHARED);
    if (words == MAP_FAILED && errno == ENODEV)
        return REFUSED;
    if (words == MAP_FAILED)
        die("a shared mapping");
    (void)words->parent; /* the page is there before the parent stores */
    for (uint64_t n = 1; turn_over(STDOUT_FILENO) && turn_is_ours(STDIN_FILENO); n++) {
        if (words->parent != n)
            lost("parent's store, as the command sees it,", words->parent, n);
        words->child = n;
    }
    return 0;
}

static pid_t command_start(char **command, const char *self, const char *path, int in, int out)
{
    char *argv[64];
    size_t count = 0;
    for (; command[count] && count < 60; count++)
        argv[count] = command[count];
    argv[count++] = (char *)self;    // NOLINT: it is only read
    argv[count++] = (char *)"store"; // NOLINT
    argv[count++] = (char *)path;    // NOLINT
    argv[count] = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(in, STDIN_FILENO);
        (void)dup2(out, STDOUT_FILENO);
        (void)execvp(argv[0], argv);
        die(argv[0]);
    }
    return pid;
}

/* The number of stores of each side. */
static uint64_t store_in_turns(Words *words, int from, int to)
{
    uint64_t n = 0;
    while (turn_is_ours(from)) {
        if (words->child != n)
            lost("command's store", words->child, n);
        if (n == ROUNDS)
            break;
        words->parent = ++n;
        (void)msync(words, PAGE, MS_SYNC);
        if (!turn_over(to))
            break;
    }
    return n;
}

static int two(const char *self, const char *path, char **command)
{
    int to[2], from[2], status;
    Words found;
    int fd = file_open(path, O_RDWR | O_CREAT | O_TRUNC);
    if (ftruncate(fd, PAGE) < 0 || pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        die(path);
    Words *words = page_of(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    pid_t pid = command_start(command, self, path, to[0], from[1]);
    (void)close(from[1]);
    (void)close(to[0]);
    uint64_t n = store_in_turns(words, from[0], to[1]);
    words->parent = n + 1;
    (void)close(to[1]);
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        die("the command");
    if (pread(fd, &found, sizeof found, 0) != sizeof found)
        die(path);
    if (found.parent != n + 1)
        lost("parent's last store", found.parent, n + 1);
    if (WEXITSTATUS(status) == REFUSED)
        (void)puts("refused");
    else
        (void)printf("%llu stores of each\n", (unsigned long long)n);
    return WEXITSTATUS(status) == REFUSED || n == ROUNDS ? 0 : 1;
}

/* ---- a mapping for reading ------------------------------------------------------------------- */

static const Words *seen;
static atomic_bool over;

/* Has the page there all the time, however often it is dropped. */
static void *look_on(void *unused)
{
    while (!over)
        (void)seen->parent;
    return NULL;
}

static int read_mapped(const char *path)
{
    pthread_t thread;
    int fd = file_open(path, O_RDWR | O_CREAT | O_TRUNC);
    if (ftruncate(fd, PAGE) < 0)
        die(path);
    seen = page_of(file_open(path, O_RDONLY), PROT_READ, MAP_SHARED);
    if (seen == MAP_FAILED || pthread_create(&thread, NULL, look_on, NULL) != 0)
        die("a mapping for reading");
    for (uint64_t n = 1; n <= WRITES; n++) {
        if (pwrite(fd, &n, sizeof n, 0) != sizeof n)
            die(path);
        if (seen->parent != n)
            lost("mapping's word after a write", seen->parent, n);
    }
    over = true;
    (void)pthread_join(thread, NULL);
    const Words *private = page_of(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    if (private == MAP_FAILED)
        die("a private mapping");
    if (private->parent != WRITES)
        lost("word of a private mapping", private->parent, WRITES);
    return 0;
}

/* ---- several openings ------------------------------------------------------------------------ */

static uint64_t value; /* the last one that was written */

static void write_next(int fd)
{
    value++;
    if (pwrite(fd, &value, sizeof value, 0) != sizeof value)
        die("a write");
}

static void expect(const char *whose, uint64_t found)
{
    if (found != value)
        lost(whose, found, value);
}

/* One who reads alone makes a writer's private mapping have pages of the mount's; and then there is
 * another writer. */
static void mix_private(const char *path)
{
    int reader = file_open(path, O_RDONLY), first = file_open(path, O_RDWR);
    (void)close(reader);
    (void)usleep(RELEASED_US);
    Words *before = page_of(first, PROT_READ, MAP_PRIVATE);
    int second = file_open(path, O_RDWR);
    if (before == MAP_FAILED)
        die("a private mapping");
    for (unsigned i = 0; i < ROUNDS; i++) {
        expect("private mapping's word", before->parent);
        write_next(second);
    }
    Words *another = page_of(first, PROT_READ, MAP_PRIVATE);
    if (another == MAP_FAILED)
        die("another private mapping");
    (void)munmap(before, PAGE);
    (void)munmap(another, PAGE);
    (void)close(first);
    (void)close(second);
}

/* What splice(2) finds. With O_APPEND it may be refused. */
static uint64_t spliced(int fd)
{
    int ends[2];
    loff_t at = 0;
    uint64_t found;
    if (pipe2(ends, O_CLOEXEC) < 0)
        die("a pipe");
    ssize_t n = splice(fd, &at, ends[1], NULL, sizeof found, 0);
    if (n < 0 && errno == EINVAL && fcntl(fd, F_GETFL) & O_APPEND)
        n = pread(fd, &found, sizeof found, 0);
    else if (n == sizeof found)
        n = read(ends[0], &found, sizeof found);
    if (n != sizeof found)
        die("splice");
    (void)close(ends[0]);
    (void)close(ends[1]);
    return found;
}

static void mix_spliced(const char *path, int flags)
{
    int writer = file_open(path, O_RDWR), reader = file_open(path, flags);
    for (unsigned i = 0; i < ROUNDS; i++) {
        write_next(writer);
        expect("word that is spliced", spliced(reader));
    }
    (void)close(writer);
    (void)close(reader);
}

/* A mapping without a descriptor is stored to. */
static void mix_stored(const char *path)
{
    int writer = file_open(path, O_RDWR);
    Words *words = page_of(writer, PROT_READ | PROT_WRITE, MAP_SHARED);
    (void)close(writer);
    (void)usleep(RELEASED_US);
    if (words == MAP_FAILED)
        return;
    int reader = file_open(path, O_RDONLY);
    const Words *seen_by_it = page_of(reader, PROT_READ, MAP_SHARED);
    if (seen_by_it == MAP_FAILED)
        die("a mapping for reading");
    for (unsigned i = 0; i < ROUNDS; i++) {
        words->parent = ++value;
        expect("mapping's word", seen_by_it->parent);
        expect("word that is spliced of what is stored", spliced(reader));
    }
    (void)munmap(words, PAGE);
    (void)close(reader);
}

/* One who closed the file does not keep it from being mapped, however busy the mount is. */
static void mix_closed(const char *path)
{
    enum { OFTEN = 1000 };
    unsigned refused = 0;
    uint64_t found;
    for (unsigned i = 0; i < OFTEN; i++) {
        int reader = file_open(path, O_RDONLY);
        if (pread(reader, &found, sizeof found, 0) != sizeof found || close(reader) < 0)
            die(path);
        int writer = file_open(path, O_RDWR);
        void *page = page_of(writer, PROT_READ | PROT_WRITE, MAP_SHARED);
        refused += page == MAP_FAILED;
        if (page != MAP_FAILED)
            (void)munmap(page, PAGE);
        (void)close(writer);
    }
    if (refused > 0 && refused < OFTEN)
        lost("number of refused mappings", refused, 0);
}

/* So many at once, each with a file of its own. */
static void mix_many_closed(const char *path)
{
    enum { MANY = 4 };
    char own[4096];
    int status, failed = 0;
    for (int i = 0; i < MANY; i++) {
        if (fork() != 0)
            continue;
        (void)snprintf(own, sizeof own, "%s.%d", path, i);
        int fd = file_open(own, O_RDWR | O_CREAT);
        if (ftruncate(fd, PAGE) < 0 || close(fd) < 0)
            die(own);
        (void)usleep(RELEASED_US);
        mix_closed(own);
        exit(0);
    }
    while (wait(&status) > 0)
        failed |= status;
    if (failed)
        exit(1);
}

static int mixed(const char *path)
{
    int fd = file_open(path, O_RDWR | O_CREAT | O_TRUNC);
    if (ftruncate(fd, PAGE) < 0 || close(fd) < 0)
        die(path);
    (void)usleep(RELEASED_US);
    mix_private(path);
    (void)usleep(RELEASED_US);
    mix_spliced(path, O_RDONLY);
    mix_spliced(path, O_RDWR | O_APPEND);
    (void)usleep(RELEASED_US);
    mix_stored(path);
    mix_many_closed(path);
    return 0;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], "store") == 0)
        return store(argv[2]);
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        return read_mapped(argv[2]);
    if (argc == 3 && strcmp(argv[1], "mixed") == 0)
        return mixed(argv[2]);
    if (argc < 3)
        return 2;
    return two(argv[0], argv[1], argv + 2);
}
