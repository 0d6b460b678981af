/* SPDX-License-Identifier: MIT */
/* A virtual clock and a network of hosts on it, deterministic from a seed.
 *
 * One queue of events ordered by (time, sequence): ties never depend on addresses or heap order;
 * time jumps to the next event, nothing sleeps. Links per directed pair of hosts, changeable at
 * any time. Every datagram costs the same number of draws whatever its fate, so that changing one
 * link's loss does not reshuffle all others. simnet_digest() covers every delivery. */
#ifndef DODO_TESTS_SIMNET_H
#define DODO_TESTS_SIMNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/time.h"
#include "tests/lib/sim_rng.h"

enum { SIM_HOSTS_MAX = 16, SIM_SOCKETS_MAX = 128 };

typedef struct SimNet SimNet;

/* ---- events --------------------------------------------------------------------------------- */

typedef void (*SimFn)(void *ctx, uint64_t arg);

/* @life: NULL, or a counter that its owner raises to void all its pending events. */
void simnet_at(SimNet *n, uint64_t time_ns, const uint32_t *life, SimFn fn, void *ctx,
               uint64_t arg);
uint64_t simnet_now(const SimNet *n);
/* Runs the next event; false when there is none. */
bool simnet_step(SimNet *n);
uint64_t simnet_events(const SimNet *n); /* run so far */

/* A timer that may be set again and again: at most one event fires for it. */
typedef struct SimTimer {
    uint64_t armed_ns; /* TIME_NEVER: no event pending that counts */
    uint32_t token;
    SimFn fn;
    void *ctx;
    const uint32_t *life;
    SimNet *net;
} SimTimer;
void sim_timer_init(SimTimer *t, SimNet *n, const uint32_t *life, SimFn fn, void *ctx);
/* Fires at @time_ns; TIME_NEVER: not at all. */
void sim_timer_set(SimTimer *t, uint64_t time_ns);

/* ---- links ---------------------------------------------------------------------------------- */

typedef struct SimLink {
    uint64_t delay_ns, jitter_ns;
    uint64_t late_max_ns; /* how late a late duplicate may come */
    uint32_t loss_ppm, dup_ppm, late_ppm, reorder_ppm, corrupt_ppm;
    uint64_t bytes_per_s; /* bytes a second; 0: without limit */
    uint64_t queue_bytes;
    unsigned cut; /* count of reasons why nothing passes */
    /* Of datagrams longer than 512 bytes one passes in so long, the others are lost; 0: all pass.
     */
    uint64_t long_every_ns, long_at_ns;
    uint64_t busy_until_ns;
} SimLink;

SimLink *simnet_link(SimNet *n, unsigned from_host, unsigned to_host);

/* ---- sockets -------------------------------------------------------------------------------- */

typedef void (*SimInputFn)(void *ctx, const Addr *from, uint8_t *datagram, size_t len);

typedef struct SimSocket SimSocket;

/* @input is called for each datagram; it may overwrite it. NULL when the address is in use. */
SimSocket *simnet_open(SimNet *n, uint16_t host, uint16_t port, size_t queue_datagrams,
                       SimInputFn input, void *ctx);
void simnet_close(SimNet *n, SimSocket *s);
/* A socket whose owner takes the datagrams itself: @ready is called for each that has come while
 * the socket is not held. */
typedef void (*SimReadyFn)(void *ctx);
SimSocket *simnet_open_queue(SimNet *n, const Addr *at, size_t queue_datagrams, SimReadyFn ready,
                             void *ctx);
bool simnet_waits(const SimSocket *s); /* something to take */
/* Bytes of what is next to take, if it is from @from; else 0. */
size_t simnet_next(const SimSocket *s, const Addr *from);
/* Takes one, if something waits; bytes beyond @cap are lost. */
size_t simnet_take(SimNet *n, SimSocket *s, Addr *ret_from, uint8_t *buf, size_t cap);
/* While held, datagrams queue up (to queue_datagrams, then they are lost): a process that does not
 * run, or a thread that is in a system call. */
void simnet_hold(SimSocket *s, bool held);
/* Hands one queued datagram to input; false when there is none or the socket is held. */
bool simnet_drain_one(SimNet *n, SimSocket *s);
void simnet_send(SimNet *n, const SimSocket *s, const Addr *to, const uint8_t *datagram,
                 size_t len);

/* @watch sees each datagram as it is sent, and loses it by returning false. */
typedef bool (*SimWatchFn)(void *ctx, const Addr *from, const Addr *to, const uint8_t *datagram,
                           size_t len);
void simnet_watch(SimNet *n, SimWatchFn watch, void *ctx);

typedef struct SimNetCounters {
    uint64_t sent, delivered, lost, cut, duplicated, late, reordered, corrupted, overrun, nobody;
} SimNetCounters;
const SimNetCounters *simnet_counters(const SimNet *n);
uint64_t simnet_digest(const SimNet *n);
/* Mixes something else that must be the same in two runs into the digest. */
void simnet_note(SimNet *n, uint64_t value);

SimNet *simnet_new(uint64_t seed, uint64_t start_ns);
SimNet *simnet_free(SimNet *n);

#endif
