/* SPDX-License-Identifier: MIT */
/* The library is loaded, the process forks, or ends. Nothing is started before the first file that
 * is to be cached. */
#include "adapters/preload/start.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "adapters/preload/cache.h"
#include "adapters/preload/files.h"
#include "adapters/preload/own.h"
#include "adapters/preload/real.h"
#include "adapters/preload/report.h"
#include "adapters/preload/worker.h"
#include "base/os.h"
#include "base/parked.h"

/* On a page that the kernel clears in every child that has a copy of it; NULL: none. */
static bool *here;

static void here_make(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, page, MADV_WIPEONFORK) < 0)
        return;
    here = at;
    *here = true;
}

static void fork_prepare(void)
{
    cache_lock();
    files_lock();
    parked_lock_all();
}

static void fork_parent(void)
{
    parked_unlock_all();
    files_unlock();
    cache_unlock();
}

static void forget(bool for_good)
{
    files_forget_all();
    worker_forget(for_good);
    report_forget(for_good);
    if (here)
        *here = true;
}

static void fork_child(void)
{
    parked_abandon_all();
    parked_unlock_all();
    cache_unlock();
    forget(false);
}

/* Nobody knows what the parent's threads were doing. */
void start_check(void)
{
    if (here && !*here)
        forget(true);
}

__attribute__((constructor)) static void on_load(void)
{
    real_find();
    files_init(report_file);
    here_make();
    own_code_add((const void *)on_load);
    os_descriptors_place(own_floor(), own_add);
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* Whether reads of @fd would be served from the region cache now. */
__attribute__((visibility("default"))) bool dodo_preload_holds(int fd);
bool dodo_preload_holds(int fd)
{
    File *f = files_of(fd);
    bool holds = f && file_enter(f);
    if (holds)
        file_leave(f);
    return holds;
}

/* Where nothing has been cached, there was no earlier time to do it. */
__attribute__((destructor)) static void on_end(void)
{
    report_write();
}
