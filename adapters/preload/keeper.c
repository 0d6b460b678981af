/* SPDX-License-Identifier: MIT */
/* The keeper of the leases: somebody who wants to write a file waits for it, so it does nothing
 * that takes long. A break that it does not hear of at once (the kernel had no room for the signal)
 * it finds with its next look; no reader trusts a lease without asking. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapters/preload/files.h"
#include "adapters/preload/own.h"
#include "adapters/preload/keeper.h"
#include "adapters/preload/last.h"
#include "base/lease.h"
#include "base/os.h"
#include "base/time.h"

/* The kernel's signal for a break, to this thread alone; it tells the descriptor. One that programs
 * do not wait for themselves. */
#define BREAK_SIGNAL (SIGRTMAX - 9)
#define LOOK_NS NS_PER_S
#define GIVE_BACK_NS (5 * NS_PER_MS)

static sem_t started;
static pid_t id;

static void give_up(int lease_fd)
{
    files_lock();
    File *f = files_by_lease(lease_fd);
    if (f && fcntl(lease_fd, F_GETLEASE) == F_UNLCK) /* else the number is another lease's by now */
        file_give_up(f, true);
    files_unlock();
}

static void look_at_all(void)
{
    files_lock();
    for (File *f = NULL; (f = files_next(f, HOLD_HELD));) {
        if (fcntl(f->lease_fd, F_GETLEASE) != F_RDLCK)
            file_give_up(f, true);
        else if (!files_are_open_for(f))
            file_give_up(f, false);
    }
    files_unlock();
}

/* The kernel's own signals have a code above 0. One that somebody has sent to the process is the
 * program's: it goes back, and the program has time to take it. */
static void give_back(siginfo_t *info)
{
    const struct timespec moment = {.tv_nsec = GIVE_BACK_NS};
    (void)syscall(SYS_rt_sigqueueinfo, getpid(), BREAK_SIGNAL, info);
    (void)nanosleep(&moment, NULL);
}

static bool program_has_ended(void)
{
    OS_DESCRIPTORS_BUSY;
    char stat[512];
    return os_text_read(AT_FDCWD, "/proc/self/stat", stat, sizeof stat) > 0 &&
           last_has_ended(stat, own_threads());
}

static void *keeper_main(void *ctx)
{
    const struct timespec pause = {.tv_sec = 1};
    sigset_t wanted;
    siginfo_t info;
    own_thread();
    lease_keeper_hurry();
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, BREAK_SIGNAL);
    id = (pid_t)syscall(SYS_gettid);
    (void)sem_post(&started);
    for (uint64_t due_ns = 0;;) {
        int number = sigtimedwait(&wanted, &info, &pause);
        if (number == BREAK_SIGNAL && info.si_code <= 0)
            give_back(&info);
        else if (number == BREAK_SIGNAL)
            give_up(info.si_fd);
        if (os_now_ns() < due_ns)
            continue;
        look_at_all();
        if (program_has_ended())
            exit(0); /* as the C library would, if the libraries had no threads */
        due_ns = os_now_ns() + LOOK_NS;
    }
    return ctx;
}

bool keeper_start(void)
{
    pthread_t thread;
    if (sem_init(&started, 0, 0) < 0 || os_thread_start(&thread, keeper_main, NULL) < 0)
        return false;
    (void)pthread_detach(thread);
    while (sem_wait(&started) < 0)
        ; /* a signal came */
    return true;
}

int keeper_take(int fd)
{
    return lease_keep(fd, BREAK_SIGNAL, id);
}
