/* SPDX-License-Identifier: MIT */
/* The process ends while one of its threads makes the library start: that thread goes on for a
 * while, and nothing that it uses is gone. */
#include <pthread.h>
#include <sys/wait.h>

#include <dodo/dodo.h>

#include "tests/lib/case.h"
#include "tests/lib/tmpdir_case.h"

static char config[256]; /* a FIFO: the library waits in its start */
static pthread_t thread;
static int writer = -1;

static void *use(void *arg)
{
    char path[256], byte;
    int fd = open(tmpdir_path(&dir, "file", path), O_RDONLY | O_CLOEXEC);
    int rd = dodo_mopen_flags(4096, fd, 0, DODO_RDONLY | DODO_FALLBACK);
    (void)dodo_mread(rd, 0, &byte, 1);
    return arg;
}

/* What the start registers as exit handlers is called when this one is through. */
static void start_at_exit(void)
{
    if (pthread_create(&thread, NULL, use, NULL) == 0)
        writer = open(config, O_WRONLY | O_CLOEXEC);
}

/* After all exit handlers. */
__attribute__((destructor)) static void go_on(void)
{
    if (writer < 0)
        return;
    (void)close(writer);
    (void)pthread_join(thread, NULL);
}

TEST_WITH(exit__while_the_library_starts, dir_set_up, dir_tear_down)
{
    static char page[4096];
    int status;
    tmpdir_write(&dir, "file", page, sizeof page);
    assert_int_equal(mkfifo(tmpdir_path(&dir, "config", config), 0600), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)setenv("DODO_CONFIG", config, 1);
        (void)setenv("DODO_MANAGER", "127.0.0.1:1", 1);
        (void)setenv("DODO_INSECURE", "1", 1);
        exit(atexit(start_at_exit));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
