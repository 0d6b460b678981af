/* SPDX-License-Identifier: MIT */
/* A text that a tool fetches page by page, with WIRE_REQUESTs of OP_EXPLAIN. Pure. */
#ifndef DODO_RMD_PAGES_H
#define DODO_RMD_PAGES_H

#include <stddef.h>

#include "proto/wire.h"

typedef struct PagesText {
    const char *text;
    size_t len;
    uint32_t version; /* another one with each change of the text */
} PagesText;

/* Answers @request with the page it asks for of what @text gives; @first: nothing was fetched of it
 * yet. Encodes into @body, which has room for WIRE_BODY_MAX bytes; their number, and the reply's
 * status. */
size_t pages_answer(const WireRequest *request, PagesText (*text)(void *ctx, bool first), void *ctx,
                    uint8_t *body, uint16_t *ret_status);

#endif
