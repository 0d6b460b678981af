/* SPDX-License-Identifier: MIT */
#include "libdodo/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "libdodo/file_worker.h"
#include "libdodo/gate.h"
#include "libdodo/link.h"
#include "libdodo/order.h"

enum {
    NO_REGION = -1,
    BLOCKED_LOOK_NS = 1000000, /* between looks of a write that waits for one of another thread */
};

typedef struct QueueRequest {
    ListNode link;  /* while it is free, or done */
    Ordered order;  /* while it is under way */
    _Atomic int rd; /* while it is under way; else NO_REGION */
    void *tag;
    Call call;
} QueueRequest;

struct DodoQueue {
    ListNode link;    /* in the list of all */
    uint64_t process; /* whose it is */
    Link *net;        /* NULL: the library was shut down since */
    int epoll_fd;     /* over the link's socket and timer, and the bell */
    int bell_fd;      /* eventfd: a file was read, or something done is left to be taken */
    bool bell;        /* rung for what is left */
    FileWorker worker;
    unsigned jobs_count; /* that the worker has */
    ListNode free_jobs;
    FileJob *jobs;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    bool inside;       /* somebody has a turn */
    unsigned visitors; /* other threads that want one or have it: they go first */
    unsigned depth;
    Order order;         /* what is under way */
    ListNode free, done; /* of QueueRequest */
    QueueRequest requests[];
};

static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;
static ListNode queues = {&queues, &queues};
static uint64_t this_process; /* differs in a child */

bool queue_is_ours(const DodoQueue *q)
{
    return q->process == this_process;
}

