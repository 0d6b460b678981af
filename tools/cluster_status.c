/* SPDX-License-Identifier: MIT */
#include "tools/cluster_status.h"

#include <errno.h>
#include <stdio.h>

enum { HOSTS_MAX = 1 << 20 }; /* more than any cluster has: a manager that never ends its list */

void cluster_status_init(ClusterStatus *s)
{
    *s = (ClusterStatus){.hosts = g_array_new(FALSE, FALSE, sizeof(HostStatus))};
}

void cluster_status_deinit(ClusterStatus *s)
{
    g_array_unref(s->hosts);
}

/* The next page. 0 when there are more, 1 after the last, -errno. Cursors grow, or the manager
 * could keep us for ever. */
static int fetch_page(ClusterStatus *s, ToolClient *c, char *error)
{
    const OpStatus ask = {.cursor = s->last.next};
    uint8_t body[WIRE_BODY_MAX];
    int res = tool_client_ask_page(c, OP_STATUS, ask.cursor == 0, body,
                                   wire_status_encode(&ask, body), error);
    if (res < 0)
        return res;
    if (wire_status_reply_decode(c->request.answer, c->request.answer_len, &s->last) != 0 ||
        (s->last.next != 0 && s->last.next <= ask.cursor) || s->hosts->len > HOSTS_MAX) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that a manager?");
        return -EPROTO;
    }
    g_array_append_vals(s->hosts, s->last.hosts, s->last.count);
    return s->last.next == 0;
}

static int fetch_drains_page(GArray *drains, ToolClient *c, OpDrains *ask, char *error)
{
    OpDrainsReply reply;
    uint8_t body[WIRE_BODY_MAX];
    int res = tool_client_ask_page(c, OP_DRAINS, ask->cursor == 0, body,
                                   wire_drains_encode(ask, body), error);
    if (res == -EPROTO && c->request.status == STATUS_DENIED)
        return 1;
    if (res < 0)
        return res;
    if (wire_drains_reply_decode(c->request.answer, c->request.answer_len, &reply) != 0 ||
        (reply.next != 0 && reply.next <= ask->cursor)) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that a manager?");
        return -EPROTO;
    }
    g_array_append_vals(drains, reply.drains, reply.count);
    ask->cursor = reply.next;
    return 0;
}

int cluster_drains_fetch(GArray *drains, ToolClient *manager, char error[CONFIG_ERROR_MAX])
{
    OpDrains ask = {.cursor = 0};
    int res;
    do
        res = fetch_drains_page(drains, manager, &ask, error);
    while (res == 0 && ask.cursor != 0 && drains->len < HOSTS_MAX);
    return res;
}

int cluster_status_fetch(ClusterStatus *s, ToolClient *manager, char error[CONFIG_ERROR_MAX])
{
    int res = 0;
    g_array_set_size(s->hosts, 0);
    s->last = (OpStatusReply){.next = 0};
    while (res == 0)
        res = fetch_page(s, manager, error);
    s->number = manager->session->peer_epoch;
    return res < 0 ? res : 0;
}
