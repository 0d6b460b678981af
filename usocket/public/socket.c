/* SPDX-License-Identifier: MIT */
/* A socket is an epoll descriptor over the ways that it is bound to, so that programs can wait for
 * it, and an eventfd that ends those who wait when it is closed. */
#include "usocket/public/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"

enum { REFUSED_AT_ONCE = 256 }; /* frames that a call which does not wait looks at */

/* ELSEWHERE: this process is a child, and its parent had not done so. */
enum Bound { BOUND_NOT, BOUND_YES, BOUND_ELSEWHERE };

struct Socket {
    int fd, end_fd;
    unsigned users; /* the table, and the calls in progress */
    WayBuffers buffers;
    pthread_mutex_t binding; /* held while it is bound */
    _Atomic enum Bound bound;
    unsigned count; /* of the ways; fixed once it is bound, as they are */
    Way ways[DODO_U_ADDRS_MAX];
    atomic_bool ended;
    bool woke;    /* end_fd was made readable, and is to be as before */
    DodoUAddr to; /* where messages go */
    unsigned to_way;
    atomic_uint turn; /* the way that is asked first */
    atomic_uint_fast64_t sent, sent_bytes, received, received_bytes, cut, refused;
};

/* ---- the table ------------------------------------------------------------------------------- */

/* Guards the table, users, woke and to. Held for moments only, and by nobody else while the process
 * forks. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static Socket **table; /* by descriptor */
static size_t table_size;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock(void)
{
    (void)pthread_mutex_lock(&table_lock);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&table_lock);
}

/* The threads whose calls were in progress are the parent's. What a child binds would show up in
 * the parent's epoll set, which is the same one. */
static void forked(void)
{
    for (size_t i = 0; i < table_size; i++)
        if (table[i]) {
            table[i]->users = 1;
            if (table[i]->bound != BOUND_YES)
                table[i]->bound = BOUND_ELSEWHERE;
        }
    unlock();
}

static void watch_forks(void)
{
    (void)pthread_atfork(lock, unlock, forked);
}

static int table_put(Socket *s)
{
    int res = 0;
    size_t at = (size_t)s->fd;
    lock();
    if (at >= table_size) {
        size_t size = at + 64;
        Socket **grown = realloc(table, size * sizeof(Socket *));
        if (grown) {
            memset(grown + table_size, 0, (size - table_size) * sizeof(Socket *));
            table = grown;
            table_size = size;
        } else {
            res = -ENOMEM;
        }
    }
    if (res == 0)
        table[at] = s;
    unlock();
    return res;
}

Socket *socket_get(int fd)
{
    Socket *s = NULL;
    lock();
    if (fd >= 0 && (size_t)fd < table_size)
        s = table[fd];
    if (s)
        s->users++;
    unlock();
    return s;
}

static void socket_free(Socket *s)
{
    uint64_t one;
    if (s->woke) { /* a fork()'s other process sees it, too, and is not to be kept awake */
        ssize_t n = read(s->end_fd, &one, sizeof one);
        (void)n;
    }
    for (unsigned i = 0; i < s->count; i++)
        way_close(&s->ways[i]);
    if (s->end_fd >= 0)
        (void)close(s->end_fd);
    if (s->fd >= 0)
        (void)close(s->fd);
    (void)pthread_mutex_destroy(&s->binding);
    free(s);
}

void socket_put(Socket *s)
{
    lock();
    bool last = --s->users == 0;
    unlock();
    if (last)
        socket_free(s);
}

int socket_end(Socket *s)
{
    const uint64_t one = 1;
    lock();
    bool mine = table[s->fd] == s;
    if (mine) {
        table[s->fd] = NULL;
        s->ended = true;
        if (s->users > 2) /* besides the table and this thread: some may wait */
            s->woke = write(s->end_fd, &one, sizeof one) == sizeof one;
    }
    unlock();
    if (!mine)
        return -EBADF;
    socket_put(s); /* the table's */
    return 0;
}

