/* SPDX-License-Identifier: MIT */
/* The truth: what each byte of a file may be for a read, for the file when the program is killed
 * now, and on the disk when csync has returned; and which results a file's failures excuse. */
#include <errno.h>

#include "tests/sim/manage.h"

static uint64_t set_of(uint8_t value)
{
    return value < 64 ? 1ull << value : 0;
}

static UserFile *file_of(ManageWorld *m, const SimFile *sim)
{
    return &m->files[sim->index];
}

static uint64_t file_size_in(const UserRegion *r)
{
    uint64_t size = r->file->sim->size;
    size = size > r->offset ? size - r->offset : 0;
    return size < r->len ? size : r->len;
}

/* The file has what it has, and nobody holds anything else of it. */
static void settle(UserFile *f, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++) {
        f->may[at] = f->allowed[at] = set_of(f->sim->data[at]);
        f->reverted[at] = f->lost[at] = 0;
    }
}

void truth_begin(ManageWorld *m)
{
    for (unsigned i = 0; i < USER_FILES; i++)
        settle(&m->files[i], 0, USER_FILE_BYTES);
}

/* Runs for each thread with a call under way on file @f. */
#define FOR_CALLS(t, m, f)                                                                \
    for (unsigned i_##t = 0; i_##t < USERS_MAX * USER_CALLERS_MAX; i_##t++)               \
        for (UserThread *t =                                                              \
                 &(m)->users[i_##t / USER_CALLERS_MAX].threads[i_##t % USER_CALLERS_MAX]; \
             t && t->channel && t->busy && t->region->file == (f); t = NULL)

/* ---- the file ------------------------------------------------------------------------------- */

/* A failed fdatasync has brought back what the disk has. What was lost may have been read before,
 * and is in a cache still; nobody writes it again but who wrote it. */
static void reverted(ManageWorld *m, UserFile *f, uint64_t offset, size_t len)
{
    m->cover[MANAGE_COVER_REVERTED] += len;
    for (uint64_t at = offset; at < offset + len; at++) {
        uint64_t set = set_of(f->sim->data[at]);
        f->reverted[at] |= set;
        f->allowed[at] |= set;
        if (f->unsynced[at / 4096])
            f->lost[at] |= set;
    }
    FOR_CALLS(t, m, f) {
        t->beside = true;
        for (uint64_t at = offset; at < offset + len; at++)
            if (t->op <= USER_WRITE || f->unsynced[at / 4096])
                t->may[at] |= set_of(f->sim->data[at]);
    }
}

void truth_changed(void *ctx, SimFile *sim, uint64_t offset, size_t len, void *cookie)
{
    ManageWorld *m = ctx;
    UserFile *f = file_of(m, sim);
    const UserRegion *r = cookie;
    if (m->poking && f->cut) { /* caches may have what was there: a read may give it */
        for (uint64_t at = offset; at < offset + len; at++)
            f->allowed[at] = set_of(0);
        return;
    }
    if (m->poking) {
        settle(f, offset, offset + len);
        return;
    }
    if (!r) {
        reverted(m, f, offset, len);
        return;
    }
    if (r->file != f || offset < r->offset || offset + len > r->offset + r->len)
        violate(&m->w, "region %d: the file is written beside it", r->rd);
    for (uint64_t at = offset; at < offset + len; at++)
        if (!((f->may[at] | f->lost[at] | f->reverted[at]) & ~LIE_SET & set_of(sim->data[at]))) {
            violate(&m->w, "region %d: the file gets at %llu what nobody wrote, or what is old",
                    r->rd, (unsigned long long)at);
            return;
        }
}

void truth_opened(UserRegion *r)
{
    UserFile *f = r->file;
    for (uint64_t b = r->offset / 4096; b <= (r->offset + r->len - 1) / 4096; b++)
        f->unsynced[b] = f->sim->dirty[b];
    r->size = r->size_most = file_size_in(r);
    r->grown_from = NOT_GROWN;
}

/* What is cut off is gone for the file, and may be read for a while. */
static bool cut_off(const UserFile *f, uint64_t at)
{
    return f->cut && at >= f->sim->size;
}

/* Its memory is another's by now. */
static void no_job_is_left(const UserRegion *r)
{
    for (unsigned i = 0; i < USER_THREADS_MAX; i++) {
        const UserThread *t = &r->user->threads[i];
        if (t->job.of == &t->job.work && t->job.of->file == r)
            violate(&r->user->m->w, "program%u, region %d: it is closed, and a job goes on",
                    r->user->index, r->rd);
    }
}

/* Killed: what the file has must be one of what it may have. */
void truth_region_gone(UserRegion *r, bool killed)
{
    UserFile *f = r->file;
    World *w = &r->user->m->w;
    for (uint64_t at = r->offset; killed && at < r->offset + r->len; at++)
        if (!(f->allowed[at] & set_of(f->sim->data[at]))) {
            violate(w, "program%u, region %d: what was acknowledged at %llu of file %u is lost",
                    r->user->index, r->rd, (unsigned long long)at, f->sim->index);
            break;
        }
    if (!(r->flags & DODO_RDONLY))
        settle(f, r->offset, r->offset + r->len);
    r->state = REGION_FREE;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* From now on its value may be seen, and may be in the file. */
static void write_begin(UserThread *t)
{
    UserFile *f = t->region->file;
    t->region->written = true;
    uint64_t from = t->region->offset + t->offset, set = set_of(t->value);
    for (uint64_t at = from; at < from + t->len; at++) {
        f->may[at] |= set;
        f->allowed[at] |= set;
        t->may[at] = 0; /* of a write: what is brought back beside it */
    }
    FOR_CALLS(o, t->user->m, f) {
        o->beside = true;
        for (uint64_t at = from; o != t && at < from + t->len; at++)
            o->may[at] |= o->op == USER_WRITE ? 0 : set;
    }
}

bool truth_written_now(ManageWorld *m, const UserFile *f)
{
    bool any = false;
    FOR_CALLS(t, m, f)
        any = any || t->op == USER_WRITE;
    return any;
}

void truth_lied(UserRegion *r, uint64_t offset)
{
    UserFile *f = r->file;
    f->may[r->offset + offset] |= LIE_SET;
    FOR_CALLS(t, r->user->m, f)
        if (t->op <= USER_WRITE) /* of a write: it was made before that is over */
            t->may[r->offset + offset] |= LIE_SET;
}

void truth_grown(ManageWorld *m, UserFile *f, uint64_t from, uint64_t len, uint8_t value)
{
    manage_cover(m, MANAGE_COVER_FILE_GREW);
    FOR_CALLS(t, m, f) {
        t->beside = true;
        for (uint64_t at = from; at < from + len; at++)
            t->may[at] |= set_of(value);
    }
    for (unsigned i = 0; i < USERS_MAX * USER_REGIONS_MAX; i++) {
        UserRegion *r = &m->users[i / USER_REGIONS_MAX].regions[i % USER_REGIONS_MAX];
        if (r->state == REGION_FREE || r->file != f || from >= r->offset + r->len)
            continue;
        r->size_most = max_u64(r->size_most, file_size_in(r));
        r->grown_from = min_u64(r->grown_from, from > r->offset ? from - r->offset : 0);
    }
}

void truth_cut(ManageWorld *m, UserFile *f)
{
    manage_cover(m, MANAGE_COVER_FILE_CUT);
    FOR_CALLS(t, m, f)
        t->size_min = min_u64(t->size_min, file_size_in(t->region));
}

void truth_cut_over(UserFile *f)
{
    if (f->cut)
        settle(f, 0, USER_FILE_BYTES);
    f->cut = false;
}

/* The bytes of the region that a read finds at least. What others have added to the file, by
 * appending or by writing into another region, is among them, but for a program that writes: not
 * before what it wrote there is on the disk. What is just being written is not. */
static uint64_t size_min(const UserRegion *r)
{
    uint64_t size = file_size_in(r);
    bool may_miss = r->written || r->user->heap.fail_ppm || truth_written_now(r->user->m, r->file);
    if (r->file->cut || (size > r->size && !may_miss))
        return size;
    return r->size;
}

void truth_call_begin(UserThread *t)
{
    UserRegion *r = t->region;
    UserFile *f = r->file;
    uint64_t from = r->offset + t->offset;
    if (t->op == USER_WRITE) {
        write_begin(t);
        return;
    }
    t->beside = truth_written_now(r->user->m, f);
    for (uint64_t at = from; at < from + t->len; at++)
        t->may[at] = f->may[at] | f->lost[at] | (t->op == USER_READ ? f->reverted[at] : 0);
    t->size_min = size_min(r);
    t->failures = r->failures;
    t->must_fail = r->must_tell;
}

/* The region's bytes that a read may find: with what is just being written. */
static uint64_t size_max(const UserThread *t)
{
    const UserRegion *r = t->region;
    uint64_t size = max_u64(max_u64(file_size_in(r), r->size), r->size_most);
    for (unsigned i = 0; i < USER_CALLERS_MAX; i++) {
        const UserThread *o = &t->user->threads[i];
        if (o->channel && o->busy && o->op == USER_WRITE && o->region == r &&
            o->offset + o->len > size)
            size = o->offset + o->len;
    }
    return size;
}

static uint64_t inside(uint64_t size, const UserThread *t)
{
    uint64_t have = size > t->offset ? size - t->offset : 0;
    return have < t->len ? have : t->len;
}

static bool file_error(int error)
{
    return error == EIO || error == ENOSPC;
}

/* What a write that failed has left, this read has told: from now on it is that. */
static void read_settles(UserThread *t, uint64_t from, uint64_t len)
{
    UserFile *f = t->region->file;
    for (uint64_t i = 0; !t->beside && i < len; i++)
        if (f->may[from + i] & ~LIE_SET & set_of(t->buf[i]))
            f->may[from + i] = set_of(t->buf[i]) | (f->may[from + i] & LIE_SET);
}

/* The read has got what others appended: from now on the file's end is there. */
static void grown_noticed(UserThread *t, uint64_t end)
{
    UserRegion *r = t->region;
    if (t->cache_call.result == 0 || r->grown_from == NOT_GROWN || end <= r->grown_from)
        return;
    manage_cover(t->user->m, MANAGE_COVER_GREW_NOTICED);
    r->size = max_u64(r->size, end);
    r->grown_from = end < file_size_in(r) ? end : NOT_GROWN;
}

static void read_over(UserThread *t)
{
    ManageWorld *m = t->user->m;
    const CacheCall *c = &t->cache_call;
    uint64_t from = t->region->offset + t->offset;
    manage_cover(m, MANAGE_COVER_READS);
    if (c->result < 0) {
        manage_cover(m, MANAGE_COVER_READS_FAILED);
        if (c->error != EIO || !t->injected)
            violate(&m->w, "cread failed with errno %d", c->error);
        return;
    }
    if ((uint64_t)c->result < inside(t->size_min, t) ||
        (uint64_t)c->result > inside(size_max(t), t))
        violate(&m->w, "region %d: cread [%llu, +%llu) gave %zd bytes, not %llu to %llu",
                t->region->rd, (unsigned long long)t->offset, (unsigned long long)t->len, c->result,
                (unsigned long long)inside(t->size_min, t),
                (unsigned long long)inside(size_max(t), t));
    for (uint64_t i = 0; i < (uint64_t)c->result; i++)
        if (!(t->may[from + i] & set_of(t->buf[i]))) {
            violate(&m->w,
                    "program%u, region %d: cread [%llu, +%llu): the byte at %llu of file %u is "
                    "stale or nobody's: %u",
                    t->user->index, t->region->rd, (unsigned long long)t->offset,
                    (unsigned long long)t->len, (unsigned long long)(from + i),
                    t->region->file->sim->index, t->buf[i]);
            return;
        }
    read_settles(t, from, (uint64_t)c->result);
    grown_noticed(t, t->offset + (uint64_t)c->result);
}

static void write_over(UserThread *t)
{
    ManageWorld *m = t->user->m;
    UserRegion *r = t->region;
    UserFile *f = r->file;
    const CacheCall *c = &t->cache_call;
    uint64_t from = r->offset + t->offset, n = c->result < 0 ? 0 : (uint64_t)c->result;
    manage_cover(m, MANAGE_COVER_WRITES);
    if (n < t->len) {
        manage_cover(m, n ? MANAGE_COVER_WRITES_SHORT : MANAGE_COVER_WRITES_FAILED);
        if (!t->injected || (c->result < 0 && !file_error(c->error)) || c->result == 0)
            violate(&m->w, "cwrite of %llu bytes gave %zd (errno %d) and the file did not fail",
                    (unsigned long long)t->len, c->result, c->error);
    }
    for (uint64_t at = from; at < from + n; at++) {
        f->may[at] = set_of(t->value) | (t->may[at] & LIE_SET);
        t->may[at] &= ~LIE_SET;
        f->lost[at] = 0;
        f->reverted[at] = t->may[at];
        if (!(r->flags & MANAGE_WRITE_THROUGH))
            continue;
        f->allowed[at] = set_of(t->value) | t->may[at];
        if (!(f->allowed[at] & set_of(f->sim->data[at]))) {
            violate(&m->w, "region %d: cwrite through has not written the file at %llu", r->rd,
                    (unsigned long long)at);
            return;
        }
    }
    if (n && t->offset + n > r->size)
        r->size = t->offset + n;
}

/* Has somebody else written it, who had the file open before? A close that has written nothing
 * itself leaves it to the kernel, and so does who only reads. */
static bool others_unsynced(const UserRegion *r, uint64_t at)
{
    return !r->synced && r->file->unsynced[at / 4096];
}

/* What a call that went well promises: the disk has it. */
static void synced(UserThread *t)
{
    ManageWorld *m = t->user->m;
    UserRegion *r = t->region;
    UserFile *f = r->file;
    for (uint64_t at = r->offset; at < r->offset + r->len; at++) {
        if (cut_off(f, at))
            break;
        if ((!(t->may[at] & set_of(f->sim->durable[at])) && !others_unsynced(r, at)) ||
            !(t->may[at] & set_of(f->sim->data[at]))) {
            violate(&m->w, "region %d: %s returned 0 but the disk has not what was written at %llu",
                    r->rd, t->op == USER_SYNC ? "csync" : "cclose", (unsigned long long)at);
            return;
        }
        f->allowed[at] &= t->may[at];
        f->reverted[at] = 0;
    }
    if (file_size_in(r) < t->size_min)
        violate(&m->w, "region %d: the file is %llu bytes long, not %llu", r->rd,
                (unsigned long long)file_size_in(r), (unsigned long long)t->size_min);
    for (uint64_t b = r->offset / 4096 + 1; r->synced && b < (r->offset + r->len) / 4096; b++)
        f->unsynced[b] = false;
}

/* Nobody tells an exiting program what failed. */
void truth_exited(User *u)
{
    World *w = &u->m->w;
    for (unsigned i = 0; i < USER_REGIONS_MAX && !u->end.failed; i++) {
        const UserRegion *r = &u->regions[i];
        const UserFile *f = r->file;
        bool written = r->state == REGION_OPENED && !(r->flags & DODO_RDONLY) && !r->lost;
        for (uint64_t at = r->offset; written && at < r->offset + r->len; at++) {
            uint64_t may = (f->may[at] | f->lost[at]) & ~LIE_SET;
            bool on_disk = may & set_of(f->sim->durable[at]) || others_unsynced(r, at);
            if (!(may & set_of(f->sim->data[at])) || (r->synced && !on_disk)) {
                violate(w, "program%u, region %d: exit has not written at %llu", u->index, r->rd,
                        (unsigned long long)at);
                return;
            }
        }
    }
}

static void sync_over(UserThread *t)
{
    ManageWorld *m = t->user->m;
    UserRegion *r = t->region;
    const CacheCall *c = &t->cache_call;
    bool close = t->op == USER_CLOSE;
    manage_cover(m, close ? MANAGE_COVER_CLOSES : MANAGE_COVER_SYNCS);
    if (c->result < 0) {
        manage_cover(m, close ? MANAGE_COVER_CLOSES_FAILED : MANAGE_COVER_SYNCS_FAILED);
        /* Since it began, or before, and then nobody heard of it. */
        bool failed = r->failures > t->failures || r->failures > r->failures_told;
        if (!file_error(c->error) || (!failed && !r->lost))
            violate(&m->w, "region %d: %s failed with errno %d and the file did not", r->rd,
                    close ? "cclose" : "csync", c->error);
        r->failures_told = t->failures;
        r->must_tell = false;
        if (close)
            r->state = REGION_OPENED;
        return;
    }
    if (r->must_tell && t->must_fail)
        violate(&m->w, "region %d: a failed write-back was never told", r->rd);
    m->cover[MANAGE_COVER_CLOSES_QUIET] += close && !r->synced;
    if (!close || !r->lost)
        synced(t);
    if (!close)
        return;
    no_job_is_left(r);
    truth_region_gone(r, r->lost);
}

/* It changes nothing that can be wrong, so it cannot fail. */
static void advise_over(const UserThread *t)
{
    if (t->cache_call.result != 0)
        violate(&t->user->m->w, "program%u: cadvise fails", t->user->index);
}

void truth_call_over(UserThread *t)
{
    static const char *const names[] = {"cread", "cwrite", "csync", "cclose", "exit", "cadvise"};
    World *w = &t->user->m->w;
    const CacheCall *c = &t->cache_call;
    story(w, "program%u.%u %s -> %zd (%d)", t->user->index, t->index, names[t->op], c->result,
          c->error);
    simnet_note(w->net, (uint64_t)c->result ^ (uint64_t)c->error << 40 ^ (uint64_t)t->op << 56);
    t->region->calls--;
    if (t->op == USER_READ)
        read_over(t);
    else if (t->op == USER_WRITE)
        write_over(t);
    else if (t->op == USER_ADVISE)
        advise_over(t);
    else if (t->op != USER_RETAIN)
        sync_over(t);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static void write_job_over(UserThread *t, UserRegion *r)
{
    ManageWorld *m = t->user->m;
    const CacheJob *j = t->job.of;
    bool failed = t->job.result.count < 0 || (uint64_t)t->job.result.count < j->len;
    if (j->both) {
        manage_cover(m, MANAGE_COVER_WRITES_BOTH);
        m->cover[MANAGE_COVER_WRITES_BOTH_LOST] += t->job.result.remote_error != 0;
    }
    if (!failed || !j->pieces)
        return;
    manage_cover(m, MANAGE_COVER_WRITEBACKS_FAILED);
    r->must_tell = true;
}

/* Is a part read unasked from here on? One that the kernel was asked for begins twice, and once
 * more where it goes on in the next region. */
static bool part_begins(UserThread *t)
{
    User *u = t->user;
    const CacheJob *j = t->job.of;
    if (j->kind != CACHE_ASK && j->kind != CACHE_FILL)
        return false;
    const UserRegion *r = j->file;
    uint64_t from = r->offset + j->offset, to = from + j->len;
    if (j->kind == CACHE_ASK && j == &t->job.work)
        manage_cover(u->m, MANAGE_COVER_PARTS_SWEPT);
    bool asked = j->kind == CACHE_FILL && u->asked.file == r->file && u->asked.from == from &&
                 to <= u->asked.to;
    if (asked && to < u->asked.to)
        manage_cover(u->m, MANAGE_COVER_PARTS_ON);
    u->asked.file = j->kind == CACHE_ASK || (asked && to < u->asked.to) ? r->file : NULL;
    u->asked.from = asked ? to : from;
    u->asked.to = asked ? u->asked.to : to;
    return !asked;
}

/* What is read unasked is paid for by what reads took and what was earned. */
void truth_job_begin(UserThread *t)
{
    const User *u = t->user;
    const CacheConfig *cfg = &u->m->p.cache;
    struct manage_stats st;
    if (!part_begins(t))
        return;
    cache_stats(u->cache, &st);
    if (st.extent_spent_ns > u->reads_ns * cfg->spend_percent / 100 + st.extent_earned_ns)
        violate(&u->m->w,
                "program%u: a part that nothing has paid for: %llu spent, %llu read at %u %%, "
                "%llu earned",
                u->index, (unsigned long long)st.extent_spent_ns, (unsigned long long)u->reads_ns,
                cfg->spend_percent, (unsigned long long)st.extent_earned_ns);
}

void truth_job_over(UserThread *t)
{
    User *u = t->user;
    ManageWorld *m = u->m;
    const CacheJob *j = t->job.of;
    const CacheResult *x = &t->job.result;
    UserRegion *r = j->file;
    if (j->kind <= CACHE_READ_FILL && j != &t->job.work)
        u->reads_ns += x->ns;
    r->failures += t->job.injected; /* not known to anybody before */
    switch ((enum CacheJobKind)j->kind) {
    case CACHE_OPEN_REMOTE:
        manage_cover(m, MANAGE_COVER_REMOTE_OPENS);
        m->cover[MANAGE_COVER_REMOTE_HELD] += x->held;
        m->cover[MANAGE_COVER_REMOTE_REFUSED] += x->remote_error != 0;
        if (x->remote_error) {
            u->refraction_from_ns = user_now(u);
            u->refraction_until_ns = user_now(u) + m->p.cache.refraction_ns;
        }
        break;
    case CACHE_READ_FILL:
        manage_cover(m, MANAGE_COVER_FILLS);
        __attribute__((fallthrough));
    case CACHE_READ_REMOTE:
        manage_cover(m, MANAGE_COVER_REMOTE_READS);
        m->cover[MANAGE_COVER_REMOTE_LOST] += x->remote_error != 0;
        break;
    case CACHE_CLONE:
        manage_cover(m, MANAGE_COVER_CLONES);
        break;
    case CACHE_FILL:
        m->cover[MANAGE_COVER_PARTS] += x->count > 0;
        break;
    case CACHE_WRITE:
        write_job_over(t, r);
        break;
    case CACHE_SYNC:
        m->cover[MANAGE_COVER_DATASYNCS_FAILED] += x->count < 0;
        r->synced |= x->count == 0;
        r->lost |= x->count < 0; /* perhaps: some of it may be cached no more */
        break;
    case CACHE_RECALL:
        m->cover[MANAGE_COVER_RECALLS] += x->ranges_count > 0;
        break;
    case CACHE_READ_FILE:
    case CACHE_CLOSE_REMOTE:
    case CACHE_SIZE:
    case CACHE_ASK:
    case CACHE_ADVISE:
        break;
    }
}
