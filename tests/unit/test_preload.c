/* SPDX-License-Identifier: MIT */
/* What is read through the cache is what the file has, also where others change it. */
#include <signal.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "tests/unit/preload_fixture.h"

/* ---- reads ------------------------------------------------------------------------------------
 */

CASE(read__moves_the_position)
{
    int fd = open_held(1);
    uint64_t w;
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(read(fd, &w, WORD), WORD);
        assert_int_equal(w, word(1, i));
        assert_int_equal(lseek(fd, 0, SEEK_CUR), (i + 1) * WORD);
    }
    assert_true(holds(fd));
    (void)close(fd);
}

CASE(read__ends_where_the_file_does)
{
    int fd = open_held(1);
    char buf[100];
    assert_int_equal(lseek(fd, BYTES - 10, SEEK_SET), BYTES - 10);
    assert_int_equal(read(fd, buf, sizeof buf), 10);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES);
    assert_int_equal(read(fd, buf, sizeof buf), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES);
    assert_int_equal(lseek(fd, BYTES + 5, SEEK_SET), BYTES + 5);
    assert_int_equal(read(fd, buf, sizeof buf), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES + 5);
    assert_int_equal(pread(fd, buf, sizeof buf, BYTES - 3), 3);
    assert_int_equal(pread(fd, buf, sizeof buf, BYTES), 0);
    assert_int_equal(pread(fd, buf, sizeof buf, -1), -1);
    assert_int_equal(errno, EINVAL);
    (void)close(fd);
}

CASE(vectors__are_filled_in_order)
{
    int fd = open_held(1);
    uint64_t a, b[3];
    struct iovec iov[] = {{&a, WORD}, {NULL, 0}, {b, sizeof b}};
    assert_int_equal(preadv(fd, iov, 3, 80), 4 * WORD);
    assert_int_equal(a, word(1, 10));
    assert_int_equal(b[2], word(1, 13));
    assert_int_equal(lseek(fd, 160, SEEK_SET), 160);
    assert_int_equal(preadv2(fd, iov, 3, -1, 0), 4 * WORD); /* where the descriptor stands */
    assert_int_equal(a, word(1, 20));
    assert_int_equal(readv(fd, iov, 3), 4 * WORD);
    assert_int_equal(b[0], word(1, 25));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 160 + 8 * WORD);
    assert_int_equal(preadv(fd, iov, 3, -1), -1);
    volatile int none = -1;
    assert_int_equal(readv(fd, iov, none), -1);
    assert_int_equal(readv(fd, iov, 0), 0);
    (void)close(fd);
}

/* The kernel copies the vector before it fills anything. */
CASE(vectors__may_lie_in_a_buffer)
{
    int fd = open_held(1);
    uint64_t words[16];
    struct iovec *iov = (struct iovec *)words;
    iov[0] = (struct iovec){words, sizeof words};
    iov[1] = (struct iovec){words + 4, 2 * WORD};
    assert_int_equal(preadv(fd, iov, 2, 80), sizeof words + 2 * WORD);
    assert_int_equal(words[0], word(1, 10));
    assert_int_equal(words[4], word(1, 26));
    assert_int_equal(words[15], word(1, 25));
    (void)close(fd);
}

CASE(vectors__of_many)
{
    enum { MANY = 40 };
    int fd = open_held(1);
    uint64_t words[MANY];
    struct iovec iov[MANY];
    for (unsigned i = 0; i < MANY; i++)
        iov[i] = (struct iovec){&words[i], WORD};
    for (int count = 7; count <= MANY; count += count < 10 ? 1 : 30) {
        memset(words, 0, sizeof words);
        assert_int_equal(lseek(fd, 160, SEEK_SET), 160);
        assert_int_equal(readv(fd, iov, count), count * WORD);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 160 + count * WORD);
        for (int i = 0; i < count; i++)
            assert_int_equal(words[i], word(1, 20 + (uint64_t)i));
    }
    (void)close(fd);
}

