/* SPDX-License-Identifier: MIT */
/* The library is loaded, the process forks, or ends. Nothing is started before the first file that
 * is to be cached. */
#include "adapters/preload/start.h"

#include <pthread.h>
#include <stdatomic.h>

#include "adapters/preload/cache.h"
#include "adapters/preload/files.h"
#include "adapters/preload/here.h"
#include "adapters/preload/own.h"
#include "adapters/preload/real.h"
#include "adapters/preload/report.h"
#include "adapters/preload/worker.h"
#include "base/os.h"
#include "base/parked.h"

static void fork_prepare(void)
{
    cache_lock();
    files_lock();
    files_note_fork();
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
    own_forget();
    files_forget_all();
    worker_forget(for_good);
    report_forget(for_good);
    here_again();
}

static void fork_child(void)
{
    parked_abandon_all();
    parked_unlock_all();
    cache_unlock();
    forget(!cache_heard_fork());
}

/* Other libraries begin before this one, and may read. */
static atomic_bool ready;

/* Nobody knows what the parent's threads were doing. */
bool start_check(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire))
        return false;
    if (!here_is())
        forget(true);
    return true;
}

__attribute__((constructor)) static void on_load(void)
{
    real_find();
    files_init(report_file);
    here_make();
    own_code_add((const void *)on_load);
    os_descriptors_place(own_place());
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
    atomic_store_explicit(&ready, true, memory_order_release);
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
