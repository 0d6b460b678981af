/* SPDX-License-Identifier: MIT */
#include "daemon/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { CHANNEL = STDERR_FILENO + 1 };

pid_t helper_copy(const char *name)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return -errno;
    if (pid > 0)
        return pid;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    (void)prctl(PR_SET_NAME, name);
    return 0;
}

/* Everything but the standard descriptors goes, and @channel becomes CHANNEL. */
static int keep_channel(int channel)
{
    if (channel != CHANNEL && dup2(channel, CHANNEL) < 0)
        return -errno;
    closefrom(CHANNEL + 1); /* also where the kernel has no close_range() */
    return CHANNEL;
}

pid_t helper_fork(const char *name, int *ret_channel)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    pid_t pid = helper_copy(name);
    (void)close(pair[pid == 0 ? 0 : 1]);
    if (pid > 0)
        *ret_channel = pair[0];
    else if (pid < 0)
        (void)close(pair[0]);
    if (pid != 0)
        return pid;
    for (unsigned i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    *ret_channel = keep_channel(pair[1]);
    if (*ret_channel < 0)
        _exit(EXIT_FAILURE);
    return 0;
}