/* The kernel looks at all of a buffer first. */
CASE(buffer__beyond_what_a_program_has)
{
    int fd = open_held(1);
    char *volatile far = (char *)(UINTPTR_MAX - 4095); // NOLINT
    assert_int_equal(pread(fd, far, 4096, 0), -1);
    assert_int_equal(errno, EFAULT);
#ifdef __x86_64__ /* the last page: so much would fit as is left of the file, but not the whole */
    enum { PAGE = 4096 };
    char *last =
        mmap((char *)(((uintptr_t)1 << 47) - 2 * PAGE), PAGE, // NOLINT
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_true(last != MAP_FAILED);
    assert_int_equal(pread(fd, last, PAGE, BYTES - PAGE), PAGE);
    assert_int_equal(pread(fd, last, 2 * PAGE, BYTES - PAGE), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(munmap(last, PAGE), 0);
#endif
    (void)close(fd);
}

/* The kernel fills what it can. */
CASE(buffer__that_cannot_be_written_fails_as_ever)
{
    int fd = open_held(1);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && munmap(at + page, page) == 0);
    assert_int_equal(pread(fd, at + page - 16, 64, 0), 16);
    assert_int_equal(lseek(fd, 160, SEEK_SET), 160);
    assert_int_equal(read(fd, at + page, 64), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 160);
    assert_int_equal(mprotect(at, page, PROT_READ), 0);
    assert_int_equal(pread(fd, at, 64, 0), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(mprotect(at, page, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(pread(fd, at, page, BYTES - 32),
                     32); /* no more than what there is is written */
    assert_true(holds(fd));
    assert_int_equal(munmap(at, page), 0);
    (void)close(fd);
}

/* Reads of more than is left, of a description that another thread moves. */
static struct {
    int fd;
    atomic_bool over;
    atomic_uint wrong;
} tail_reader;
enum { TAIL = 4096 };

static void *tail_main(void *arg)
{
    static char buf[1 << 20];
    while (!tail_reader.over) {
        ssize_t n = read(tail_reader.fd, buf, sizeof buf);
        tail_reader.wrong += n != TAIL && n != 0;
    }
    return arg;
}

CASE(position__is_nowhere_that_nobody_moved_it_to)
{
    pthread_t thread;
    tail_reader.fd = open_held(1);
    tail_reader.over = false;
    assert_int_equal(lseek(tail_reader.fd, BYTES - TAIL, SEEK_SET), BYTES - TAIL);
    assert_int_equal(pthread_create(&thread, NULL, tail_main, NULL), 0);
    for (unsigned i = 0; i < 3000; i++) {
        assert_int_equal(lseek(tail_reader.fd, BYTES - TAIL, SEEK_SET), BYTES - TAIL);
        off_t at = lseek(tail_reader.fd, 0, SEEK_CUR);
        assert_true(at == BYTES - TAIL || at == BYTES);
    }
    tail_reader.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(tail_reader.wrong, 0);
    (void)close(tail_reader.fd);
}

/* Each word is had by one of two processes: as from the kernel. */
CASE(position__is_shared_with_a_child)
{
    enum { EACH = 20000 };
    int fd = open_held(1), pipe_fds[2], status;
    uint64_t w, sum = 0, expected = 0, childs = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < EACH; i++)
            sum += read(fd, &w, WORD) == WORD ? w : 1;
        _exit(write(pipe_fds[1], &sum, sizeof sum) == sizeof sum ? 0 : 1);
    }
    for (int i = 0; i < EACH; i++)
        sum += read(fd, &w, WORD) == WORD ? w : 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipe_fds[0], &childs, sizeof childs), sizeof childs);
    for (uint64_t i = 0; i < (uint64_t)2 * EACH; i++)
        expected += word(1, i);
    assert_int_equal(sum + childs, expected);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 2 * EACH * WORD);
    (void)close(fd);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
}

/* ---- others' changes ---------------------------------------------------------------------------
 */

CASE(change__is_seen_by_the_next_read)
{
    int fd = open_held(1);
    uint64_t seen, fastest_ns = UINT64_MAX;
    for (uint64_t generation = 2; generation < 12; generation++) {
        bool leased = has_lease();
        uint64_t from_ns = os_now_ns();
        int writer = open(path, O_WRONLY);
        uint64_t w = word(generation, 7), waited_ns = os_now_ns() - from_ns;
        assert_true(writer >= 0);
        if (leased && waited_ns < fastest_ns)
            fastest_ns = waited_ns;
        assert_int_equal(pwrite(writer, &w, WORD, 7 * WORD), WORD);
        assert_int_equal(pread(fd, &seen, WORD, 7 * WORD), WORD);
        assert_int_equal(seen, w);
        assert_int_equal(close(writer), 0);
        if (generation == 2) { /* later openings meet no lease, or one that is a second old */
            w = word(1, 7);
            writer = open(path, O_WRONLY);
            assert_int_equal(pwrite(writer, &w, WORD, 7 * WORD), WORD);
            (void)close(writer);
            await_held(fd, 1);
        }
    }
    assert_true(fastest_ns < 100000000);
    (void)close(fd);
}

/* Who writes it again empties it first. */
CASE(change__that_empties_the_file_is_not_for_good)
{
    int writer = open(path, O_RDWR | O_CLOEXEC), fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t w;
    assert_true(writer >= 0 && fd >= 0);
    read_at(fd, 1, 0); /* no lease beside a writer */
    assert_int_equal(ftruncate(writer, 0), 0);
    assert_int_equal(close(writer), 0);
    for (int i = 0; i < 100; i++, nap()) /* it is tried to hold an empty file */
        assert_int_equal(pread(fd, &w, sizeof w, 0), 0);
    assert_false(holds(fd));
    write_file(2);
    await_held(fd, 2);
    assert_int_equal(close(fd), 0);
}

