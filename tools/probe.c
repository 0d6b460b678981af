/* SPDX-License-Identifier: MIT */
#include "tools/probe.h"

#include "base/os.h"
#include "base/time.h"
#include "daemon/port_log.h"

typedef struct Prober {
    Port port;
    size_t waits; /* for so many */
} Prober;

/* A HELLO_ACK came: there is a way to it and back, and it has our key. */
static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    Prober *p = ctx;
    Probe *probe = s->user;
    if (!probe || probe->answers)
        return;
    probe->answers = true;
    probe->role = s->peer_role;
    p->waits--;
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
}

static const PortOps port_ops = {.message = on_message, .up = on_up, .event = port_log};

static void wait_for_answers(Prober *p, uint64_t until_ns)
{
    for (uint64_t now; p->waits > 0 && (now = os_now_ns()) < until_ns;) {
        port_expire(&p->port, now);
        uint64_t next = min_u64(until_ns, port_deadline(&p->port));
        if (transport_wait(p->port.transport, sub_u64(next, now)) == 1)
            (void)port_receive(&p->port, os_now_ns());
    }
}

/* All have room in the table, so that none ends before it is forgotten here. */
static void probe_some(Prober *p, const ToolOptions *o, Probe *probes, size_t count)
{
    Session *sessions[PROBES_AT_ONCE];
    const Probe *twin[PROBES_AT_ONCE];
    uint64_t now = os_now_ns();
    p->waits = 0;
    for (size_t i = 0; i < count; i++) {
        sessions[i] = endpoint_connect(p->port.endpoint, &probes[i].peer, now);
        twin[i] = sessions[i] ? sessions[i]->user : NULL;
        if (twin[i]) /* the same address once more */
            sessions[i] = NULL;
        if (!sessions[i])
            continue;
        sessions[i]->user = &probes[i];
        p->waits++;
    }
    wait_for_answers(p, time_add(now, o->timeout_ns));
    for (size_t i = 0; i < count; i++)
        if (sessions[i])
            endpoint_forget(p->port.endpoint, sessions[i]);
        else if (twin[i])
            probes[i] = *twin[i];
}

int probe_all(const ToolOptions *o, Probe *probes, size_t count, char error[CONFIG_ERROR_MAX])
{
    Prober p = {.waits = 0};
    if (count == 0)
        return 0;
    int res = tool_port_open(&p.port, o, &probes[0].peer, PROBES_AT_ONCE, &port_ops, &p, error);
    if (res < 0)
        return res;
    for (size_t at = 0; at < count; at += PROBES_AT_ONCE)
        probe_some(&p, o, probes + at, min_u64(count - at, PROBES_AT_ONCE));
    port_close(&p.port);
    return 0;
}
