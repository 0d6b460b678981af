/* SPDX-License-Identifier: MIT */
/* One socket's sessions: HELLO, derived keys, sealing, replay windows. Pure: datagrams in,
 * datagrams and messages out. Both ends use it: a client's channel and an imd's control socket
 * initiate, cmd and the imd's data threads respond; one endpoint may do both. Not thread-safe: an
 * endpoint belongs to one thread at a time.
 *
 * With a key: HELLO and HELLO_ACK carry a MAC under the cluster key. Both ends derive two keys
 * (HKDF-SHA256 over cluster key and both salts, one key a direction). Every further datagram is
 * sealed with AES-256-GCM, with the send counter as nonce and the header as associated data.
 * Without a key: the same handshake proves that the peer receives at the address it sends from.
 *
 * Half-open sessions at the responder are in a table of their own (the oldest is replaced), so that
 * replayed HELLOs evict nobody. The first valid datagram from the initiator makes a session
 * whole. */
#ifndef DODO_PROTO_ENDPOINT_H
#define DODO_PROTO_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "proto/conf/cluster_key.h"
#include "proto/seal.h"
#include "proto/wire.h"

enum { SESSION_REPLAY_WINDOW = 4096 };

/* Not 0 (unless out of memory); public, reveals nothing of the key. */
uint32_t cluster_key_id(const ClusterKey *k);

typedef struct EndpointConfig {
    uint32_t cluster;                  /* put on and demanded of every datagram */
    ClusterKey keys[CLUSTER_KEYS_MAX]; /* the first seals HELLOs, all of them open (rotation) */
    unsigned keys_count;               /* 0: unsealed, and sealed datagrams are refused; with a
                                          key, unsealed ones are */
    const SealCipher *cipher;          /* seals messages; NULL: OpenSSL's. Borrowed */
    uint8_t role;
    Id128 self; /* a HELLO from the same identity is an echo, and refused; null: of nobody */
    uint64_t epoch;
    uint64_t features;       /* said of ourselves in HELLO: WireHello.features */
    unsigned sessions_max;   /* established; the least recently heard is evicted; >= 1 */
    unsigned half_open_max;  /* 0: initiates only, answers no HELLO and sends no RESET */
    uint64_t hello_retry_ns; /* first retry of a HELLO; doubles, 8 times at most, and goes on at
                                that until endpoint_forget(); 0: a second */
} EndpointConfig;

/* Opaque outside proto/endpoint*.c, except for these fields. Valid until SESSION_CLOSED for it or
 * endpoint_forget(). */
typedef struct Session {
    Addr peer;     /* where it is; fixed at HELLO */
    Id128 peer_id; /* the peer's WireHello.self; this and what follows of it is known when up */
    uint64_t peer_epoch;
    uint64_t peer_features; /* WireHello.features: 0 of each build so far */
    uint8_t peer_role;
    bool up;           /* messages may be sent */
    uint64_t heard_ns; /* last authentic datagram */
    void *user;        /* the upper layer's */
} Session;

typedef struct Endpoint Endpoint;

enum EndpointOutcome {
    ENDPOINT_NOTHING, /* dropped and counted, or handled inside; reply may be set */
    ENDPOINT_MESSAGE, /* session, type, payload */
    ENDPOINT_UP,      /* an initiated session is up: session */
    ENDPOINT_RESET,   /* hint: the peer knows no such session; a HELLO is under way already
                         (rate-limited); session->up stays true until the new HELLO_ACK, which
                         comes as ENDPOINT_UP with a perhaps different peer_epoch / peer_id */
};

typedef struct EndpointInput {
    Session *session;
    uint8_t type;
    const uint8_t *payload; /* in the datagram's own memory, opened in place */
    size_t payload_len;
    size_t reply_len; /* > 0: send @reply back to the sender, never longer than what came */
    uint8_t reply[WIRE_HEADER_SIZE + WIRE_HELLO_SIZE];
} EndpointInput;

/* malformed: of no valid form. version: of another version. cluster: for another cluster.
 * unknown_tag: of no session with this address. unknown_type: of a session, and perhaps a later
 * build's; it counts as a sign of life. unsealed: unsealed although sealing is required, or
 * the reverse. forged: not made with the key. replayed: came before, or too old to know.
 * hello_refused: of an unknown key, an answer to another HELLO, or not welcome here. evicted:
 * sessions. */
