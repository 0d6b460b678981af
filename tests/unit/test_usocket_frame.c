/* SPDX-License-Identifier: MIT */
/* Raw frames: the header, and the filter run over frames of all kinds. */
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>

#include "base/random.h"
#include "tests/lib/bpf.h"
#include "tests/lib/case.h"
#include "usocket/raw/frame.h"

TEST(frame_encode__golden)
{
    uint8_t head[FRAME_HEADER];
    frame_encode(&(FrameHeader){.to = 0x1234, .from = 0x5678, .length = 0x9abc}, head);
    static const uint8_t golden[] = {1, 0, 0x34, 0x12, 0x78, 0x56, 0xbc, 0x9a};
    assert_memory_equal(head, golden, sizeof golden);
}

TEST(frame_decode__what_was_encoded)
{
    Random r = {3};
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t head[FRAME_HEADER];
        FrameHeader back,
            h = {(uint16_t)(1 + random_below(&r, 65535)), (uint16_t)(1 + random_below(&r, 65535)),
                 (uint16_t)random_below(&r, FRAME_MESSAGE_MAX + 1)};
        frame_encode(&h, head);
        assert_int_equal(frame_decode(head, FRAME_HEADER + (size_t)h.length, &back), 0);
        assert_memory_equal(&back, &h, sizeof h);
    }
}

static int decode(uint16_t to, uint16_t from, uint16_t length, size_t len)
{
    uint8_t head[FRAME_HEADER];
    FrameHeader h = {9, 9, 9};
    frame_encode(&(FrameHeader){to, from, length}, head);
    int res = frame_decode(head, len, &h);
    assert_int_equal(h.length, res == 0 ? length : 9);
    return res;
}

TEST(frame_decode__lengths)
{
    assert_int_equal(decode(1, 2, 0, 8), 0);
    assert_int_equal(decode(1, 2, 100, 108), 0);
    assert_int_equal(decode(1, 2, FRAME_MESSAGE_MAX, 65535), 0);
    assert_int_equal(decode(1, 2, 0, 7), -EBADMSG);
    assert_int_equal(decode(1, 2, 0, 0), -EBADMSG);
    assert_int_equal(decode(1, 2, 100, 107), -EBADMSG);
    assert_int_equal(decode(1, 2, FRAME_MESSAGE_MAX + 1, 65536), -EBADMSG);
    /* Short frames are padded, others are not. */
    assert_int_equal(decode(1, 2, 5, 46), 0);
    assert_int_equal(decode(1, 2, 5, 14), 0);
    assert_int_equal(decode(1, 2, 5, 47), -EBADMSG);
    assert_int_equal(decode(1, 2, 100, 109), -EBADMSG);
}

TEST(frame_decode__refuses)
{
    uint8_t head[FRAME_HEADER];
    FrameHeader h;
    assert_int_equal(decode(0, 2, 1, 9), -EBADMSG);
    assert_int_equal(decode(1, 0, 1, 9), -EBADMSG);
    frame_encode(&(FrameHeader){1, 2, 0}, head);
    head[0] = 2;
    assert_int_equal(frame_decode(head, 8, &h), -EBADMSG);
    head[0] = 1;
    head[1] = 1;
    assert_int_equal(frame_decode(head, 8, &h), -EBADMSG);
}

/* ---- the filter ------------------------------------------------------------------------------ */

typedef struct Sample {
    struct sock_filter program[FRAME_FILTER_MAX];
    unsigned count;
    uint8_t link[14], net[60];
    BpfFrame frame;
} Sample;

/* A filter, and a frame that it takes. */
static void sample(Sample *s)
{
    static const FrameFilter filter = {12, {2, 0x11, 0x22, 0x33, 0x44, 0x55}, 0x1234};
    static const uint8_t link[14] = {2, 0x11, 0x22, 0x33, 0x44, 0x55, 2, 0, 0, 0, 0, 9, 0x88, 0xb5};
    memset(s, 0, sizeof *s);
    s->count = frame_filter(&filter, s->program);
    memcpy(s->link, link, sizeof link);
    frame_encode(&(FrameHeader){.to = 0x1234, .from = 7, .length = 52}, s->net);
    s->frame = (BpfFrame){.type = PACKET_HOST,
                          .interface = 12,
                          .protocol = FRAME_ETHERTYPE,
                          .link = s->link,
                          .net = s->net,
                          .link_len = sizeof s->link,
                          .net_len = sizeof s->net};
}

static uint32_t taken(const Sample *s)
{
    return bpf_run(s->program, s->count, &s->frame);
}

TEST(frame_filter__takes_ours_whole)
{
    Sample s;
    sample(&s);
    assert_in_range(s.count, 1, FRAME_FILTER_MAX);
    assert_in_range(taken(&s), 65536, UINT32_MAX);
    s.frame.net_len = 4; /* too short for us, but this is the decoder's to say */
    assert_int_not_equal(taken(&s), 0);
}

TEST(frame_filter__drops_what_is_not_for_us)
{
    Sample s;
    sample(&s);
    for (uint32_t type = 0; type < 8; type++) {
        s.frame.type = type;
        assert_int_equal(taken(&s) != 0, type == PACKET_HOST);
    }
    sample(&s);
    s.frame.interface = 13;
    assert_int_equal(taken(&s), 0);
    sample(&s);
    s.frame.protocol = 0x0800;
    assert_int_equal(taken(&s), 0);
    s.frame.protocol = 0x88b6;
    assert_int_equal(taken(&s), 0);
}

/* Each bit of what it compares, turned over: of the MAC address, version and port. */
TEST(frame_filter__each_bit_counts)
{
    Sample s;
    for (unsigned bit = 0; bit < 48; bit++) {
        sample(&s);
        s.link[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(taken(&s), 0);
    }
    for (unsigned bit = 0; bit < 32; bit++) {
        sample(&s);
        s.net[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(taken(&s), 0);
    }
    for (unsigned at = 4; at < sizeof s.net; at++) { /* and nothing else of the frame */
        sample(&s);
        s.net[at] ^= 0xff;
        assert_int_not_equal(taken(&s), 0);
    }
    for (unsigned at = 6; at < 12; at++) {
        sample(&s);
        s.link[at] ^= 0xff;
        assert_int_not_equal(taken(&s), 0);
    }
}

TEST(frame_filter__short_frames)
{
    Sample s;
    sample(&s);
    for (s.frame.net_len = 0; s.frame.net_len < 4; s.frame.net_len++)
        assert_int_equal(taken(&s), 0);
}

/* Any frame: it is taken if and only if it is what the filter is for. */
TEST(frame_filter__any_frame)
{
    Random r = {5};
    unsigned good = 0;
    for (unsigned i = 0; i < 200000; i++) {
        Sample s;
        sample(&s);
        for (unsigned n = 0, steps = (unsigned)random_below(&r, 3); n < steps; n++) {
            if (random_below(&r, 2))
                s.link[random_below(&r, sizeof s.link)] = (uint8_t)random_next(&r);
            else
                s.net[random_below(&r, 8)] = (uint8_t)random_next(&r);
        }
        Sample fine;
        sample(&fine);
        bool ours = memcmp(s.link, fine.link, 6) == 0 && memcmp(s.net, fine.net, 4) == 0;
        assert_int_equal(taken(&s) != 0, ours);
        good += ours;
    }
    assert_in_range(good, 50000, 190000);
}
