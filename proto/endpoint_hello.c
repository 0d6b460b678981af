/* SPDX-License-Identifier: MIT */
/* The handshake: HELLO and HELLO_ACK, half-open sessions and their promotion, RESET. */
#include "proto/endpoint_internal.h"

#include <string.h>

#include "base/time.h"

enum { MAC_AT = HELLO_DATAGRAM_SIZE - WIRE_MAC_SIZE };

/* ---- making and checking -------------------------------------------------------------------- */

/* Header, body and MAC over both: the type in the header keeps a HELLO from passing for its
 * answer. 0: the crypto library failed. */
static size_t hello_make(Endpoint *e, uint8_t type, uint64_t tag, const WireHello *m, unsigned key,
                         uint8_t *out)
{
    WireHeader h = {
        .version = WIRE_VERSION, .type = type, .cluster = e->config.cluster, .tag = tag};
    wire_header_encode(&h, out);
    size_t len = WIRE_HEADER_SIZE + wire_hello_encode(m, out + WIRE_HEADER_SIZE);
    if (endpoint_keyed(e) && seal_mac(&e->suite, e->mac_keys[key], out, MAC_AT, out + MAC_AT) != 0)
        return 0;
    return len;
}

static bool has_epoch(uint8_t role)
{
    return role == ROLE_IMD || role == ROLE_CMD;
}

/* What this end says of itself in either message. */
static WireHello hello_of_self(const Endpoint *e, uint64_t tag, const uint8_t *salt,
                               const uint8_t *peer_salt, unsigned key)
{
    WireHello m = {.tag = tag,
                   .self = e->config.self,
                   .epoch = has_epoch(e->config.role) ? e->config.epoch : 0,
                   .key_id = endpoint_keyed(e) ? e->key_ids[key] : 0,
                   .role = e->config.role,
                   .features = e->config.features};
    memcpy(m.salt, salt, sizeof m.salt);
    if (peer_salt)
        memcpy(m.peer_salt, peer_salt, sizeof m.peer_salt);
    return m;
}

/* Which of our keys it is made with; counted, and -1, if it is to be dropped. */
static int hello_verify(Endpoint *e, const uint8_t *dgram, const WireHello *m)
{
    static const uint8_t zero[WIRE_MAC_SIZE];
    uint8_t mac[WIRE_MAC_SIZE];
    bool key_known = false;

    if (!endpoint_keyed(e) && m->key_id == 0 && memcmp(m->mac, zero, sizeof zero) == 0)
        return 0;
    for (unsigned i = 0; i < e->config.keys_count; i++) {
        if (e->key_ids[i] != m->key_id)
            continue;
        key_known = true;
        if (seal_mac(&e->suite, e->mac_keys[i], dgram, MAC_AT, mac) == 0 &&
            seal_equal(mac, m->mac, sizeof mac))
            return (int)i;
    }
    if (key_known)
        e->count.forged++;
    else
        e->count.hello_refused++;
    return -1;
}

/* Decoded (which refuses a nonsense role too), made with a key of ours, by another end than this:
 * an echo of our own HELLO, or its answer by ourselves, must not make us our own peer. */
static int hello_accept(Endpoint *e, const uint8_t *dgram, size_t len, WireHello *ret)
{
    if (wire_hello_decode(dgram + WIRE_HEADER_SIZE, len - WIRE_HEADER_SIZE, ret) != 0) {
        e->count.malformed++;
        return -1;
    }
    if (id128_equal(&ret->self, &e->config.self) && !id128_is_null(&ret->self)) {
        e->count.hello_refused++;
        return -1;
    }
    return hello_verify(e, dgram, ret);
}

static int session_derive(Endpoint *e, unsigned key, const uint8_t *initiator_salt,
                          const uint8_t *responder_salt, const char *label,
                          uint8_t ret_key[SEAL_KEY_SIZE])
{
    uint8_t salt[2 * WIRE_SALT_SIZE];
    memcpy(salt, initiator_salt, WIRE_SALT_SIZE);
    memcpy(salt + WIRE_SALT_SIZE, responder_salt, WIRE_SALT_SIZE);
    return seal_derive(&e->suite, e->config.keys[key].bytes, CLUSTER_KEY_SIZE, salt, sizeof salt,
                       (const uint8_t *)label, strlen(label), ret_key, SEAL_KEY_SIZE);
}