typedef struct EndpointCounters {
    uint64_t malformed, version, cluster, unknown_tag, unknown_type, unsealed, forged, replayed,
        hello_refused, hello_limited, evicted;
} EndpointCounters;

/* NULL when out of memory. @env is copied, its ctx borrowed. All memory is allocated here or at
 * endpoint_connect()/HELLO; nothing on the data path. */
Endpoint *endpoint_new(const EndpointConfig *config, const Env *env);
Endpoint *endpoint_free(Endpoint *e); /* wipes keys; NULL is fine; returns NULL */
/* Other keys, while sessions are up: new sessions use them. A session made with a removed key is
 * renewed if we initiated it, and otherwise ends ENDPOINT_RENEW_NS from now unless the peer has
 * renewed it. 0; -EINVAL: an endpoint with a key cannot lose it, nor one without get one;
 * -ENOMEM. */
#define ENDPOINT_RENEW_NS 60000000000ull
int endpoint_keys_set(Endpoint *e, const ClusterKey *keys, unsigned count, uint64_t now_ns);
/* Are those in effect, in this order? */
bool endpoint_has_keys(const Endpoint *e, const ClusterKey *keys, unsigned count);
unsigned endpoint_keys_count(const Endpoint *e);
const EndpointCounters *endpoint_counters(const Endpoint *e);
uint8_t endpoint_version_seen(const Endpoint *e); /* last foreign version, for the log */

/* The session to @peer, initiated on first use (then its HELLO comes from endpoint_output()). If
 * the HELLO is still unanswered, its back-off starts again. Never a session that the peer
 * initiated. In a full table the least recently heard makes room. NULL: no memory, or all sessions
 * of the full table were begun or heard at @now_ns itself. */
Session *endpoint_connect(Endpoint *e, const Addr *peer, uint64_t now_ns);
/* NULL if there is none; of two, the one initiated here. */
Session *endpoint_find(Endpoint *e, const Addr *peer);
/* We are somebody else from now on, and tell so in each HELLO. All sessions close: who has one is
 * answered with RESET, and says HELLO again. Not within a call of closed(). */
void endpoint_become(Endpoint *e, const Id128 *self, uint64_t epoch);
/* Without a call of closed(). */
void endpoint_forget(Endpoint *e, Session *s);
/* Walk over the sessions that are up, least recently heard first; NULL starts and ends. Any
 * endpoint_input() changes the order; to forget one, fetch the next first. */
Session *endpoint_walk(Endpoint *e, Session *after);

/* Called before a session ends by eviction or replacement, to unhook session->user; may be NULL. It
 * may not call back into the endpoint. If a peer's address initiates another session, that replaces
 * the first only when its first message has proven it. */
void endpoint_on_close(Endpoint *e, void (*closed)(void *ctx, Session *s), void *ctx);

/* One received datagram. @dgram is overwritten (opened in place). */
enum EndpointOutcome endpoint_input(Endpoint *e, const Addr *from, uint8_t *dgram, size_t len,
                                    uint64_t now_ns, EndpointInput *ret);

/* Datagrams that came joined have one sender. Unsealed: @dgram starts with the same bytes as the
 * message that endpoint_input() has just returned, and so is its session's too; payload after
 * endpoint_overhead(). False: ask endpoint_input(). */
bool endpoint_is_next(const Endpoint *e, const uint8_t *dgram, size_t len);

/* HELLOs to send (first and retries): length, 0 when there is none now. */
size_t endpoint_output(Endpoint *e, uint8_t *out, size_t cap, Addr *ret_to, uint64_t now_ns);
/* When endpoint_output() will next have something; UINT64_MAX: never. */
uint64_t endpoint_deadline(const Endpoint *e);

/* Bytes that endpoint_seal() adds to a payload: 16, or 40 sealed. */
size_t endpoint_overhead(const Endpoint *e);
bool endpoint_is_sealed(const Endpoint *e);
/* "no", or the name of the library that seals. */
const char *endpoint_sealed_by(const Endpoint *e);
/* Makes the datagram of a message; returns its length, 0 when the session is not up. @out may not
 * overlap @payload, except that payload may already stand at out + WIRE_HEADER_SIZE (+
 * WIRE_COUNTER_SIZE sealed). */
size_t endpoint_seal(Endpoint *e, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                     uint8_t *out);
/* Unsealed only: the header that all datagrams of a burst start with. */
void endpoint_header(const Endpoint *e, const Session *s, uint8_t type,
                     uint8_t out[WIRE_HEADER_SIZE]);

#endif
