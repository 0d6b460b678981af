/* SPDX-License-Identifier: MIT */
/* memcached by its text protocol, redis by RESP. The answers' lengths are known beforehand, so each
 * is received with one call, the value straight to its place: no client library does less, so this
 * is the most that these peers can do. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/peers_client.h"
#include "bench/peers_stream.h"

enum { LINE_MAX_BYTES = 128 };

typedef struct KeyValue {
    int fd;
    size_t size;
    char line[LINE_MAX_BYTES];
} KeyValue;

static int kv_open(const PeerOptions *o, unsigned thread, void **ret_conn)
{
    KeyValue *c CLEANUP_FREE = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->size = o->size;
    c->fd = stream_connect(o->at, thread);
    if (c->fd < 0)
        return c->fd;
    *ret_conn = c;
    c = NULL;
    return 0;
}

static void kv_close(void *conn)
{
    KeyValue *c = conn;
    if (c)
        (void)close(c->fd);
    free(c);
}

/* Values of each size have keys of their own. */
static int key_of(const KeyValue *c, uint64_t offset, char out[48])
{
    return snprintf(out, 48, "%zu:%" PRIu64, c->size, offset);
}

static int send_line(KeyValue *c, size_t line_len, const void *value, size_t len, const char *end)
{
    struct iovec iov[3] = {
        {c->line, line_len},
        {(void *)(uintptr_t)value, len},
        {(void *)(uintptr_t)end, strlen(end)},
    };
    return stream_send(c->fd, iov, 3);
}

/* Just @head, @len bytes into @buf, @tail. A shorter answer (an error) shows by its silence. */
static int expect(KeyValue *c, const char *head, void *buf, size_t len, const char *tail)
{
    char got_head[LINE_MAX_BYTES], got_tail[16];
    size_t head_len = strlen(head), tail_len = strlen(tail);
    struct iovec iov[3] = {{got_head, head_len}, {buf, len}, {got_tail, tail_len}};
    int result = stream_receive(c->fd, iov, 3);
    if (result < 0)
        return result;
    return memcmp(got_head, head, head_len) == 0 && memcmp(got_tail, tail, tail_len) == 0 ? 0
                                                                                          : -EPROTO;
}

/* ---- memcached ------------------------------------------------------------------------------ */

static int memcached_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    KeyValue *c = conn;
    char key[48], head[LINE_MAX_BYTES];
    (void)key_of(c, offset, key);
    int n = snprintf(c->line, sizeof c->line, "get %s\r\n", key);
    (void)snprintf(head, sizeof head, "VALUE %s 0 %zu\r\n", key, len);
    int result = send_line(c, (size_t)n, NULL, 0, "");
    return result < 0 ? result : expect(c, head, buf, len, "\r\nEND\r\n");
}

static int memcached_start(void *conn, uint64_t offset, const void *buf, size_t len)
{
    KeyValue *c = conn;
    char key[48];
    (void)key_of(c, offset, key);
    int n = snprintf(c->line, sizeof c->line, "set %s 0 0 %zu\r\n", key, len);
    return send_line(c, (size_t)n, buf, len, "\r\n");
}

static int memcached_finish(void *conn)
{
    return expect(conn, "STORED\r\n", NULL, 0, "");
}

const PeerOps peer_memcached = {kv_open, kv_close, memcached_read, memcached_start,
                                memcached_finish};

/* ---- redis ---------------------------------------------------------------------------------- */

static int redis_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    KeyValue *c = conn;
    char key[48], head[32];
    int key_len = key_of(c, offset, key);
    int n = snprintf(c->line, sizeof c->line, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", key_len, key);
    (void)snprintf(head, sizeof head, "$%zu\r\n", len);
    int result = send_line(c, (size_t)n, NULL, 0, "");
    return result < 0 ? result : expect(c, head, buf, len, "\r\n");
}

static int redis_start(void *conn, uint64_t offset, const void *buf, size_t len)
{
    KeyValue *c = conn;
    char key[48];
    int key_len = key_of(c, offset, key);
    int n = snprintf(c->line, sizeof c->line, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%zu\r\n", key_len,
                     key, len);
    return send_line(c, (size_t)n, buf, len, "\r\n");
}

static int redis_finish(void *conn)
{
    return expect(conn, "+OK\r\n", NULL, 0, "");
}

const PeerOps peer_redis = {kv_open, kv_close, redis_read, redis_start, redis_finish};
