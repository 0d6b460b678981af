/* SPDX-License-Identifier: MIT */
/* What goes over TCP between peers-client and peers-raw: this in front of a request, after a write;
 * the data of a read alone. */
#ifndef DODO_BENCH_PEERS_RAW_H
#define DODO_BENCH_PEERS_RAW_H

#include <stdint.h>

typedef struct RawStream {
    uint32_t kind; /* enum RawKind */
    uint32_t len;
    uint64_t offset;
    uint8_t zero[48]; /* as long as other protocols' requests */
} RawStream;

#endif
