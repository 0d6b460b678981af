/* SPDX-License-Identifier: MIT */
/* All that the helper of libusocket reads: requests, its state, the kernel's list of sockets; and
 * the replies that the library reads from it. */
#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "usocket/helper/grants.h"
#include "usocket/raw/grant.h"

static void try_request(const uint8_t *p, size_t len)
{
    uint8_t again[GRANT_MESSAGE];
    GrantRequest r;
    int res = grant_request_decode(p, len, &r);
    FUZZ_CHECK(res == 0 || res == -EPROTO);
    if (res != 0)
        return;
    FUZZ_CHECK(interface_name_good(r.interface) && !strchr(r.interface, '/'));
    FUZZ_CHECK(mac_is_any(r.mac) || mac_is_single(r.mac));
    grant_request_encode(&r, again);
    FUZZ_CHECK(len == sizeof again && memcmp(again, p, len) == 0);
}

static void try_reply(const uint8_t *p, size_t len)
{
    uint8_t again[GRANT_MESSAGE];
    GrantReply r;
    int res = grant_reply_decode(p, len, &r);
    FUZZ_CHECK(res == 0 || res == -EPROTO);
    if (res != 0)
        return;
    FUZZ_CHECK(r.error >= 0 && r.error <= GRANT_ERRNO_MAX);
    FUZZ_CHECK(r.error || (r.port && r.interface && mac_is_single(r.mac)));
    grant_reply_encode(&r, again);
    FUZZ_CHECK(len == sizeof again && memcmp(again, p, len) == 0);
}

/* The text as a state, and as the kernel's list: a state that is read can be written again, and
 * only what is listed stays. */
static void try_texts(const char *text)
{
    static Grants grants, again;
    static char buf[GRANTS_TEXT_MAX];
    uint16_t port = 0;
    int res = grants_parse(text, &grants);
    FUZZ_CHECK(res == 0 || (res == -EINVAL && grants.count == 0));
    FUZZ_CHECK(grants.count <= GRANTS_MAX);
    size_t n = grants_format(&grants, buf, sizeof buf);
    FUZZ_CHECK(n == strlen(buf) && grants_parse(buf, &again) == 0 && again.count == grants.count);
    if (grants.count > 0) {
        Grant first = grants.list[0];
        FUZZ_CHECK(grants_pick(&grants, &first, 0, &port) != 0);
        first.port = 0;
        if (grants_pick(&grants, &first, (uint16_t)n, &port) == 0)
            FUZZ_CHECK(port >= GRANTS_FREE_FROM);
    }
    unsigned before = grants.count;
    grants_keep_listed(&grants, text);
    FUZZ_CHECK(grants.count <= before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[1 << 16];
    size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    try_request(data, size);
    try_reply(data, size);
    try_texts(text);
    return 0;
}
