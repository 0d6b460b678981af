/* SPDX-License-Identifier: MIT */
/* The helper's list of what it has given. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/case.h"
#include "usocket/helper/grants.h"

static Grants grants; /* large */

static void give(uint32_t interface, uint16_t port, uint32_t uid, uint64_t inode)
{
    grants_add(&grants, &(Grant){inode, interface, uid, port});
}

static int pick(uint32_t interface, uint16_t port, uint32_t uid, uint16_t random, uint16_t *ret)
{
    *ret = 1;
    return grants_pick(&grants, &(Grant){0, interface, uid, port}, random, ret);
}

TEST(grants_pick__a_port_has_one_socket_an_interface)
{
    uint16_t port;
    grants.count = 0;
    assert_int_equal(pick(2, 7, 1000, 0, &port), 0);
    assert_int_equal(port, 7);
    give(2, 7, 1000, 100);
    assert_int_equal(pick(2, 7, 1001, 0, &port), -EADDRINUSE);
    assert_int_equal(pick(2, 7, 1000, 0, &port), -EADDRINUSE); /* its own user, too */
    assert_int_equal(pick(3, 7, 1001, 0, &port), 0);
    assert_int_equal(pick(2, 8, 1001, 0, &port), 0);
}

TEST(grants_pick__any_port)
{
    uint16_t port;
    grants.count = 0;
    assert_int_equal(pick(2, 0, 1000, 5, &port), 0);
    assert_int_equal(port, GRANTS_FREE_FROM + 5);
    give(2, port, 1000, 100);
    assert_int_equal(pick(2, 0, 1000, 5, &port), 0);
    assert_int_equal(port, GRANTS_FREE_FROM + 6);
    give(2, UINT16_MAX, 1000, 101);
    assert_int_equal(pick(2, 0, 1000, UINT16_MAX, &port), 0);
    assert_int_equal(port, GRANTS_FREE_FROM); /* from the beginning again */
}

TEST(grants_pick__limits)
{
    uint16_t port;
    grants.count = 0;
    for (unsigned i = 0; i < GRANTS_USER_MAX; i++) {
        assert_int_equal(pick(2, 0, 1000, 0, &port), 0);
        give(2, port, 1000, i);
    }
    assert_int_equal(pick(2, 0, 1000, 0, &port), -EDQUOT);
    assert_int_equal(pick(3, 9, 1000, 0, &port), -EDQUOT);
    for (unsigned i = GRANTS_USER_MAX; i < GRANTS_MAX; i++) {
        assert_int_equal(pick(2, 0, 2000 + i, 0, &port), 0);
        give(2, port, 2000 + i, i);
    }
    assert_int_equal(pick(2, 9, 5000, 0, &port), -ENOBUFS);
    give(2, 9, 5000, 9);
    assert_int_equal(grants.count, GRANTS_MAX);
}

/* As the kernel writes it. */
static const char list[] = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
                           "0000000000000000 3      2    88b5   2     1 0      65534  4711  \n"
                           "0000000000000000 3      3    0003   0     1 0      0      4712\n";

TEST(grants_keep_listed__the_others_go)
{
    uint16_t port;
    grants.count = 0;
    give(2, 7, 1000, 4711);
    give(2, 8, 1000, 471);
    give(2, 9, 1000, 711);
    give(2, 10, 1000, 4712);
    give(2, 11, 1000, 0);
    grants_keep_listed(&grants, list);
    assert_int_equal(grants.count, 2);
    assert_int_equal(pick(2, 7, 1001, 0, &port), -EADDRINUSE);
    assert_int_equal(pick(2, 8, 1001, 0, &port), 0);
    assert_int_equal(pick(2, 10, 1001, 0, &port), -EADDRINUSE);
    grants_keep_listed(&grants, "");
    assert_int_equal(grants.count, 0);
}

/* A socket that goes while the list is read takes another one's line with it. */
TEST(grants_list_is_whole__if_nothing_that_it_has_has_gone)
{
    static const char first[] = "sk RefCnt Inode\na 3 11\nb 3 12\nd 3 14\n"; /* 13 was left out */
    assert_false(grants_list_is_whole(first, "sk RefCnt Inode\nb 3 12\nc 3 13\nd 3 14\n"));
    assert_false(grants_list_is_whole(first, "sk RefCnt Inode\na 3 11\nb 3 12\nd 3 144\n"));
    assert_false(grants_list_is_whole(first, ""));
    assert_true(grants_list_is_whole(first, first));
    assert_true(grants_list_is_whole(first, "z 3 10\na 4 11\nb 3 12\nd 3 14\ne 3 15\n"));
    assert_true(grants_list_is_whole("", first));
}

TEST(grants_format__parse_reads)
{
    static Grants back;
    static char text[GRANTS_TEXT_MAX];
    grants.count = 0;
    give(2, 7, 1000, 4711);
    give(UINT32_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX);
    size_t n = grants_format(&grants, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text, "2 7 1000 4711\n4294967295 65535 4294967295 18446744073709551615\n");
    assert_int_equal(grants_parse(text, &back), 0);
    assert_int_equal(back.count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(back.list[i].interface, grants.list[i].interface);
        assert_int_equal(back.list[i].port, grants.list[i].port);
        assert_int_equal(back.list[i].uid, grants.list[i].uid);
        assert_int_equal(back.list[i].inode, grants.list[i].inode);
    }
    while (grants.count < GRANTS_MAX)
        give(UINT32_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX);
    n = grants_format(&grants, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_int_equal(grants_parse(text, &back), 0);
    assert_int_equal(back.count, GRANTS_MAX);
}

TEST(grants_parse__refuses)
{
    static Grants back;
    static const char *const texts[] = {
        "\n",           "2 7 1000\n",       "2 7 1000 4711",      "2 7 1000 4711 \n",
        "2 0 1000 1\n", "2 65536 1000 1\n", "4294967296 7 1 1\n", "2 7 1 18446744073709551616\n",
        "-2 7 1 1\n",   "2  7 1 1\n",       "2 7 1 1\nx\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (grants_parse(texts[i], &back) != -EINVAL)
            fail_msg("\"%s\" should be refused", texts[i]);
        assert_int_equal(back.count, 0);
    }
    assert_int_equal(grants_parse("", &back), 0);
}
