/* SPDX-License-Identifier: MIT */
/* Runs a socket filter as the kernel would, over a frame in memory: loads from fixed places, equal
 * or not, the end. Enough for filters that only compare. */
#ifndef DODO_TESTS_LIB_BPF_H
#define DODO_TESTS_LIB_BPF_H

#include <assert.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame as a socket of the type SOCK_DGRAM finds it. */
typedef struct BpfFrame {
    uint32_t type, interface, protocol; /* PACKET_HOST ..., number, EtherType */
    const uint8_t *link, *net;          /* Ethernet's header; what follows it */
    size_t link_len, net_len;
} BpfFrame;

/* The @size bytes at @at of the place that it belongs to. False: they are not there. */
static inline bool bpf_load(const BpfFrame *f, int at, size_t size, uint32_t *ret)
{
    const uint8_t *from = f->net;
    size_t len = f->net_len;
    if (at == SKF_AD_OFF + SKF_AD_PKTTYPE || at == SKF_AD_OFF + SKF_AD_IFINDEX ||
        at == SKF_AD_OFF + SKF_AD_PROTOCOL) {
        *ret = at == SKF_AD_OFF + SKF_AD_PKTTYPE   ? f->type
               : at == SKF_AD_OFF + SKF_AD_IFINDEX ? f->interface
                                                   : f->protocol;
        return true;
    }
    if (at < 0) {
        assert(at >= SKF_LL_OFF && at < SKF_NET_OFF + SKF_AD_OFF); /* no other is known here */
        at -= SKF_LL_OFF;
        from = f->link;
        len = f->link_len;
    }
    if ((size_t)at + size > len)
        return false;
    *ret = 0;
    for (size_t i = 0; i < size; i++)
        *ret = *ret << 8 | from[(size_t)at + i];
    return true;
}

/* How many bytes of the frame the socket gets; 0: it does not get it. */
static inline uint32_t bpf_run(const struct sock_filter *program, unsigned count, const BpfFrame *f)
{
    uint32_t a = 0;
    for (unsigned pc = 0; pc < count; pc++) {
        const struct sock_filter *i = &program[pc];
        switch (i->code) {
        case BPF_LD | BPF_ABS | BPF_W:
        case BPF_LD | BPF_ABS | BPF_H:
            if (!bpf_load(f, (int)i->k, BPF_SIZE(i->code) == BPF_W ? 4 : 2, &a))
                return 0;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            pc += a == i->k ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            assert(!"an instruction that is not known here");
        }
    }
    assert(!"a program without an end");
    return 0;
}

#endif
