/* SPDX-License-Identifier: MIT */
/* What the two directions of a bulk transfer share: timers, credit in flight, maps of segments.
 * For proto/transfer_*.c only. */
#ifndef DODO_PROTO_TRANSFER_PRIVATE_H
#define DODO_PROTO_TRANSFER_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/listen_clock.h"
#include "base/time.h"
#include "proto/transfer.h"

/* ---- time: proto/transfer_path.c ------------------------------------------------------------ */

static inline uint64_t clock_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

void clock_start(TransferClock *k, const TransferConfig *config, uint64_t now_ns);
/* A sign of life: the silence and the tail timer start here. */
static inline void clock_heard(TransferClock *k, uint64_t now_ns)
{
    k->heard_ns = now_ns;
    k->silent_ns = 0;
    k->quiet_ns = now_ns;
    k->backoff = 0;
    k->probe_due = false;
}
/* @waiting: something was under way before. */
void clock_sent(TransferClock *k, bool waiting, uint64_t now_ns);
/* The host's silence, while there is something that it should answer. */
uint64_t clock_silence(const TransferClock *k, bool waiting, uint64_t now_ns);
/* The tail timer has run out, and nothing came since: only probes go out. */
static inline bool clock_is_silent(const TransferClock *k)
{
    return k->backoff > 0;
}
/* The host asks for patience: doubling, but once a time-out however many answers say so. */
void clock_busy(TransferClock *k, uint64_t now_ns);
void clock_check_busy(TransferClock *k, uint64_t now_ns); /* is it over? */
/* The host took something: the next BUSY starts small again. */
static inline void clock_served(TransferClock *k)
{
    k->busy_ns = 0;
}
/* @waiting: there is something under way, so the tail timer runs. */
uint64_t clock_deadline(const TransferClock *k, const TransferConfig *config, bool waiting,
                        uint64_t outstanding_bytes);
bool clock_is_dead(const TransferClock *k, const TransferConfig *config, bool waiting,
                   uint64_t now_ns);
bool clock_gap_over(const TransferClock *k, const TransferConfig *config, uint64_t now_ns);
/* Sets probe_due, and starts the next, longer interval, when the tail timer has run out: true. */
bool clock_check_probe(TransferClock *k, const TransferConfig *config, bool waiting,
                       uint64_t outstanding_bytes, uint64_t now_ns);

/* ---- credit in flight: proto/transfer_path.c ------------------------------------------------ */

uint64_t flight_take(TransferFlight *f, const TransferConfig *config, uint64_t want,
                     uint64_t least);
/* No longer under way: here, or known to be lost. Given back to the pool in batches. */
void flight_land(TransferFlight *f, const TransferConfig *config, uint64_t bytes);
void flight_end(TransferFlight *f, const TransferConfig *config);
/* The host is silent: the credit of all that is under way goes back. It is still waited for. */
void flight_give_back(TransferFlight *f, const TransferConfig *config);
/* It waits for its turn on the channel. */
static inline bool flight_is_starved(const TransferFlight *f)
{
    return f->starved && f->bytes == 0;
}
/* @bytes came without loss. */
void flight_succeed(const TransferFlight *f, const TransferConfig *config, uint64_t bytes);

/* What the listening clock has left out so far. */
static inline uint64_t missed_so_far(const TransferConfig *config)
{
    return config->missed_ns ? *config->missed_ns : 0;
}
/* A round trip from @sent_ns to now was measured, when the clock had left out @missed_ns. */
bool sample_is_good(const TransferConfig *config, uint64_t sent_ns, uint64_t missed_ns,
                    uint64_t now_ns);
/* A loss, for the credit that all channels share. */
static inline void note_loss(const TransferConfig *config, uint64_t now_ns)
{
    credit_on_loss(config->credit, now_ns + missed_so_far(config), config->path->srtt_ns);
}

/* ---- maps of segments ----------------------------------------------------------------------- */

/* Bits below @index. */
static inline uint64_t map_below(unsigned index)
{
    return wire_segment_mask(index);
}
static inline unsigned map_count(uint64_t map)
{
    return (unsigned)__builtin_popcountll(map);
}
/* Of a map that is not empty. */
static inline unsigned map_lowest(uint64_t map)
{
    return (unsigned)__builtin_ctzll(map);
}
static inline unsigned map_highest(uint64_t map)
{
    return 63u - (unsigned)__builtin_clzll(map);
}

/* How a chunk is cut. */
typedef struct Cut {
    uint32_t len;
    uint16_t segment;
    uint8_t last;
} Cut;
static inline uint32_t cut_segment_len(const Cut *cut, unsigned index)
{
    return index < cut->last ? cut->segment : cut->len - (uint32_t)cut->last * cut->segment;
}
static inline uint64_t cut_all(const Cut *cut)
{
    return wire_segment_mask(cut->last + 1u);
}
static inline uint64_t cut_bytes(const Cut *cut, uint64_t map)
{
    if (map && (map & (map - 1)) == 0) /* counting bits is a call on some processors */
        return cut_segment_len(cut, map_lowest(map));
    uint64_t bytes = (uint64_t)map_count(map) * cut->segment;
    if (map >> cut->last & 1)
        bytes -= cut->segment - cut_segment_len(cut, cut->last);
    return bytes;
}
/* The lowest segments of @map that have at most @bytes together. */
static inline uint64_t cut_fit(const Cut *cut, uint64_t map, uint64_t bytes)
{
    if (cut_bytes(cut, map) <= bytes)
        return map;
    uint64_t fit = 0;
    for (uint64_t n = bytes / cut->segment; n > 0 && map; n--, map &= map - 1)
        fit |= map & -map;
    return fit;
}
/* What is worth sending of @map: all of it if it is little; one segment if segments are large. */
static inline uint64_t cut_least(const Cut *cut, uint64_t map)
{
    uint64_t all = cut_bytes(cut, map);
    uint64_t least = cut->segment > CREDIT_LEAST ? cut->segment : CREDIT_LEAST;
    return all < least ? all : least;
}

/* @field of the counters, where the caller wants them. */
#define COUNT(t, field, n)                   \
    do {                                     \
        if ((t)->config.count)               \
            (t)->config.count->field += (n); \
    } while (0)

/* A status that ends a transfer, as the caller gets it. */
static inline uint16_t status_known(uint16_t status)
{
    return status != STATUS_OK && status < STATUS_MAX ? status : STATUS_PROTOCOL;
}

#endif
