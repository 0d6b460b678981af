/* SPDX-License-Identifier: MIT */
/* The library as a plugin of a program that is not linked with it: loaded, used, closed. Its
 * threads and handlers are there still, so it must be, too. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DODO_NO_SHORT_NAMES
#include <dodo/dodo.h>

#include "tests/lib/case.h"
#include "tests/lib/forked.h"

enum { LEN = 200000 }; /* more than is written without a thread */

static const char *library;

typedef struct Calls {
    void *handle;
    int (*mopen_flags)(size_t len, int fd, off_t offset, unsigned flags);
    ssize_t (*mread)(int rd, off_t offset, void *buf, size_t len);
    ssize_t (*mwrite)(int rd, off_t offset, const void *buf, size_t len);
    int (*mclose)(int rd);
} Calls;

static Calls load(void)
{
    Calls c = {.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    if (!c.handle)
        fail_msg("%s", dlerror());
    /* POSIX: what dlsym() returns may be stored so. */
    *(void **)&c.mopen_flags = dlsym(c.handle, "dodo_mopen_flags");
    *(void **)&c.mread = dlsym(c.handle, "dodo_mread");
    *(void **)&c.mwrite = dlsym(c.handle, "dodo_mwrite");
    *(void **)&c.mclose = dlsym(c.handle, "dodo_mclose");
    assert_true(c.mopen_flags && c.mread && c.mwrite && c.mclose);
    return c;
}

static void fork_and_exit(void)
{
    int status;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        forked_child = true;
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *open_in_a_thread(void *arg)
{
    Calls c = load();
    static uint8_t buf[LEN];
    int rd = c.mopen_flags(LEN, *(int *)arg, 0, DODO_FALLBACK);
    memset(buf, 'd', sizeof buf);
    if (rd < 0 || c.mwrite(rd, 0, buf, LEN) != LEN || dlclose(c.handle) != 0)
        return NULL;
    return (void *)((uintptr_t)rd + 1);
}

/* Used from a thread that has ended, which closed it with a region open; then forks, and another
 * use. At the end the program exits with the library closed. */
TEST(dlclose__leaves_nothing_behind)
{
    char path[] = "/tmp/dodo-test-dlopen-XXXXXX", byte = 0;
    int fd = mkstemp(path);
    pthread_t thread;
    void *opened;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, LEN), 0);
    assert_int_equal(unlink(path), 0);
    fork_and_exit();
    assert_int_equal(pthread_create(&thread, NULL, open_in_a_thread, &fd), 0);
    assert_int_equal(pthread_join(thread, &opened), 0);
    assert_non_null(opened);
    fork_and_exit();
    Calls c = load();
    int rd = (int)((uintptr_t)opened - 1);
    assert_int_equal(c.mread(rd, LEN - 1, &byte, 1), 1);
    assert_int_equal(byte, 'd');
    assert_int_equal(c.mclose(rd), 0);
    rd = c.mopen_flags(LEN, fd, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(dlclose(c.handle), 0);
    fork_and_exit();
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
        return 2;
    }
    library = argv[1];
    (void)unsetenv("DODO_MANAGER");
    (void)setenv("DODO_CONFIG", "/dev/null", 1);
    return cases_run(NULL, NULL);
}
