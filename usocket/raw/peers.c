/* SPDX-License-Identifier: MIT */
#include "usocket/raw/peers.h"

#include <string.h>

#include "base/num.h"
#include "base/time.h"

static const uint64_t FRESH_NS = 5 * NS_PER_S;     /* then a peer is looked up again */
static const uint64_t PROBE_NS = 10 * NS_PER_MS;   /* between probes of a peer that gets frames */
static const uint64_t SLEEPER_NS = 50 * NS_PER_MS; /* and of one that would, if it polled */
static const uint64_t DOUBT_NS = 4 * NS_PER_MS;    /* after a probe without an answer */
static const uint64_t LAPSE_NS = NS_PER_S;         /* after that, it does not hear any more */
static const uint64_t PAUSE_NS = 50 * NS_PER_MS;   /* the first one of those that double */
static const uint64_t PAUSE_MAX_NS = 64 * NS_PER_S;
static const uint64_t IN_USE_NS = NS_PER_S;

/* ---- the table ------------------------------------------------------------------------------- */

static RawPeer *set_of(RawPeers *t, const Addr *at)
{
    return t->of[addr_hash(at) % PEERS_SETS];
}

RawPeer *raw_peers_find(RawPeers *t, const Addr *at)
{
    RawPeer *set = set_of(t, at);
    for (unsigned i = 0; i < PEERS_WAYS; i++)
        if (addr_equal(&set[i].at, at))
            return &set[i];
    return NULL;
}

/* One that gives way to another: it does not hear, or nobody has used it for long. */
static bool may_go(const RawPeer *p, uint64_t now_ns)
{
    return !p->hears || now_ns >= time_add(p->used_ns, IN_USE_NS);
}

RawPeer *raw_peers_make(RawPeers *t, const Addr *at, uint64_t now_ns)
{
    RawPeer *set = set_of(t, at), *oldest = NULL;
    RawPeer *p = raw_peers_find(t, at);
    if (p)
        return p;
    for (unsigned i = 0; i < PEERS_WAYS; i++)
        if (may_go(&set[i], now_ns) && (!oldest || set[i].used_ns < oldest->used_ns))
            oldest = &set[i];
    if (oldest)
        *oldest = (RawPeer){.at = *at,
                            .used_ns = now_ns,
                            .look_pause_ns = PAUSE_NS,
                            .probe_pause_ns = PAUSE_NS,
                            .port = at->port};
    return oldest;
}

bool raw_peers_may_look(RawPeers *t, uint64_t now_ns)
{
    if (now_ns >= time_add(t->looks_ns, NS_PER_S)) {
        t->looks_ns = now_ns;
        t->looks = 0;
    }
    if (t->looks == PEERS_LOOKS)
        return false;
    t->looks++;
    return true;
}

/* ---- a peer ---------------------------------------------------------------------------------- */

/* Its pause, which is twice as long the next time. */
static uint64_t take_pause(uint64_t *pause_ns)
{
    const uint64_t pause = *pause_ns;
    *pause_ns = min_u64(2 * pause, PAUSE_MAX_NS);
    return pause;
}

bool raw_peer_must_look(const RawPeer *p, uint64_t now_ns)
{
    return now_ns >= p->look_ns;
}

bool raw_peer_must_probe(const RawPeer *p, uint64_t now_ns)
{
    return p->near && now_ns >= p->probe_ns;
}

void raw_peer_looked(RawPeer *p, const PeerWay *way, uint64_t now_ns)
{
    if (!way) {
        p->near = p->hears = p->waits = false;
        p->look_ns = time_add(now_ns, take_pause(&p->look_pause_ns));
        return;
    }
    if (!p->near || memcmp(way->mac, p->way.mac, FRAME_MAC) != 0) {
        p->hears = p->waits = false; /* another host, perhaps */
        p->probe_ns = now_ns;
        p->probe_pause_ns = PAUSE_NS;
    }
    p->near = true;
    p->way = *way;
    p->look_pause_ns = PAUSE_NS;
    p->look_ns = time_add(now_ns, FRESH_NS);
}

static uint64_t between_probes(const RawPeer *p)
{
    return p->polls ? PROBE_NS : SLEEPER_NS;
}

uint32_t raw_peer_probed(RawPeer *p, uint32_t random, uint64_t now_ns)
{
    if (!p->waits) {
        p->waits = true;
        p->waits_ns = now_ns;
        p->number = random;
    }
    p->probe_ns = time_add(now_ns, p->hears ? between_probes(p) : take_pause(&p->probe_pause_ns));
    return p->number;
}

static void take_probe(RawPeer *p, uint16_t port, const DatagramProbe *b)
{
    p->port = port;
    p->frame_max = b->frame_max;
    p->polls = b->polls;
}

void raw_peer_asked(RawPeer *p, uint16_t port, const DatagramProbe *b, uint64_t now_ns)
{
    take_probe(p, port, b);
    if (!p->hears && !p->waits)
        p->probe_ns = now_ns; /* it has just begun: so do we */
}

void raw_peer_answered(RawPeer *p, uint16_t port, const DatagramProbe *b, uint64_t now_ns)
{
    if (!p->waits || b->number != p->number)
        return;
    take_probe(p, port, b);
    p->hears = true;
    p->waits = false;
    p->answered_ns = now_ns;
    p->probe_ns = time_add(now_ns, between_probes(p));
    p->probe_pause_ns = PAUSE_NS;
}

/* Its frames reach us: ours may reach it, too. */
void raw_peer_spoke(RawPeer *p, uint64_t now_ns)
{
    if (!p->hears)
        p->probe_ns = min_u64(p->probe_ns, time_add(now_ns, PAUSE_NS));
}

static void lapse(RawPeer *p, uint64_t probe_ns)
{
    p->hears = p->waits = false;
    p->probe_ns = probe_ns;
    p->probe_pause_ns = PAUSE_NS;
}

void raw_peer_failed(RawPeer *p, uint64_t now_ns)
{
    lapse(p, time_add(now_ns, PAUSE_NS));
    p->look_ns = now_ns;
}

bool raw_peer_hears(RawPeer *p, uint64_t now_ns)
{
    p->used_ns = now_ns;
    if (!p->near || !p->hears)
        return false;
    const uint64_t waited = p->waits ? sub_u64(now_ns, p->waits_ns) : 0;
    if (waited >= LAPSE_NS)
        lapse(p, now_ns);
    return p->hears && p->polls && waited < DOUBT_NS &&
           now_ns < time_add(p->answered_ns, PEER_TRUST_NS);
}
