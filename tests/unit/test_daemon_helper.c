/* SPDX-License-Identifier: MIT */
/* The processes beside a daemon, on a kernel that is older than close_range(), or in a container
 * that does not let it through. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/helper.h"
#include "tests/lib/case.h"
#include "tests/lib/seccomp.h"

enum { WORD = 'w' };

static void be_older(void)
{
    assert_true(seccomp_refuse(SYS_close_range, ENOSYS));
    assert_true(syscall(SYS_close_range, 1000, 1000, 0) < 0 && errno == ENOSYS);
}

/* It says one word, and whether it has a descriptor that is not its own. */
__attribute__((noreturn)) static void serve(int channel, int others)
{
    const char word[2] = {WORD, (char)(dup(others) >= 0)};
    (void)send(channel, word, sizeof word, MSG_NOSIGNAL);
    _exit(0);
}

static void is_heard(void)
{
    int channel = -1;
    char word[2] = "";
    const int others = dup2(STDIN_FILENO, 77);
    assert_int_equal(others, 77);
    const pid_t pid = helper_fork("test-helper", &channel);
    if (pid == 0)
        serve(channel, others);
    assert_true(pid > 0);
    assert_int_equal(recv(channel, word, sizeof word, 0), sizeof word);
    assert_int_equal(word[0], WORD);
    assert_int_equal(word[1], 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(channel);
    (void)close(others);
}

TEST(helper__starts_with_its_channel_alone)
{
    is_heard();
}

TEST(helper__starts_without_close_range)
{
    be_older(); /* for good: this case is the last one */
    is_heard();
}
