/* SPDX-License-Identifier: MIT */
/* What is done beside the calls: jobs that no call waits for, copies, huge pages. */
#include "libmanage/core_private.h"

static bool remotes_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    if (!c->remotes.wanted && !c->remotes.closing)
        return false;
    LIST_FOREACH(n, &c->regions.all) {
        Region *r = CONTAINER_OF(n, Region, link);
        if (r->remote.state == REMOTE_CLOSING && !r->remote.jobs && !r->closing) {
            job_begin(job, r, CACHE_CLOSE_REMOTE, now_ns);
            r->remote.state = REMOTE_CLOSE_JOB;
            c->remotes.closing--;
            return true;
        }
        if (!r->remote.wanted)
            continue;
        r->remote.wanted = false;
        c->remotes.wanted--;
        if (!r->closing && remote_may_open(c, r, now_ns)) {
            job_begin(job, r, CACHE_OPEN_REMOTE, now_ns);
            r->remote.state = REMOTE_OPENING;
            return true;
        }
    }
    return false;
}

static bool recall_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    Region *r = trace_asks(c);
    if (r)
        job_begin(job, r, CACHE_RECALL, now_ns);
    return r != NULL;
}

bool cache_background_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    cache_enter(c);
    reclaim_unstick(c, now_ns);
    bool taken = remotes_take(c, job, now_ns) || recall_take(c, job, now_ns) ||
                 reclaim_take(c, job, now_ns) || ahead_take(c, job, now_ns) ||
                 keep_take(c, job, now_ns) || fill_take(c, job, now_ns) ||
                 remotes_take(c, job, now_ns); /* which a fill has just asked for */
    c->background_idle = true; /* later work wakes a thread again, perhaps another one */
    cache_unlock(c);
    return taken;
}

bool cache_job_goes_beside(const CacheJob *job)
{
    return job->kind == CACHE_CLONE || job->kind == CACHE_READ_REMOTE;
}

/* Where it is to be seen what remote memory costs, a job goes alone. */
static bool may_have_company(const Cache *c, const CacheJob *first, uint64_t now_ns)
{
    return cache_job_goes_beside(first) && !remote_unproven(c, first->region, first->len, now_ns);
}

bool cache_background_more(Cache *c, CacheJob *first, CacheJob *job, uint64_t now_ns)
{
    cache_enter(c);
    bool taken =
        batch_more(c, first, job, now_ns) ||
        (may_have_company(c, first, now_ns) &&
         (reclaim_more(c, job, now_ns) || ahead_take(c, job, now_ns) ||
          (first->kind == CACHE_CLONE && keep_more(c, job, now_ns)))); /* which holds up no read */
    cache_unlock(c);
    return taken;
}

void cache_background_done(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    cache_enter(c);
    Region *r = job->region;
    c->ahead.files -= job->ahead && job->kind == CACHE_READ_FILE;
    batch_note(c, job, now_ns);
    /* What could not be written is in the region, for its csync. */
    if (job_end(c, job, result, now_ns) != 0 && job->ahead)
        stream_forget(c, r); /* the read there will report the error */
    cache_unlock(c);
}

uint64_t cache_background_deadline(Cache *c)
{
    cache_enter(c);
    uint64_t at = c->local.stuck ? c->local.stuck_until_ns : TIME_NEVER;
    cache_unlock(c);
    return at;
}

void cache_clone_copied(Cache *c, const CacheJob *job)
{
    cache_enter(c);
    for (uint64_t i = job->first; i < job->first + job->pieces; i++) {
        Piece *p = piece_find(job->region, i);
        p->job = NULL;
        p->cloning = job;
    }
    waiters_wake(c);
    cache_unlock(c);
}

bool cache_collapse_take(Cache *c, void **ret_at, size_t *ret_bytes)
{
    cache_enter(c);
    bool taken = c->collapse.running && !c->ways.files_left &&
                 buffers_part(&c->local.buffers, c->collapse.parts, ret_at, ret_bytes);
    c->collapse.parts += taken;
    cache_unlock(c);
    return taken;
}
