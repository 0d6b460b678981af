/* SPDX-License-Identifier: MIT */
#include "rmd/explainer.h"

#include <string.h>

#include "base/os.h"
#include "rmd/pages.h"

enum Detail explainer_detail(const RmdOptions *o)
{
    return strcmp(o->tell, "full") == 0 ? DETAIL_FULL : DETAIL_COARSE;
}

static void write_text(Explainer *e)
{
    const enum Detail detail = explainer_detail(e->options);
    if (!e->text)
        e->text = g_string_new(NULL);
    e->version++;
    g_string_truncate(e->text, 0);
    if (strcmp(e->options->tell, "off") == 0) {
        g_string_append(e->text, "The owner of this host has switched this off ([rmd] explain); on "
                                 "the host itself use dodo-rmd --explain.\n");
        return;
    }
    report_monitor(e->text, e->monitor, os_now_ns(), detail);
    report_rules(e->text, e->verdicts);
    report_observation(e->text, e->seen, detail);
    if (e->text->len > EXPLAIN_MAX)
        g_string_truncate(e->text, EXPLAIN_MAX);
}

static PagesText text_of(void *ctx, bool first)
{
    Explainer *e = ctx;
    if (first || !e->text)
        write_text(e);
    return (PagesText){.text = e->text->str, .len = e->text->len, .version = e->version};
}

/* What it answers changes nothing, so that a repeated request may be answered again. */
void explainer_request(Explainer *e, Port *port, Session *s, const uint8_t *payload, size_t len)
{
    WireRequest request;
    uint8_t body[WIRE_BODY_MAX], answer[WIRE_PAYLOAD_MAX];
    uint16_t status = STATUS_DENIED;
    size_t body_len = 0;
    if (wire_request_decode(payload, len, &request) != 0)
        return;
    if (s->peer_role == ROLE_TOOL && request.op == OP_EXPLAIN)
        body_len = pages_answer(&request, text_of, e, body, &status);
    const WireReply reply = {
        .id = request.id, .op = request.op, .status = status, .body = body, .body_len = body_len};
    port_message(port, s, WIRE_REPLY, answer, wire_reply_encode(&reply, answer));
}

void explainer_clear(Explainer *e)
{
    if (e->text)
        (void)g_string_free(e->text, TRUE);
    e->text = NULL;
}
