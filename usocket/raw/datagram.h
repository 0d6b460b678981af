/* SPDX-License-Identifier: MIT */
/* Datagrams of Dodo as raw frames: what follows the header of the frame (frame.h). A peer is known
 * by its UDP address, so each frame says that of its sender. Pure.
 *
 *   offset  bytes  what
 *   0       8      the frame's header; its length counts all that follows
 *   8       1      kind
 *   9       1      family of the sender's address: 4 or 6
 *   10      2      UDP port of the sender
 *   12      16     address of the sender: IPv4's 4 bytes, then zeros; or IPv6's
 *   28             a message: the datagram; a probe, an answer: 8 bytes
 *
 *   28      4      number of the probe; the answer repeats it
 *   32      2      longest frame that the sender takes, without the Ethernet header
 *   34      1      1: the sender polls for frames; 0: it sleeps until something comes
 *   35      1      0
 *
 * With IPv4 these are as many bytes as IP and UDP have. So a datagram that goes by UDP always fits
 * into a frame, too. */
#ifndef DODO_USOCKET_RAW_DATAGRAM_H
#define DODO_USOCKET_RAW_DATAGRAM_H

#include "base/addr.h"
#include "usocket/raw/frame.h"

enum { DATAGRAM_HEADER = FRAME_HEADER + 20, DATAGRAM_PROBE = 8 };
enum DatagramKind { DATAGRAM_MESSAGE = 0xd0, DATAGRAM_ASK, DATAGRAM_ANSWER };

typedef struct DatagramHeader {
    uint16_t to_port, from_port; /* of the frames */
    uint8_t kind;                /* enum DatagramKind */
    Addr from;                   /* IPv4 or IPv6; without a scope */
    size_t length;               /* of what follows */
} DatagramHeader;

typedef struct DatagramProbe {
    uint32_t number;
    uint16_t frame_max;
    bool polls;
} DatagramProbe;

void datagram_encode(const DatagramHeader *h, uint8_t ret[DATAGRAM_HEADER]);
/* @p: all that came after the Ethernet header. 0; -EBADMSG: no such frame, with *ret untouched. */
int datagram_decode(const uint8_t *p, size_t len, DatagramHeader *ret);
void datagram_probe_encode(const DatagramProbe *b, uint8_t ret[DATAGRAM_PROBE]);
/* @p: what follows the header. 0, -EBADMSG. */
int datagram_probe_decode(const uint8_t *p, size_t len, DatagramProbe *ret);

#endif
