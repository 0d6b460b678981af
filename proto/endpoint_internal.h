/* SPDX-License-Identifier: MIT */
/* What endpoint.c (tables and datagrams of sessions) and endpoint_hello.c (handshake) share, and
 * the unit tests look at. Nobody else includes it. */
#ifndef DODO_PROTO_ENDPOINT_INTERNAL_H
#define DODO_PROTO_ENDPOINT_INTERNAL_H

#include "base/hmap.h"
#include "base/list.h"
#include "proto/endpoint.h"
#include "proto/seal.h"

enum {
    HELLO_DATAGRAM_SIZE = WIRE_HEADER_SIZE + WIRE_HELLO_SIZE,
    RESET_DATAGRAM_SIZE = WIRE_HEADER_SIZE + 8,
    HELLO_DOUBLINGS_MAX = 8,
    HELLO_FIRST_KEY_TRIES = 2, /* then the keys take turns */
    /* Sealed HELLOs of peers that we do not know yet: making keys for one takes microseconds, and
     * who recorded HELLOs can send them again without any key. So many a second, and at once. */
    HELLO_RATE = 20000,
    HELLO_BURST = 4096,
    /* Of a session initiated here: after so many datagrams since the peer was heard, and so long
     * (of HELLO's first retries), it may have been forgotten there. */
    UNHEARD_SENDS = 4,
    UNHEARD_RETRIES = 8,
    HOSTS_TABLE_MIN = 1 << 10, /* few hosts, and hardly two with one hash */
    HOSTS_TABLE_MAX = 1 << 16,
};

/* An endpoint that starts again knows nobody: for so long it says so to everybody. All who had a
 * session with the one before it, at that address, speak several times in that while. */
#ifndef RESET_ANYBODY_NS
#define RESET_ANYBODY_NS 60000000000ull
#endif

/* SessionCore.key: made with one that is no more. */
#define KEY_GONE UINT32_MAX

#define HELLO_RETRY_DEFAULT_NS 1000000000ull

/* Long before a counter could come round the initiator has new keys made. */
#define SESSION_DATAGRAMS_MAX ((uint64_t)1 << 36)

/* A tag of ours, by which the peer names the session. 0: none, and not in the map. */
typedef struct OwnTag {
    HmapNode node; /* in Endpoint.by_tag; its hash is the tag */
    uint64_t tag;
    struct SessionCore *core;
} OwnTag;

typedef struct SessionCore {
    Session session; /* first: a Session * is a SessionCore * */
    bool initiated;  /* by us */
    bool half_open;  /* the responder waits for the initiator's first datagram */
    uint64_t serial; /* counts the endpoint's sessions: which of two is older */
    uint64_t created_ns;
    ListNode order;   /* in Endpoint.sessions, least recently heard first; or in .half_open */
    ListNode of_host; /* in HostShare.sessions, where a peer initiated it */
    HmapNode by_peer; /* in Endpoint.by_peer; half-open: in .by_hello */

    /* What HELLO and HELLO_ACK agreed on. */
    OwnTag own;
    uint64_t peer_tag;
    uint8_t own_salt[WIRE_SALT_SIZE], peer_salt[WIRE_SALT_SIZE];
    unsigned key;       /* index of the cluster key */
    uint64_t revoke_ns; /* KEY_GONE: the session ends then */
    SealKey seal, open;
    uint64_t sent;       /* counter of the last datagram sent */
    uint64_t unheard;    /* datagrams sealed since the peer was heard */
    uint64_t unheard_ns; /* the first of them */
    bool hello_unsure;   /* HELLO is to be said because of them */
    ReplayWindow window;

    /* Our HELLO under way, beside the session that it renews, if that is up. */
    ListNode hello; /* in Endpoint.hellos, or alone */
    OwnTag next;
    uint8_t next_salt[WIRE_SALT_SIZE];
    unsigned hello_tries;
    uint64_t hello_ns;       /* when to send it */
    uint64_t hello_sent_ns;  /* when it was sent last */
    uint64_t hello_wait_ns;  /* until the retry after this one */
    uint64_t renew_after_ns; /* no RESET is believed before */
} SessionCore;

/* The sessions that peers at one host have initiated. */
typedef struct HostShare {
    ListNode sessions; /* least recently heard first */
    unsigned count;
} HostShare;

typedef struct PeerTables {
    Addr *former;      /* peers whose sessions are gone, by hash; NULL: answers no HELLO */
    HostShare *shares; /* of hosts, by hash; NULL: answers no HELLO */
    size_t mask;       /* of these two */
    unsigned hosts;    /* that have sessions here */
    uint64_t salt;     /* of hashes of what peers choose */
} PeerTables;

