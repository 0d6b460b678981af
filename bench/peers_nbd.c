/* SPDX-License-Identifier: MIT */
/* nbdkit's memory plug-in, or any NBD server, by libnbd. */
#include <errno.h>
#include <libnbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "bench/peers_client.h"

/* The connection is libnbd's handle; a write under way is all that is remembered beside it. */
typedef struct Nbd {
    struct nbd_handle *handle;
    int64_t cookie;
} Nbd;

static int failed(void)
{
    int error = nbd_get_errno();
    fprintf(stderr, "libnbd: %s\n", nbd_get_error());
    return error ? -error : -EIO;
}

static void nbd_conn_close(void *conn)
{
    Nbd *c = conn;
    if (c && c->handle)
        nbd_close(c->handle);
    free(c);
}

static int nbd_open(const PeerOptions *o, unsigned thread, void **ret_conn)
{
    char text[ADDR_TEXT_MAX], *colon;
    if (!peer_part(o->at, thread, text, sizeof text) || !(colon = strrchr(text, ':')))
        return -EINVAL;
    *colon = '\0';
    Nbd *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    *ret_conn = c; /* closed by the caller, whatever comes */
    c->handle = nbd_create();
    if (!c->handle || nbd_connect_tcp(c->handle, text, colon + 1) < 0)
        return failed();
    return 0;
}

static int nbd_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    Nbd *c = conn;
    return nbd_pread(c->handle, buf, len, offset, 0) < 0 ? failed() : 0;
}

static int nbd_start(void *conn, uint64_t offset, const void *buf, size_t len)
{
    Nbd *c = conn;
    c->cookie = nbd_aio_pwrite(c->handle, buf, len, offset, NBD_NULL_COMPLETION, 0);
    return c->cookie < 0 ? failed() : 0;
}

static int nbd_finish(void *conn)
{
    Nbd *c = conn;
    for (;;) {
        int done = nbd_aio_command_completed(c->handle, (uint64_t)c->cookie);
        if (done != 0)
            return done < 0 ? failed() : 0;
        if (nbd_poll(c->handle, 10000) <= 0)
            return failed();
    }
}

static const PeerOps ops = {nbd_open, nbd_conn_close, nbd_read, nbd_start, nbd_finish};
const PeerOps *const peer_nbd = &ops;
