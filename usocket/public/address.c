/* SPDX-License-Identifier: MIT */
#include "usocket/public/address.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/parse.h"
#include "usocket/raw/frame.h"

/* One layout, and the same numbers for the kinds: copied, not converted. */
static_assert(sizeof(DodoUAddr) == sizeof(Addr), "addresses differ");
static_assert(offsetof(DodoUAddr, port) == offsetof(Addr, port), "addresses differ");
static_assert(offsetof(DodoUAddr, scope) == offsetof(Addr, scope), "addresses differ");
static_assert(offsetof(DodoUAddr, host) == offsetof(Addr, host), "addresses differ");
static_assert((int)DODO_U_NONE == (int)ADDR_NONE && (int)DODO_U_IP4 == (int)ADDR_IP4 &&
                  (int)DODO_U_IP6 == (int)ADDR_IP6 && (int)DODO_U_MAC == (int)ADDR_MAC,
              "kinds differ");

static const char any_text[] = "any";

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "02:00:00:00:00:01", @len characters. */
static int parse_mac(const char *text, size_t len, uint8_t ret[FRAME_MAC])
{
    if (len != 3 * FRAME_MAC - 1)
        return -EINVAL;
    for (size_t i = 0; i < FRAME_MAC; i++) {
        int high = hex_digit(text[3 * i]), low = hex_digit(text[3 * i + 1]);
        if (high < 0 || low < 0 || (i + 1 < FRAME_MAC && text[3 * i + 2] != ':'))
            return -EINVAL;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}

/* "7000", "7000%eth0" */
static int parse_port(const char *text, uint16_t *ret_port, char ret_interface[INTERFACE_NAME])
{
    char port[8];
    uint64_t v;
    const char *percent = strchr(text, '%');
    size_t n = percent ? (size_t)(percent - text) : strlen(text);
    if (n >= sizeof port || (percent && !interface_name_good(percent + 1)))
        return -EINVAL;
    memcpy(port, text, n);
    port[n] = '\0';
    if (parse_u64(port, 0, UINT16_MAX, &v) != 0)
        return -EINVAL;
    *ret_port = (uint16_t)v;
    (void)snprintf(ret_interface, INTERFACE_NAME, "%s", percent ? percent + 1 : "");
    return 0;
}

static int parse_frames(const char *text, const char *slash, DodoUAddr *ret, char *ret_interface)
{
    DodoUAddr a = {.kind = DODO_U_MAC};
    size_t n = (size_t)(slash - text);
    bool any = n == strlen(any_text) && memcmp(text, any_text, n) == 0;
    if ((!any && parse_mac(text, n, a.host) != 0) ||
        parse_port(slash + 1, &a.port, ret_interface) != 0)
        return -EINVAL;
    *ret = a;
    return 0;
}

/* Does a port stand behind the address? */
static bool has_port(const char *text)
{
    const char *end = strchr(text, ']');
    const char *colon = strchr(end ? end : text, ':');
    return colon && !strchr(colon + 1, ':');
}

/* "[fe80::1%eth0]:7000" is @rest "[fe80::1]:7000" and the interface; without one, it is @text. */
static int split_interface(const char *text, char *rest, size_t cap, char *ret_interface)
{
    const char *percent = strchr(text, '%'), *end = percent ? strrchr(percent, ']') : NULL;
    ret_interface[0] = '\0';
    if (!percent || percent[1 + strspn(percent + 1, "0123456789")] == ']') /* none, or its number */
        return (size_t)snprintf(rest, cap, "%s", text) < cap ? 0 : -EINVAL;
    if (*text != '[' || !end || end - percent > INTERFACE_NAME)
        return -EINVAL;
    (void)snprintf(ret_interface, INTERFACE_NAME, "%.*s", (int)(end - percent - 1), percent + 1);
    int n = snprintf(rest, cap, "%.*s%s", (int)(percent - text), text, end);
    return (size_t)n < cap && interface_name_good(ret_interface) ? 0 : -EINVAL;
}

int address_parse(const char *text, DodoUAddr *ret, char ret_interface[INTERFACE_NAME])
{
    Addr a;
    char rest[DODO_U_TEXT_MAX], interface[INTERFACE_NAME];
    const char *slash = strchr(text, '/');
    if (slash)
        return parse_frames(text, slash, ret, ret_interface);
    if (split_interface(text, rest, sizeof rest, interface) != 0 || !has_port(rest) ||
        addr_parse(rest, 0, &a) != 0)
        return -EINVAL;
    memcpy(ret, &a, sizeof *ret);
    memcpy(ret_interface, interface, sizeof interface);
    return 0;
}

static char *format_frames(const DodoUAddr *a, const char *interface, char *buf, size_t cap)
{
    char mac[20] = "any", number[16] = "";
    if (!mac_is_any(a->host))
        (void)snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", a->host[0], a->host[1],
                       a->host[2], a->host[3], a->host[4], a->host[5]);
    if (a->scope && !interface)
        (void)snprintf(number, sizeof number, "%u", a->scope);
    (void)snprintf(buf, cap, "%s/%u%s%s", mac, a->port, a->scope ? "%" : "",
                   a->scope && interface ? interface : number);
    return buf;
}

static char *format_ip(const DodoUAddr *a, const char *interface, char *buf, size_t cap)
{
    Addr internal;
    memcpy(&internal, a, sizeof internal);
    if (a->kind == DODO_U_IP4 || a->scope == 0 || !interface)
        return addr_format(&internal, buf, cap);
    char host[DODO_U_TEXT_MAX];
    internal.scope = 0;
    const char *port = strchr(addr_format(&internal, host, sizeof host), ']');
    (void)snprintf(buf, cap, "%.*s%%%s%s", (int)(port - host), host, interface, port);
    return buf;
}

char *address_format(const DodoUAddr *a, const char *interface, char *buf, size_t cap)
{
    switch (a->kind) {
    case DODO_U_IP4:
    case DODO_U_IP6:
        return format_ip(a, interface, buf, cap);
    case DODO_U_MAC:
        return format_frames(a, interface, buf, cap);
    default:
        (void)snprintf(buf, cap, "none");
        return buf;
    }
}
