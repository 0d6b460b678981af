/* SPDX-License-Identifier: MIT */
#include "libdodo/drive.h"

#include <errno.h>
#include <time.h>

#include "base/os.h"
#include "base/time.h"
#include "libdodo/gate.h"
#include "libdodo/kept.h"
#include "libdodo/share_map.h"

/* Between looks of a call that waits for another and the network. */
enum { BLOCKED_LOOK_NS = 1000000 };

/* ---- waking --------------------------------------------------------------------------------- */

int waker_init(Waker *w)
{
    *w = (Waker){0};
    int result = pthread_mutex_init(&w->lock, NULL);
    if (result == 0)
        result = pthread_cond_init(&w->woken, NULL);
    return -result;
}

void waker_deinit(Waker *w)
{
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->woken);
}

void waker_wake(Waker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->wakes++;
    (void)pthread_cond_broadcast(&w->woken);
    (void)pthread_mutex_unlock(&w->lock);
}

static uint64_t wakes_now(Waker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    uint64_t wakes = w->wakes;
    (void)pthread_mutex_unlock(&w->lock);
    return wakes;
}

/* Until another call ended since @seen; the timeout only bounds what a missed wake could cost. */
static void wait_woken(Waker *w, uint64_t seen)
{
    struct timespec until;
    gate_leave();
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    (void)pthread_mutex_lock(&w->lock);
    while (w->wakes == seen &&
           pthread_cond_clockwait(&w->woken, &w->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    (void)pthread_mutex_unlock(&w->lock);
    gate_enter();
}

static bool help(const Waker *w)
{
    if (!w->help)
        return false;
    gate_leave();
    bool some = w->help();
    gate_enter();
    return some;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* False: it is busy, or there is none. */
static bool give_worker(Link *link, Call *call, const FileJob *job)
{
    if (link->job_call)
        return false;
    link->job = *job;
    if (file_worker_give(&link->worker, &link->job))
        link->job_call = call;
    return link->job_call != NULL;
}

static void take_worker(Link *link)
{
    const FileJob *job = link->job_call ? file_worker_take(&link->worker) : NULL;
    Call *call = link->job_call;
    if (!job)
        return;
    link->job_call = NULL;
    call_file_done(call, &job->result, os_now_ns());
}

static FileJob job_of(const Call *call, enum FileJobKind kind)
{
    return (FileJob){.file = call->file,
                     .buf = call->file_buf,
                     .len = call->file_len,
                     .offset = call->file_offset,
                     .kind = kind};
}

/* The worker costs two changes of threads: it pays where this thread has something else to do. */
static void write_file(Link *link, Call *call)
{
    FileJob job = job_of(call, FILE_JOB_WRITE);
    call_file_taken(call);
    if (channel_is_busy(link->channel) && give_worker(link, call, &job))
        return;
    gate_leave();
    file_job_do(&job);
    gate_enter();
    call_file_done(call, &job.result, os_now_ns());
}

static void do_file(Call *call)
{
    FileResult result = {0};
    gate_leave();
    if (call->need == NEED_CHECKS_SAVE)
        result.count = kept_save(call->file_buf, call->file_len);
    else if (call->need == NEED_CHECKS_LOAD)
        result.count = kept_load(call->file_buf, call->file_len);
    else if (call->need == NEED_SHARE)
        share_map_join((ShareAsk *)(void *)call->file_buf);
    else if (call->need == NEED_FILE_READ)
        file_read(call->file, call->file_buf, call->file_len, call->file_offset, &result);
    else if (call->need == NEED_FILE_SYNC)
        file_sync(call->file, &result);
    else
        file_stamp(call->file, &result);
    gate_enter();
    call_file_done(call, &result, os_now_ns());
}

/* Does what one of the link's calls needs of its file. False: none needs anything. */
static bool serve_file(Link *link)
{
    for (Call *call = NULL; (call = channel_next(link->channel, call));) {
        switch ((enum CallNeed)call->need) {
        case NEED_FILE_WRITE:
            write_file(link, call);
            return true;
        case NEED_FILE_READ:
        case NEED_FILE_SYNC:
        case NEED_FILE_STAMP:
        case NEED_CHECKS_SAVE:
        case NEED_CHECKS_LOAD:
        case NEED_SHARE:
            do_file(call);
            return true;
        case NEED_NETWORK:
        case NEED_BLOCKED:
        case NEED_NOTHING:
            break;
        }
    }
    return false;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool any_blocked(Link *link)
{
    for (Call *call = NULL; (call = channel_next(link->channel, call));)
        if (call->need == NEED_BLOCKED)
            return true;
    return false;
}

/* @blocked: a call waits for one of another thread, and no descriptor shows when that ends. */
static void wait_network(Link *link, uint64_t deadline, bool blocked)
{
    if (blocked)
        deadline = min_u64(deadline, time_add(os_now_ns(), BLOCKED_LOOK_NS));
    gate_leave();
    if (blocked || link->job_call)
        link_wait(link, link->job_call ? link->worker.done_fd : -1, deadline);
    else /* only a datagram or the time ends the wait */
        link_await(link, deadline);
    gate_enter();
    take_worker(link);
    (void)link_receive(link);
}

void link_run(Waker *w, Link *link, Call *call)
{
    while (call->need != NEED_NOTHING) {
        bool was_blocked = any_blocked(link);
        uint64_t seen = was_blocked ? wakes_now(w) : 0;
        link_step(link);
        if (call->need == NEED_NOTHING)
            return;
        if (serve_file(link))
            continue;
        bool blocked = any_blocked(link), helped = blocked && help(w);
        uint64_t deadline = channel_deadline(link->channel);
        if (!blocked || helped || deadline != TIME_NEVER || link->job_call)
            wait_network(link, deadline, blocked);
        else if (was_blocked)
            wait_woken(w, seen);
    }
}

static bool background_job(const Call *call, FileJob *ret)
{
    switch (call->need) {
    case NEED_FILE_READ:
        *ret = job_of(call, FILE_JOB_READ);
        return true;
    case NEED_FILE_STAMP:
        *ret = job_of(call, FILE_JOB_STAMP);
        return true;
    case NEED_SHARE:
        *ret = job_of(call, FILE_JOB_SHARE);
        return true;
    default:
        return false;
    }
}

/* The worker does them: keep-alives do not wait for a disk. */
static void background_files(Link *link)
{
    static const FileResult no_thread = {.count = -1, .error = EAGAIN};
    for (Call *call = NULL; (call = channel_next(link->channel, call));) {
        FileJob job;
        if (link->job_call || !background_job(call, &job))
            continue;
        call_file_taken(call);
        if (give_worker(link, call, &job))
            continue;
        call_file_done(call, &no_thread, os_now_ns());
        return;
    }
}

uint64_t link_turn(Link *link)
{
    (void)link_receive(link);
    take_worker(link);
    link_step(link);
    background_files(link);
    return channel_deadline(link->channel);
}