/* Both directions' keys, from the session's key index and salts. False: out of memory; then the
 * session can do nothing. */
static bool session_rekey(Endpoint *e, SessionCore *s)
{
    static const char initiator[] = "dodo 1 initiator", responder[] = "dodo 1 responder";
    uint8_t out[SEAL_KEY_SIZE], in[SEAL_KEY_SIZE];
    const uint8_t *first = s->initiated ? s->own_salt : s->peer_salt;
    const uint8_t *second = s->initiated ? s->peer_salt : s->own_salt;

    s->sent = 0;
    s->window = (ReplayWindow){0};
    if (!endpoint_keyed(e))
        return true;
    bool ok =
        session_derive(e, s->key, first, second, s->initiated ? initiator : responder, out) == 0 &&
        session_derive(e, s->key, first, second, s->initiated ? responder : initiator, in) == 0 &&
        seal_key_set(&s->seal, &e->suite, out, true) == 0 &&
        seal_key_set(&s->open, &e->suite, in, false) == 0;
    seal_wipe(out, sizeof out);
    seal_wipe(in, sizeof in);
    return ok;
}

static void session_learn(SessionCore *s, const WireHello *m, unsigned key)
{
    s->peer_tag = m->tag;
    s->key = key;
    memcpy(s->peer_salt, m->salt, sizeof s->peer_salt);
    s->session.peer_id = m->self;
    s->session.peer_epoch = m->epoch;
    s->session.peer_role = m->role;
    s->session.peer_features = m->features;
}

/* ---- responder ------------------------------------------------------------------------------ */

/* The peer chooses its tag (and may forge its address): so a secret is inside. */
static uint64_t half_open_hash(const Endpoint *e, const Addr *peer, uint64_t tag)
{
    return addr_hash(peer) ^ mix64(tag ^ e->peers.salt);
}

static bool session_is_of(const SessionCore *s, const Addr *from, const WireHello *m, unsigned key)
{
    return s->peer_tag == m->tag && s->key == key && addr_equal(&s->session.peer, from) &&
           memcmp(s->peer_salt, m->salt, sizeof m->salt) == 0;
}

/* The session that this very HELLO made, when it came before. */
static SessionCore *responder_find(const Endpoint *e, const Addr *from, const WireHello *m,
                                   unsigned key)
{
    uint64_t hash = half_open_hash(e, from, m->tag);
    for (HmapNode *n = hmap_first(&e->by_hello, hash); n; n = hmap_next(&e->by_hello, n)) {
        SessionCore *s = CONTAINER_OF(n, SessionCore, by_peer);
        if (session_is_of(s, from, m, key))
            return s;
    }
    SessionCore *s = session_at(e, from, false);
    return s && session_is_of(s, from, m, key) ? s : NULL;
}

static bool hello_may_make_keys(Endpoint *e, uint64_t now_ns)
{
    if (!endpoint_keyed(e) || bucket_take(&e->hello_even_ns, now_ns))
        return true;
    e->count.hello_limited++;
    return false;
}

/* A half-open session: it costs a replayed or spoofed HELLO's sender nothing, so it displaces
 * none but the oldest of its kind. */
static SessionCore *responder_new(Endpoint *e, const Addr *from, const WireHello *m, unsigned key,
                                  uint64_t now_ns)
{
    SessionCore *s = session_new(e, from, now_ns);
    if (!s)
        return NULL;
    session_learn(s, m, key);
    e->env.random(e->env.ctx, s->own_salt, sizeof s->own_salt);
    if (!session_rekey(e, s)) {
        session_free(e, s);
        return NULL;
    }
    if (e->half_open_count >= e->config.half_open_max)
        session_free(e, CONTAINER_OF(e->half_open.next, SessionCore, order));
    own_tag_choose(e, s, &s->own);
    s->half_open = true;
    hmap_insert(&e->by_hello, &s->by_peer, half_open_hash(e, from, m->tag));
    list_push_back(&e->half_open, &s->order);
    e->half_open_count++;
    return s;
}

