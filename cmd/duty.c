/* SPDX-License-Identifier: MIT */
/* The manager becomes the active one, or stands by from now on. */
#include "cmd/manager_private.h"

/* Who has a session asks another manager at once, not only when it finds out. */
static void say_good_bye(Manager *m, Endpoint *endpoint)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    const size_t len = wire_goodbye_encode(m->number, out);
    for (Session *s = NULL; (s = endpoint_walk(endpoint, s));)
        m->sink.message(m->sink.ctx, s, WIRE_GOODBYE, out, len);
}

void manager_duty(Manager *m, Endpoint *endpoint, uint64_t number, uint64_t now_ns)
{
    Id128 self;
    if (m->number != MANAGER_STANDBY)
        say_good_bye(m, endpoint);
    cmd_begin_again(m, number, now_ns);
    m->env.random(m->env.ctx, &self, sizeof self);
    endpoint_become(endpoint, &self, number);
}
