/* SPDX-License-Identifier: MIT */
/* Raw datagrams without a network: how they are laid out, what is refused, and which peers get
 * frames as time goes by. */
#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "usocket/raw/peers.h"

static const uint64_t START = 1000 * NS_PER_S;
static RawPeers table;

static Addr peer_addr(unsigned i)
{
    return (Addr){.kind = ADDR_IP4,
                  .port = (uint16_t)(1 + i % 60000),
                  .host = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}};
}

/* ---- datagrams ------------------------------------------------------------------------------- */

TEST(datagram__layout)
{
    static const uint8_t golden[DATAGRAM_HEADER + DATAGRAM_PROBE] = {
        1,    0, 0x34, 0x12, 0x78, 0x56, 28, 0, /* the frame's: version, ports, length */
        0xd1, 4, 0x20, 0x1e,                    /* kind, family, port 7712 */
        10,   0, 0,    1,    0,    0,    0,  0, 0,    0,    0, 0,
        0,    0, 0,    0,    4,    3,    2,  1, 0xdc, 0x05, 1, 0};
    uint8_t bytes[sizeof golden];
    DatagramHeader h = {.to_port = 0x1234,
                        .from_port = 0x5678,
                        .kind = DATAGRAM_ASK,
                        .from = {.kind = ADDR_IP4, .port = 7712, .host = {10, 0, 0, 1}},
                        .length = DATAGRAM_PROBE};
    DatagramHeader got;
    DatagramProbe probe;
    datagram_encode(&h, bytes);
    datagram_probe_encode(&(DatagramProbe){0x01020304, 1500, true}, bytes + DATAGRAM_HEADER);
    assert_memory_equal(bytes, golden, sizeof golden);
    assert_int_equal(datagram_decode(bytes, sizeof bytes, &got), 0);
    assert_true(addr_equal(&got.from, &h.from));
    assert_int_equal(got.length, h.length);
    assert_int_equal(got.from_port, 0x5678);
    assert_int_equal(datagram_probe_decode(bytes + DATAGRAM_HEADER, got.length, &probe), 0);
    assert_int_equal(probe.number, 0x01020304);
    assert_int_equal(probe.frame_max, 1500);
}

/* What is decoded is encoded to the same bytes again; what is not leaves the result alone. */
TEST(datagram__any_bytes)
{
    Random r = {11};
    unsigned good = 0;
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t bytes[64], again[64];
        size_t len = (size_t)random_below(&r, sizeof bytes + 1);
        DatagramHeader h = {.kind = 0x77};
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)random_below(&r, 256);
        if (i % 2 && len >= DATAGRAM_HEADER) { /* near to a good one */
            const DatagramHeader base = {.to_port = 1,
                                         .from_port = 2,
                                         .kind = DATAGRAM_MESSAGE,
                                         .from = peer_addr(i),
                                         .length = len - DATAGRAM_HEADER};
            datagram_encode(&base, bytes);
            bytes[random_below(&r, DATAGRAM_HEADER)] ^= (uint8_t)random_below(&r, 256);
        }
        if (datagram_decode(bytes, len, &h) != 0) {
            assert_int_equal(h.kind, 0x77);
            continue;
        }
        good++;
        assert_true(DATAGRAM_HEADER + h.length <= len);
        assert_true(h.from.port != 0 && h.from.scope == 0);
        datagram_encode(&h, again);
        assert_memory_equal(bytes, again, DATAGRAM_HEADER);
    }
    assert_true(good > 1000);
}

/* ---- a peer ---------------------------------------------------------------------------------- */

static const PeerWay way = {.mac = {2, 0, 0, 0, 0, 9}, .self = {.kind = ADDR_IP4}};

static RawPeer *near_peer(uint64_t now)
{
    const Addr at = peer_addr(7);
    memset(&table, 0, sizeof table);
    RawPeer *p = raw_peers_make(&table, &at, now);
    assert_non_null(p);
    assert_true(raw_peer_must_look(p, now));
    raw_peer_looked(p, &way, now);
    assert_false(raw_peer_must_look(p, now));
    return p;
}

static void answer(RawPeer *p, uint64_t now)
{
    raw_peer_answered(p, 99, &(DatagramProbe){p->number, 1500, true}, now);
}

static RawPeer *hearing_peer(uint64_t now)
{
    RawPeer *p = near_peer(now);
    assert_true(raw_peer_must_probe(p, now));
    assert_false(raw_peer_hears(p, now));
    (void)raw_peer_probed(p, 17, now);
    assert_false(raw_peer_must_probe(p, now));
    assert_false(raw_peer_hears(p, now));
    answer(p, now);
    assert_true(raw_peer_hears(p, now));
    assert_int_equal(p->port, 99);
    return p;
}

TEST(peer__hears_once_it_has_answered)
{
    RawPeer *p = near_peer(START);
    (void)raw_peer_probed(p, 17, START);
    raw_peer_answered(p, 99, &(DatagramProbe){18, 1500, true},
                      START); /* to nothing that we asked */
    assert_false(raw_peer_hears(p, START));
    raw_peer_spoke(p, START);
    raw_peer_asked(p, 99, &(DatagramProbe){1, 1500, true}, START);
    assert_false(raw_peer_hears(p, START)); /* that frames come does not say that ours arrive */
    answer(p, START);
    assert_true(raw_peer_hears(p, START));
    answer(p, START); /* once more: there is nothing that it answers */
    assert_true(raw_peer_hears(p, START));
}