enum EndpointOutcome hello_input(Endpoint *e, const Addr *from, const uint8_t *dgram, size_t len,
                                 uint64_t now_ns, EndpointInput *ret)
{
    static const uint8_t zero[WIRE_SALT_SIZE];
    WireHello m;
    if (e->config.half_open_max == 0) {
        e->count.hello_refused++;
        return ENDPOINT_NOTHING;
    }
    int key = hello_accept(e, dgram, len, &m);
    if (key < 0)
        return ENDPOINT_NOTHING;
    if (!seal_equal(m.peer_salt, zero, sizeof zero)) {
        e->count.malformed++;
        return ENDPOINT_NOTHING;
    }
    SessionCore *s = responder_find(e, from, &m, (unsigned)key);
    if (!s && hello_may_make_keys(e, now_ns))
        s = responder_new(e, from, &m, (unsigned)key, now_ns);
    if (!s)
        return ENDPOINT_NOTHING;
    WireHello ack = hello_of_self(e, s->own.tag, s->own_salt, s->peer_salt, s->key);
    ret->reply_len = hello_make(e, WIRE_HELLO_ACK, s->peer_tag, &ack, s->key, ret->reply);
    return ENDPOINT_NOTHING;
}

bool hello_promote(Endpoint *e, SessionCore *s)
{
    SessionCore *old = session_at(e, &s->session.peer, false);
    if (old && old->serial > s->serial) {
        /* Its first datagram was overtaken by the peer's next session. */
        session_free(e, s);
        return false;
    }
    if (old)
        session_close(e, old);
    else if (!endpoint_make_room(e, &s->session.peer,
                                 TIME_NEVER)) { /* all that there are were initiated here */
        session_free(e, s);
        return false;
    }
    hmap_remove(&e->by_hello, &s->by_peer);
    list_remove(&s->order);
    e->half_open_count--;
    s->half_open = false;
    session_enter(e, s);
    s->session.up = true;
    endpoint_trace(e, "up, from the peer", &s->session.peer);
    return true;
}

/* ---- initiator ------------------------------------------------------------------------------ */

void hello_start(Endpoint *e, SessionCore *s, uint64_t now_ns)
{
    own_tag_choose(e, s, &s->next);
    e->env.random(e->env.ctx, s->next_salt, sizeof s->next_salt);
    s->hello_tries = 0;
    s->hello_unsure = false;
    s->hello_ns = now_ns;
    s->hello_wait_ns = e->config.hello_retry_ns;
    list_push_back(&e->hellos, &s->hello);
}

/* A peer that has not been given the new key yet, or has lost the old one, is silent to HELLOs
 * made with the other. */
static unsigned hello_key(const Endpoint *e, const SessionCore *s)
{
    if (e->config.keys_count < 2 || s->hello_tries < HELLO_FIRST_KEY_TRIES)
        return 0;
    return (s->hello_tries - HELLO_FIRST_KEY_TRIES) % 2 == 0 ? 1 : 0;
}

static size_t hello_send(Endpoint *e, SessionCore *s, uint8_t *out, uint64_t now_ns)
{
    unsigned key = hello_key(e, s);
    WireHello m = hello_of_self(e, s->next.tag, s->next_salt, NULL, key);
    uint64_t wait_max_ns = e->config.hello_retry_ns << HELLO_DOUBLINGS_MAX;
    s->hello_tries++;
    s->hello_sent_ns = now_ns;
    s->hello_ns = time_add(now_ns, s->hello_wait_ns);
    if (s->hello_wait_ns < wait_max_ns)
        s->hello_wait_ns *= 2;
    return hello_make(e, WIRE_HELLO, 0, &m, key, out);
}

size_t endpoint_output(Endpoint *e, uint8_t *out, size_t cap, Addr *ret_to, uint64_t now_ns)
{
    e->now_ns = now_ns;
    sessions_revoke(e, now_ns);
    if (cap < HELLO_DATAGRAM_SIZE)
        return 0;
    LIST_FOREACH(n, &e->hellos) {
        SessionCore *s = CONTAINER_OF(n, SessionCore, hello);
        if (s->hello_ns > now_ns)
            continue;
        size_t len = hello_send(e, s, out, now_ns);
        if (len == 0)
            continue;
        *ret_to = s->session.peer;
        return len;
    }
    return 0;
}

