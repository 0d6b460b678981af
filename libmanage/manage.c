/* SPDX-License-Identifier: MIT */
/* The public calls: arguments in, core, errno out. See include/dodo/manage.h. */
#include "dodo/manage.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/os.h"
#include "base/parked.h"
#include "libdodo/descriptors.h"
#include "libdodo/reason.h"
#include "libmanage/backing.h"
#include "libmanage/descriptors.h"
#include "libmanage/reasons.h"
#include "libmanage/shell.h"

/* ---- what all calls share ------------------------------------------------------------------- */

/* A call in progress. It is no cancellation point: a thread that ended half-way would leave a piece
 * of the cache in use for ever. On success errno stays what it was. */
typedef struct Entry {
    int error, cancel_state;
    enum ManageCallName name;
    char detail[MANAGE_SETTINGS_ERROR_MAX]; /* of wrong settings */
    Manage *m;
    ManageCall call;
} Entry;

static void enter(Entry *e, enum ManageCallName name)
{
    e->error = errno;
    e->name = name;
    e->detail[0] = '\0';
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &e->cancel_state);
}

static ssize_t leave(const Entry *e, ssize_t result, int error)
{
    if (result < 0) {
        char text[REASON_MAX];
        reason_write(text, e->name, error, e->detail);
        dodo_private_reason(text);
    }
    errno = result < 0 ? error : e->error;
    (void)pthread_setcancelstate(e->cancel_state, NULL);
    return result;
}

/* Enters for a call on a region; false: none can be open. */
static bool begin(Entry *e, enum ManageCallName name)
{
    enter(e, name);
    e->m = manage_peek();
    if (!e->m)
        return false;
    manage_call_init(&e->call);
    return true;
}

static ssize_t finish(Entry *e)
{
    manage_run(e->m, &e->call);
    manage_call_deinit(&e->call);
    return leave(e, e->call.call.result, e->call.call.error);
}

/* ---- regions --------------------------------------------------------------------------------- */

static int open_region(Manage *m, size_t len, int fd, off_t offset, unsigned flags)
{
    Backing *b;
    if (manage_ending(m)) /* by a later exit handler */
        flags |= MANAGE_WRITE_THROUGH;
    int result = backing_open(fd, (uint64_t)offset, len, flags & DODO_RDONLY, &b);
    if (result < 0)
        return result;
    manage_publish(m);
    int64_t size = backing_size(b);
    int rd = size < 0 ? (int)size : cache_open(manage_cache(m), len, (uint64_t)size, b, flags);
    if (rd < 0)
        backing_close(b);
    return rd;
}

int dodo_copen_flags(size_t len, int fd, off_t offset, unsigned flags)
{
    Entry e;
    const unsigned known = DODO_RDONLY | DODO_RETAIN | DODO_FALLBACK | DODO_STRIPE | DODO_MIRROR |
                           MANAGE_WRITE_THROUGH;
    enter(&e, NAME_COPEN);
    if (len < 1 || offset < 0 || (flags & ~known))
        return (int)leave(&e, -1, EINVAL);
    int result = manage_get(&e.m, e.detail);
    if (result == 0)
        result = open_region(e.m, len, fd, offset, flags & ~(unsigned)DODO_FALLBACK);
    return (int)leave(&e, result < 0 ? -1 : result, -result);
}

int dodo_copen(size_t len, int fd, off_t offset)
{
    return dodo_copen_flags(len, fd, offset, 0);
}

/* PART: the hit has not ended yet. */
enum HitRead { HIT_READ_NONE, HIT_READ_ALL, HIT_READ_PART };

/* A read that takes no lock. It is no cancellation point, and leaves errno alone. */
static enum HitRead read_hit(CacheHit *h, Manage *m, int rd, off_t offset, void *buf, size_t len)
{
    const ManageLane *mine = manage_lane(m);
    Cache *c = mine->cache;
    enum CacheHitKind kind = cache_hit_begin(h, c, mine->lane, rd, offset, len);
    if (kind == CACHE_HIT_NONE)
        return HIT_READ_NONE;
    if (kind == CACHE_HIT_LOCAL) {
        cache_hit_copy(h, c, buf);
        cache_hit_end(h, c);
        return HIT_READ_ALL;
    }
    int error = errno;
    bool held = !h->ask || backing_held(h->file, (uint64_t)offset, len);
    uint64_t start_ns = h->measure ? os_now_ns() : 0;
    ssize_t n = held ? backing_pread(h->file, buf, len, (uint64_t)offset) : -1;
    uint64_t end_ns = h->measure ? os_now_ns() : 0;
    errno = error;
    if (n != (ssize_t)len)
        return HIT_READ_PART;
    cache_hit_file_end(h, c, end_ns - start_ns, end_ns);
    return HIT_READ_ALL;
}