static int watch(const Socket *s, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data = {.fd = fd}};
    return epoll_ctl(s->fd, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

/* By itself, a closed way leaves the epoll set only if no child of a fork() has it. */
static void unwatch(const Socket *s, Way *w)
{
    (void)epoll_ctl(s->fd, EPOLL_CTL_DEL, w->fd, NULL);
    way_close(w);
}

int socket_make(const WayBuffers *b)
{
    int res = pthread_once(&fork_once, watch_forks);
    Socket *s = res == 0 ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return -ENOMEM;
    (void)pthread_mutex_init(&s->binding, NULL);
    s->users = 1;
    s->buffers = *b;
    s->end_fd = os_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
    s->fd = s->end_fd < 0 ? -1 : os_above_standard(epoll_create1(EPOLL_CLOEXEC));
    res = s->fd < 0 ? -errno : watch(s, s->end_fd);
    if (res == 0)
        res = table_put(s);
    if (res < 0) {
        socket_free(s);
        return res;
    }
    return s->fd;
}

/* ---- binding --------------------------------------------------------------------------------- */

static int add_way(Socket *s, const DodoUAddr *local)
{
    Way *w = &s->ways[s->count];
    int res = local->kind == DODO_U_MAC ? way_raw_open(local, &s->buffers, w)
                                        : way_udp_open(local, &s->buffers, w);
    if (res < 0)
        return res;
    s->count++;
    return watch(s, w->fd);
}

static int bind_ways(Socket *s, DodoUAddr *addrs, unsigned count, unsigned *ret_failed)
{
    int res = 0;
    for (unsigned i = 0; i < count && res == 0; i++) {
        *ret_failed = i;
        res = add_way(s, &addrs[i]);
    }
    if (res < 0) {
        for (unsigned i = 0; i < s->count; i++)
            unwatch(s, &s->ways[i]);
        s->count = 0;
        return res;
    }
    for (unsigned i = 0; i < count; i++)
        addrs[i] = s->ways[i].local;
    s->bound = BOUND_YES;
    return 0;
}

int socket_bind(Socket *s, DodoUAddr *addrs, unsigned count, unsigned *ret_failed)
{
    if (s->bound != BOUND_NOT) /* without waiting: in a child nobody unlocks */
        return -EALREADY;
    (void)pthread_mutex_lock(&s->binding);
    int res = s->bound == BOUND_NOT ? bind_ways(s, addrs, count, ret_failed) : -EALREADY;
    (void)pthread_mutex_unlock(&s->binding);
    return res;
}

bool socket_is_bound(const Socket *s)
{
    return s->bound == BOUND_YES;
}

bool socket_is_elsewhere(const Socket *s)
{
    return s->bound == BOUND_ELSEWHERE;
}

/* ---- sending --------------------------------------------------------------------------------- */

int socket_connect(Socket *s, const DodoUAddr *to)
{
    unsigned way = 0;
    if (to->kind != DODO_U_NONE) {
        while (way < s->count && !way_leads_to(&s->ways[way], to))
            way++;
        if (way == s->count)
            return -EAFNOSUPPORT;
    }
    lock();
    s->to = *to;
    s->to_way = way;
    unlock();
    return 0;
}

/* Where messages go, and by which way; NULL: nowhere. */
static const Way *destination(Socket *s, DodoUAddr *ret)
{
    lock();
    *ret = s->to;
    const Way *w = &s->ways[s->to_way];
    unlock();
    return ret->kind == DODO_U_NONE ? NULL : w;
}

static bool never_waits(const Socket *s)
{
    int flags = fcntl(s->fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK);
}

/* The buffer is full. 0: try again. */
static int wait_for_room(const Socket *s, const Way *w)
{
    struct pollfd p[2] = {{.fd = w->fd, .events = POLLOUT}, {.fd = s->end_fd, .events = POLLIN}};
    if (never_waits(s))
        return -EAGAIN;
    if (poll(p, 2, -1) < 0 && errno != EINTR)
        return -errno;
    return s->ended ? -EBADF : 0;
}

int socket_send(Socket *s, const struct iovec *iov, int iovc, size_t len)
{
    DodoUAddr to;
    const Way *w = destination(s, &to);
    int res = w ? -EAGAIN : -EDESTADDRREQ;
    while (res == -EAGAIN || res == -EINTR) {
        res = w->ops->send(w, &to, iov, iovc);
        if (res == -EAGAIN) {
            int waited = wait_for_room(s, w);
            if (waited < 0)
                return waited;
        }
    }
    if (res == 0) {
        atomic_fetch_add_explicit(&s->sent, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&s->sent_bytes, len, memory_order_relaxed);
    }
    return res;
}

ssize_t socket_message_max(Socket *s)
{
    DodoUAddr to;
    const Way *w = destination(s, &to);
    return w ? w->ops->message_max(w) : -EDESTADDRREQ;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* One look at each way, in turn. -EAGAIN: none has anything. */
static ssize_t look(Socket *s, const struct iovec *iov, int iovc, DodoUAddr *from)
{
    unsigned first = s->count > 1 ? atomic_fetch_add(&s->turn, 1) : 0;
    for (unsigned i = 0; i < s->count; i++) {
        const Way *w = &s->ways[(first + i) % s->count];
        ssize_t n = w->ops->receive(w, iov, iovc, from);
        if (n != -EAGAIN)
            return n;
    }
    return -EAGAIN;
}

static void count_received(Socket *s, ssize_t n)
{
    if (n >= 0) {
        atomic_fetch_add_explicit(&s->received, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&s->received_bytes, (uint64_t)n, memory_order_relaxed);
    } else if (n == -EMSGSIZE) {
        atomic_fetch_add_explicit(&s->cut, 1, memory_order_relaxed);
    } else if (n == -EBADMSG) {
        atomic_fetch_add_explicit(&s->refused, 1, memory_order_relaxed);
    }
}

/* Until something is there, or @until_ns. -EAGAIN: the time is over. */
static int wait_for_message(const Socket *s, uint64_t until_ns)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    uint64_t now = until_ns == TIME_NEVER ? 0 : os_now_ns();
    if (now >= until_ns)
        return -EAGAIN;
    uint64_t left_ms = (until_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    if (poll(&p, 1, until_ns == TIME_NEVER ? -1 : (int)left_ms) < 0 && errno != EINTR)
        return -errno;
    return 0;
}

ssize_t socket_receive(Socket *s, const struct iovec *iov, int iovc, DodoUAddr *from,
                       int timeout_ms)
{
    uint64_t until_ns = timeout_ms < 0 ? TIME_NEVER : 0;
    if (timeout_ms > 0)
        until_ns = os_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    for (unsigned refused = 0;;) {
        ssize_t n = s->ended ? -EBADF : look(s, iov, iovc, from);
        count_received(s, n);
        if (n == -EBADMSG && ++refused % REFUSED_AT_ONCE != 0)
            continue;
        if (n != -EAGAIN && n != -EINTR && n != -EBADMSG)
            return n;
        if (until_ns == 0 || never_waits(s))
            return -EAGAIN;
        int res = wait_for_message(s, until_ns);
        if (res < 0)
            return res;
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

static uint64_t dropped_by(const Way *w)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof info;
    if (getsockopt(w->fd, SOL_SOCKET, SO_MEMINFO, info, &len) != 0)
        return 0;
    return info[SK_MEMINFO_DROPS];
}

void socket_stats(Socket *s, DodoUStats *ret)
{
    *ret = (DodoUStats){.sent = s->sent,
                        .sent_bytes = s->sent_bytes,
                        .received = s->received,
                        .received_bytes = s->received_bytes,
                        .cut = s->cut,
                        .refused = s->refused};
    for (unsigned i = 0; socket_is_bound(s) && i < s->count; i++)
        ret->dropped += dropped_by(&s->ways[i]);
}
