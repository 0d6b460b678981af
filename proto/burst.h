/* SPDX-License-Identifier: MIT */
/* A burst: datagrams of one shape that differ only in their segment index and their slice of one
 * stretch of memory. It answers a READ and carries a WRITE. Unsealed, a shell sends it with
 * scatter/gather and GSO without copying; sealed, and in the simulation, it is made datagram by
 * datagram. The memory must not change until the burst is sent. */
#ifndef DODO_PROTO_BURST_H
#define DODO_PROTO_BURST_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

typedef struct Burst {
    uint8_t type;        /* WIRE_DATA or WIRE_WRITE */
    uint8_t header_len;  /* of the payload header below */
    uint8_t index_at;    /* where in it the u16 index is patched */
    uint16_t segment;    /* bytes of data a datagram, but for the chunk's last */
    uint32_t len;        /* of the chunk */
    uint64_t want;       /* which segments to send, in this order; not 0 */
    const uint8_t *data; /* the chunk's first byte, borrowed */
    uint8_t header[WIRE_WRITE_HEADER_SIZE];
} Burst;

void burst_init_data(Burst *b, const WireData *m, uint32_t len, uint16_t segment, uint64_t want,
                     const uint8_t *data);
void burst_init_write(Burst *b, const WireWrite *m, uint64_t want, const uint8_t *data);
/* Bytes of data in segment @index. */
size_t burst_segment_len(const Burst *b, unsigned index);
/* Writes the payload of segment @index (header and data); returns its length. @out has room for
 * header_len + segment. */
size_t burst_payload(const Burst *b, unsigned index, uint8_t *out);

#endif
