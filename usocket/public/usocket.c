/* SPDX-License-Identifier: MIT */
/* The public calls: they check what they are given, and turn -errno into -1, errno and a text. */
#include "dodo/usocket.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "usocket/public/address.h"
#include "usocket/public/socket.h"
#include "usocket/raw/interface.h"

static __thread char error_text[256];
static __thread char address_text[DODO_U_TEXT_MAX];

const char *dodo_u_last_error(void)
{
    return *error_text ? error_text : "no error";
}

/* -1 with errno -@res; the text is the format's. */
static int fail(int res, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(int res, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error_text, sizeof error_text, format, args);
    va_end(args);
    errno = -res;
    return -1;
}

static int not_a_socket(int usockfd)
{
    return fail(-EBADF, "%d is no socket of u_socket(), or it was closed", usockfd);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* None is a cancellation point: a thread that ended inside would keep its socket. */
typedef struct Call {
    int cancel_state;
} Call;

static void cancel_off(Call *c)
{
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel_state);
}

static void cancel_on(const Call *c)
{
    (void)pthread_setcancelstate(c->cancel_state, NULL);
}

/* The socket; NULL: there is none, and the error is set. */
static Socket *call_begin(Call *c, int usockfd)
{
    cancel_off(c);
    Socket *s = socket_get(usockfd);
    if (!s) {
        cancel_on(c);
        (void)not_a_socket(usockfd);
    }
    return s;
}

static void call_end(const Call *c, Socket *s)
{
    socket_put(s);
    cancel_on(c);
}

/* ---- addresses ------------------------------------------------------------------------------- */

DodoUAddr dodo_u_aton(const char *text)
{
    DodoUAddr a = {.kind = DODO_U_NONE}, none = a;
    char interface[INTERFACE_NAME];
    uint64_t number;
    if (!text || address_parse(text, &a, interface) != 0) {
        (void)fail(-EINVAL,
                   "\"%.64s\" is no address; write 127.0.0.1:7000, [::1]:7000 or "
                   "02:00:00:00:00:01/7000%%eth0",
                   text ? text : "");
        return none;
    }
    if (!*interface)
        return a;
    Call c;
    cancel_off(&c);
    int res = interface_number(interface, &a.scope);
    cancel_on(&c);
    if (res < 0 && parse_u64(interface, 1, INT32_MAX, &number) == 0) {
        a.scope = (uint32_t)number;
        res = 0;
    }
    if (res == 0)
        return a;
    (void)fail(res, "no interface %s: %s", interface, strerror(-res));
    return none;
}

char *dodo_u_ntoa(DodoUAddr addr, char *text)
{
    char interface[INTERFACE_NAME];
    int error = errno;
    Call c;
    cancel_off(&c);
    bool named = addr.scope && interface_name(addr.scope, interface) == 0;
    cancel_on(&c);
    errno = error;
    return address_format(&addr, named ? interface : NULL, text ? text : address_text,
                          DODO_U_TEXT_MAX);
}

/* ---- sockets --------------------------------------------------------------------------------- */

int dodo_u_socket(int sendbufsize, int recvbufsize)
{
    const WayBuffers buffers = {sendbufsize, recvbufsize};
    if (sendbufsize < 0 || recvbufsize < 0)
        return fail(-EINVAL, "a buffer's size is below 0");
    Call c;
    cancel_off(&c);
    int res = socket_make(&buffers);
    cancel_on(&c);
    return res < 0 ? fail(res, "no socket: %s", strerror(-res)) : res;
}

int dodo_u_close(int usockfd)
{
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    int res = socket_end(s);
    call_end(&c, s);
    return res < 0 ? not_a_socket(usockfd) : 0;
}