/* The library's own descriptors of the file give nothing any more, but for that with the lease. */
static void lose_file(int fd)
{
    char link[64], target[sizeof path];
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(null >= 0);
    unsigned lost = 0;
    for (int own = 0; own < 1 << 16; own++) {
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", own);
        ssize_t len = readlink(link, target, sizeof target);
        if (own == fd || len != (ssize_t)strlen(path) || memcmp(target, path, (size_t)len) != 0 ||
            fcntl(own, F_GETLEASE) == F_RDLCK)
            continue;
        assert_int_equal(syscall(SYS_dup3, null, own, O_CLOEXEC), own);
        lost++;
    }
    assert_true(lost > 0);
    (void)close(null);
}

/* What the cache has comes from there, and the rest from the kernel: the read is no shorter. */
CASE(reads__that_the_library_cannot_end)
{
    enum { FAR = WORDS / 2, MANY = 8192 };
    static uint64_t words[MANY];
    int fd = open_held(1);
    read_at(fd, 1, FAR);
    assert_true(holds(fd));
    lose_file(fd);
    assert_int_equal(pread(fd, words, sizeof words, (off_t)FAR * WORD), sizeof words);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(words[i], word(1, FAR + i));
    assert_int_equal(lseek(fd, (off_t)FAR * WORD, SEEK_SET), (off_t)FAR * WORD);
    memset(words, 0, sizeof words);
    assert_int_equal(read(fd, words, sizeof words), sizeof words);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), (off_t)FAR * WORD + (off_t)sizeof words);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(words[i], word(1, FAR + i));
    (void)close(fd);
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

CASE(number__of_another_file_is_another_files)
{
    int fd = open_held(1), other;
    char first[sizeof path + 2];
    (void)snprintf(first, sizeof first, "%s.1", path);
    assert_int_equal(rename(path, first), 0);
    write_file(2);
    other = open(path, O_RDONLY);
    assert_true(other >= 0);
    /* As the C library closes what it has opened: nobody hears of it. */
    assert_int_equal(syscall(SYS_dup3, other, fd, O_CLOEXEC), fd);
    for (uint64_t i = 0; i < 100; i++)
        read_at(fd, 2, i);
    await_held(fd, 2);
    read_at(fd, 2, 5);
    (void)close(fd);
    (void)close(other);
    (void)unlink(first);
}

/* ---- what is the program's stays the program's
 * --------------------------------------------------- */

CASE(descriptors__of_the_libraries_are_not_the_programs)
{
    int fd = open_held(1), low = open("/dev/null", O_RDONLY);
    assert_true(low >= 0 && low < 64); /* the next one free, as ever */
    for (int i = 3; i < 1 << 16; i++)
        if (i != fd)
            (void)close(i);
    read_at(fd, 1, 77);
    assert_true(holds(fd));
    assert_int_equal(close_range((unsigned)fd + 1, ~0u, 0), 0);
    closefrom(fd + 1);
    read_at(fd, 1, 78);
    assert_true(holds(fd) && has_lease());
    (void)close(fd);
}

/* In a process of its own, which lives no longer: nothing of the libraries is left there. */
static int lose_all(void)
{
    int fd = open_held(1);
    uint64_t w = word(9, 7), seen = 0;
    read_at(fd, 1, 7);                                        /* it is in local memory */
    (void)syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0); /* past us: the lease goes with it */
    int writer = open(path, O_WRONLY | O_NONBLOCK);
    bool good = writer >= 0 && pwrite(writer, &w, WORD, 7 * WORD) == WORD &&
                pread(fd, &seen, WORD, 7 * WORD) == WORD && seen == w;
    return good ? 0 : 1;
}

CASE(lease__that_was_lost_serves_no_read)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(lose_all());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool others_can_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR);
        _exit(fcntl(fd, F_SETLK, &lock) == 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status) == 1;
}

/* A process that closes any descriptor of a file loses its POSIX locks on that. */
CASE(locks__of_the_program_stay_when_the_lease_goes)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 10};
    int fd = open_held(1);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    for (int turn = 0; turn < 3; turn++) {
        assert_false(others_can_lock()); /* its opening breaks the lease */
        for (int i = 0; i < TURNS && holds(fd); i++)
            nap();
        assert_false(others_can_lock());
        await_held(fd, 1);
    }
    (void)close(fd);
}

static unsigned descriptors(void)
{
    char target[sizeof path + 1];
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        ssize_t len = readlinkat(dirfd(dir), e->d_name, target, sizeof target);
        count += len == (ssize_t)strlen(path) && memcmp(target, path, (size_t)len) == 0;
    }
    (void)closedir(dir);
    return count;
}

/* Its disk may be unmounted, or its blocks freed. */
CASE(file__that_the_program_has_closed_is_closed)
{
    int fd = open_held(1);
    assert_true(descriptors() > 1);
    assert_int_equal(close(fd), 0);
    for (int i = 0; i < TURNS && descriptors() > 0; i++)
        nap();
    assert_int_equal(descriptors(), 0);
    assert_false(has_lease());
}