TEST(peer__is_in_doubt_until_it_answers)
{
    RawPeer *p = hearing_peer(START);
    uint64_t now = START + 10 * NS_PER_MS;
    assert_true(raw_peer_must_probe(p, now));
    (void)raw_peer_probed(p, 18, now);
    assert_true(raw_peer_hears(p, now + 3 * NS_PER_MS));
    assert_false(raw_peer_hears(p, now + 5 * NS_PER_MS));
    (void)raw_peer_probed(p, 19, now + 10 * NS_PER_MS);
    assert_int_equal(p->number, 18); /* an answer to either will do */
    answer(p, now + 500 * NS_PER_MS);
    assert_true(raw_peer_hears(p, now + 500 * NS_PER_MS));
}

TEST(peer__gets_frames_only_while_it_polls)
{
    RawPeer *p = hearing_peer(START);
    raw_peer_asked(p, 99, &(DatagramProbe){1, 1500, false}, START);
    assert_false(raw_peer_hears(p, START));
    assert_true(p->hears);
    raw_peer_asked(p, 99, &(DatagramProbe){2, 1500, true}, START);
    assert_true(raw_peer_hears(p, START));
}

TEST(peer__lapses_and_is_probed_after_pauses_that_double)
{
    RawPeer *p = hearing_peer(START);
    uint64_t now = START + 10 * NS_PER_MS, last = 0, pause = 0;
    unsigned probes = 0;
    (void)raw_peer_probed(p, 18, now);
    now += NS_PER_S;
    assert_false(raw_peer_hears(p, now));
    answer(p, now); /* too late */
    assert_false(raw_peer_hears(p, now));
    for (uint64_t end = now + 3600 * NS_PER_S; now < end; now += 10 * NS_PER_MS) {
        if (!raw_peer_must_probe(p, now))
            continue;
        (void)raw_peer_probed(p, 20, now);
        assert_true(last == 0 || now - last >= pause);
        pause = last ? now - last : 0;
        last = now;
        probes++;
    }
    assert_in_range(probes, 3600 / 64, 3600 / 64 + 15);
    answer(p, now);
    assert_true(raw_peer_hears(p, now));
}

TEST(peer__long_silent_is_asked_first)
{
    RawPeer *p = hearing_peer(START);
    assert_true(raw_peer_hears(p, START + 1900 * NS_PER_MS));
    assert_false(raw_peer_hears(p, START + 2 * NS_PER_S));
    assert_true(raw_peer_must_probe(p, START + 2 * NS_PER_S));
}

TEST(peer__of_another_mac_address_must_answer_anew)
{
    RawPeer *p = hearing_peer(START);
    PeerWay other = way;
    assert_true(raw_peer_must_look(p, START + 5 * NS_PER_S));
    raw_peer_looked(p, &way, START + NS_PER_S);
    assert_true(raw_peer_hears(p, START + NS_PER_S));
    other.mac[5]++;
    raw_peer_looked(p, &other, START + NS_PER_S);
    assert_false(raw_peer_hears(p, START + NS_PER_S));
    assert_true(raw_peer_must_probe(p, START + NS_PER_S));
    raw_peer_looked(p, NULL, START + 2 * NS_PER_S);
    assert_false(raw_peer_must_probe(p, START + 2 * NS_PER_S));
}

TEST(peer__that_failed_gets_none_for_a_while)
{
    RawPeer *p = hearing_peer(START);
    raw_peer_failed(p, START);
    assert_false(raw_peer_hears(p, START));
    assert_true(raw_peer_must_look(p, START));
    raw_peer_looked(p, &way, START);
    assert_false(raw_peer_must_probe(p, START));
    assert_true(raw_peer_must_probe(p, START + 50 * NS_PER_MS));
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Those that hear and are in use stay; all others give way. */
TEST(table__is_bounded_and_keeps_those_in_use)
{
    const Addr mine = peer_addr(7);
    RawPeer *p = hearing_peer(START);
    uint64_t now = START;
    for (unsigned i = 100; i < 100100; i++) {
        const Addr at = peer_addr(i);
        now += 10 * NS_PER_US;
        if (i % 1000 == 0)
            (void)raw_peer_hears(p, now);
        assert_ptr_not_equal(raw_peers_make(&table, &at, now), p);
    }
    assert_ptr_equal(raw_peers_find(&table, &mine), p);
    assert_true(p->hears);
}

TEST(table__a_set_that_is_all_in_use_has_no_room)
{
    unsigned in_use = 0, refused = 0;
    memset(&table, 0, sizeof table);
    for (unsigned i = 0; i < 10000; i++) {
        const Addr at = peer_addr(i);
        RawPeer *p = raw_peers_make(&table, &at, START);
        refused += !p;
        if (!p)
            continue;
        raw_peer_looked(p, &way, START);
        (void)raw_peer_probed(p, 1, START);
        answer(p, START);
        in_use++;
    }
    assert_int_equal(in_use, PEERS_SETS * PEERS_WAYS);
    assert_int_equal(refused, 10000 - in_use);
    const Addr at = peer_addr(20000);
    assert_non_null(raw_peers_make(&table, &at, START + NS_PER_S));
}

TEST(table__strangers_are_looked_up_so_often)
{
    unsigned looks = 0;
    memset(&table, 0, sizeof table);
    for (unsigned i = 0; i < 100000; i++)
        looks += raw_peers_may_look(&table, START + i * (uint64_t)(20 * NS_PER_US));
    assert_in_range(looks, 2 * PEERS_LOOKS, 3 * PEERS_LOOKS);
}

int main(void)
{
    return cases_run(NULL, NULL);
}