int queue_fd(const DodoQueue *q)
{
    return q->epoll_fd;
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* False: somebody had it until then. */
static bool turn_take_until(DodoQueue *q, bool visiting, uint64_t until_ns)
{
    const struct timespec until = time_to_timespec(until_ns);
    bool busy;
    int result = 0;
    (void)pthread_mutex_lock(&q->lock);
    while ((busy = q->inside || (!visiting && q->visitors > 0)) && result == 0)
        result = until_ns == TIME_NEVER
                     ? pthread_cond_wait(&q->turn, &q->lock)
                     : pthread_cond_clockwait(&q->turn, &q->lock, CLOCK_MONOTONIC, &until);
    q->inside |= !busy;
    (void)pthread_mutex_unlock(&q->lock);
    return !busy;
}

static void turn_take(DodoQueue *q, bool visiting)
{
    (void)turn_take_until(q, visiting, TIME_NEVER);
}

/* False: somebody has it. */
static bool turn_try(DodoQueue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    bool free = !q->inside;
    q->inside = true;
    (void)pthread_mutex_unlock(&q->lock);
    return free;
}

static void turn_give(DodoQueue *q, bool visiting)
{
    (void)pthread_mutex_lock(&q->lock);
    q->inside = false;
    if (visiting)
        q->visitors--;
    (void)pthread_cond_broadcast(&q->turn);
    (void)pthread_mutex_unlock(&q->lock);
}

/* ---- making and ending ---------------------------------------------------------------------- */

static bool watch(const DodoQueue *q, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void queue_free(DodoQueue *q)
{
    if (q->epoll_fd >= 0)
        (void)close(q->epoll_fd);
    if (q->bell_fd >= 0)
        (void)close(q->bell_fd);
    (void)pthread_mutex_destroy(&q->lock);
    (void)pthread_cond_destroy(&q->turn);
    free(q->jobs);
    free(q);
}

static DodoQueue *queue_new(unsigned depth)
{
    DodoQueue *q = calloc(1, sizeof *q + depth * sizeof *q->requests);
    if (!q)
        return NULL;
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->turn, NULL);
    q->process = this_process;
    q->depth = depth;
    q->epoll_fd = os_above_standard(epoll_create1(EPOLL_CLOEXEC));
    q->bell_fd = os_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    q->jobs = calloc(depth, sizeof *q->jobs);
    file_worker_init(&q->worker, q->bell_fd);
    list_init(&q->link);
    list_init(&q->free);
    order_init(&q->order);
    list_init(&q->done);
    list_init(&q->free_jobs);
    if (q->epoll_fd < 0 || q->bell_fd < 0 || !q->jobs) {
        queue_free(q);
        return NULL;
    }
    for (unsigned i = 0; i < depth; i++) {
        q->requests[i].rd = NO_REGION;
        list_push_back(&q->free, &q->requests[i].link);
        list_push_back(&q->free_jobs, &q->jobs[i].link);
    }
    return q;
}

static bool queue_connect(DodoQueue *q, Runtime *rt)
{
    q->net = runtime_link_new(rt, q->depth);
    return q->net && q->net->timer_fd >= 0 && watch(q, q->net->timer_fd) && watch(q, q->bell_fd) &&
           watch(q, q->net->batches.transport->ops->fd(q->net->batches.transport));
}

int queue_open(Runtime *rt, unsigned depth, DodoQueue **ret)
{
    gate_enter(); /* no child of a fork finds it half made */
    DodoQueue *q = queue_new(depth);
    bool good = q && queue_connect(q, rt);
    if (good) {
        (void)pthread_mutex_lock(&queues_lock);
        list_push_back(&queues, &q->link);
        (void)pthread_mutex_unlock(&queues_lock);
    } else if (q) {
        link_free(q->net);
        queue_free(q);
    }
    gate_leave();
    *ret = good ? q : NULL;
    return good ? 0 : -ENOMEM;
}

/* ---- serving: inside the gate, in one's turn ------------------------------------------------ */

/* The worker has as many jobs as there can be calls. */
static FileJob *job_for(DodoQueue *q, Call *call)
{
    if (list_empty(&q->free_jobs))
        return NULL;
    FileJob *job = CONTAINER_OF(q->free_jobs.next, FileJob, link);
    list_remove(&job->link);
    *job = (FileJob){.owner = call,
                     .kind = call->need == NEED_FILE_WRITE  ? FILE_JOB_WRITE
                             : call->need == NEED_FILE_SYNC ? FILE_JOB_SYNC
                                                            : FILE_JOB_READ,
                     .file = call->file,
                     .buf = call->file_buf,
                     .len = call->file_len,
                     .offset = call->file_offset};
    return job;
}

static void job_over(DodoQueue *q, FileJob *job)
{
    Call *call = job->owner;
    list_push_back(&q->free_jobs, &job->link);
    call_file_done(call, &job->result, os_now_ns());
}

static bool needs_file(const Call *call)
{
    return call->need == NEED_FILE_READ || call->need == NEED_FILE_WRITE ||
           call->need == NEED_FILE_SYNC;
}

/* Has files read, written and synced for the calls that need it. True: this thread did one itself,
 * because no other could be started. */
static bool serve_files(DodoQueue *q)
{
    for (Call *call = NULL; (call = channel_next(q->net->channel, call));) {
        FileJob *job = needs_file(call) ? job_for(q, call) : NULL;
        if (!job)
            continue;
        call_file_taken(call);
        if (file_worker_give(&q->worker, job)) {
            q->jobs_count++;
            continue;
        }
        gate_leave();
        file_job_do(job);
        gate_enter();
        job_over(q, job);
        return true;
    }
    return false;
}

static void bell_silence(DodoQueue *q)
{
    eventfd_t count;
    if (q->bell)
        (void)eventfd_read(q->bell_fd, &count);
    q->bell = false;
}

static void take_files(DodoQueue *q)
{
    FileJob *job;
    if (q->jobs_count > 0)
        q->bell = false; /* the worker silences it, or rings it itself */
    else
        bell_silence(q);
    while (q->jobs_count > 0 && (job = file_worker_take(&q->worker))) {
        q->jobs_count--;
        job_over(q, job);
    }
}

static bool step(DodoQueue *q)
{
    bool news = false, more;
    do {
        link_step(q->net);
        more = channel_take_news(q->net->channel);
        news |= more;
    } while (more && serve_files(q));
    return news;
}

static void request_over(DodoQueue *q, QueueRequest *r)
{
    order_leave(&q->order, &r->order);
    list_push_back(&q->done, &r->link);
    r->rd = NO_REGION;
}

/* True: others that waited for what is over go on. */
static bool collect(DodoQueue *q)
{
    Ordered *next;
    bool released = false;
    LIST_FOREACH(node, &q->order.under_way) {
        QueueRequest *r = CONTAINER_OF(node, QueueRequest, order.link);
        if (r->call.need == NEED_NOTHING)
            request_over(q, r);
    }
    while ((next = order_next(&q->order))) {
        call_release(&CONTAINER_OF(next, QueueRequest, order)->call);
        released = true;
    }
    return released;
}

static void move_on(DodoQueue *q)
{
    while (step(q) && collect(q))
        ;
}

static void serve(DodoQueue *q)
{
    take_files(q);
    (void)link_receive(q->net);
    move_on(q);
}

static bool any_blocked(const DodoQueue *q)
{
    for (Call *call = NULL; q->order.writes > 0 && (call = channel_next(q->net->channel, call));)
        if (call->need == NEED_BLOCKED)
            return true;
    return false;
}

static uint64_t next_look(const DodoQueue *q)
{
    uint64_t deadline_ns = channel_deadline(q->net->channel);
    if (list_empty(&q->order.under_way))
        return TIME_NEVER;
    return any_blocked(q) ? min_u64(deadline_ns, time_add(os_now_ns(), BLOCKED_LOOK_NS))
                          : deadline_ns;
}

static void set_timer(DodoQueue *q)
{
    if (q->net)
        link_alarm(q->net, next_look(q));
}

/* The descriptor is readable when there is something to do: at the latest of the channel's times,
 * or now for what is left to be taken. */
static void set_alarms(DodoQueue *q)
{
    if (!q->bell && !list_empty(&q->done))
        q->bell = eventfd_write(q->bell_fd, 1) == 0;
    else if (list_empty(&q->done))
        bell_silence(q);
    set_timer(q);
}

static void sleep_ms(const DodoQueue *q, int timeout_ms)
{
    struct epoll_event event;
    (void)epoll_wait(q->epoll_fd, &event, 1, timeout_ms); /* EINTR: look again */
}

static bool has_active(const DodoQueue *q, int rd)
{
    LIST_FOREACH(node, &q->order.under_way)
        if (rd == NO_REGION || CONTAINER_OF(node, QueueRequest, order.link)->rd == rd)
            return true;
    return false;
}

/* A write may wait for a write of another queue, which no thread serves now. */
static void help_others(const DodoQueue *q)
{
    if (q->net && any_blocked(q))
        (void)queue_help_all();
}

/* Serves until no request is under way: of the region, or NO_REGION: at all. What is left to be
 * taken does not ring meanwhile, for nobody takes it before this is over. */
static void finish(DodoQueue *q, int rd)
{
    while (q->net) {
        gate_enter();
        serve(q);
        bool over = !has_active(q, rd);
        if (over)
            set_alarms(q);
        else
            set_timer(q);
        gate_leave();
        if (over)
            break;
        help_others(q);
        sleep_ms(q, -1);
    }
}

/* ---- the calls ------------------------------------------------------------------------------ */

static void task_start(DodoQueue *q, Call *call, const QueueTask *t)
{
    Channel *ch = q->net->channel;
    switch (t->kind) {
    case ORDER_READ:
        call_read_start(call, ch, t->rd, t->offset, t->buf, t->len, os_now_ns());
        break;
    case ORDER_WRITE:
        call_write_start(call, ch, t->rd, t->offset, t->buf, t->len, os_now_ns());
        break;
    case ORDER_SYNC:
        call_sync_start(call, ch, t->rd, os_now_ns());
        break;
    }
}

static int task_begin(DodoQueue *q, const QueueTask *t)
{
    if (!q->net)
        return -EINVAL;
    if (list_empty(&q->free))
        return -EAGAIN;
    QueueRequest *r = CONTAINER_OF(q->free.next, QueueRequest, link);
    list_remove(&r->link);
    bool waits = order_enter(&q->order, &r->order, t->kind, t->rd, t->offset, t->len);
    r->tag = t->tag;
    r->rd = t->rd; /* before it begins: who closes the region then finds it */
    task_start(q, &r->call, t);
    if (waits)
        call_hold(&r->call);
    move_on(q);
    set_alarms(q);
    return 0;
}

int queue_submit(DodoQueue *q, const QueueTask *t)
{
    turn_take(q, false);
    gate_enter();
    int result = task_begin(q, t);
    gate_leave();
    turn_give(q, false);
    return result;
}

int queue_cancel(DodoQueue *q, const void *tag)
{
    int cancelled = 0;
    turn_take(q, false);
    gate_enter();
    LIST_FOREACH(node, &q->order.under_way) {
        QueueRequest *r = CONTAINER_OF(node, QueueRequest, order.link);
        cancelled += r->tag == tag && call_cancel(&r->call);
    }
    if (q->net) {
        move_on(q);
        set_alarms(q);
    }
    gate_leave();
    turn_give(q, false);
    return cancelled;
}

static unsigned take_done(DodoQueue *q, DodoDone *done, unsigned max)
{
    unsigned n = 0;
    while (n < max && !list_empty(&q->done)) {
        QueueRequest *r = CONTAINER_OF(q->done.next, QueueRequest, link);
        const Call *call = &r->call;
        list_remove(&r->link);
        list_push_front(&q->free, &r->link); /* what it used is still in the cache */
        if (call->result < 0)
            reason_set(call->reason ? call->reason : strerrordesc_np(call->error));
        done[n++] = (DodoDone){
            .tag = r->tag, .result = call->result, .error = call->result < 0 ? call->error : 0};
    }
    return n;
}

int queue_wait(DodoQueue *q, DodoDone *done, unsigned max, int timeout_ms)
{
    uint64_t until =
        timeout_ms < 0 ? TIME_NEVER : time_add(os_now_ns(), (uint64_t)timeout_ms * NS_PER_MS);
    unsigned n;
    if (!turn_take_until(q, false, until)) /* whose it is waits for a host, say */
        return 0;
    for (;;) {
        gate_enter();
        if (q->net)
            serve(q);
        n = take_done(q, done, max);
        bool none = list_empty(&q->order.under_way);
        set_alarms(q);
        gate_leave();
        uint64_t now = until == TIME_NEVER ? 0 : os_now_ns();
        if (n == 0)
            help_others(q);
        if (n > 0 || none || now >= until)
            break;
        sleep_ms(q, until == TIME_NEVER ? -1 : (int)((until - now + NS_PER_MS - 1) / NS_PER_MS));
    }
    turn_give(q, false);
    return (int)n;
}

static void queue_disconnect(DodoQueue *q)
{
    finish(q, NO_REGION);
    gate_enter();
    (void)pthread_mutex_lock(&queues_lock);
    list_remove(&q->link);
    (void)pthread_mutex_unlock(&queues_lock);
    file_worker_stop(&q->worker); /* it has nothing to do */
    q->net = link_free(q->net);
    set_alarms(q);
    gate_leave();
}

void queue_close(DodoQueue *q)
{
    if (!queue_is_ours(q)) { /* its locks may be held by threads that are not here */
        free(q->jobs);
        free(q);
        return;
    }
    turn_take(q, false);
    queue_disconnect(q);
    turn_give(q, false);
    (void)pthread_mutex_lock(&q->lock);
    while (q->visitors > 0) /* that found it before it was gone */
        (void)pthread_cond_wait(&q->turn, &q->lock);
    (void)pthread_mutex_unlock(&q->lock);
    queue_free(q);
}

/* ---- all queues ----------------------------------------------------------------------------- */

static bool has_request(const DodoQueue *q, int rd)
{
    for (unsigned i = 0; i < q->depth; i++) {
        int its = q->requests[i].rd;
        if (rd == NO_REGION ? its != NO_REGION : its == rd)
            return true;
    }
    return false;
}

/* The next one behind @after, NULL: the first, that has a request of the region under way, or
 * NO_REGION: any. It is not freed before the visit is over. */
static DodoQueue *queue_visit(int rd, const DodoQueue *after)
{
    DodoQueue *found = NULL;
    (void)pthread_mutex_lock(&queues_lock);
    const ListNode *start = after ? &after->link : &queues;
    if (list_empty(start)) /* or it has left them meanwhile */
        start = queues.prev;
    for (ListNode *node = start->next; node != &queues && !found; node = node->next)
        if (has_request(CONTAINER_OF(node, DodoQueue, link), rd))
            found = CONTAINER_OF(node, DodoQueue, link);
    if (found) {
        (void)pthread_mutex_lock(&found->lock);
        found->visitors++;
        (void)pthread_mutex_unlock(&found->lock);
    }
    (void)pthread_mutex_unlock(&queues_lock);
    return found;
}

static void visit_end(DodoQueue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->visitors--;
    (void)pthread_cond_broadcast(&q->turn);
    (void)pthread_mutex_unlock(&q->lock);
}

void queue_finish_region(int rd)
{
    DodoQueue *q;
    while ((q = queue_visit(rd, NULL))) {
        turn_take(q, true);
        finish(q, rd);
        turn_give(q, true);
    }
}

/* In one's turn that was free just now. */
static void help_once(DodoQueue *q)
{
    gate_enter();
    if (q->net) {
        serve(q);
        set_alarms(q);
    }
    gate_leave();
}

bool queue_help_all(void)
{
    DodoQueue *q = queue_visit(NO_REGION, NULL), *next;
    bool some = q != NULL;
    for (; q; q = next) {
        bool free = turn_try(q);
        if (free)
            help_once(q);
        next = queue_visit(NO_REGION, q);
        if (free)
            turn_give(q, true);
        else
            visit_end(q);
    }
    return some;
}

void queue_shut_all(void)
{
    while (!list_empty(&queues)) {
        DodoQueue *q = CONTAINER_OF(queues.next, DodoQueue, link);
        turn_take(q, false);
        queue_disconnect(q);
        turn_give(q, false);
    }
}

void queue_lock_all(void)
{
    (void)pthread_mutex_lock(&queues_lock);
}

void queue_unlock_all(void)
{
    (void)pthread_mutex_unlock(&queues_lock);
}

void queue_forget_all(void)
{
    this_process++;
}

void queue_abandon_all(void)
{
    LIST_FOREACH(node, &queues) {
        DodoQueue *q = CONTAINER_OF(node, DodoQueue, link);
        (void)close(q->epoll_fd);
        (void)close(q->bell_fd);
        link_abandon(q->net);
        q->net = NULL;
    }
    list_init(&queues);
}
