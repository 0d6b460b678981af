/* SPDX-License-Identifier: MIT */
/* What a program and the helper say to each other, over a Unix socket of messages: one request, one
 * reply, which brings the socket with it. Pure.
 *
 *   request, 32 bytes             reply, 32 bytes
 *   0   4  "dodo"                 0   4  "dodo"
 *   4   2  version, 1             4   2  version, 1
 *   6   2  port; 0: any           6   2  errno; 0: here it is
 *   8   6  MAC address; 0: own    8   6  MAC address
 *   14  2  0                      14  2  port
 *   16 16  interface, 0 after it  16  4  interface's number
 *                                 20 12  0
 */
#ifndef DODO_USOCKET_RAW_GRANT_H
#define DODO_USOCKET_RAW_GRANT_H

#include <stddef.h>
#include <stdint.h>

#include "usocket/raw/frame.h"
#include "usocket/raw/mac.h"

enum { GRANT_MESSAGE = 32, GRANT_VERSION = 1, GRANT_ERRNO_MAX = 4095 };

typedef struct GrantRequest {
    uint16_t port;
    uint8_t mac[FRAME_MAC];
    char interface[INTERFACE_NAME];
} GrantRequest;

typedef struct GrantReply {
    int error; /* errno, or 0 and: */
    uint8_t mac[FRAME_MAC];
    uint16_t port;
    uint32_t interface;
} GrantReply;

void grant_request_encode(const GrantRequest *r, uint8_t ret[GRANT_MESSAGE]);
void grant_reply_encode(const GrantReply *r, uint8_t ret[GRANT_MESSAGE]);
/* 0; -EPROTO: not what we understand, with *ret untouched. */
int grant_request_decode(const uint8_t *p, size_t len, GrantRequest *ret);
int grant_reply_decode(const uint8_t *p, size_t len, GrantReply *ret);

#endif