uint64_t endpoint_deadline(const Endpoint *e)
{
    uint64_t t = e->revoke_ns;
    for (const ListNode *n = e->hellos.next; n != &e->hellos; n = n->next)
        t = min_u64(t, CONTAINER_OF(n, SessionCore, hello)->hello_ns);
    return t;
}

/* The initiated session that this HELLO_ACK can be for; counted, and NULL, if there is none. */
static SessionCore *hello_asked(Endpoint *e, const Addr *from, uint64_t tag)
{
    HmapNode *n = hmap_first(&e->by_tag, tag);
    OwnTag *own = n ? CONTAINER_OF(n, OwnTag, node) : NULL;
    if (!own || !own->core->initiated || !addr_equal(&own->core->session.peer, from)) {
        e->count.unknown_tag++;
        return NULL;
    }
    if (own == &own->core->next)
        return own->core;
    e->count.replayed++; /* the answer that made this session, once more */
    return NULL;
}

/* From here on the old tag and keys, if there were any, open nothing. */
static bool session_adopt(Endpoint *e, SessionCore *s, const WireHello *m, unsigned key)
{
    uint64_t tag = s->next.tag;
    own_tag_drop(e, &s->next);
    own_tag_drop(e, &s->own);
    s->own.tag = tag;
    s->own.core = s;
    hmap_insert(&e->by_tag, &s->own.node, tag);
    memcpy(s->own_salt, s->next_salt, sizeof s->own_salt);
    session_learn(s, m, key);
    list_remove(&s->hello);
    s->session.up = session_rekey(e, s);
    return s->session.up;
}

enum EndpointOutcome hello_ack_input(Endpoint *e, const Addr *from, const WireHeader *header,
                                     const uint8_t *dgram, size_t len, uint64_t now_ns,
                                     EndpointInput *ret)
{
    WireHello m;
    SessionCore *s = hello_asked(e, from, header->tag);
    if (!s)
        return ENDPOINT_NOTHING;
    int key = hello_accept(e, dgram, len, &m);
    if (key < 0)
        return ENDPOINT_NOTHING;
    if (!seal_equal(m.peer_salt, s->next_salt, sizeof s->next_salt)) {
        e->count.hello_refused++;
        return ENDPOINT_NOTHING;
    }
    if (!session_adopt(e, s, &m, (unsigned)key)) {
        hello_start(e, s, time_add(now_ns, e->config.hello_retry_ns));
        return ENDPOINT_NOTHING;
    }
    endpoint_trace(e, "up", &s->session.peer);
    session_heard(e, s, now_ns);
    ret->session = &s->session;
    return ENDPOINT_UP;
}

enum EndpointOutcome reset_input(Endpoint *e, const Addr *from, const uint8_t *dgram, size_t len,
                                 uint64_t now_ns, EndpointInput *ret)
{
    uint64_t tag;
    if (wire_reset_decode(dgram + WIRE_HEADER_SIZE, len - WIRE_HEADER_SIZE, &tag) != 0) {
        e->count.malformed++;
        return ENDPOINT_NOTHING;
    }
    SessionCore *s = session_at(e, from, true);
    if (!s || !s->session.up || s->peer_tag != tag) {
        e->count.unknown_tag++;
        return ENDPOINT_NOTHING;
    }
    /* Anybody on the way can say RESET: it costs a HELLO now and then, and the session stays. */
    if (s->hello_unsure && s->hello_tries == 0)
        session_not_unheard(e, s);
    if (!list_empty(&s->hello) || now_ns < s->renew_after_ns)
        return ENDPOINT_NOTHING;
    s->renew_after_ns = time_add(now_ns, e->config.hello_retry_ns);
    endpoint_trace(e, "unknown to the peer, HELLO again", &s->session.peer);
    hello_start(e, s, now_ns);
    ret->session = &s->session;
    return ENDPOINT_RESET;
}
