/* SPDX-License-Identifier: MIT */
#include "rmd/pages.h"

#include <string.h>

#include "base/num.h"

size_t pages_answer(const WireRequest *request, PagesText (*text)(void *ctx, bool first), void *ctx,
                    uint8_t *body, uint16_t *ret_status)
{
    OpExplain ask;
    if (wire_explain_decode(request->body, request->body_len, &ask) != 0) {
        *ret_status = STATUS_INVALID;
        return 0;
    }
    const PagesText t = text(ctx, ask.offset == 0);
    OpExplainReply page = {.total = (uint32_t)t.len, .version = t.version};
    if (ask.offset < t.len) {
        page.len = (uint32_t)min_u64(t.len - ask.offset, EXPLAIN_PAGE_MAX);
        memcpy(page.text, t.text + ask.offset, page.len);
    }
    *ret_status = STATUS_OK;
    return wire_explain_reply_encode(&page, body);
}
