/* SPDX-License-Identifier: MIT */
/* The manager becomes the active one, or stands by from now on. */
#include "cmd/manager_private.h"

void manager_say_goodbye(Manager *m, Endpoint *endpoint)
{
    if (m->number == MANAGER_STANDBY)
        return;
    uint8_t out[WIRE_PAYLOAD_MAX];
    const size_t len = wire_goodbye_encode(m->number, out);
    for (Session *s = NULL; (s = endpoint_walk(endpoint, s));)
        m->sink.message(m->sink.ctx, s, WIRE_GOODBYE, out, len);
}

void manager_duty(Manager *m, Endpoint *endpoint, uint64_t number, uint64_t now_ns)
{
    Id128 self;
    manager_say_goodbye(m, endpoint);
    cmd_begin_again(m, number, now_ns);
    m->env.random(m->env.ctx, &self, sizeof self);
    endpoint_become(endpoint, &self, number);
}
