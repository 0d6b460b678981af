/* SPDX-License-Identifier: MIT */
#include "base/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/os.h"
#include "base/parked.h"

typedef struct LeaseAsk {
    int fd, error; /* 0: it was granted */
} LeaseAsk;

/* A program that opens the file for writing while the lease is there waits until the lease is given
 * back, and the kernel sends SIGIO to the lease's owner. The owner is this thread, which has all
 * signals blocked and ends: nobody ever gets the signal, and none of the program's own is taken. */
static void *lease_main(void *arg)
{
    LeaseAsk *ask = arg;
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
    if (fcntl(ask->fd, F_SETOWN_EX, &owner) < 0 || fcntl(ask->fd, F_SETLEASE, F_RDLCK) < 0)
        ask->error = errno;
    else
        (void)fcntl(ask->fd, F_SETLEASE, F_UNLCK);
    return NULL;
}

static int lease_try(int fd)
{
    LeaseAsk ask = {.fd = fd};
    pthread_t thread;
    int res = os_thread_start(&thread, lease_main, &ask);
    if (res < 0)
        return res == -EAGAIN ? -ENOMEM : res; /* no thread is no writer */
    (void)pthread_join(thread, NULL);
    return -ask.error;
}

int lease_ask(int fd)
{
    int res = lease_try(fd);
    return res == -EAGAIN && parked_close_unlocked() > 0 ? lease_try(fd) : res;
}

int lease_keep(int fd, int number, pid_t keeper)
{
    const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = keeper};
    bool kept = fcntl(fd, F_SETSIG, number) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
                fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    return kept ? 0 : -errno;
}

void lease_keeper_hurry(void)
{
    const struct sched_param first = {.sched_priority = 1};
    (void)pthread_setschedparam(pthread_self(), SCHED_RR | SCHED_RESET_ON_FORK, &first);
}

bool lease_may_come(int error)
{
    return error == EAGAIN || error == EMFILE || error == ENFILE || error == ENOMEM;
}
