/* SPDX-License-Identifier: MIT */
/* Which peers take raw frames: a table of bounded size, and what is decided about each of them.
 * Pure: times and what was looked up come in.
 *
 * A peer is near if the route to it leaves by our interface, without a gateway, and the kernel's
 * neighbour table has its MAC address. It hears if it has answered a probe. Frames go to peers that
 * are near, hear and poll, all else goes by UDP: for who sleeps, the wake-up is what takes time,
 * and one socket is less to wait for. Probes go with what is sent, every few milliseconds. One
 * without an answer puts the peer in doubt, and datagrams go by UDP until the answer comes. After a
 * second the peer does not hear any more, and is probed again after pauses that double. So what
 * frames lose is repaired by UDP, after the time that makes doubt. */
#ifndef DODO_USOCKET_RAW_PEERS_H
#define DODO_USOCKET_RAW_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/time.h"
#include "usocket/raw/datagram.h"

/* How long after its last answer a peer is not sent frames any more, but asked first. */
#define PEER_TRUST_NS (2 * NS_PER_S)
enum { PEERS_SETS = 64, PEERS_WAYS = 4, PEERS_LOOKS = 100 /* a second, for strangers */ };

/* What the kernel says about a peer that is near. */
typedef struct PeerWay {
    uint8_t mac[FRAME_MAC];
    Addr self; /* what it knows us by, port 0 */
} PeerWay;

typedef struct RawPeer {
    Addr at; /* kind ADDR_NONE: free */
    PeerWay way;
    bool near, hears;
    bool polls;         /* it said so */
    bool waits;         /* for the answer to a probe */
    uint16_t port;      /* of its frames */
    uint16_t frame_max; /* longest that it takes, without the Ethernet header */
    uint32_t number;    /* of the last probe */
    uint64_t used_ns;
    uint64_t look_ns, look_pause_ns; /* it is looked up again then; what follows a failure */
    uint64_t probe_ns, probe_pause_ns;
    uint64_t waits_ns, answered_ns; /* the first probe without an answer; the last answer */
} RawPeer;

typedef struct RawPeers {
    RawPeer of[PEERS_SETS][PEERS_WAYS];
    uint64_t looks_ns; /* when the second began in which... */
    unsigned looks;    /* so many strangers were looked up */
} RawPeers;

/* NULL: it is not in the table. */
RawPeer *raw_peers_find(RawPeers *t, const Addr *at);
/* Puts it in, if it is not there. NULL: the table has no room, as all of its set hear and were used
 * within the last second. */
RawPeer *raw_peers_make(RawPeers *t, const Addr *at, uint64_t now_ns);
/* Whether one more stranger may be looked up now: that takes some ten microseconds. */
bool raw_peers_may_look(RawPeers *t, uint64_t now_ns);

/* Whether its neighbour entry must be looked up now, and whether it must be probed. Look it up
 * first: a peer that is not near is not probed. */
bool raw_peer_must_look(const RawPeer *p, uint64_t now_ns);
bool raw_peer_must_probe(const RawPeer *p, uint64_t now_ns);
/* @way: NULL: it is not near. */
void raw_peer_looked(RawPeer *p, const PeerWay *way, uint64_t now_ns);
/* A probe is sent. @random: of the caller; returns the probe's number. */
uint32_t raw_peer_probed(RawPeer *p, uint32_t random, uint64_t now_ns);
/* What came from it; its MAC address has been compared. */
void raw_peer_asked(RawPeer *p, uint16_t port, const DatagramProbe *b, uint64_t now_ns);
void raw_peer_answered(RawPeer *p, uint16_t port, const DatagramProbe *b, uint64_t now_ns);
void raw_peer_spoke(RawPeer *p, uint64_t now_ns);
/* A frame to it could not be sent. */
void raw_peer_failed(RawPeer *p, uint64_t now_ns);
/* Do frames go to it now? */
bool raw_peer_hears(RawPeer *p, uint64_t now_ns);

#endif
