/* SPDX-License-Identifier: MIT */
/* The end of the process: what is dirty goes to the file, also while other threads are in calls. */
#include <string.h>

#include "libmanage/core_private.h"

/* Before the first job. From now on nothing becomes dirty, for nobody would write it. And nothing
 * is read from remote memory, which does not get what the file gets. */
static void end_begin(CacheEnd *e, Cache *c, uint64_t now_ns)
{
    c->ending = true;
    c->cfg.remote = false;
    LIST_FOREACH(n, &c->regions.all)
        remote_lost(c, CONTAINER_OF(n, Region, link), now_ns);
    e->region = c->regions.all.next;
    e->dirty = NULL;
    e->begun = true;
}

/* The first run of @map, of @p's blocks; it is taken out of the map. */
static struct iovec run_take(Piece *p, uint64_t *map, uint64_t *ret_offset)
{
    unsigned first = (unsigned)__builtin_ctzll(*map), b = first;
    while (b < 64 && *map >> b & 1)
        *map &= ~(1ull << b++);
    uint64_t from = (uint64_t)first * CACHE_BLOCK;
    uint64_t to = min_u64((uint64_t)b * CACHE_BLOCK, p->len);
    uint64_t room = p->region->size - min_u64(p->region->size, p->entry.offset);
    *ret_offset = p->entry.offset + from;
    return (struct iovec){.iov_base = p->data + from,
                          .iov_len = (size_t)(min_u64(to, room) - min_u64(from, room))};
}

/* Adds to the job the next run that is dirty in the region, if it follows what is in it. */
static bool run_add(CacheEnd *e, Cache *c, Region *r, CacheJob *job)
{
    if (!e->map) {
        e->dirty = e->dirty ? e->dirty->next : r->writeback.dirty.next;
        if (e->dirty == &r->writeback.dirty)
            return false;
        e->map = CONTAINER_OF(e->dirty, Piece, links.dirty)->dirty;
        c->stats.writebacks++;
    }
    uint64_t offset, rest = e->map;
    struct iovec run = run_take(CONTAINER_OF(e->dirty, Piece, links.dirty), &rest, &offset);
    if (job->iov_count && (offset != job->offset + job->len || job->iov_count == CACHE_JOB_PIECES))
        return false;
    if (!job->iov_count)
        job->offset = offset;
    e->map = rest;
    job->iov[job->iov_count++] = run;
    job->len += run.iov_len;
    c->stats.writeback_bytes += run.iov_len;
    return true;
}

bool cache_end_take(CacheEnd *e, Cache *c, CacheJob *job, uint64_t now_ns)
{
    if (!e->begun)
        end_begin(e, c, now_ns);
    for (; e->region != &c->regions.all; e->region = e->region->next, e->dirty = NULL) {
        Region *r = CONTAINER_OF(e->region, Region, link);
        memset(job, 0, offsetof(CacheJob, iov));
        job->file = r->file;
        job->kind = CACHE_WRITE;
        while (GUARD(EXIT_WRITES) && e->dirty != &r->writeback.dirty && run_add(e, c, r, job))
            ;
        r->writeback.written |= job->iov_count > 0;
        if (job->iov_count)
            return true;
        if (GUARD(SYNC_FILE) && r->writeback.written && !e->synced) {
            job->kind = CACHE_SYNC;
            e->synced = true;
            return true;
        }
        e->synced = false;
    }
    return false;
}
