/* SPDX-License-Identifier: MIT */
/* The measuring loop: see wire_common.h. */
#include "tests/bench/wire_common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/time.h"
#include "examples/bench_common.h"

enum { OPS_MAX = 1 << 20 };

/* ---- options -------------------------------------------------------------------------------- */

static bool set_option(WireOptions *o, const char *name, const char *value)
{
    uint64_t v;
    if (strcmp(name, "name") == 0) {
        o->name = value;
        return true;
    }
    if (strcmp(name, "time") == 0)
        return parse_time(value, &o->least_ns) == 0;
    if (parse_size(value, &v) < 0)
        return false;
    if (strcmp(name, "size") == 0)
        o->size = v;
    else if (strcmp(name, "area") == 0)
        o->area_bytes = v;
    else if (strcmp(name, "ops") == 0)
        o->least_ops = v;
    else if (strcmp(name, "warm") == 0)
        o->warm_ops = v;
    else
        return false;
    return true;
}

WireOptions wire_options(int argc, char **argv, const char *usage)
{
    WireOptions o = {.name = argv[0],
                     .size = 8192,
                     .area_bytes = 32 << 20,
                     .least_ns = 200 * NS_PER_MS,
                     .least_ops = 20,
                     .warm_ops = 100};
    bool good = argc >= 3 && (strcmp(argv[1], "read") == 0 || strcmp(argv[1], "write") == 0);
    for (int i = 3; good && i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals)
            *equals = '\0';
        good = equals && set_option(&o, argv[i], equals + 1);
    }
    if (!good || o.size == 0 || o.size > o.area_bytes || o.least_ops == 0) {
        fputs(usage, stderr);
        exit(2);
    }
    o.write = strcmp(argv[1], "write") == 0;
    o.at = argv[2];
    return o;
}

/* ---- measuring ------------------------------------------------------------------------------ */

typedef struct Measure {
    const WireOptions *o;
    const WireTarget *target;
    BenchRandom random;
    uint64_t slots;
    uint64_t *written; /* by slot: where its contents start in bench_data_make()'s; 0: not yet */
    uint8_t *buf;
    uint32_t *ns; /* of each call */
    WireResult r;
} Measure;

/* One call at a random place. Its time, or < 0: -errno. Making and checking contents is not timed,
 * but keeps the caches busy as a program would. */
static int64_t one(Measure *m)
{
    const WireOptions *o = m->o;
    uint64_t slot = bench_random_below(&m->random, m->slots), offset = slot * o->size;
    int result;
    if (o->write) {
        m->written[slot] = (bench_random_below(&m->random, 1 << 20) + 1) << 40;
        bench_data_make(m->written[slot] + offset, m->buf, o->size);
    }
    uint64_t start = os_now_ns();
    if (o->write)
        result = m->target->write(m->target->ctx, offset, m->buf, o->size);
    else
        result = m->target->read(m->target->ctx, offset, m->buf, o->size);
    uint64_t took = os_now_ns() - start;
    if (result < 0)
        return result;
    if (result == WIRE_LOST) {
        m->r.lost++;
        if (o->write)
            m->written[slot] = 0;
        return 0;
    }
    if (!o->write)
        m->r.wrong_bytes += bench_data_wrong(offset, m->buf, o->size);
    return (int64_t)took;
}

/* Every slot that was written holds what was written last. */
static int read_back(Measure *m)
{
    const WireOptions *o = m->o;
    for (uint64_t slot = 0; slot < m->slots; slot++) {
        uint64_t offset = slot * o->size;
        if (!m->written[slot])
            continue;
        int result = m->target->read(m->target->ctx, offset, m->buf, o->size);
        if (result < 0)
            return result;
        m->r.lost += result == WIRE_LOST;
        if (result == 0)
            m->r.wrong_bytes += bench_data_wrong(m->written[slot] + offset, m->buf, o->size);
    }
    return 0;
}

static int run(Measure *m)
{
    const WireOptions *o = m->o;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < o->warm_ops; i++) {
        int64_t took = one(m);
        if (took < 0)
            return (int)took;
    }
    m->r.lost = 0;
    while (m->r.ops < OPS_MAX && (sum < o->least_ns || m->r.ops < o->least_ops)) {
        int64_t took = one(m);
        if (took < 0)
            return (int)took;
        if (m->r.lost > o->least_ops)
            return -ETIMEDOUT;
        if (took == 0)
            continue;
        m->ns[m->r.ops++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
        sum += (uint64_t)took;
    }
    m->r.mean_us = (double)sum / (double)m->r.ops / 1e3;
    return read_back(m);
}

int wire_measure(const WireOptions *o, const WireTarget *target, WireResult *ret)
{
    uint64_t slots = o->area_bytes / o->size;
    uint64_t *written CLEANUP_FREE = calloc(slots, sizeof *written);
    uint8_t *buf CLEANUP_FREE = aligned_alloc(4096, (o->size + 4095) / 4096 * 4096);
    uint32_t *ns CLEANUP_FREE = calloc(OPS_MAX, sizeof *ns);
    Measure m = {
        .o = o, .target = target, .slots = slots, .written = written, .buf = buf, .ns = ns};
    if (!written || !buf || !ns)
        return -ENOMEM;
    memset(buf, 0, o->size);
    os_random(NULL, &m.random.state, sizeof m.random.state);
    int result = run(&m);
    if (result < 0)
        return result;
    *ret = m.r;
    ret->p50_us = bench_percentile(ns, m.r.ops, 500) / 1e3;
    ret->p99_us = bench_percentile(ns, m.r.ops, 990) / 1e3;
    ret->least_us = ns[0] / 1e3; /* they are sorted by now */
    return 0;
}

void wire_print(const WireOptions *o, const WireResult *r, const char *more)
{
    printf("{\"name\": \"%s\", \"op\": \"%s\", \"size\": %zu, \"ops\": %zu, \"p50_us\": %.3f, "
           "\"p99_us\": %.3f, \"least_us\": %.3f, \"mean_us\": %.3f, \"lost\": %" PRIu64
           ", \"wrong_bytes\": %" PRIu64 "%s}\n",
           o->name, o->write ? "write" : "read", o->size, r->ops, r->p50_us, r->p99_us, r->least_us,
           r->mean_us, r->lost, r->wrong_bytes, more);
}
