/* SPDX-License-Identifier: MIT */
/* What the core of the cache has the process do: lock, wake, ask a file. */
#include "base/list.h"
#include "libmanage/backing.h"
#include "libmanage/shell_private.h"

static void hook_lock(void *ctx)
{
    (void)pthread_mutex_lock(&((Manage *)ctx)->lock);
}

/* What the core has counted is in the process's page before others may count on. */
static void hook_unlock(void *ctx)
{
    Manage *m = ctx;
    ProgramFigures figures;
    ProgramPart *part = atomic_load_explicit(&m->part, memory_order_acquire);
    if (part && cache_figures(m->cache, &figures))
        program_part_write(part, &figures);
    (void)pthread_mutex_unlock(&((Manage *)ctx)->lock);
}

/* With the lock held. */
static void hook_wake(void *ctx, CacheCall *call)
{
    ManageCall *e = CONTAINER_OF(call, ManageCall, call);
    (void)ctx;
    e->wake = true;
    (void)pthread_cond_signal(&e->woken);
}

static bool hook_wake_background(void *ctx)
{
    uint64_t works;
    return manage_workers_wake(ctx, &works);
}

static CacheFileId hook_file_id(void *ctx, const void *file)
{
    dev_t device;
    ino_t inode;
    backing_id(file, &device, &inode);
    return (CacheFileId){device, inode, backing_offset(file)};
}

static bool hook_file_held(void *ctx, const void *file, uint64_t offset, uint64_t len)
{
    (void)ctx;
    return backing_held(file, offset, (size_t)len);
}

static void hook_file_release(void *ctx, void *file)
{
    (void)ctx;
    backing_close(file);
}

CacheHooks manage_hooks(Manage *m)
{
    return (CacheHooks){.lock = hook_lock,
                        .unlock = hook_unlock,
                        .wake = hook_wake,
                        .wake_background = hook_wake_background,
                        .file_id = hook_file_id,
                        .file_held = backing_can_tell() ? hook_file_held : NULL,
                        .file_release = hook_file_release,
                        .ctx = m};
}
