/* SPDX-License-Identifier: MIT */
/* The control thread on the network: its port to cmd, and what is sent after each event. */
#include <errno.h>

#include "base/os.h"
#include "daemon/port_log.h"
#include "daemon/start.h"
#include "imd/shell_private.h"

enum {
    CONTROL_SESSIONS_MAX = 64, /* on the control socket: cmd, and who pings */
    CONTROL_RECEIVE_BYTES = 1 << 20,
};

void imd_add_served(Imd *imd)
{
    Served sum;
    imd_threads_served(&imd->threads, &sum);
    member_served(&imd->member, &sum);
}

void imd_settle(Imd *imd, uint64_t now_ns)
{
    port_expire(&imd->port, now_ns);
    resolver_step(&imd->resolver, &imd->member.manager.finder);
    if (member_finished(&imd->member, now_ns))
        loop_stop(imd->loop);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Imd *imd = ctx;
    if (type == WIRE_PING) {
        port_pong(&imd->port, s, payload, len, imd->epoch);
    } else {
        imd_add_served(imd);
        member_message(&imd->member, s, type, payload, len, now_ns);
    }
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    Imd *imd = ctx;
    imd_add_served(imd);
    member_up(&imd->member, s, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Imd *imd = ctx;
    member_closed(&imd->member, s);
}

static const PortOps port_ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = port_log};

static void on_socket(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    (void)port_receive(&imd->port, now);
    imd_settle(imd, now);
}

static void on_resolver(void *ctx)
{
    Imd *imd = ctx;
    Resolved r;
    uint64_t now = os_now_ns();
    int res = resolver_take(&imd->resolver, &r);
    if (res == 0) {
        member_found(&imd->member, r.found, r.count);
        member_expire(&imd->member, now);
    } else if (res != -EAGAIN) {
        loop_unwatch(imd->loop, imd->resolver.fd);
        resolver_close(&imd->resolver);
    }
    imd_settle(imd, now);
}

/* The unit starts it again. */
static void on_address(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    member_leave(&imd->member, now);
    imd_settle(imd, now);
}

int imd_network_open(Imd *imd, const EndpointConfig *identity, char *error)
{
    const TransportOptions transport = {.receive_bytes = CONTROL_RECEIVE_BYTES};
    EndpointConfig config = *identity;
    config.sessions_max = CONTROL_SESSIONS_MAX;
    config.half_open_max = CONTROL_SESSIONS_MAX;
    return start_port(&imd->port, &imd->address.at, &transport, &config, &port_ops, imd, error);
}

int imd_network_watch(Imd *imd)
{
    Transport *t = imd->port.transport;
    if (loop_watch(imd->loop, t->ops->fd(t), on_socket, imd) < 0 ||
        address_watch_follow(&imd->address, imd->loop, on_address, imd) < 0)
        return -ENOMEM;
    return imd->resolver.fd >= 0 ? loop_watch(imd->loop, imd->resolver.fd, on_resolver, imd) : 0;
}
