/* SPDX-License-Identifier: MIT */
/* DRAINS: all hosts that are being drained, for operators, page by page. The cursor is the place of
 * the next one. */
#include "cmd/manager_private.h"

static DrainStatus status_of(const Manager *m, const Host *h)
{
    DrainStatus ret = {.host = h->address,
                       .progress = cmd_drain_look(m, h),
                       .limit = h->drain.rate,
                       .pace = cmd_drain_pace(m, h)};
    ret.ahead = ret.progress.left_bytes + cmd_drain_kept(h);
    ret.seconds = cmd_drain_seconds(ret.ahead, ret.pace);
    return ret;
}

/* It changes nothing, so that a repeat may as well be answered again. */
void cmd_drains(Manager *m, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpDrains op;
    OpDrainsReply reply = {.next = 0};

    if (wire_drains_decode(request->body, request->body_len, &op) != 0) {
        cmd_reply(m, NULL, session, request->id, request->op, STATUS_INVALID, NULL, 0);
        return;
    }
    for (uint64_t i = op.cursor; i < DRAINS_MAX && reply.next == 0; i++) {
        if (m->drains.hosts[i] && reply.count == DRAINS_PAGE_MAX)
            reply.next = i;
        else if (m->drains.hosts[i])
            reply.drains[reply.count++] = status_of(m, m->drains.hosts[i]);
    }
    size_t n = wire_drains_reply_encode(&reply, body);
    cmd_reply(m, NULL, session, request->id, request->op, STATUS_OK, body, n);
}
