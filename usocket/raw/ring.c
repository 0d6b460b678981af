/* SPDX-License-Identifier: MIT */
#include "usocket/raw/ring.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { RING_BYTES = 1 << 20, BLOCK_BYTES = 64 << 10, LINK_HEADER = 64 /* room for it, ample */ };

/* Room for a frame of the longest kind, as few blocks' bytes are lost as may be. */
static size_t frame_bytes(size_t mtu)
{
    const size_t least = TPACKET_ALIGN(TPACKET2_HDRLEN + LINK_HEADER + mtu);
    return least > BLOCK_BYTES ? BLOCK_BYTES : least;
}

int ring_open(Ring *r, int fd, size_t mtu)
{
    const int version = TPACKET_V2;
    *r = (Ring){.frame_bytes = frame_bytes(mtu)};
    r->per_block = (unsigned)(BLOCK_BYTES / r->frame_bytes);
    struct tpacket_req q = {.tp_block_size = BLOCK_BYTES,
                            .tp_block_nr = RING_BYTES / BLOCK_BYTES,
                            .tp_frame_size = (unsigned)r->frame_bytes};
    q.tp_frame_nr = r->count = q.tp_block_nr * r->per_block;
    size_t most = r->frame_bytes - TPACKET2_HDRLEN - LINK_HEADER;
    r->frame_max = (uint16_t)(most > UINT16_MAX ? UINT16_MAX : most);
    if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &q, sizeof q) != 0)
        return -errno;
    void *map = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    r->map = map;
    r->map_bytes = RING_BYTES;
    return 0;
}

void ring_close(Ring *r)
{
    if (r->map)
        (void)munmap(r->map, r->map_bytes);
    r->map = NULL;
}

static struct tpacket2_hdr *frame_at(const Ring *r, unsigned i)
{
    uint8_t *at = r->map + (size_t)(i / r->per_block) * BLOCK_BYTES;
    return (struct tpacket2_hdr *)(void *)(at + (size_t)(i % r->per_block) * r->frame_bytes);
}

bool ring_peek(const Ring *r, RingFrame *ret)
{
    const struct tpacket2_hdr *h = frame_at(r, r->at);
    if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
        return false;
    const struct sockaddr_ll *from = (const void *)((const uint8_t *)h + TPACKET_ALIGN(sizeof *h));
    *ret = (RingFrame){.bytes = (const uint8_t *)h + h->tp_net,
                       .len = h->tp_snaplen == h->tp_len ? h->tp_snaplen : 0,
                       .mac = from->sll_halen == FRAME_MAC ? from->sll_addr : NULL};
    return true;
}

void ring_release(Ring *r)
{
    struct tpacket2_hdr *h = frame_at(r, r->at);
    __atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    r->at = r->at + 1 == r->count ? 0 : r->at + 1;
}
