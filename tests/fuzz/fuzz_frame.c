/* SPDX-License-Identifier: MIT */
/* Raw frames, also those of Dodo, and addresses of libusocket. A frame that decodes is one that we
 * would have sent, and one that its port's filter takes. What parses as an address survives being
 * written and parsed again. */
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/bpf.h"
#include "usocket/public/address.h"
#include "usocket/raw/datagram.h"
#include "usocket/raw/frame.h"

static void try_frame(const uint8_t *p, size_t len)
{
    static const uint8_t link[14] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
    struct sock_filter program[FRAME_FILTER_MAX];
    uint8_t again[FRAME_HEADER];
    FrameHeader h = {0, 0, 0};
    int res = frame_decode(p, len, &h);
    FUZZ_CHECK(res == 0 || (res == -EBADMSG && h.to == 0 && h.length == 0));
    if (res != 0)
        return;
    FUZZ_CHECK(h.to != 0 && h.from != 0 && FRAME_HEADER + (size_t)h.length <= len);
    frame_encode(&h, again);
    FUZZ_CHECK(memcmp(again, p, FRAME_HEADER) == 0);
    const BpfFrame frame = {.type = PACKET_HOST,
                            .interface = 3,
                            .protocol = FRAME_ETHERTYPE,
                            .link = link,
                            .net = p,
                            .link_len = sizeof link,
                            .net_len = len};
    FrameFilter filter = {3, {2, 0, 0, 0, 0, 1}, h.to};
    unsigned count = frame_filter(&filter, program);
    FUZZ_CHECK(bpf_run(program, count, &frame) == UINT32_MAX);
    filter.port ^= 1;
    count = frame_filter(&filter, program);
    FUZZ_CHECK(bpf_run(program, count, &frame) == 0);
}

static void try_datagram(const uint8_t *p, size_t len)
{
    uint8_t again[DATAGRAM_HEADER + DATAGRAM_PROBE];
    DatagramHeader h = {.kind = 0};
    DatagramProbe b = {0, 0};
    int res = datagram_decode(p, len, &h);
    FUZZ_CHECK(res == 0 || (res == -EBADMSG && h.kind == 0));
    if (res != 0)
        return;
    FUZZ_CHECK(DATAGRAM_HEADER + h.length <= len && h.from.port != 0 && h.from.scope == 0);
    FUZZ_CHECK(h.from.kind == ADDR_IP4 || h.from.kind == ADDR_IP6);
    datagram_encode(&h, again);
    FUZZ_CHECK(memcmp(again, p, DATAGRAM_HEADER) == 0);
    res = datagram_probe_decode(p + DATAGRAM_HEADER, h.length, &b);
    FUZZ_CHECK(res == 0 || (res == -EBADMSG && b.frame_max == 0));
    if (res != 0)
        return;
    datagram_probe_encode(&b, again + DATAGRAM_HEADER);
    FUZZ_CHECK(memcmp(again + DATAGRAM_HEADER, p + DATAGRAM_HEADER, DATAGRAM_PROBE) == 0);
}

static void try_address(const char *text)
{
    char buf[DODO_U_TEXT_MAX], interface[INTERFACE_NAME], name[INTERFACE_NAME];
    DodoUAddr a, back;
    int res = address_parse(text, &a, interface);
    FUZZ_CHECK(res == 0 || res == -EINVAL);
    if (res != 0)
        return;
    FUZZ_CHECK(!*interface || interface_name_good(interface));
    FUZZ_CHECK(a.zero == 0 && a.kind >= DODO_U_IP4 && a.kind <= DODO_U_MAC);
    FUZZ_CHECK(address_parse(address_format(&a, NULL, buf, sizeof buf), &back, name) == 0);
    FUZZ_CHECK(memcmp(&a, &back, sizeof a) == 0);
    if (!*interface)
        return;
    a.scope = 7;
    FUZZ_CHECK(address_parse(address_format(&a, interface, buf, sizeof buf), &back, name) == 0);
    back.scope = 7;
    FUZZ_CHECK(memcmp(&a, &back, sizeof a) == 0 && strcmp(name, interface) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256];
    size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    try_frame(data, size);
    try_datagram(data, size);
    try_address(text);
    return 0;
}
