/* SPDX-License-Identifier: MIT */
/* Reports about hosts, by clients and by their owners.
 *
 * A host that returned other bytes than it was given, or that is too slow to be of use, gets no new
 * regions for a while. A machine whose own memory is bad would report one host after the other, and
 * so would a program that reads into one buffer twice at a time. So the word of one machine, of all
 * its programs together, counts for few hosts at a time.
 *
 * An owner's monitor (rmd) that says "busy" vouches for the end of its imd, whose good-bye may have
 * been lost: that host is dropped immediately, not only when it has been silent for long. Each
 * report is whole, so that only the latest counts. */
#include "cmd/manager_private.h"

/* ---- clients ------------------------------------------------------------------------------- */

static const char *const faults[HOST_FAULT_MAX] = {
    [HOST_FAULT_CORRUPT] = "a program says that it returned other bytes than it was given",
    [HOST_FAULT_SLOW] = "a program says that it is too slow to be of use",
};

/* May that machine keep one more host from being chosen? */
static bool may_accuse(const Manager *m, const Addr *by)
{
    unsigned accused = 0;
    LIST_FOREACH(n, &m->hosts.order) {
        const Host *h = CONTAINER_OF(n, Host, in_order);
        accused += m->now_ns < h->distrust_until_ns && addr_same_host(&h->distrusted_by, by);
    }
    return accused < ACCUSED_MAX;
}

void cmd_report(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    OpReport report;
    uint16_t status = STATUS_INVALID;
    if (wire_report_decode(request->body, request->body_len, &report) == 0)
        status = STATUS_OK;
    Host *h = status == STATUS_OK ? cmd_host_find(m, report.epoch) : NULL;
    bool known = h && m->now_ns < h->distrust_until_ns; /* by whomever: it is set aside already */
    if (h && !known && may_accuse(m, &session->peer)) {
        h->distrust_until_ns = time_add(m->now_ns, m->config.distrust_ns);
        h->distrusted_by = session->peer;
        m->stats.reported_hosts++;
        cmd_tell_host(m, h, EVENT_HOST_REPORTED, faults[report.fault]);
    } else if (h && !known) {
        env_trace(&m->env, "a machine reports host after host: look at its memory");
    }
    cmd_reply(m, &c->replies, session, request->id, request->op, status, NULL, 0);
}

/* ---- owners -------------------------------------------------------------------------------- */

/* The entry of the imd that the monitor says is gone; NULL: it is out of the directory. */
static Host *host_vouched_gone(const Manager *m, const Owner *o)
{
    Host *h = o->epoch ? cmd_host_find(m, o->epoch) : NULL;
    return h && addr_same_host(&h->address, &o->address) ? h : NULL;
}

/* Busy or not is news, and what a monitor says first. */
static void owner_changed(Manager *m, const Owner *o, bool first, uint8_t before)
{
    bool busy = o->state == HOST_OWNER_BUSY;
    if (!first && busy == (before == HOST_OWNER_BUSY))
        return;
    const char *plain = busy ? "its owner needs it" : "its owner does not need it";
    cmd_tell_owner(m, o, busy ? EVENT_HOST_BUSY : EVENT_HOST_IDLE,
                   *o->reason.text ? o->reason.text : plain);
}

static uint16_t owner_tells(Manager *m, Session *session, const WireRequest *request)
{
    OpHost op;

    if (request->op != OP_HOST)
        return STATUS_DENIED;
    if (wire_host_decode(request->body, request->body_len, &op) != 0)
        return STATUS_INVALID;
    Owner *o = cmd_owner_get(m, session);
    if (!o)
        return STATUS_BUSY;
    const bool first = o->heard_ns == 0;
    const uint8_t before = o->state;
    o->heard_ns = m->now_ns;
    if (RULE(OWNER_EPOCH) && request->id <= o->request_last)
        return STATUS_OK; /* reported before, or overtaken by a newer one */
    o->request_last = request->id;
    o->state = op.state;
    o->lendable_bytes = op.lendable_bytes;
    o->reason = op.reason;
    cmd_owner_set_epoch(m, o, op.epoch);
    owner_changed(m, o, first, before);
    Host *h = op.state == HOST_OWNER_BUSY ? host_vouched_gone(m, o) : NULL;
    if (h)
        cmd_host_lose(m, h, "its owner is back");
    return STATUS_OK;
}

void cmd_owner_input(Manager *m, Session *session, const WireRequest *request)
{
    uint16_t status = owner_tells(m, session, request);
    cmd_reply(m, NULL, session, request->id, request->op, status, NULL, 0);
}