ssize_t dodo_cread(int rd, off_t offset, void *buf, size_t len)
{
    Entry e;
    CacheHit h;
    Manage *m = manage_peek();
    enum HitRead how = m && buf ? read_hit(&h, m, rd, offset, buf, len) : HIT_READ_NONE;
    if (how == HIT_READ_ALL)
        return (ssize_t)len;
    if (!begin(&e, NAME_CREAD))
        return leave(&e, -1, EINVAL);
    if (how == HIT_READ_PART)
        cache_hit_read_start(&e.call.call, &h, manage_cache(e.m), buf, os_now_ns());
    else
        cache_read_start(&e.call.call, manage_cache(e.m), rd, offset, buf, len, os_now_ns());
    return finish(&e);
}

ssize_t dodo_cwrite(int rd, off_t offset, const void *buf, size_t len)
{
    Entry e;
    if (!begin(&e, NAME_CWRITE))
        return leave(&e, -1, EINVAL);
    cache_write_start(&e.call.call, manage_cache(e.m), rd, offset, buf, len, os_now_ns());
    return finish(&e);
}

int dodo_csync(int rd)
{
    Entry e;
    if (!begin(&e, NAME_CSYNC))
        return (int)leave(&e, -1, EINVAL);
    cache_sync_start(&e.call.call, manage_cache(e.m), rd, os_now_ns());
    return (int)finish(&e);
}

int dodo_cclose(int rd)
{
    Entry e;
    if (!begin(&e, NAME_CCLOSE))
        return (int)leave(&e, -1, EINVAL);
    manage_keep(e.m, rd);
    cache_close_start(&e.call.call, manage_cache(e.m), rd, os_now_ns());
    return (int)finish(&e);
}

int dodo_cadvise(int rd, off_t offset, size_t len, int advice)
{
    Entry e;
    if (!begin(&e, NAME_CADVISE))
        return (int)leave(&e, -1, EINVAL);
    cache_advise_start(&e.call.call, manage_cache(e.m), rd, offset, len, advice, os_now_ns());
    return (int)finish(&e);
}

/* ---- the cache ------------------------------------------------------------------------------- */

int dodo_csetPolicy(int policy)
{
    Entry e;
    enter(&e, NAME_POLICY);
    int result = manage_get(&e.m, e.detail);
    if (result == 0)
        result = cache_set_policy(manage_cache(e.m), policy);
    return (int)leave(&e, result < 0 ? -1 : 0, -result);
}

int dodo_manage_register_policy(const struct manage_policy *policy)
{
    Entry e;
    enter(&e, NAME_REGISTER);
    int result = manage_get(&e.m, e.detail);
    if (result == 0)
        result = cache_register_policy(manage_cache(e.m), policy);
    return (int)leave(&e, result < 0 ? -1 : result, -result);
}

int dodo_manage_stats(struct manage_stats *st)
{
    Entry e;
    enter(&e, NAME_STATS);
    e.m = manage_peek();
    if (!st)
        return (int)leave(&e, -1, EINVAL);
    memset(st, 0, sizeof *st);
    if (e.m)
        cache_stats(manage_cache(e.m), st);
    return (int)leave(&e, 0, 0);
}

int dodo_manage_set(int option, uint64_t value)
{
    Entry e;
    enter(&e, NAME_SET);
    int result = option == MANAGE_CACHE_BYTES || option == MANAGE_READAHEAD_BYTES
                     ? manage_preset((enum manage_option)option, value)
                     : -EINVAL;
    return (int)leave(&e, result < 0 ? -1 : 0, -result);
}

void dodo_manage_private_descriptors(const OsDescriptors *where)
{
    os_descriptors_place(where);
    dodo_private_descriptors(where);
}

bool dodo_manage_private_has(int rd, off_t offset, size_t len)
{
    Manage *m = manage_peek();
    return m && offset >= 0 && cache_has(manage_cache(m), rd, (uint64_t)offset, len);
}

unsigned dodo_manage_private_close_files(void)
{
    return parked_close_unlocked() + dodo_private_close_files();
}
