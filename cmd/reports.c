/* SPDX-License-Identifier: MIT */
/* Reports of clients about hosts. A host that returned other bytes than it was given, or that is
 * too slow to be of use, gets no new regions for a while. A client whose own memory is bad would
 * report one host after the other: so one client's reports count for few hosts at a time. */
#include "cmd/manager_private.h"

static const char *const faults[HOST_FAULT_MAX] = {
    [HOST_FAULT_CORRUPT] = "returned other bytes than it was given",
    [HOST_FAULT_SLOW] = "is too slow to be of use",
};

/* True: one more host that this client keeps from being chosen. */
static bool accuse(Manager *m, CmdClient *c)
{
    if (m->now_ns >= c->accused_until_ns)
        c->accused = 0;
    if (c->accused >= ACCUSED_MAX)
        return false;
    c->accused++;
    c->accused_until_ns = time_add(m->now_ns, m->config.distrust_ns);
    return true;
}

void cmd_report(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    OpReport report;
    uint16_t status = STATUS_INVALID;
    if (wire_report_decode(request->body, request->body_len, &report) == 0)
        status = STATUS_OK;
    Host *h = status == STATUS_OK ? cmd_host_find(m, report.epoch) : NULL;
    bool known = h && m->now_ns < h->distrust_until_ns; /* by whomever: it is set aside already */
    if (h && !known && accuse(m, c)) {
        h->distrust_until_ns = time_add(m->now_ns, m->config.distrust_ns);
        m->stats.reported_hosts++;
        env_trace(&m->env, "host %016llx: a client says that it %s", (unsigned long long)h->epoch,
                  faults[report.fault]);
    } else if (h && !known) {
        env_trace(&m->env, "a client reports host after host: look at that client's memory");
    }
    cmd_reply(m, &c->replies, session, request->id, request->op, status, NULL, 0);
}