struct Endpoint {
    EndpointConfig config;
    Env env;
    EndpointCounters count;
    uint8_t version_seen;
    uint64_t serial;
    uint64_t hello_even_ns; /* when HELLOs were no more than their rate again */
    uint64_t reset_even_ns; /* the same for RESETs: each brings a HELLO */
    uint64_t now_ns;        /* as last reported */
    uint64_t began_ns;      /* the first datagram came; 0: none has */
    uint64_t revoke_ns;     /* the first of the sessions whose key is gone ends then */
    PeerTables peers;

    SealSuite suite; /* unsealed: zero */
    uint32_t key_ids[CLUSTER_KEYS_MAX];
    uint8_t mac_keys[CLUSTER_KEYS_MAX][SEAL_KEY_SIZE];

    Hmap by_tag;
    Hmap by_peer; /* at most one session initiated by us and one by the peer per address */
    Hmap by_hello;
    ListNode sessions, half_open, hellos;
    unsigned sessions_count, half_open_count;

    /* Whose the last message was: the next one mostly starts with the same bytes. */
    struct {
        SessionCore *core; /* NULL: nobody's */
        uint8_t bytes[WIRE_HEADER_SIZE];
        WireHeader header; /* decoded */
        Addr from;
    } last;

    void (*closed)(void *ctx, Session *s);
    void *closed_ctx;
};

static inline SessionCore *session_core(Session *s)
{
    return (SessionCore *)(void *)s;
}
static inline bool endpoint_keyed(const Endpoint *e)
{
    return e->config.keys_count > 0;
}

/* Of a token bucket of HELLO_RATE and HELLO_BURST, kept as the time at which it is full again. */
bool bucket_take(uint64_t *even_ns, uint64_t now_ns);

void endpoint_trace(const Endpoint *e, const char *what, const Addr *peer);

/* Sessions and tables (endpoint.c). */
SessionCore *session_new(Endpoint *e, const Addr *peer, uint64_t now_ns);
void session_enter(Endpoint *e, SessionCore *s); /* into the table of sessions, as the last heard */
void session_free(Endpoint *e, SessionCore *s);  /* leaves all tables, wipes */
void session_close(Endpoint *e, SessionCore *s); /* informs the upper layer, then frees */
/* No HELLO because of datagrams without an answer, if it has not been said yet. */
void session_not_unheard(Endpoint *e, SessionCore *s);
/* Those whose key has gone end, when it is time. */
void sessions_revoke(Endpoint *e, uint64_t now_ns);
void session_heard(Endpoint *e, SessionCore *s, uint64_t now_ns);
SessionCore *session_at(const Endpoint *e, const Addr *peer, bool initiated);
/* Makes room for one more session, initiated by us (@from NULL) or by a peer at @from: false when
 * it would cost one in use at @unless_ns, or a peer's would cost one of ours. */
bool endpoint_make_room(Endpoint *e, const Addr *from, uint64_t unless_ns);
void own_tag_choose(Endpoint *e, SessionCore *s, OwnTag *tag);
void own_tag_drop(Endpoint *e, OwnTag *tag);

/* Shares of hosts in the table of sessions (endpoint_shares.c). */
bool shares_init(Endpoint *e); /* false: no memory */
void shares_enter(Endpoint *e, SessionCore *s);
void shares_leave(Endpoint *e, SessionCore *s);
void shares_heard(Endpoint *e, SessionCore *s);
/* In a full table: who makes room for one more session of @peer, if its host has its share; else
 * NULL. */
SessionCore *shares_victim(const Endpoint *e, const Addr *peer);

/* Handshake (endpoint_hello.c). */
void hello_start(Endpoint *e, SessionCore *s, uint64_t now_ns);
/* True: the half-open session is whole now. False: it was outdated, and is no more. */
bool hello_promote(Endpoint *e, SessionCore *s);
enum EndpointOutcome hello_input(Endpoint *e, const Addr *from, const uint8_t *dgram, size_t len,
                                 uint64_t now_ns, EndpointInput *ret);
enum EndpointOutcome hello_ack_input(Endpoint *e, const Addr *from, const WireHeader *header,
                                     const uint8_t *dgram, size_t len, uint64_t now_ns,
                                     EndpointInput *ret);
enum EndpointOutcome reset_input(Endpoint *e, const Addr *from, const uint8_t *dgram, size_t len,
                                 uint64_t now_ns, EndpointInput *ret);

#endif
