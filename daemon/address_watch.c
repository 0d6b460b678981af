/* SPDX-License-Identifier: MIT */
#include "daemon/address_watch.h"

#include <errno.h>
#include <glib.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "daemon/helper.h"
#include "daemon/look_time.h"
#include "daemon/start.h"

static const uint64_t SETTLE_NS = 500 * NS_PER_MS; /* addresses come and go together */
/* No other address yet: a name may not be resolved yet. A host whose kernel never stops telling of
 * changes is looked at so often, too. */
static const uint64_t AGAIN_NS = 5 * NS_PER_S;
static const uint64_t UNASKED_NS = 30 * NS_PER_S; /* where the kernel tells of no change */

/* ---- the process ----------------------------------------------------------------------------- */

static int open_news(void)
{
    const struct sockaddr_nl at = {.nl_family = AF_NETLINK,
                                   .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
                                                RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
                                                RTMGRP_IPV6_ROUTE};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* What it is does not matter: all is looked at again. */
static void drain(int news)
{
    char buf[8192];
    while (recv(news, buf, sizeof buf, 0) > 0)
        ;
}

/* 1: @ret is another address than @at, which is gone; 0: it is still there; -errno: it is gone, and
 * there is no other. */
static int look(const AddressWish *wish, const Addr *at, Addr *ret)
{
    char error[HOST_ADDRESS_ERROR_MAX];
    CLEANUP(host_addresses_clear) HostAddresses all = {0};
    if (host_addresses_read(&all) < 0 || host_addresses_have(&all, at))
        return 0;
    int res = host_address_find(wish, ret, error);
    return res < 0 ? res : !addr_same_host(ret, at);
}

__attribute__((noreturn)) static void serve(int channel, const AddressWish *wish, const Addr *at)
{
    const int news = open_news();
    const uint64_t usual_ns = news < 0 ? UNASKED_NS : TIME_NEVER;
    LookTime t = {.quiet_ns = SETTLE_NS, .most_ns = AGAIN_NS, .latest_ns = TIME_NEVER};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    look_time_changed(&t, os_now_ns()); /* for it may have gone before we listened */
    for (;;) {
        struct pollfd fds[] = {{.fd = channel}, {.fd = news, .events = POLLIN}};
        Addr other;
        const int n = poll(fds, 2, look_time_wait_ms(&t, os_now_ns()));
        const uint64_t now = os_now_ns();
        if (fds[0].revents)
            _exit(EXIT_SUCCESS);
        if (n > 0) {
            drain(news);
            look_time_changed(&t, now);
        }
        if (!look_time_due(&t, now))
            continue;
        const int res = look(wish, at, &other);
        if (res > 0)
            (void)send(channel, &other, sizeof other, MSG_NOSIGNAL);
        look_time_looked(&t, time_add(os_now_ns(), res < 0 ? AGAIN_NS : usual_ns));
    }
}

/* ---- the daemon's side ----------------------------------------------------------------------- */

/* Of the family of the manager, where that is an address. */
static void make_wish(AddressWish *w, const CommonOptions *o, const Listen *listen, bool member)
{
    Addr all[PLACES_MAX];
    *w = (AddressWish){.listen = *listen};
    if (!member || !start_places(o, &w->manager))
        return;
    if (places_addresses(&w->manager, all) > 0)
        w->kind = all[0].kind;
    w->loopback_only = start_is_bound(o) && places_have_names(&w->manager);
}

int address_watch_start(AddressWatch *w, const CommonOptions *o, const Listen *listen, bool member,
                        char error[CONFIG_ERROR_MAX])
{
    G_STATIC_ASSERT((int)HOST_ADDRESS_ERROR_MAX <= (int)CONFIG_ERROR_MAX);
    AddressWish wish;
    *w = (AddressWatch){.fd = -1};
    make_wish(&wish, o, listen, member);
    int res = host_address_find(&wish, &w->at, error);
    if (res < 0 || listen->addr.kind != ADDR_NONE)
        return res;
    pid_t pid = helper_fork("dodo-address", &w->fd);
    if (pid == 0)
        serve(w->fd, &wish, &w->at);
    if (pid > 0)
        return 0;
    w->fd = -1;
    start_explain((int)pid, "the process that watches the address", error);
    return (int)pid;
}

void address_watch_close(AddressWatch *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
}

static void log_moved(const AddressWatch *w, const Addr *now)
{
    char was[ADDR_TEXT_MAX], is[ADDR_TEXT_MAX];
    log_event(LOG_LEVEL_WARN, "address_changed",
              "listen=%s now=%s fix=\"it ends: its unit starts it there, or start it again\"",
              addr_format(&w->at, was, sizeof was), addr_format(now, is, sizeof is));
}

static void on_news(void *ctx)
{
    AddressWatch *w = ctx;
    Addr now;
    const ssize_t n = recv(w->fd, &now, sizeof now, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    loop_unwatch(w->loop, w->fd);
    if (n != sizeof now) {
        log_event(
            LOG_LEVEL_ERROR, "address_not_watched",
            "error=\"the process that watches the address has ended: start the daemon again\"");
        return;
    }
    log_moved(w, &now);
    w->moved = true;
    w->leave(w->ctx);
}

int address_watch_follow(AddressWatch *w, Loop *loop, void (*leave)(void *ctx), void *ctx)
{
    w->loop = loop;
    w->leave = leave;
    w->ctx = ctx;
    return w->fd < 0 ? 0 : loop_watch(loop, w->fd, on_news, w);
}