static const char *bind_advice(int error, bool raw)
{
    switch (error) {
    case ECONNREFUSED:
        return "no helper runs for this interface; as root, start dodo-socket(8): systemctl start "
               "dodo-socket@INTERFACE.socket; or use a UDP address";
    case EACCES:
        return raw ? "the helper serves its group only; join it (adduser NAME dodo-socket), or use "
                     "a UDP "
                     "address"
                   : "the port is for privileged programs; take one from 1024 on";
    case EADDRINUSE:
        return "the port belongs to another socket; take another one, or 0 for any";
    case EADDRNOTAVAIL:
        return "the address is not this host's";
    case EINVAL:
        return "a link-local address needs its interface: [fe80::1%eth0]:7000";
    case ENOBUFS:
        return "the helper has given as many sockets as it gives; try again later";
    case EDQUOT:
        return "you have as many sockets as the helper gives to a user; close some";
    case ENODEV:
        return "there is no such Ethernet interface";
    case EPROTO:
        return "the helper cannot give a socket for this network namespace, or is of another "
               "version; its log says more";
    case ETIMEDOUT:
        return "the helper does not answer; try again";
    default:
        return strerror(error);
    }
}

static bool may_bind(const DodoUAddr *a)
{
    if (a->zero != 0 || (a->kind == DODO_U_MAC && a->scope == 0))
        return false;
    return a->kind == DODO_U_IP4 || a->kind == DODO_U_IP6 || a->kind == DODO_U_MAC;
}

/* Binds a socket that is in use. */
static int bind_to(Socket *s, DodoUAddr *addrs, unsigned count)
{
    unsigned failed;
    char text[DODO_U_TEXT_MAX];
    for (unsigned i = 0; i < count; i++)
        if (!may_bind(&addrs[i]))
            return fail(-EINVAL, "%s: %s", dodo_u_ntoa(addrs[i], text),
                        addrs[i].kind == DODO_U_MAC ? "name the interface: ADDRESS/PORT%eth0"
                                                    : "no address to bind to");
    int res = socket_bind(s, addrs, count, &failed);
    if (res == -EALREADY)
        return fail(-EINVAL, socket_is_elsewhere(s)
                                 ? "the socket was not bound before fork(); make one here"
                                 : "the socket is bound already");
    if (res < 0)
        return fail(res, "%s: %s", dodo_u_ntoa(addrs[failed], text),
                    bind_advice(-res, addrs[failed].kind == DODO_U_MAC));
    return 0;
}

int dodo_u_bind(int usockfd, DodoUAddr *addrs, int nbaddr)
{
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    int res = -1;
    if (nbaddr < 1 || nbaddr > DODO_U_ADDRS_MAX || !addrs)
        (void)fail(-EINVAL, "give 1 to %d addresses", DODO_U_ADDRS_MAX);
    else
        res = bind_to(s, addrs, (unsigned)nbaddr);
    call_end(&c, s);
    return res;
}

static bool may_connect(const DodoUAddr *a)
{
    if (a->kind == DODO_U_NONE)
        return true;
    if (a->zero != 0 || a->port == 0)
        return false;
    return a->kind == DODO_U_MAC ? mac_is_single(a->host)
                                 : a->kind == DODO_U_IP4 || a->kind == DODO_U_IP6;
}

static int connect_to(Socket *s, const DodoUAddr *to)
{
    char text[DODO_U_TEXT_MAX];
    if (!may_connect(to))
        return fail(-EINVAL, "%s: no address of a socket of one host", dodo_u_ntoa(*to, text));
    if (!socket_is_bound(s) && to->kind != DODO_U_NONE) {
        DodoUAddr any = {.kind = to->kind, .scope = to->kind == DODO_U_MAC ? to->scope : 0};
        if (bind_to(s, &any, 1) < 0 && !socket_is_bound(s)) /* not even by another thread */
            return -1;
    }
    int res = socket_connect(s, to);
    if (res == -EAFNOSUPPORT)
        return fail(res, "%s: the socket is bound to no address that leads there",
                    dodo_u_ntoa(*to, text));
    return res < 0 ? fail(res, "%s: %s", dodo_u_ntoa(*to, text), strerror(-res)) : 0;
}

