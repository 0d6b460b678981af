/* SPDX-License-Identifier: MIT */
#include "usocket/raw/datagram.h"

#include <errno.h>

#include "base/bytes.h"

enum { AT_KIND = 8, AT_FAMILY = 9, AT_PORT = 10, AT_HOST = 12, FAMILY_IP4 = 4, FAMILY_IP6 = 6 };
enum { HOST_IP4 = 4, HOST = 16 };

static bool is_zero(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i])
            return false;
    return true;
}

void datagram_encode(const DatagramHeader *h, uint8_t ret[DATAGRAM_HEADER])
{
    const size_t length = DATAGRAM_HEADER - FRAME_HEADER + h->length;
    frame_encode(&(FrameHeader){h->to_port, h->from_port, (uint16_t)length}, ret);
    put_u8(ret + AT_KIND, h->kind);
    put_u8(ret + AT_FAMILY, h->from.kind == ADDR_IP4 ? FAMILY_IP4 : FAMILY_IP6);
    put_u16(ret + AT_PORT, h->from.port);
    memcpy(ret + AT_HOST, h->from.host, HOST);
}

static int decode_from(const uint8_t *p, Addr *ret)
{
    Addr a = {.port = get_u16(p + AT_PORT)};
    if (p[AT_FAMILY] == FAMILY_IP4 && is_zero(p + AT_HOST + HOST_IP4, HOST - HOST_IP4))
        a.kind = ADDR_IP4;
    else if (p[AT_FAMILY] == FAMILY_IP6)
        a.kind = ADDR_IP6;
    memcpy(a.host, p + AT_HOST, HOST);
    if (a.kind == ADDR_NONE || a.port == 0 || is_zero(a.host, HOST))
        return -EBADMSG;
    *ret = a;
    return 0;
}

int datagram_decode(const uint8_t *p, size_t len, DatagramHeader *ret)
{
    FrameHeader f;
    DatagramHeader h;
    if (len < DATAGRAM_HEADER || frame_decode(p, len, &f) != 0 ||
        f.length < DATAGRAM_HEADER - FRAME_HEADER)
        return -EBADMSG;
    h = (DatagramHeader){.to_port = f.to,
                         .from_port = f.from,
                         .kind = p[AT_KIND],
                         .length = f.length - (size_t)(DATAGRAM_HEADER - FRAME_HEADER)};
    if (h.kind < DATAGRAM_MESSAGE || h.kind > DATAGRAM_ANSWER || decode_from(p, &h.from) != 0)
        return -EBADMSG;
    *ret = h;
    return 0;
}

void datagram_probe_encode(const DatagramProbe *b, uint8_t ret[DATAGRAM_PROBE])
{
    put_u32(ret, b->number);
    put_u16(ret + 4, b->frame_max);
    put_u8(ret + 6, b->polls);
    put_u8(ret + 7, 0);
}

int datagram_probe_decode(const uint8_t *p, size_t len, DatagramProbe *ret)
{
    if (len != DATAGRAM_PROBE || p[6] > 1 || p[7] != 0 || get_u16(p + 4) < DATAGRAM_HEADER)
        return -EBADMSG;
    *ret = (DatagramProbe){get_u32(p), get_u16(p + 4), p[6] == 1};
    return 0;
}
