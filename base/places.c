/* SPDX-License-Identifier: MIT */
#include "base/places.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

/* What ends in a number is an address with a mistake in it, not a name. */
static bool is_name(const char *text, size_t len)
{
    if (len == 0 || len >= PLACE_NAME_MAX || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_name_char(text[i]) || (text[i] == '.' && i > 0 && text[i - 1] == '.'))
            return false;
    size_t last = len;
    while (last > 0 && text[last - 1] != '.')
        last--;
    return last == len || strspn(text + last, "0123456789") < len - last;
}

static int parse_name(const char *text, uint16_t default_port, Place *p)
{
    const char *colon = strchr(text, ':');
    const size_t len = colon ? (size_t)(colon - text) : strlen(text);
    uint64_t port = default_port;
    if (!is_name(text, len) || (colon && parse_u64(colon + 1, 0, UINT16_MAX, &port) != 0))
        return -EINVAL;
    *p = (Place){.addr = {.port = (uint16_t)port}};
    memcpy(p->name, text, len);
    return 0;
}

static int parse_place(const char *text, uint16_t default_port, Place *p)
{
    *p = (Place){.name = ""};
    if (addr_parse(text, default_port, &p->addr) == 0)
        return 0;
    return parse_name(text, default_port, p);
}

int places_parse(const char *text, uint16_t default_port, Places *ret)
{
    Places p = {.count = 0};
    char one[PLACE_NAME_MAX + 8];
    for (;;) {
        text += strspn(text, " \t");
        const size_t len = strcspn(text, ", \t");
        if (p.count == PLACES_MAX || len == 0 || len >= sizeof one)
            return -EINVAL;
        memcpy(one, text, len);
        one[len] = '\0';
        if (parse_place(one, default_port, &p.of[p.count++]) != 0)
            return -EINVAL;
        text += len;
        text += strspn(text, " \t");
        if (!*text)
            break;
        if (*text++ != ',')
            return -EINVAL;
    }
    *ret = p;
    return 0;
}

bool places_have_names(const Places *p)
{
    for (unsigned i = 0; i < p->count; i++)
        if (*p->of[i].name)
            return true;
    return false;
}

unsigned places_addresses(const Places *p, Addr ret[PLACES_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->count; i++)
        if (!*p->of[i].name)
            ret[count++] = p->of[i].addr;
    return count;
}