int dodo_u_connect(int usockfd, DodoUAddr addr)
{
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    int res = connect_to(s, &addr);
    call_end(&c, s);
    return res;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Whether the buffers are some, and how long they are together; SIZE_MAX: beyond SSIZE_MAX. */
static bool iov_good(const struct iovec *iov, int iovc, size_t *ret_len)
{
    *ret_len = 0;
    if (iovc < 0 || iovc > DODO_U_IOV_MAX || (!iov && iovc > 0))
        return false;
    for (int i = 0; i < iovc; i++) {
        if (!iov[i].iov_base && iov[i].iov_len > 0)
            return false;
        bool fits = *ret_len <= SSIZE_MAX && iov[i].iov_len <= SSIZE_MAX - *ret_len;
        *ret_len = fits ? *ret_len + iov[i].iov_len : SIZE_MAX;
    }
    return true;
}

static const char *send_advice(int error)
{
    switch (error) {
    case EDESTADDRREQ:
        return "the socket is not connected: u_connect() first";
    case EMSGSIZE:
        return "the message is longer than dodo_u_max()";
    case EAGAIN:
        return "the buffer is full";
    case EBADF:
        return "the socket was closed meanwhile";
    case EINVAL:
        return "a buffer is NULL, or there are too many of them; or the address that it is "
               "connected to is link-local and lacks its interface, or another host's while it "
               "is bound to a loopback address";
    case ENXIO:
    case ENODEV:
        return "the interface is gone; close the socket";
    default:
        return strerror(error);
    }
}

static ssize_t send_buffers(int usockfd, const struct iovec *iov, int iovc)
{
    size_t len;
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    int res = -EINVAL;
    if (iov_good(iov, iovc, &len))
        res = len == SIZE_MAX ? -EMSGSIZE : socket_send(s, iov, iovc, len);
    call_end(&c, s);
    return res < 0 ? fail(res, "not sent: %s", send_advice(-res)) : (ssize_t)len;
}

ssize_t dodo_u_send(int usockfd, const void *buff, size_t len)
{
    const struct iovec iov = {(void *)buff, len};
    return send_buffers(usockfd, &iov, 1);
}

ssize_t dodo_u_send_iovec(int usockfd, const struct iovec *iov, int iovc)
{
    return send_buffers(usockfd, iov, iovc);
}

static const char *receive_advice(int error)
{
    switch (error) {
    case EAGAIN:
        return "no message has come";
    case EBADF:
        return "the socket was closed meanwhile";
    case EINVAL:
        return "the socket is not bound; or a buffer is NULL, there are too many, or the timeout "
               "is below -1";
    case ENETDOWN:
        return "the interface has gone down; messages come again when it is up";
    default:
        return strerror(error);
    }
}

static ssize_t receive_buffers(int usockfd, const struct iovec *iov, int iovc, DodoUAddr *from,
                               int timeout)
{
    size_t len;
    DodoUAddr sender;
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    ssize_t n = -EINVAL;
    if (iov_good(iov, iovc, &len) && len != SIZE_MAX && timeout >= -1 && socket_is_bound(s))
        n = socket_receive(s, iov, iovc, &sender, timeout);
    call_end(&c, s);
    if (from && (n >= 0 || n == -EMSGSIZE))
        *from = sender;
    if (n == -EMSGSIZE)
        return fail((int)n, "the message was longer than the room for it: its beginning is there, "
                            "the rest is lost");
    return n < 0 ? fail((int)n, "nothing received: %s", receive_advice((int)-n)) : n;
}

ssize_t dodo_u_recv(int usockfd, void *buff, size_t len, DodoUAddr *from, int timeout)
{
    const struct iovec iov = {buff, len};
    return receive_buffers(usockfd, &iov, 1, from, timeout);
}

ssize_t dodo_u_recv_iovec(int usockfd, const struct iovec *iov, int *iovc, DodoUAddr *from,
                          int timeout)
{
    ssize_t n = receive_buffers(usockfd, iov, iovc ? *iovc : -1, from, timeout);
    if (n < 0)
        return n;
    int used = 0;
    for (size_t left = (size_t)n; left > 0; used++)
        left -= left < iov[used].iov_len ? left : iov[used].iov_len;
    *iovc = used;
    return n;
}

/* ---- what there is to know ------------------------------------------------------------------- */

ssize_t dodo_u_max(int usockfd)
{
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    ssize_t n = socket_message_max(s);
    call_end(&c, s);
    return n < 0 ? fail((int)n, "no limit is known: %s", send_advice((int)-n)) : n;
}

int dodo_u_stats(int usockfd, DodoUStats *st)
{
    Call c;
    Socket *s = call_begin(&c, usockfd);
    if (!s)
        return -1;
    if (st)
        socket_stats(s, st);
    call_end(&c, s);
    return st ? 0 : fail(-EINVAL, "no room for the counters");
}
