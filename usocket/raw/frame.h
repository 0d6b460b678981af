/* SPDX-License-Identifier: MIT */
/* Raw frames: what stands between the Ethernet header and the message, and the program by which the
 * kernel picks the frames of one port. Pure.
 *
 *   offset  bytes  what
 *   0       1      version, 1
 *   1       1      0
 *   2       2      port of the receiver
 *   4       2      port of the sender
 *   6       2      length of the message
 *   8              the message; then what Ethernet pads short frames with
 *
 * Numbers are little-endian, as everywhere in Dodo. */
#ifndef DODO_USOCKET_RAW_FRAME_H
#define DODO_USOCKET_RAW_FRAME_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_ETHERTYPE = 0x88b5, /* IEEE 802's for local experiments */
    FRAME_VERSION = 1,
    FRAME_HEADER = 8,
    FRAME_PADDED = 46, /* bytes after the Ethernet header that each frame has, padded if need be */
    FRAME_MESSAGE_MAX = 65535 - FRAME_HEADER,
    FRAME_MAC = 6
};

typedef struct FrameHeader {
    uint16_t to, from; /* ports */
    uint16_t length;   /* of the message */
} FrameHeader;

void frame_encode(const FrameHeader *h, uint8_t ret[FRAME_HEADER]);
/* @head: the first bytes of what follows the Ethernet header, as many as there are; @len: how many
 * there are in all. 0, or -EBADMSG: no frame of ours, shorter or longer than it says, or from port
 * 0, where no answer goes. */
int frame_decode(const uint8_t *head, size_t len, FrameHeader *ret);

/* What a socket takes: frames of our type and version, for this host alone, on that interface, to
 * that MAC address and port. */
typedef struct FrameFilter {
    uint32_t interface;
    uint8_t mac[FRAME_MAC];
    uint16_t port;
} FrameFilter;

/* For an AF_PACKET socket of the type SOCK_DGRAM. It looks at all of it by itself: a program that
 * has the socket may bind it to another interface or protocol. Returns how many instructions. */
enum { FRAME_FILTER_MAX = 18 };
unsigned frame_filter(const FrameFilter *f, struct sock_filter ret[FRAME_FILTER_MAX]);

#endif
