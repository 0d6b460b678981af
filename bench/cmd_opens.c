/* SPDX-License-Identifier: MIT */
/* cmd-opens: programs that open and close regions of one block as fast as they can, at a manager
 * that runs: opens a second, and the processor time that each open with its close costs cmd.
 *
 * PROCESSES times THREADS openings are under way at once. Start cmd and imds first, and tell cmd's
 * process id; DODO_MANAGER and DODO_KEY in the environment name the cluster. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/os.h"
#include "base/time.h"

enum { PROCESSES_MAX = 64, THREADS_MAX = 64, REGION_BYTES = 4096 };

static const uint64_t WARM_NS = NS_PER_S;

typedef struct Shared {
    atomic_bool stop;
    atomic_ullong opens, failed;
} Shared;

static Shared *shared;
static int file;

static void *worker(void *arg)
{
    off_t offset = (off_t)(uintptr_t)arg * REGION_BYTES;
    while (!atomic_load(&shared->stop)) {
        int rd = dodo_mopen(REGION_BYTES, file, offset);
        if (rd < 0 || dodo_mclose(rd) < 0)
            atomic_fetch_add(&shared->failed, 1);
        else
            atomic_fetch_add(&shared->opens, 1);
    }
    return NULL;
}

/* In a child: a file of its own, so that nobody's ranges overlap. */
static int client(unsigned threads)
{
    pthread_t id[THREADS_MAX];
    char path[] = "/tmp/cmd-opens-XXXXXX";
    file = mkstemp(path);
    if (file < 0 || unlink(path) < 0 || ftruncate(file, (off_t)threads * REGION_BYTES) < 0)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < threads; i++)
        if (os_thread_start(&id[i], worker, (void *)(uintptr_t)i) != 0)
            return EXIT_FAILURE;
    for (unsigned i = 0; i < threads; i++)
        (void)pthread_join(id[i], NULL);
    return EXIT_SUCCESS;
}

/* On the processor so far, as the scheduler counts it, in user space and in the kernel. */
static uint64_t cpu_of(unsigned pid)
{
    char path[64];
    uint64_t ns = 0;
    (void)snprintf(path, sizeof path, "/proc/%u/schedstat", pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%" SCNu64, &ns) != 1) {
        (void)fprintf(stderr, "cmd-opens: %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    (void)fclose(f);
    return ns;
}

/* User and kernel time, in ticks. */
static void ticks_of(unsigned pid, unsigned long ret_ticks[2])
{
    char path[64];
    ret_ticks[0] = ret_ticks[1] = 0;
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                     &ret_ticks[0], &ret_ticks[1]) != 2)
        (void)fprintf(stderr, "cmd-opens: %s: %s\n", path, strerror(errno));
    if (f)
        (void)fclose(f);
}

static void pause_ns(uint64_t ns)
{
    struct timespec t = time_to_timespec(ns);
    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static void measure(unsigned pid, unsigned processes, unsigned threads, uint64_t ns)
{
    unsigned long before[2], after[2];
    pause_ns(WARM_NS);
    uint64_t opens = atomic_load(&shared->opens), cpu = cpu_of(pid), start = os_now_ns();
    ticks_of(pid, before);
    pause_ns(ns);
    opens = atomic_load(&shared->opens) - opens;
    cpu = cpu_of(pid) - cpu;
    double seconds = (double)(os_now_ns() - start) / (double)NS_PER_S;
    ticks_of(pid, after);
    double user = (double)(after[0] - before[0]), kernel = (double)(after[1] - before[1]);
    (void)printf("{\"processes\": %u, \"threads\": %u, \"opens\": %" PRIu64 ", \"failed\": %llu, "
                 "\"opens_per_s\": %.0f, \"cmd_us_per_open_and_close\": %.2f, "
                 "\"cmd_busy\": %.3f, \"cmd_kernel_share\": %.2f}\n",
                 processes, threads, opens, atomic_load(&shared->failed), (double)opens / seconds,
                 (double)cpu / 1e3 / (double)(opens ? opens : 1), (double)cpu / 1e9 / seconds,
                 kernel / (user + kernel > 0 ? user + kernel : 1));
}

int main(int argc, char **argv)
{
    unsigned pid = argc == 5 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned processes = argc == 5 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned threads = argc == 5 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    unsigned seconds = argc == 5 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    int status = EXIT_SUCCESS, ended;

    if (!pid || !processes || processes > PROCESSES_MAX || !threads || threads > THREADS_MAX ||
        !seconds) {
        (void)fprintf(stderr, "usage: cmd-opens CMD_PID PROCESSES THREADS SECONDS\n");
        return EXIT_FAILURE;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(client(threads)); /* the library says farewell at exit */
        if (child < 0)
            status = EXIT_FAILURE;
    }
    if (status == EXIT_SUCCESS)
        measure(pid, processes, threads, seconds * NS_PER_S);
    atomic_store(&shared->stop, true);
    while (wait(&ended) > 0)
        if (ended != 0)
            status = EXIT_FAILURE;
    return status;
}
