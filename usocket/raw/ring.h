/* SPDX-License-Identifier: MIT */
/* The receiving half of a socket for raw frames: a ring of frames in memory that the kernel fills
 * (TPACKET_V2). To look for a frame takes no system call. Needs no privilege once there is
 * such a socket. */
#ifndef DODO_USOCKET_RAW_RING_H
#define DODO_USOCKET_RAW_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usocket/raw/frame.h"

typedef struct Ring {
    uint8_t *map;
    size_t map_bytes, frame_bytes;
    unsigned per_block, count, at;
    uint16_t frame_max; /* longest frame that it takes, without the Ethernet header */
} Ring;

typedef struct RingFrame {
    const uint8_t *bytes; /* what follows the Ethernet header, until ring_release() */
    size_t len;           /* 0: it was longer than the ring takes */
    const uint8_t *mac;   /* of the sender: FRAME_MAC bytes; NULL: it has none */
} RingFrame;

/* For frames of an interface with that MTU. 0, -errno. */
int ring_open(Ring *r, int fd, size_t mtu);
void ring_close(Ring *r); /* also of a zeroed one */
/* The next frame. False: there is none yet. */
bool ring_peek(const Ring *r, RingFrame *ret);
/* The frame that ring_peek() gave is done with. */
void ring_release(Ring *r);

#endif
