/* SPDX-License-Identifier: MIT */
/* Tables of sessions, and the datagrams of sessions that are up. The handshake is in
 * endpoint_hello.c. */
#include "proto/endpoint_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/time.h"

_Static_assert((int)SESSION_REPLAY_WINDOW == (int)SEAL_WINDOW, "one replay window");
_Static_assert((int)CLUSTER_KEY_SIZE == (int)SEAL_KEY_SIZE, "cluster keys are HKDF's and HMAC's");
_Static_assert((int)WIRE_TAG_SIZE == (int)SEAL_TAG_SIZE && (int)WIRE_MAC_SIZE == (int)SEAL_MAC_SIZE,
               "the wire has room for tag and MAC");
_Static_assert(sizeof((EndpointInput *)0)->reply >= HELLO_DATAGRAM_SIZE, "room for every reply");

void endpoint_trace(const Endpoint *e, const char *what, const Addr *peer)
{
    char address[ADDR_TEXT_MAX];
    if (e->env.trace)
        env_trace(&e->env, "session %s: %s", addr_format(peer, address, sizeof address), what);
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* 0: the crypto library failed. */
static uint32_t key_id_derive(SealSuite *suite, const ClusterKey *k)
{
    static const uint8_t label[] = "dodo 1 key id";
    uint8_t id[4];
    if (seal_derive(suite, k->bytes, sizeof k->bytes, NULL, 0, label, sizeof label - 1, id,
                    sizeof id) != 0)
        return 0;
    uint32_t v = get_u32(id);
    return v ? v : 1;
}

uint32_t cluster_key_id(const ClusterKey *k)
{
    SealSuite suite;
    if (seal_suite_init(&suite) != 0)
        return 0;
    uint32_t id = key_id_derive(&suite, k);
    seal_suite_deinit(&suite);
    return id;
}

static bool derive_ids(Endpoint *e)
{
    static const uint8_t label[] = "dodo 1 hello";
    for (unsigned i = 0; i < e->config.keys_count; i++) {
        const ClusterKey *k = &e->config.keys[i];
        e->key_ids[i] = key_id_derive(&e->suite, k);
        if (e->key_ids[i] == 0 ||
            seal_derive(&e->suite, k->bytes, sizeof k->bytes, NULL, 0, label, sizeof label - 1,
                        e->mac_keys[i], sizeof e->mac_keys[i]) != 0)
            return false;
    }
    return true;
}

static bool endpoint_derive_keys(Endpoint *e)
{
    if (!endpoint_keyed(e))
        return true;
    if (seal_suite_init(&e->suite) != 0)
        return false;
    e->suite.faster = e->config.cipher;
    return derive_ids(e);
}

/* ---- limits of rate ------------------------------------------------------------------------- */

bool bucket_take(uint64_t *even_ns, uint64_t now_ns)
{
    const uint64_t each_ns = NS_PER_S / HELLO_RATE, burst_ns = each_ns * HELLO_BURST;
    uint64_t even = *even_ns > now_ns ? *even_ns : now_ns;
    if (even - now_ns > burst_ns - each_ns)
        return false;
    *even_ns = even + each_ns;
    return true;
}

/* ---- life ----------------------------------------------------------------------------------- */

/* As many as there are sessions, so that an evicted peer can be informed. A later one takes the
 * place of another of the same hash; that peer finds out by our silence. */
static bool former_init(Endpoint *e)
{
    e->peers.former = calloc(e->peers.mask + 1, sizeof *e->peers.former);
    return e->peers.former;
}

/* What only who answers HELLOs needs. */
static bool responder_init(Endpoint *e)
{
    size_t count = HOSTS_TABLE_MIN;
    if (e->config.half_open_max == 0)
        return true;
    while (count < e->config.sessions_max && count < HOSTS_TABLE_MAX)
        count *= 2;
    e->peers.mask = count - 1;
    return former_init(e) && shares_init(e);
}

static Addr *former_of(const Endpoint *e, const Addr *peer)
{
    return &e->peers.former[mix64(addr_hash(peer) ^ e->peers.salt) & e->peers.mask];
}

Endpoint *endpoint_new(const EndpointConfig *config, const Env *env)
{
    assert(config->keys_count <= CLUSTER_KEYS_MAX && config->sessions_max >= 1);
    Endpoint *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->config = *config;
    if (e->config.hello_retry_ns == 0)
        e->config.hello_retry_ns = HELLO_RETRY_DEFAULT_NS;
    e->env = *env;
    e->revoke_ns = TIME_NEVER;
    e->peers.salt = env_random_u64(env);
    list_init(&e->sessions);
    list_init(&e->half_open);
    list_init(&e->hellos);
    if (hmap_init(&e->by_tag, env_random_u64(env)) != 0 ||
        hmap_init(&e->by_peer, env_random_u64(env)) != 0 ||
        hmap_init(&e->by_hello, env_random_u64(env)) != 0 || !endpoint_derive_keys(e) ||
        !responder_init(e))
        return endpoint_free(e);
    return e;
}

static void list_free_sessions(Endpoint *e, ListNode *head)
{
    LIST_FOREACH(n, head)
        session_free(e, CONTAINER_OF(n, SessionCore, order));
}

Endpoint *endpoint_free(Endpoint *e)
{
    if (!e)
        return NULL;
    list_free_sessions(e, &e->sessions);
    list_free_sessions(e, &e->half_open);
    hmap_deinit(&e->by_tag);
    hmap_deinit(&e->by_peer);
    hmap_deinit(&e->by_hello);
    seal_suite_deinit(&e->suite);
    free(e->peers.former);
    free(e->peers.shares);
    seal_wipe(e, sizeof *e);
    free(e);
    return NULL;
}

/* ---- other keys ----------------------------------------------------------------------------- */

/* Where the session's key stands now. */
static unsigned key_moved(const Endpoint *e, uint32_t id)
{
    for (unsigned i = 0; i < e->config.keys_count; i++)
        if (e->key_ids[i] == id)
            return i;
    return KEY_GONE;
}

static void session_key_moved(Endpoint *e, SessionCore *s, const uint32_t *old_ids, uint64_t now_ns)
{
    if (!s->session.up)
        return; /* its HELLO takes the new keys by itself */
    if (s->key != KEY_GONE) {
        s->key = key_moved(e, old_ids[s->key]);
        s->revoke_ns = time_add(now_ns, ENDPOINT_RENEW_NS);
    }
    if (s->key != 0 && s->initiated && list_empty(&s->hello))
        hello_start(e, s, now_ns);
    if (s->key == KEY_GONE)
        e->revoke_ns = min_u64(e->revoke_ns, s->revoke_ns);
}

int endpoint_keys_set(Endpoint *e, const ClusterKey *keys, unsigned count, uint64_t now_ns)
{
    uint32_t old_ids[CLUSTER_KEYS_MAX];
    Endpoint old = *e;
    if (count > CLUSTER_KEYS_MAX || (count > 0) != endpoint_keyed(e))
        return -EINVAL;
    if (count == 0)
        return 0;
    memcpy(old_ids, e->key_ids, sizeof old_ids);
    memcpy(e->config.keys, keys, count * sizeof *keys);
    e->config.keys_count = count;
    bool derived = derive_ids(e);
    if (!derived) {
        memcpy(&e->config, &old.config, sizeof e->config);
        memcpy(e->key_ids, old.key_ids, sizeof e->key_ids);
        memcpy(e->mac_keys, old.mac_keys, sizeof e->mac_keys);
    }
    seal_wipe(&old, sizeof old);
    if (!derived)
        return -ENOMEM;
    list_free_sessions(e, &e->half_open);
    e->last.core = NULL;
    LIST_FOREACH(n, &e->sessions)
        session_key_moved(e, CONTAINER_OF(n, SessionCore, order), old_ids, now_ns);
    return 0;
}

bool endpoint_has_keys(const Endpoint *e, const ClusterKey *keys, unsigned count)
{
    return count == e->config.keys_count &&
           (count == 0 || memcmp(e->config.keys, keys, count * sizeof *keys) == 0);
}

unsigned endpoint_keys_count(const Endpoint *e)
{
    return e->config.keys_count;
}

void sessions_revoke(Endpoint *e, uint64_t now_ns)
{
    if (now_ns < e->revoke_ns)
        return;
    e->revoke_ns = TIME_NEVER;
    LIST_FOREACH(n, &e->sessions) {
        SessionCore *s = CONTAINER_OF(n, SessionCore, order);
        if (s->key != KEY_GONE)
            continue;
        if (now_ns >= s->revoke_ns)
            session_close(e, s);
        else
            e->revoke_ns = min_u64(e->revoke_ns, s->revoke_ns);
    }
}

const EndpointCounters *endpoint_counters(const Endpoint *e)
{
    return &e->count;
}

uint8_t endpoint_version_seen(const Endpoint *e)
{
    return e->version_seen;
}

void endpoint_on_close(Endpoint *e, void (*closed)(void *ctx, Session *s), void *ctx)
{
    e->closed = closed;
    e->closed_ctx = ctx;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Tags are unpredictable: who does not hear us cannot guess one. */
void own_tag_choose(Endpoint *e, SessionCore *s, OwnTag *tag)
{
    do
        tag->tag = env_random_u64(&e->env);
    while (tag->tag == 0 || hmap_first(&e->by_tag, tag->tag));
    tag->core = s;
    hmap_insert(&e->by_tag, &tag->node, tag->tag);
}

void own_tag_drop(Endpoint *e, OwnTag *tag)
{
    e->last.core = NULL; /* perhaps it was known by this one */
    if (tag->tag)
        hmap_remove(&e->by_tag, &tag->node);
    tag->tag = 0;
}

SessionCore *session_new(Endpoint *e, const Addr *peer, uint64_t now_ns)
{
    SessionCore *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->session.peer = *peer;
    s->created_ns = now_ns;
    s->serial = ++e->serial;
    list_init(&s->order);
    list_init(&s->of_host);
    list_init(&s->hello);
    return s;
}

void session_enter(Endpoint *e, SessionCore *s)
{
    hmap_insert(&e->by_peer, &s->by_peer, addr_hash(&s->session.peer));
    list_push_back(&e->sessions, &s->order);
    shares_enter(e, s);
    e->sessions_count++;
}

void session_free(Endpoint *e, SessionCore *s)
{
    own_tag_drop(e, &s->own);
    own_tag_drop(e, &s->next);
    if (e->peers.former && !s->half_open && !s->initiated && s->session.up)
        *former_of(e, &s->session.peer) = s->session.peer;
    if (!list_empty(&s->order)) {
        hmap_remove(s->half_open ? &e->by_hello : &e->by_peer, &s->by_peer);
        if (s->half_open)
            e->half_open_count--;
        else
            e->sessions_count--;
    }
    shares_leave(e, s);
    list_remove(&s->order);
    list_remove(&s->hello);
    seal_key_deinit(&s->seal);
    seal_key_deinit(&s->open);
    seal_wipe(s, sizeof *s);
    free(s);
}

void session_close(Endpoint *e, SessionCore *s)
{
    endpoint_trace(e, "closed", &s->session.peer);
    if (e->closed)
        e->closed(e->closed_ctx, &s->session);
    session_free(e, s);
}

/* The peer may have started again, and not say so to an address that it does not know: it is said
 * HELLO again, in a while, unless it is heard till then. The session stays until the answer. */
static void session_unheard(Endpoint *e, SessionCore *s)
{
    if (s->unheard++ == 0)
        s->unheard_ns = e->now_ns;
    if (s->unheard < UNHEARD_SENDS || !s->initiated || !list_empty(&s->hello))
        return;
    hello_start(e, s, time_add(s->unheard_ns, UNHEARD_RETRIES * e->config.hello_retry_ns));
    s->hello_unsure = true;
}

void session_not_unheard(Endpoint *e, SessionCore *s)
{
    s->unheard = 0;
    if (!s->hello_unsure || s->hello_tries > 0)
        return;
    list_remove(&s->hello);
    own_tag_drop(e, &s->next);
    s->hello_unsure = false;
}

/* Called for authentic datagrams alone. */
void session_heard(Endpoint *e, SessionCore *s, uint64_t now_ns)
{
    s->session.heard_ns = now_ns;
    if (s->unheard > 0)
        session_not_unheard(e, s);
    if (s->order.next != &e->sessions) {
        list_remove(&s->order);
        list_push_back(&e->sessions, &s->order);
        shares_heard(e, s);
    }
}

SessionCore *session_at(const Endpoint *e, const Addr *peer, bool initiated)
{
    for (HmapNode *n = hmap_first(&e->by_peer, addr_hash(peer)); n; n = hmap_next(&e->by_peer, n)) {
        SessionCore *s = CONTAINER_OF(n, SessionCore, by_peer);
        if (s->initiated == initiated && addr_equal(&s->session.peer, peer))
            return s;
    }
    return NULL;
}

/* A session that a peer initiates takes no place of one that we did: else who has the key could cut
 * an imd off from its manager by calling on it often enough. */
static SessionCore *least_recent(const Endpoint *e, bool for_us)
{
    for (ListNode *n = e->sessions.next; n != &e->sessions; n = n->next) {
        SessionCore *s = CONTAINER_OF(n, SessionCore, order);
        if (for_us || !s->initiated)
            return s;
    }
    return NULL;
}

bool endpoint_make_room(Endpoint *e, const Addr *from, uint64_t unless_ns)
{
    if (e->sessions_count < e->config.sessions_max)
        return true;
    SessionCore *s = from ? shares_victim(e, from) : NULL;
    if (!s)
        s = least_recent(e, !from);
    if (!s)
        return false;
    uint64_t used_ns = s->session.heard_ns > s->created_ns ? s->session.heard_ns : s->created_ns;
    if (used_ns >= unless_ns)
        return false;
    e->count.evicted++;
    session_close(e, s);
    return true;
}

Session *endpoint_connect(Endpoint *e, const Addr *peer, uint64_t now_ns)
{
    e->now_ns = now_ns;
    SessionCore *s = session_at(e, peer, true);
    if (s) {
        /* Somebody wants it now: the back-off starts again, at the rate of the first retry. */
        uint64_t soon_ns = time_add(s->hello_sent_ns, e->config.hello_retry_ns);
        if (!list_empty(&s->hello) && s->hello_ns > soon_ns) {
            s->hello_ns = soon_ns;
            s->hello_wait_ns = e->config.hello_retry_ns;
        }
        return &s->session;
    }
    if (!endpoint_make_room(e, NULL, now_ns))
        return NULL;
    s = session_new(e, peer, now_ns);
    if (!s)
        return NULL;
    s->initiated = true;
    session_enter(e, s);
    hello_start(e, s, now_ns);
    return &s->session;
}

Session *endpoint_find(Endpoint *e, const Addr *peer)
{
    SessionCore *s = session_at(e, peer, true);
    if (!s)
        s = session_at(e, peer, false);
    return s ? &s->session : NULL;
}

void endpoint_forget(Endpoint *e, Session *s)
{
    session_free(e, session_core(s));
}

void endpoint_become(Endpoint *e, const Id128 *self, uint64_t epoch)
{
    list_free_sessions(e, &e->half_open);
    LIST_FOREACH(n, &e->sessions)
        session_close(e, CONTAINER_OF(n, SessionCore, order));
    e->config.self = *self;
    e->config.epoch = epoch;
}

Session *endpoint_walk(Endpoint *e, Session *after)
{
    ListNode *n = after ? session_core(after)->order.next : e->sessions.next;
    for (; n != &e->sessions; n = n->next) {
        SessionCore *s = CONTAINER_OF(n, SessionCore, order);
        if (s->session.up)
            return &s->session;
    }
    return NULL;
}

/* ---- datagrams in --------------------------------------------------------------------------- */

/* By tag, and only from where the session's peer is: a datagram from elsewhere gets the answer
 * of an unknown tag, and a peer whose address was changed on the way says HELLO again. */
static SessionCore *session_by_tag(const Endpoint *e, uint64_t tag, const Addr *from)
{
    HmapNode *n = hmap_first(&e->by_tag, tag);
    if (!n)
        return NULL;
    OwnTag *own = CONTAINER_OF(n, OwnTag, node);
    SessionCore *s = own->core;
    return own == &s->own && addr_equal(&s->session.peer, from) ? s : NULL;
}

/* Only who has, or had, a session here has use for a RESET; anybody else could have us send to an
 * address that is not his. */
static bool reset_is_due(Endpoint *e, const Addr *to, uint64_t now_ns)
{
    if (e->config.half_open_max == 0)
        return false;
    bool known = now_ns < time_add(e->began_ns, RESET_ANYBODY_NS) || session_at(e, to, false) ||
                 addr_equal(former_of(e, to), to);
    return known && bucket_take(&e->reset_even_ns, now_ns);
}

/* Never larger than what it answers. */
static enum EndpointOutcome unknown_tag(Endpoint *e, const Addr *from, uint64_t tag, size_t len,
                                        uint64_t now_ns, EndpointInput *ret)
{
    e->count.unknown_tag++;
    if (tag != 0 && len >= RESET_DATAGRAM_SIZE && reset_is_due(e, from, now_ns)) {
        WireHeader h = {.version = WIRE_VERSION, .type = WIRE_RESET, .cluster = e->config.cluster};
        wire_header_encode(&h, ret->reply);
        ret->reply_len = WIRE_HEADER_SIZE + wire_reset_encode(tag, ret->reply + WIRE_HEADER_SIZE);
    }
    return ENDPOINT_NOTHING;
}

/* Proves that a sealed datagram is the peer's, and new. */
static bool session_open(Endpoint *e, SessionCore *s, uint8_t *dgram, size_t len)
{
    if (len < WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD) {
        e->count.malformed++;
        return false;
    }
    uint64_t counter = get_u64(dgram + WIRE_HEADER_SIZE);
    if (!replay_is_fresh(&s->window, counter)) {
        e->count.replayed++;
        return false;
    }
    uint8_t *data = dgram + WIRE_HEADER_SIZE + WIRE_COUNTER_SIZE;
    uint8_t *tag = dgram + len - WIRE_TAG_SIZE;
    if (!seal_open(&s->open, counter, dgram, WIRE_HEADER_SIZE, data, (size_t)(tag - data), tag)) {
        e->count.forged++;
        return false;
    }
    replay_mark(&s->window, counter);
    return true;
}

/* The peer cannot renew a session that we initiated, so its counter is watched here too. */
static void session_renew_before_overflow(Endpoint *e, SessionCore *s, uint64_t now_ns)
{
    if (s->initiated && list_empty(&s->hello) &&
        (s->sent >= SESSION_DATAGRAMS_MAX || s->window.highest >= SESSION_DATAGRAMS_MAX))
        hello_start(e, s, now_ns);
}

/* A message of session @s, to be proven. */
static enum EndpointOutcome session_input(Endpoint *e, SessionCore *s, const WireHeader *header,
                                          uint8_t *dgram, size_t len, uint64_t now_ns,
                                          EndpointInput *ret)
{
    size_t before = WIRE_HEADER_SIZE, after = 0;
    if (endpoint_keyed(e)) {
        if (!session_open(e, s, dgram, len))
            return ENDPOINT_NOTHING;
        before += WIRE_COUNTER_SIZE;
        after = WIRE_TAG_SIZE;
    }
    /* From here on the datagram is authentic. */
    if (s->half_open) {
        const Addr from = s->session.peer;
        if (!hello_promote(e, s))
            return unknown_tag(e, &from, header->tag, len, now_ns, ret);
    }
    session_heard(e, s, now_ns);
    session_renew_before_overflow(e, s, now_ns);
    if (!wire_type_is_known(header->type)) {
        e->count.unknown_type++;
        return ENDPOINT_NOTHING;
    }
    ret->session = &s->session;
    ret->type = header->type;
    ret->payload = dgram + before;
    ret->payload_len = len - before - after;
    return ENDPOINT_MESSAGE;
}

static enum EndpointOutcome message_input(Endpoint *e, const Addr *from, const WireHeader *header,
                                          uint8_t *dgram, size_t len, uint64_t now_ns,
                                          EndpointInput *ret)
{
    if (!(header->flags & WIRE_FLAG_SEALED) == endpoint_keyed(e)) {
        e->count.unsealed++;
        return ENDPOINT_NOTHING;
    }
    SessionCore *s = session_by_tag(e, header->tag, from);
    if (!s)
        return unknown_tag(e, from, header->tag, len, now_ns, ret);
    memcpy(e->last.bytes, dgram, WIRE_HEADER_SIZE);
    e->last.header = *header;
    e->last.from = *from;
    e->last.core = s;
    return session_input(e, s, header, dgram, len, now_ns, ret);
}

static inline bool starts_as_last(const Endpoint *e, const uint8_t *dgram, size_t len)
{
    return e->last.core && len >= WIRE_HEADER_SIZE &&
           memcmp(dgram, e->last.bytes, WIRE_HEADER_SIZE) == 0;
}

/* Datagrams come in trains: does this one start as the last message did, and come from there? */
static inline bool is_as_last(const Endpoint *e, const Addr *from, const uint8_t *dgram, size_t len)
{
    return starts_as_last(e, dgram, len) && memcmp(from, &e->last.from, sizeof *from) == 0;
}

bool endpoint_is_next(const Endpoint *e, const uint8_t *dgram, size_t len)
{
    return !endpoint_keyed(e) && starts_as_last(e, dgram, len);
}

enum EndpointOutcome endpoint_input(Endpoint *e, const Addr *from, uint8_t *dgram, size_t len,
                                    uint64_t now_ns, EndpointInput *ret)
{
    WireHeader h;
    ret->session = NULL;
    ret->type = 0;
    ret->payload = NULL;
    ret->payload_len = 0;
    ret->reply_len = 0;
    e->now_ns = now_ns;
    if (e->began_ns == 0)
        e->began_ns = now_ns;

    if (is_as_last(e, from, dgram, len))
        return session_input(e, e->last.core, &e->last.header, dgram, len, now_ns, ret);
    int r = wire_header_decode(dgram, len, &h);
    if (r == WIRE_E_VERSION) {
        e->count.version++;
        e->version_seen = h.version;
        return ENDPOINT_NOTHING;
    }
    if (r != 0) {
        e->count.malformed++;
        return ENDPOINT_NOTHING;
    }
    if (h.cluster != e->config.cluster) {
        e->count.cluster++;
        return ENDPOINT_NOTHING;
    }
    if (h.type != WIRE_HELLO && h.type != WIRE_HELLO_ACK && h.type != WIRE_RESET)
        return message_input(e, from, &h, dgram, len, now_ns, ret);
    if (h.flags != 0) {
        e->count.malformed++;
        return ENDPOINT_NOTHING;
    }
    if (h.type == WIRE_HELLO)
        return hello_input(e, from, dgram, len, now_ns, ret);
    if (h.type == WIRE_HELLO_ACK)
        return hello_ack_input(e, from, &h, dgram, len, now_ns, ret);
    return reset_input(e, from, dgram, len, now_ns, ret);
}

/* ---- datagrams out -------------------------------------------------------------------------- */

size_t endpoint_overhead(const Endpoint *e)
{
    return WIRE_HEADER_SIZE + (endpoint_keyed(e) ? (size_t)WIRE_SEAL_OVERHEAD : 0);
}

bool endpoint_is_sealed(const Endpoint *e)
{
    return endpoint_keyed(e);
}

const char *endpoint_sealed_by(const Endpoint *e)
{
    if (!endpoint_keyed(e))
        return "no";
    return e->suite.faster ? e->suite.faster->name : "OpenSSL";
}

void endpoint_header(const Endpoint *e, const Session *s, uint8_t type,
                     uint8_t out[WIRE_HEADER_SIZE])
{
    const SessionCore *core = (const SessionCore *)(const void *)s;
    WireHeader h = {.version = WIRE_VERSION,
                    .type = type,
                    .flags = endpoint_keyed(e) ? WIRE_FLAG_SEALED : 0,
                    .cluster = e->config.cluster,
                    .tag = core->peer_tag};
    wire_header_encode(&h, out);
}

size_t endpoint_seal(Endpoint *e, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                     uint8_t *out)
{
    SessionCore *core = session_core(s);
    if (!s->up)
        return 0;
    endpoint_header(e, s, type, out);
    session_unheard(e, core);
    if (!endpoint_keyed(e)) {
        if (len > 0 && payload != out + WIRE_HEADER_SIZE)
            memcpy(out + WIRE_HEADER_SIZE, payload, len);
        return WIRE_HEADER_SIZE + len;
    }
    /* Counted before it is used: a datagram that failed half-way never shares its nonce. */
    uint64_t counter = ++core->sent;
    uint8_t *data = out + WIRE_HEADER_SIZE + WIRE_COUNTER_SIZE;
    put_u64(out + WIRE_HEADER_SIZE, counter);
    if (!seal_seal(&core->seal, counter, out, WIRE_HEADER_SIZE, payload, len, data, data + len))
        return 0;
    session_renew_before_overflow(e, core, 0);
    return WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD + len;
}
