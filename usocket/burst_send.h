/* SPDX-License-Identifier: MIT */
/* Sends a burst (proto/burst.h) as one run over a transport. Unsealed, headers and slices of the
 * burst's memory are gathered by the kernel: the only pass over the bytes. Sealed, the datagrams
 * are made one behind the other in the scratch and go out from there. */
#ifndef DODO_USOCKET_BURST_SEND_H
#define DODO_USOCKET_BURST_SEND_H

#include <stdint.h>
#include <sys/uio.h>

#include "proto/burst.h"
#include "proto/endpoint.h"
#include "usocket/transport.h"

/* What a send needs; one a thread, kept for speed, nothing in it lasts. */
typedef struct BurstScratch {
    struct iovec iov[2 * WIRE_SEGMENTS_MAX];
    uint8_t headers[WIRE_SEGMENTS_MAX][WIRE_HEADER_SIZE + WIRE_WRITE_HEADER_SIZE];
    uint8_t sealed[WIRE_CHUNK_MAX + WIRE_SEGMENTS_MAX * (WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD +
                                                         WIRE_WRITE_HEADER_SIZE)];
} BurstScratch;

/* Sent when it returns: the burst's memory may change then. As TransportOps.send. */
int burst_send(Transport *t, Endpoint *e, Session *s, const Burst *b, BurstScratch *scratch);

#endif
