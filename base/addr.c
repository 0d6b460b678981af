/* SPDX-License-Identifier: MIT */
#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

static size_t host_len(const Addr *a)
{
    switch (a->kind) {
    case ADDR_IP4:
        return 4;
    case ADDR_IP6:
        return 16;
    case ADDR_MAC:
        return 6;
    case ADDR_SIM:
        return 2;
    default:
        return 0;
    }
}

bool addr_same_host(const Addr *a, const Addr *b)
{
    return a->kind == b->kind && a->scope == b->scope && memcmp(a->host, b->host, host_len(a)) == 0;
}

bool addr_equal(const Addr *a, const Addr *b)
{
    return a->port == b->port && addr_same_host(a, b);
}

uint64_t addr_hash(const Addr *a)
{
    uint64_t lo, hi;
    memcpy(&lo, a->host, 8);
    memcpy(&hi, a->host + 8, 8);
    return mix64(lo ^
                 mix64(hi ^ mix64(((uint64_t)a->scope << 32) | (uint64_t)a->port << 8 | a->kind)));
}

bool addr_is_loopback(const Addr *a)
{
    static const uint8_t v6[16] = {[15] = 1};
    switch (a->kind) {
    case ADDR_IP4:
        return a->host[0] == 127;
    case ADDR_IP6:
        return memcmp(a->host, v6, 16) == 0;
    default:
        return a->kind == ADDR_SIM;
    }
}

bool addr_is_any(const Addr *a)
{
    static const uint8_t zero[16];
    return (a->kind == ADDR_IP4 || a->kind == ADDR_IP6) && memcmp(a->host, zero, host_len(a)) == 0;
}

bool addr_is_many(const Addr *a)
{
    static const uint8_t all[] = {255, 255, 255, 255};
    if (a->kind == ADDR_IP4)
        return (a->host[0] & 0xf0) == 0xe0 || memcmp(a->host, all, sizeof all) == 0;
    return a->kind == ADDR_IP6 && a->host[0] == 0xff;
}

Addr addr_sim(uint16_t host, uint16_t port)
{
    return (Addr){.kind = ADDR_SIM, .port = port, .host = {host & 0xff, host >> 8}};
}

static int parse_port(const char *text, uint16_t *ret)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -EINVAL;
    unsigned long v = strtoul(text, &end, 10);
    if (*end || v > 65535)
        return -EINVAL;
    *ret = (uint16_t)v;
    return 0;
}

static int parse_ip6(char *host, Addr *a)
{
    char *scope = strchr(host, '%');
    if (scope) {
        char *end;
        *scope++ = '\0';
        unsigned long v = strtoul(scope, &end, 10);
        if (*scope < '0' || *scope > '9' || *end || v > UINT32_MAX)
            return -EINVAL;
        a->scope = (uint32_t)v;
    }
    a->kind = ADDR_IP6;
    return inet_pton(AF_INET6, host, a->host) == 1 ? 0 : -EINVAL;
}

int addr_parse(const char *text, uint16_t default_port, Addr *ret_addr)
{
    char host[ADDR_TEXT_MAX];
    const char *port = NULL;
    Addr a = {.port = default_port};
    size_t n;

    if (*text == '[') {
        const char *close = strchr(text, ']');
        if (!close)
            return -EINVAL;
        n = (size_t)(close - ++text);
        if (close[1] == ':')
            port = close + 2;
        else if (close[1])
            return -EINVAL;
        a.kind = ADDR_IP6;
    } else {
        const char *colon = strchr(text, ':');
        if (colon && strchr(colon + 1, ':')) { /* a bare IPv6 address has no port */
            n = strlen(text);
            a.kind = ADDR_IP6;
        } else {
            n = colon ? (size_t)(colon - text) : strlen(text);
            port = colon ? colon + 1 : NULL;
            a.kind = ADDR_IP4;
        }
    }
    if (n == 0 || n >= sizeof host)
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = '\0';
    if (a.kind == ADDR_IP6 ? parse_ip6(host, &a) != 0 : inet_pton(AF_INET, host, a.host) != 1)
        return -EINVAL;
    if (port && parse_port(port, &a.port) != 0)
        return -EINVAL;
    *ret_addr = a;
    return 0;
}

char *addr_format(const Addr *a, char *buf, size_t cap)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    char scope[16] = "";
    switch (a->kind) {
    case ADDR_IP4:
        (void)inet_ntop(AF_INET, a->host, ip, sizeof ip);
        (void)snprintf(buf, cap, "%s:%u", ip, a->port);
        break;
    case ADDR_IP6:
        (void)inet_ntop(AF_INET6, a->host, ip, sizeof ip);
        if (a->scope)
            (void)snprintf(scope, sizeof scope, "%%%u", a->scope);
        (void)snprintf(buf, cap, "[%s%s]:%u", ip, scope, a->port);
        break;
    case ADDR_MAC:
        (void)snprintf(buf, cap, "%02x:%02x:%02x:%02x:%02x:%02x", a->host[0], a->host[1],
                       a->host[2], a->host[3], a->host[4], a->host[5]);
        break;
    case ADDR_SIM:
        (void)snprintf(buf, cap, "sim%u:%u", a->host[0] | a->host[1] << 8, a->port);
        break;
    default:
        (void)snprintf(buf, cap, "none");
    }
    return buf;
}
