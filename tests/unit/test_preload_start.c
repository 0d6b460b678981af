/* SPDX-License-Identifier: MIT */
/* libdodo-preload.so is loaded into a program that closes numbers that it has not opened, while the
 * cache starts. */
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "tests/lib/case.h"
#include "tests/lib/tmpdir_case.h"

/* Numbers that are made while the cache starts are below LOW_END. */
enum { LOW_END = 40, BYTES = 2 << 20, TURNS = 5000 };

/* As programs do that want no descriptors but their own. */
static void close_others(int after, const char *way)
{
    if (strcmp(way, "range") == 0)
        (void)close_range((unsigned)after + 1, ~0u, 0);
    for (int i = after + 1; strcmp(way, "replace") == 0 && i < LOW_END; i++)
        (void)dup2(STDERR_FILENO, i);
    for (int i = after + 1; strcmp(way, "range") != 0 && i < LOW_END; i++)
        (void)close(i);
}

static const char *close_way;
static atomic_bool started;

/* Whether a file that is opened then stays what it is, and where it is. */
static bool keeps_a_file(void)
{
    struct stat before, st;
    char byte;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &before) == 0;
    for (int i = 0; i < 30 && good; i++)
        good = fstat(fd, &st) == 0 && st.st_ino == before.st_ino && pread(fd, &byte, 1, 0) == 1 &&
               byte == '\x7f';
    return good && lseek(fd, 0, SEEK_CUR) == 0 && close(fd) == 0;
}

static void *close_for_ever(void *ctx)
{
    const int *fd = ctx;
    while (!started) {
        close_others(*fd, close_way);
        if (!keeps_a_file())
            return ctx;
    }
    return NULL;
}

/* `test-preload_start WAY FILE`: the first file is read beside a thread that closes. */
static int starts(const char *way, const char *file)
{
    pthread_t thread;
    void *lost = NULL;
    char byte;
    bool held = false, (*holds)(int fd);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    close_way = way;
    if (fd < 0 || pthread_create(&thread, NULL, close_for_ever, &fd) != 0)
        return 2;
    for (int i = 0; i < TURNS && !held; i++) {
        (void)!pread(fd, &byte, 1, i);
        (void)usleep(1000);
        held = holds(fd);
    }
    started = true;
    (void)pthread_join(thread, &lost);
    return held && !lost ? 0 : lost ? 3 : 4;
}

TEST_WITH(numbers__of_the_libraries_are_not_closed_while_the_cache_starts, dir_set_up,
          dir_tear_down)
{
    static const char *const ways[] = {"range", "each", "replace"};
    static unsigned char bytes[BYTES];
    char path[256];
    tmpdir_write(&dir, "file", bytes, sizeof bytes);
    (void)tmpdir_path(&dir, "file", path);
    for (int i = 0; i < 15; i++) {
        char *argv[] = {(char *)"test-preload_start", (char *)ways[i % 3], path, NULL};
        int status;
        pid_t pid;
        assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("%s, run %d: status %x", ways[i % 3], i, (unsigned)status);
    }
}

int main(int argc, char **argv)
{
    return argc == 3 ? starts(argv[1], argv[2]) : cases_run(NULL, NULL);
}
