/* SPDX-License-Identifier: MIT */
#include "usocket/raw/frame.h"

#include <errno.h>
#include <linux/if_packet.h>

#include "base/bytes.h"

/* ---- the header ------------------------------------------------------------------------------ */

void frame_encode(const FrameHeader *h, uint8_t ret[FRAME_HEADER])
{
    put_u8(ret, FRAME_VERSION);
    put_u8(ret + 1, 0);
    put_u16(ret + 2, h->to);
    put_u16(ret + 4, h->from);
    put_u16(ret + 6, h->length);
}

int frame_decode(const uint8_t *head, size_t len, FrameHeader *ret)
{
    if (len < FRAME_HEADER || get_u8(head) != FRAME_VERSION || get_u8(head + 1) != 0)
        return -EBADMSG;
    FrameHeader h = {get_u16(head + 2), get_u16(head + 4), get_u16(head + 6)};
    size_t whole = FRAME_HEADER + (size_t)h.length;
    if (h.to == 0 || h.from == 0 || h.length > FRAME_MESSAGE_MAX || whole > len)
        return -EBADMSG;
    if (whole < len && len > FRAME_PADDED)
        return -EBADMSG;
    *ret = h;
    return 0;
}

/* ---- the filter ------------------------------------------------------------------------------ */

/* Loads what @code says from @at, and drops the frame if it is not @wanted. */
static void demand(struct sock_filter *program, unsigned *count, uint16_t code, int at,
                   uint32_t wanted)
{
    program[(*count)++] = (struct sock_filter){.code = BPF_LD | BPF_ABS | code, .k = (uint32_t)at};
    program[(*count)++] = (struct sock_filter){.code = BPF_JMP | BPF_JEQ | BPF_K, .k = wanted};
}

/* As the filter reads two bytes: the first one counts most. */
static uint32_t big(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

unsigned frame_filter(const FrameFilter *f, struct sock_filter ret[FRAME_FILTER_MAX])
{
    unsigned n = 0;
    uint8_t head[FRAME_HEADER];

    frame_encode(&(FrameHeader){.to = f->port}, head);
    demand(ret, &n, BPF_W, SKF_AD_OFF + SKF_AD_PKTTYPE, PACKET_HOST);
    demand(ret, &n, BPF_W, SKF_AD_OFF + SKF_AD_IFINDEX, f->interface);
    demand(ret, &n, BPF_W, SKF_AD_OFF + SKF_AD_PROTOCOL, FRAME_ETHERTYPE);
    demand(ret, &n, BPF_W, SKF_LL_OFF, big(f->mac) << 16 | big(f->mac + 2));
    demand(ret, &n, BPF_H, SKF_LL_OFF + 4, big(f->mac + 4));
    demand(ret, &n, BPF_H, 0, big(head));
    demand(ret, &n, BPF_H, 2, big(head + 2));
    unsigned drop = n + 1;
    for (unsigned i = 1; i < n; i += 2)
        ret[i].jf = (uint8_t)(drop - i - 1);
    ret[n++] = (struct sock_filter){.code = BPF_RET | BPF_K, .k = UINT32_MAX};
    ret[n++] = (struct sock_filter){.code = BPF_RET | BPF_K, .k = 0};
    return n;
}
