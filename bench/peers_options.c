/* SPDX-License-Identifier: MIT */
/* Options and contents: see peers_common.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/time.h"
#include "bench/peers_common.h"

/* ---- options -------------------------------------------------------------------------------- */

const PeerOptions peer_defaults = {
    .name = "",
    .size = 8192,
    .area_bytes = 64 << 20,
    .least_ns = 150 * NS_PER_MS,
    .least_ops = 20,
    .warm_ops = 100,
    .threads = 1,
    .regions = 1,
    .mtu = 1500,
};

static bool set_text(PeerOptions *o, const char *name, const char *value)
{
    if (strcmp(name, "name") == 0)
        o->name = value;
    else if (strcmp(name, "file") == 0)
        o->file = value;
    else if (strcmp(name, "servers") == 0)
        o->servers = value;
    else
        return false;
    return true;
}

static bool set_time(PeerOptions *o, const char *name, const char *value)
{
    uint64_t *to = strcmp(name, "time") == 0          ? &o->least_ns
                   : strcmp(name, "poll") == 0        ? &o->poll_ns
                   : strcmp(name, "server-poll") == 0 ? &o->server_poll_ns
                                                      : NULL;
    return to && parse_time(value, to) == 0;
}

static bool set_number(PeerOptions *o, const char *name, const char *value)
{
    uint64_t v;
    if (parse_size(value, &v) < 0)
        return false;
    if (strcmp(name, "size") == 0)
        o->size = v;
    else if (strcmp(name, "area") == 0)
        o->area_bytes = v;
    else if (strcmp(name, "base") == 0)
        o->base = v;
    else if (strcmp(name, "ops") == 0)
        o->least_ops = v;
    else if (strcmp(name, "warm") == 0)
        o->warm_ops = v;
    else if (strcmp(name, "sealed") == 0)
        o->sealed = v != 0;
    else if (strcmp(name, "cold") == 0)
        o->cold = v != 0;
    else if (strcmp(name, "threads") == 0)
        o->threads = v > PEER_THREADS_MAX ? 0 : (unsigned)v;
    else if (strcmp(name, "regions") == 0)
        o->regions = v > PEER_THREADS_MAX ? 0 : (unsigned)v;
    else if (strcmp(name, "depth") == 0)
        o->depth = v > PEER_THREADS_MAX ? 0 : (unsigned)v;
    else if (strcmp(name, "mtu") == 0)
        o->mtu = v > 65535 ? 0 : (unsigned)v;
    else
        return false;
    return true;
}

bool peer_options(PeerOptions *o, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return false;
        *equals = '\0';
        if (!set_text(o, argv[i], equals + 1) && !set_time(o, argv[i], equals + 1) &&
            !set_number(o, argv[i], equals + 1))
            return false;
    }
    return o->size > 0 && o->size % 8 == 0 && o->threads > 0 && o->regions > 0 &&
           o->area_bytes / o->size >= o->threads && o->mtu >= 576 && o->least_ops > 0;
}

bool peer_part(const char *list, unsigned index, char *out, size_t cap)
{
    unsigned count = 1;
    for (const char *p = list; *p; p++)
        count += *p == ',';
    for (index %= count; index > 0; index--)
        list = strchr(list, ',') + 1;
    size_t len = strcspn(list, ",");
    if (len >= cap)
        return false;
    memcpy(out, list, len);
    out[len] = '\0';
    return true;
}

/* ---- contents ------------------------------------------------------------------------------- */

/* Words that differ by an odd constant: none is like another in an area, and comparing them is so
 * cheap that every byte can be compared without disturbing what is measured. */
static const uint64_t DATA_STEP = 0x9e3779b97f4a7c15ull;

uint64_t peer_data_first(uint64_t offset)
{
    return (offset / 8 + 1) * DATA_STEP;
}

void peer_data_make(uint64_t first, void *buf, size_t len)
{
    uint64_t *p = buf;
    for (size_t i = 0; i < len / 8; i++)
        p[i] = first + i * DATA_STEP;
}

uint64_t peer_data_wrong(uint64_t first, const void *buf, size_t len)
{
    const uint64_t *p = buf;
    uint64_t differs = 0, wrong = 0;
    for (size_t i = 0; i < len / 8; i++)
        differs |= p[i] ^ (first + i * DATA_STEP);
    for (size_t i = 0; differs && i < len / 8; i++)
        for (uint64_t d = p[i] ^ (first + i * DATA_STEP); d; d >>= 8)
            wrong += (d & 0xFF) != 0;
    return wrong;
}

/* ---- the line ------------------------------------------------------------------------------- */

void peer_print(const PeerOptions *o, const PeerResult *r, const char *more)
{
    printf("{\"name\": \"%s\", \"op\": \"%s\", \"size\": %zu, \"threads\": %u, \"depth\": %u, "
           "\"mtu\": %u, "
           "\"ops\": %" PRIu64 ", \"p50_us\": %.3f, \"p99_us\": %.3f, \"least_us\": %.3f, "
           "\"mean_us\": %.3f, \"mb_s\": %.3f, \"client_cpu_us_mib\": %.2f, "
           "\"server_cpu_us_mib\": %.2f, \"lost\": %" PRIu64 ", \"dropped\": %" PRIu64
           ", \"wrong_bytes\": %" PRIu64 "%s}\n",
           o->name, o->write ? "write" : "read", o->size, o->threads, o->depth, o->mtu, r->ops,
           r->p50_us, r->p99_us, r->least_us, r->mean_us, r->mb_s, r->client_us, r->server_us,
           r->lost, r->dropped, r->wrong_bytes, more);
}
