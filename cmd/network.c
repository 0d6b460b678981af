/* SPDX-License-Identifier: MIT */
/* cmd on the network: its socket. */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "cmd/shell_private.h"
#include "cmd/strangers.h"
#include "daemon/port_log.h"
#include "daemon/start.h"
#include "usocket/cipher.h"

void cmd_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload, size_t len)
{
    Cmd *cmd = ctx;
    port_message(&cmd->port, session, type, payload, len);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Cmd *cmd = ctx;
    if (type == WIRE_PING)
        port_pong(&cmd->port, s, payload, len, 0);
    else
        manager_input(cmd->manager, s, type, payload, len, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Cmd *cmd = ctx;
    manager_session_closed(cmd->manager, s);
}

static void on_port_event(void *ctx, const PortEvent *e)
{
    Cmd *cmd = ctx;
    Reason reason;
    port_log(NULL, e);
    if (stranger_reason(e, &reason))
        manager_stranger(cmd->manager, &e->address, reason.text, os_now_ns());
}

static const PortOps port_ops = {
    .message = on_message, .closed = on_closed, .event = on_port_event};

static void on_socket(void *ctx)
{
    Cmd *cmd = ctx;
    cmd_take_lease(cmd);
    uint64_t now = os_now_ns();
    (void)port_receive(&cmd->port, now);
    cmd_log_cluster(cmd, now);
}

int cmd_network_open(Cmd *cmd, const Id128 *instance, char *error)
{
    const CmdOptions *o = cmd->options;
    const Addr *const addresses[] = {&cmd->address.at};
    const TransportOptions transport = {.receive_bytes = o->receive_bytes};
    EndpointConfig config;
    int res = address_watch_start(&cmd->address, &o->common, &o->listen, false, error);
    if (res == 0)
        res = start_listen_check(&cmd->address.at, error); /* first: no key would help */
    if (res == 0)
        res = start_identity(&o->common, addresses, 1, &config, error);
    if (res < 0)
        return res;
    config.role = ROLE_CMD;
    config.cipher = config.keys_count > 0 ? cipher_fastest() : NULL;
    config.self = *instance;
    config.epoch = lease_epoch(&cmd->lease);
    config.sessions_max = (unsigned)o->sessions_max;
    res = start_port(&cmd->port, &cmd->address.at, &transport, &config, &port_ops, cmd, error);
    explicit_bzero(&config, sizeof config);
    return res;
}

int cmd_network_watch(Cmd *cmd)
{
    Transport *t = cmd->port.transport;
    return loop_watch(cmd->loop, t->ops->fd(t), on_socket, cmd) < 0
               ? -ENOMEM
               : address_watch_follow(&cmd->address, cmd->loop, cmd_end, cmd);
}
