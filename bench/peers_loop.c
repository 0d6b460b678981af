/* SPDX-License-Identifier: MIT */
/* The measuring loop: see peers_common.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"
#include "bench/peers_common.h"

enum { OPS_MAX = 1 << 18, STRETCH = 20 };
static const uint64_t DEADLINE_NS = 60 * NS_PER_S; /* of a run that never reaches its least_ops */

typedef struct Run {
    const PeerOptions *o;
    const PeerOps *ops;
    pthread_barrier_t barrier;
    atomic_int failed; /* -errno of the first thread that failed */
    uint64_t slots;    /* a thread */
    uint64_t start_ns;
    int file;
} Run;

typedef struct Worker {
    Run *run;
    unsigned index;
    pthread_t thread;
    void *conn;
    uint8_t *buf;
    uint64_t *written; /* by slot: the first word of what it holds; 0: not written yet */
    uint32_t *ns;      /* of each call */
    uint64_t count, lost, wrong, sum_ns, end_ns;
    uint64_t own_ns, own_least_ns; /* making and checking contents */
    Random random;
} Worker;

/* ---- one call ------------------------------------------------------------------------------- */

static uint64_t place(const Worker *w, uint64_t slot)
{
    const PeerOptions *o = w->run->o;
    return o->base + (slot * o->threads + w->index) * o->size;
}

/* A thread that lost its processor meanwhile made or checked no longer than usual. */
static void count_own(Worker *w, uint64_t ns)
{
    if (w->own_least_ns == 0 || ns < w->own_least_ns)
        w->own_least_ns = ns;
    w->own_ns += ns < 2 * w->own_least_ns ? ns : 2 * w->own_least_ns;
}

static int write_one(Worker *w, uint64_t offset)
{
    const PeerOps *ops = w->run->ops;
    size_t len = w->run->o->size;
    int result = ops->write_start(w->conn, offset, w->buf, len);
    if (result != 0 || !ops->write_finish)
        return result;
    if (w->run->file >= 0) {
        ssize_t n = pwrite(w->run->file, w->buf, len, (off_t)(offset - w->run->o->base));
        if (n != (ssize_t)len)
            return n < 0 ? -errno : -EIO;
    }
    return ops->write_finish(w->conn);
}

/* One call at a random place: its time, or < 0: -errno; 0: lost. */
static int64_t one(Worker *w)
{
    const PeerOptions *o = w->run->o;
    uint64_t slot = random_below(&w->random, w->run->slots), offset = place(w, slot);
    uint64_t before = os_now_ns();
    if (o->write) {
        w->written[slot] = random_below(&w->random, UINT32_MAX) << 31 | 1;
        peer_data_make(w->written[slot], w->buf, o->size);
    }
    uint64_t start = os_now_ns();
    int result =
        o->write ? write_one(w, offset) : w->run->ops->read(w->conn, offset, w->buf, o->size);
    uint64_t end = os_now_ns();
    if (result < 0)
        return result;
    if (result == PEER_LOST) {
        w->lost++;
        if (o->write)
            w->written[slot] = 0;
        return 0;
    }
    if (!o->write)
        w->wrong += peer_data_wrong(peer_data_first(offset), w->buf, o->size);
    count_own(w, start - before + (o->write ? 0 : os_now_ns() - end));
    return (int64_t)(end - start);
}

/* ---- a thread ------------------------------------------------------------------------------- */

static int warm_up(Worker *w)
{
    int64_t took = 0;
    for (uint64_t i = 0; took >= 0 && i < w->run->o->warm_ops; i++)
        took = one(w);
    w->lost = w->own_ns = 0;
    return took < 0 ? (int)took : 0;
}

