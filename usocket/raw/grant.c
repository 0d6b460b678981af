/* SPDX-License-Identifier: MIT */
#include "usocket/raw/grant.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

static const uint8_t magic[4] = {'d', 'o', 'd', 'o'};

enum { AT_VERSION = 4, AT_FIRST = 6, AT_MAC = 8, AT_SECOND = 14, AT_INTERFACE = 16, AT_REST = 20 };

static void begin(uint8_t *p)
{
    memset(p, 0, GRANT_MESSAGE);
    memcpy(p, magic, sizeof magic);
    put_u16(p + AT_VERSION, GRANT_VERSION);
}

static bool is_ours(const uint8_t *p, size_t len)
{
    return len == GRANT_MESSAGE && memcmp(p, magic, sizeof magic) == 0 &&
           get_u16(p + AT_VERSION) == GRANT_VERSION;
}

static bool is_zero(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i])
            return false;
    return true;
}

void grant_request_encode(const GrantRequest *r, uint8_t ret[GRANT_MESSAGE])
{
    begin(ret);
    put_u16(ret + AT_FIRST, r->port);
    memcpy(ret + AT_MAC, r->mac, FRAME_MAC);
    memcpy(ret + AT_INTERFACE, r->interface, strnlen(r->interface, INTERFACE_NAME - 1));
}

int grant_request_decode(const uint8_t *p, size_t len, GrantRequest *ret)
{
    GrantRequest r = {0};
    if (!is_ours(p, len) || get_u16(p + AT_SECOND) != 0)
        return -EPROTO;
    r.port = get_u16(p + AT_FIRST);
    memcpy(r.mac, p + AT_MAC, FRAME_MAC);
    size_t n = strnlen((const char *)p + AT_INTERFACE, INTERFACE_NAME);
    if (n == INTERFACE_NAME || !is_zero(p + AT_INTERFACE + n, INTERFACE_NAME - n))
        return -EPROTO;
    memcpy(r.interface, p + AT_INTERFACE, n);
    if (!interface_name_good(r.interface) || (!mac_is_any(r.mac) && !mac_is_single(r.mac)))
        return -EPROTO;
    *ret = r;
    return 0;
}

void grant_reply_encode(const GrantReply *r, uint8_t ret[GRANT_MESSAGE])
{
    begin(ret);
    put_u16(ret + AT_FIRST, (uint16_t)r->error);
    if (r->error)
        return;
    memcpy(ret + AT_MAC, r->mac, FRAME_MAC);
    put_u16(ret + AT_SECOND, r->port);
    put_u32(ret + AT_INTERFACE, r->interface);
}

int grant_reply_decode(const uint8_t *p, size_t len, GrantReply *ret)
{
    GrantReply r = {0};
    if (!is_ours(p, len) || !is_zero(p + AT_REST, GRANT_MESSAGE - AT_REST))
        return -EPROTO;
    r.error = get_u16(p + AT_FIRST);
    memcpy(r.mac, p + AT_MAC, FRAME_MAC);
    r.port = get_u16(p + AT_SECOND);
    r.interface = get_u32(p + AT_INTERFACE);
    if (r.error ? r.error > GRANT_ERRNO_MAX || !is_zero(p + AT_MAC, GRANT_MESSAGE - AT_MAC)
                : !mac_is_single(r.mac) || r.port == 0 || r.interface == 0)
        return -EPROTO;
    *ret = r;
    return 0;
}
