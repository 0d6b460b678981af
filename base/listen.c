/* SPDX-License-Identifier: MIT */
#include "base/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._-@";
enum { LETTERS = 52 };

int listen_parse(const char *text, uint16_t default_port, Listen *ret)
{
    Listen l = {.addr = {.kind = ADDR_NONE}};
    char port[ADDR_TEXT_MAX];
    Addr any;
    if (addr_parse(text, default_port, &l.addr) == 0) {
        *ret = l;
        return 0;
    }
    const size_t len = strspn(text, name_characters);
    if (len == 0 || len >= sizeof l.interface || !memchr(name_characters, *text, LETTERS) ||
        (text[len] && text[len] != ':') || strlen(text + len) >= sizeof "65535" + 1)
        return -EINVAL;
    (void)snprintf(port, sizeof port, "0.0.0.0%s", text + len);
    if (addr_parse(port, default_port, &any) != 0)
        return -EINVAL;
    memcpy(l.interface, text, len);
    l.addr.port = any.port;
    *ret = l;
    return 0;
}

bool listen_is_open(const Listen *l)
{
    return l->addr.kind == ADDR_NONE && !*l->interface;
}

bool listen_equal(const Listen *a, const Listen *b)
{
    return addr_equal(&a->addr, &b->addr) && strcmp(a->interface, b->interface) == 0;
}