static int measure(Worker *w)
{
    const PeerOptions *o = w->run->o;
    uint64_t least = (o->least_ops + o->threads - 1) / o->threads, now = os_now_ns();
    while (w->count < OPS_MAX && now - w->run->start_ns < DEADLINE_NS &&
           (now - w->run->start_ns < o->least_ns || w->count < least)) {
        int64_t took = one(w);
        now = os_now_ns();
        if (took < 0)
            return (int)took;
        if (w->lost > least * STRETCH)
            return -ETIMEDOUT;
        if (took == 0)
            continue;
        w->ns[w->count++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
        w->sum_ns += (uint64_t)took;
    }
    w->end_ns = now;
    return w->count > 0 ? 0 : -ETIMEDOUT;
}

/* Every slot that was written holds what was written last, there and in the file. */
static int read_back(Worker *w)
{
    size_t len = w->run->o->size;
    for (uint64_t slot = 0; slot < w->run->slots; slot++) {
        uint64_t offset = place(w, slot);
        if (!w->written[slot])
            continue;
        int result = w->run->ops->read(w->conn, offset, w->buf, len);
        if (result < 0)
            return result;
        w->lost += result == PEER_LOST;
        if (result == 0)
            w->wrong += peer_data_wrong(w->written[slot], w->buf, len);
        if (w->run->file < 0)
            continue;
        if (pread(w->run->file, w->buf, len, (off_t)(offset - w->run->o->base)) != (ssize_t)len)
            return -EIO;
        w->wrong += peer_data_wrong(w->written[slot], w->buf, len);
    }
    return 0;
}

static int prepare(Worker *w)
{
    const PeerOptions *o = w->run->o;
    w->buf = aligned_alloc(4096, (o->size + 4095) / 4096 * 4096);
    w->ns = calloc(OPS_MAX, sizeof *w->ns);
    w->written = calloc(w->run->slots, sizeof *w->written);
    if (!w->buf || !w->ns || !w->written)
        return -ENOMEM;
    memset(w->buf, 0, o->size);
    os_random(NULL, &w->random.state, sizeof w->random.state);
    int result = w->run->ops->open(o, w->index, &w->conn);
    return result < 0 ? result : warm_up(w);
}

/* All threads pass every barrier, failed or not. */
static void *work(void *arg)
{
    Worker *w = arg;
    int (*const parts[])(Worker *) = {prepare, measure, read_back};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        int none = 0, result = 0;
        if (atomic_load(&w->run->failed) == 0)
            result = parts[i](w);
        if (result < 0)
            atomic_compare_exchange_strong(&w->run->failed, &none, result);
        pthread_barrier_wait(&w->run->barrier); /* the part is over */
        pthread_barrier_wait(&w->run->barrier); /* the next one may start */
    }
    return NULL;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
    return os_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void part_over(Run *run)
{
    pthread_barrier_wait(&run->barrier);
}
static void part_start(Run *run)
{
    pthread_barrier_wait(&run->barrier);
}

static int summarize(const Run *run, Worker *workers, PeerResult *r)
{
    const PeerOptions *o = run->o;
    uint64_t sum = 0, end = run->start_ns + 1, at = 0;
    for (unsigned i = 0; i < o->threads; i++) {
        const Worker *w = &workers[i];
        r->ops += w->count;
        r->lost += w->lost;
        r->wrong_bytes += w->wrong;
        sum += w->sum_ns;
        end = max_u64(end, w->end_ns);
    }
    uint32_t *ns CLEANUP_FREE = calloc(r->ops + 1, sizeof *ns);
    if (!ns)
        return -ENOMEM;
    for (unsigned i = 0; i < o->threads; i++) {
        memcpy(ns + at, workers[i].ns, workers[i].count * sizeof *ns);
        at += workers[i].count;
    }
    r->p50_us = bench_percentile(ns, r->ops, 500) / 1e3;
    r->p99_us = bench_percentile(ns, r->ops, 990) / 1e3;
    r->least_us = ns[0] / 1e3; /* they are sorted by now */
    r->mean_us = (double)sum / (double)r->ops / 1e3;
    double seconds = (double)(o->threads == 1 ? sum : end - run->start_ns) / 1e9;
    r->mb_s = (double)r->ops * (double)o->size / 1e6 / seconds;
    return 0;
}

static int measure_all(Run *run, Worker *workers, PeerResult *r)
{
    const PeerOptions *o = run->o;
    part_over(run); /* prepared */
    uint64_t client = own_cpu_ns(), server = peer_cpu_ns(o->servers);
    uint64_t dropped = peer_dropped(o->servers);
    run->start_ns = os_now_ns();
    part_start(run);
    part_over(run); /* measured */
    client = own_cpu_ns() - client;
    server = peer_cpu_ns(o->servers) - server;
    r->dropped = peer_dropped(o->servers) - dropped;
    part_start(run);
    part_over(run); /* read back */
    part_start(run);
    int result = atomic_load(&run->failed);
    if (result == 0)
        result = summarize(run, workers, r);
    if (result < 0)
        return result;
    double mib = (double)r->ops * (double)o->size / (1 << 20);
    for (unsigned i = 0; i < o->threads; i++)
        client -= workers[i].own_ns < client ? workers[i].own_ns : client;
    r->client_us = (double)client / 1e3 / mib;
    r->server_us = (double)server / 1e3 / mib;
    return 0;
}

int peer_measure(const PeerOptions *o, const PeerOps *ops, PeerResult *ret)
{
    Run run = {.o = o, .ops = ops, .slots = o->area_bytes / o->size / o->threads, .file = -1};
    Worker workers[PEER_THREADS_MAX] = {{.run = &run}};
    PeerResult r = {.ops = 0};
    int file CLEANUP_CLOSE = o->write && o->file ? open(o->file, O_RDWR | O_CLOEXEC) : -1;
    if (o->write && o->file && file < 0)
        return -errno;
    run.file = file;
    if (pthread_barrier_init(&run.barrier, NULL, o->threads + 1) != 0)
        return -ENOMEM;
    for (unsigned i = 0; i < o->threads; i++) {
        workers[i].run = &run;
        workers[i].index = i;
        if (os_thread_start(&workers[i].thread, work, &workers[i]) != 0)
            abort(); /* the others wait for it at the barrier */
    }
    int result = measure_all(&run, workers, &r);
    for (unsigned i = 0; i < o->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        ops->close(workers[i].conn);
        free(workers[i].buf);
        free(workers[i].ns);
        free(workers[i].written);
    }
    pthread_barrier_destroy(&run.barrier);
    if (result == 0)
        *ret = r;
    return result;
}

int peer_load(const PeerOptions *o, const PeerOps *ops)
{
    uint8_t *buf CLEANUP_FREE = aligned_alloc(4096, (o->size + 4095) / 4096 * 4096);
    void *conn = NULL;
    int result = buf ? ops->open(o, 0, &conn) : -ENOMEM;
    for (uint64_t at = 0; result == 0 && at + o->size <= o->area_bytes; at += o->size) {
        peer_data_make(peer_data_first(o->base + at), buf, o->size);
        result = ops->write_start(conn, o->base + at, buf, o->size);
        if (result == 0)
            result = ops->write_finish(conn);
    }
    ops->close(conn);
    return result == PEER_LOST ? -ETIMEDOUT : result;
}

/* ---- what the system counts ----------------------------------------------------------------- */

uint64_t peer_cpu_ns(const char *servers)
{
    uint64_t sum = 0;
    for (const char *p = servers; p && *p; p += *p == ',') {
        char *end;
        long pid = strtol(p, &end, 10);
        clockid_t clock;
        if (end == p)
            break;
        p = end;
        if (clock_getcpuclockid((pid_t)pid, &clock) == 0)
            sum += os_clock_ns(clock); /* 0 if it ends meanwhile */
    }
    return sum;
}

/* Udp: InErrors of the network that process @pid is in. */
static uint64_t dropped_at(const char *pid)
{
    char path[64], line[512];
    unsigned long long in, ports, errors;
    uint64_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/net/snmp", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Udp: %llu %llu %llu", &in, &ports, &errors) == 3)
            found = errors;
    if (f)
        (void)fclose(f);
    return found;
}

uint64_t peer_dropped(const char *servers)
{
    char pid[16];
    uint64_t sum = dropped_at("self");
    unsigned count = servers && *servers ? 1 : 0;
    for (const char *p = servers; p && *p; p++)
        count += *p == ',';
    /* Servers of one host count once: enough that the figure moves, and by how much. */
    for (unsigned i = 0; i < count && i < PEER_SERVERS_MAX; i++)
        if (peer_part(servers, i, pid, sizeof pid) && (i == 0 || count > 4))
            sum += dropped_at(pid);
    return sum;
}
