/* SPDX-License-Identifier: MIT */
/* What clients wait for. */
#include "cmd/manager_private.h"

#include <stdlib.h>

/* It is counted as an opening. */
static bool task_opens(const Task *t)
{
    return t->op == OP_OPEN || t->op == OP_TAKE;
}

Task *cmd_task_new(Manager *m, CmdClient *c, Session *session, const WireRequest *request,
                   size_t tried_bytes)
{
    Task *t = calloc(1, sizeof *t + tried_bytes);
    if (!t)
        return NULL;
    t->client = c;
    t->session = session;
    t->request = request->id;
    t->op = request->op;
    list_push_back(&c->tasks, &t->of_client);
    list_push_back(&m->tasks.all, &t->of_manager);
    if (task_opens(t))
        m->tasks.opens++;
    return t;
}

void cmd_task_unreserve(Manager *m, Task *t)
{
    if (t->fresh)
        m->tasks.reserved--;
    cmd_region_free(m, t->fresh);
    t->fresh = NULL;
}

void cmd_task_destroy(Manager *m, Task *t)
{
    if (task_opens(t))
        m->tasks.opens--;
    if (t->waits)
        m->tasks.waiting--;
    cmd_task_unreserve(m, t);
    list_remove(&t->of_client);
    list_remove(&t->of_manager);
    free(t);
}

void cmd_task_over(Manager *m, Task *t, uint16_t status, const uint8_t *body, size_t len)
{
    if (t->client)
        cmd_reply(m, &t->client->replies, t->session, t->request, t->op, status, body, len);
    cmd_task_destroy(m, t);
}
