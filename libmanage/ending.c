/* SPDX-License-Identifier: MIT */
/* The process ends: what is retained goes to the hosts, what was written to the files. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "libdodo/range_held.h"
#include "libmanage/carry.h"
#include "libmanage/records.h"
#include "libmanage/shell_private.h"

enum {
    EXIT_DEADLINE_MS = 250
}; /* exit() waits for others so long at most; files take what they take */

static void print_stats(Manage *m)
{
    struct manage_stats s;
    cache_stats(m->cache, &s);
    (void)dprintf(STDERR_FILENO,
                  "dodo manage: local_hits=%llu remote_hits=%llu disk_reads=%llu evictions=%llu "
                  "clones=%llu bypasses=%llu writebacks=%llu local_bytes=%llu remote_bytes=%llu "
                  "disk_bytes=%llu extents=%llu extent_bytes=%llu extent_spent_ns=%llu "
                  "extent_earned_ns=%llu readaheads=%llu readahead_used=%llu\n",
                  (unsigned long long)s.local_hits, (unsigned long long)s.remote_hits,
                  (unsigned long long)s.disk_reads, (unsigned long long)s.evictions,
                  (unsigned long long)s.clones, (unsigned long long)s.bypasses,
                  (unsigned long long)s.writebacks, (unsigned long long)s.local_bytes,
                  (unsigned long long)s.remote_bytes, (unsigned long long)s.disk_bytes,
                  (unsigned long long)s.extents, (unsigned long long)s.extent_bytes,
                  (unsigned long long)s.extent_spent_ns, (unsigned long long)s.extent_earned_ns,
                  (unsigned long long)s.readaheads, (unsigned long long)s.readahead_used);
}

/* The process's cache, if this is no child of a fork that went by unseen. */
static Manage *ending_cache(void)
{
    Manage *m = manage_running;
    return m && m->pid == getpid() ? m : NULL;
}

/* False: this thread has it, and was interrupted by a signal whose handler has called exit(); or
 * another one stands still. */
static bool lock_in_time(Manage *m)
{
    uint64_t now_ns = os_clock_ns(CLOCK_REALTIME); /* what a timed lock goes by */
    struct timespec until = time_to_timespec(now_ns + EXIT_DEADLINE_MS * NS_PER_MS);
    return pthread_mutex_timedlock(&m->lock, &until) == 0;
}

/* An exit handler, for libdodo's own, which is registered before it, ends remote memory. */
static void at_exit_retain(void)
{
    Manage *m = ending_cache();
    ManageCall e;
    if (!m || !lock_in_time(m))
        return;
    (void)pthread_mutex_unlock(&m->lock);
    dodo_private_ends();
    for (int rd = -1; (rd = cache_region_next(m->cache, rd)) >= 0;) {
        manage_keep(m, rd);
        manage_call_init(&e);
        cache_retain_start(&e.call, m->cache, rd, EXIT_DEADLINE_MS * NS_PER_MS, os_now_ns());
        manage_run(m, &e);
        manage_call_deinit(&e);
    }
}

void manage_retain_at_exit(void)
{
    (void)atexit(at_exit_retain);
}

static void keep_records(Cache *c)
{
    CacheRecord record;
    for (unsigned at = 0; cache_recorded(c, &at, &record);)
        record_save(&record);
}

/* SIGXFSZ, of one file that would exceed RLIMIT_FSIZE, would end the process before the others are
 * written. So it is blocked until they are. */
static void write_all(Cache *c)
{
    CacheEnd end = {0};
    CacheJob job;
    CacheResult result;
    sigset_t too_long, before;
    (void)sigemptyset(&too_long);
    (void)sigaddset(&too_long, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &too_long, &before);
    while (cache_end_take(&end, c, &job, os_now_ns()))
        job_carry_out(&job, &result);
    keep_records(c);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* As stdio does: what was written is in the files when the program ends in order. This runs after
 * all exit handlers, which may still write. Other threads may go on or hang: it waits for none of
 * them. */
__attribute__((destructor)) static void at_unload(void)
{
    Manage *m = ending_cache();
    if (!m || !lock_in_time(m))
        return;
    m->ending = true;
    write_all(m->cache);
    (void)pthread_mutex_unlock(&m->lock);
    if (m->settings.stats)
        print_stats(m);
}
