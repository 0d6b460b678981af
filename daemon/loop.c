/* SPDX-License-Identifier: MIT */
#include "daemon/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/os.h"
#include "base/time.h"

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { WATCHES_MAX = 8 }; /* rmd has most */

typedef struct Watch {
    Loop *loop;
    void (*readable)(void *ctx);
    void *ctx;
    struct event *event;
    struct event *rested; /* NULL: it has never rested */
} Watch;

struct Loop {
    struct event_base *base;
    const LoopOps *ops;
    void *ctx;
    struct event *timer;
    uint64_t timer_ns; /* when it comes; TIME_NEVER: not */
    struct event *signals[ARRAY_SIZE(signals)];
    unsigned signals_seen;
    unsigned watches_count;
    Watch watches[WATCHES_MAX];
};

static struct timeval timeval_of(uint64_t ns)
{
    return (struct timeval){.tv_sec = (time_t)(ns / NS_PER_S),
                            .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US)};
}

/* Arms the timer at the deadline. A deadline that is past already comes in a millisecond, so that
 * a core which cannot act on it yet does not spin. One that waits for that millisecond is left
 * alone: what comes in between, be it without end, does not put it off. */
static void arm(Loop *l)
{
    const uint64_t now = os_now_ns(), soon = time_add(now, NS_PER_MS);
    const uint64_t deadline = l->ops->deadline(l->ctx);
    if (deadline == TIME_NEVER) {
        (void)event_del(l->timer);
        l->timer_ns = TIME_NEVER;
        return;
    }
    if (deadline <= soon && l->timer_ns <= soon)
        return;
    l->timer_ns = max_u64(deadline, soon);
    struct timeval tv = timeval_of(l->timer_ns - now);
    (void)event_add(l->timer, &tv); /* fails only without memory, of which a timer takes none */
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
    Loop *l = ctx;
    const uint64_t now = os_now_ns();
    const bool due = now >= l->timer_ns; /* the time that libevent counts from may be a bit old */
    l->timer_ns = TIME_NEVER;
    if (due)
        l->ops->expire(l->ctx, now);
    arm(l);
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
    Loop *l = ctx;
    if (number != SIGHUP)
        l->ops->signal(l->ctx, ++l->signals_seen);
    else if (l->ops->reload)
        l->ops->reload(l->ctx);
    arm(l);
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
    Watch *w = ctx;
    w->readable(w->ctx);
    arm(w->loop);
}

/* What starts a program may have blocked them, and the program inherits that. */
static void unblock_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (unsigned i = 0; i < ARRAY_SIZE(signals); i++)
        (void)sigaddset(&set, signals[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int loop_init(Loop *l)
{
    l->base = event_base_new();
    if (!l->base)
        return -ENOMEM;
    l->timer = event_new(l->base, -1, 0, on_timer, l);
    if (!l->timer)
        return -ENOMEM;
    for (unsigned i = 0; i < ARRAY_SIZE(signals); i++) {
        l->signals[i] = evsignal_new(l->base, signals[i], on_signal, l);
        if (!l->signals[i] || event_add(l->signals[i], NULL) != 0)
            return -ENOMEM;
    }
    unblock_signals();
    /* A log that nobody reads any more ends no daemon. */
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0;
}

Loop *loop_new(const LoopOps *ops, void *ctx)
{
    Loop *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->ops = ops;
    l->ctx = ctx;
    l->timer_ns = TIME_NEVER;
    return loop_init(l) == 0 ? l : loop_free(l);
}

Loop *loop_free(Loop *l)
{
    if (!l)
        return NULL;
    for (unsigned i = 0; i < l->watches_count; i++) {
        event_free(l->watches[i].event);
        if (l->watches[i].rested)
            event_free(l->watches[i].rested);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(signals); i++)
        if (l->signals[i])
            event_free(l->signals[i]);
    if (l->timer)
        event_free(l->timer);
    if (l->base)
        event_base_free(l->base);
    free(l);
    return NULL;
}

struct event_base *loop_base(const Loop *l)
{
    return l->base;
}

int loop_watch(Loop *l, int fd, void (*readable)(void *ctx), void *ctx)
{
    if (l->watches_count == WATCHES_MAX)
        return -ENOMEM;
    Watch *w = &l->watches[l->watches_count];
    *w = (Watch){.loop = l, .readable = readable, .ctx = ctx};
    w->event = event_new(l->base, fd, EV_READ | EV_PERSIST, on_readable, w);
    if (!w->event)
        return -ENOMEM;
    l->watches_count++;
    return event_add(w->event, NULL) == 0 ? 0 : -ENOMEM;
}

static Watch *watch_of(Loop *l, int fd)
{
    for (unsigned i = 0; i < l->watches_count; i++)
        if (event_get_fd(l->watches[i].event) == fd)
            return &l->watches[i];
    return NULL;
}

static void on_rested(evutil_socket_t fd, short what, void *ctx)
{
    const Watch *w = ctx;
    (void)event_add(w->event, NULL); /* it was there before: it takes no memory */
}

/* Without memory it does not rest. */
void loop_rest(Loop *l, int fd, uint64_t ns)
{
    Watch *w = watch_of(l, fd);
    struct timeval tv = timeval_of(ns);
    if (w && !w->rested)
        w->rested = evtimer_new(l->base, on_rested, w);
    if (w && w->rested && event_add(w->rested, &tv) == 0)
        (void)event_del(w->event);
}

void loop_unwatch(Loop *l, int fd)
{
    Watch *w = watch_of(l, fd);
    if (!w)
        return;
    (void)event_del(w->event);
    if (w->rested)
        (void)event_del(w->rested);
}

int loop_run(Loop *l)
{
    arm(l);
    return event_base_dispatch(l->base) < 0 ? -EIO : 0;
}

void loop_stop(Loop *l)
{
    (void)event_base_loopbreak(l->base); /* fails for no base that is */
}
