/* SPDX-License-Identifier: MIT */
/*
 * libusocket: messages between programs, over UDP or as raw Ethernet frames.
 *
 * The calls and their meaning are those of
 *   S. Koussih, A. Acharya, S. Setia: "Dodo: A User-level System for Exploiting Idle Memory in
 *   Workstation Clusters", HPDC 1999 (section 4.6; Figure 6),
 * with types widened to ssize_t. The paper's library stood on U-Net; this one stands on what every
 * Linux kernel has. Which way messages take, the addresses say:
 *
 *   "127.0.0.1:7000", "[::1]:7000"     UDP over IPv4 and IPv6; link-local: "[fe80::1%eth0]:7000"
 *   "02:00:00:00:00:01/7000%eth0"      raw frames: a MAC address, a port, an interface of this host
 *   "any/7000%eth0"                    the same with the interface's own MAC address, for u_bind()
 *
 * A message arrives whole or not at all; it may be lost, come twice or behind a later one, and it
 * is not encrypted: what comes may be anybody's. Raw frames stay inside one Ethernet segment. They
 * carry no more than the interface's MTU less 8 bytes; UDP carries 65507 bytes (65527 with IPv6).
 * Their socket comes from a helper of the host, dodo-socket(8), so that the program needs no
 * privilege; where it does not run, dodo_u_bind() says so, and UDP is there for everybody.
 *
 * A socket is a descriptor that poll(2), select(2) and epoll(7) report as readable when
 * dodo_u_recv() has something to do; it may have to wait nevertheless. With O_NONBLOCK set by
 * fcntl(2), no call on it waits. Nothing else may be done with the descriptor, least of all
 * close(2). It is closed by exec(2). After fork(2) parent and child share one that was bound, as
 * any socket: each message is given to one of them, and each closes it for itself. One that was not
 * bound is the parent's alone: the child can only close it.
 *
 * Every call may be made from any thread, at the same time, on the same socket too. None is
 * async-signal-safe, none a cancellation point. EINTR never surfaces. The library prints nothing,
 * installs no signal handler and starts no thread.
 */
#ifndef DODO_USOCKET_H
#define DODO_USOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DODO_API __attribute__((visibility("default")))
#else
#define DODO_API
#endif

/** What an address is of. */
enum {
    DODO_U_NONE = 0, /**< no address */
    DODO_U_IP4 = 1,  /**< UDP over IPv4 */
    DODO_U_IP6 = 2,  /**< UDP over IPv6 */
    DODO_U_MAC = 3   /**< raw frames */
};

enum {
    DODO_U_ADDRS_MAX = 8,  /**< addresses that a socket can be bound to */
    DODO_U_IOV_MAX = 1023, /**< buffers of a call */
    DODO_U_TEXT_MAX = 80   /**< room for an address as text, with its end */
};

/** An address, as a plain value; the same addresses are the same bytes (memcmp). */
typedef struct DodoUAddr {
    uint8_t kind;     /**< DODO_U_... */
    uint8_t zero;     /**< 0 */
    uint16_t port;    /**< host order; 0: any free one, for dodo_u_bind() */
    uint32_t scope;   /**< number of a MAC or link-local IPv6 address's interface; 0: none said */
    uint8_t host[16]; /**< 4 bytes of IPv4, 16 of IPv6 or 6 of a MAC address; then zeros */
} DodoUAddr;

/**
 * dodo_u_aton() - an address from its text
 * @text:   as shown at the top of this file. A port is needed; the interface may be left out of the
 *          MAC address of another host
 *
 * Returns: the address; one of kind DODO_U_NONE with errno set when there is none.
 * Errors:  EINVAL  @text is NULL or no address: names of hosts are none
 *          ENODEV  this host has no interface of that name
 *          EMFILE, ENFILE, ENOMEM  no descriptor or memory to look for the interface: close
 *                  something
 * Threads: safe.  Ownership: @text is not kept.  Source: paper 4.6.  Since: 0.1
 */
DODO_API DodoUAddr dodo_u_aton(const char *text);

/**
 * dodo_u_ntoa() - the text of an address
 * @addr:   the address
 * @text:   room for DODO_U_TEXT_MAX bytes; NULL: a buffer of the calling thread, which its next
 *          call uses again
 *
 * Returns: the text, which dodo_u_aton() takes on this host: "none" for no address. An interface
 *          that has gone is written as its number. Never NULL.
 * Threads: safe.  Ownership: @text is the caller's.  Source: paper 4.6.  Since: 0.1
 */
DODO_API char *dodo_u_ntoa(DodoUAddr addr, char *text);

/**
 * dodo_u_socket() - make a socket
 * @sendbufsize, @recvbufsize: of the buffers in the kernel, [bytes] as it counts them, with some
 *          hundreds for each message; 0: the system's default. The system's limits hold
 *
 * Returns: the socket, a descriptor >= 3; -1 with errno set.
 * Errors:  EINVAL  a size below 0: fix the call
 *          EMFILE, ENFILE, ENOMEM  no descriptors or memory: close something
 * Threads: safe.  Ownership: the socket is the caller's until dodo_u_close().
 * Source:  paper 4.6.  Since: 0.1
 */
DODO_API int dodo_u_socket(int sendbufsize, int recvbufsize);

/**
 * dodo_u_close() - end a socket
 * @usockfd: socket; gone whatever the result
 *
 * Messages that have come and were not taken are lost. Calls of other threads that wait on it end
 * with EBADF.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EBADF   @usockfd is no socket of this library
 * Threads: safe.  Source: paper 4.6.  Since: 0.1
 */
DODO_API int dodo_u_close(int usockfd);

/**
 * dodo_u_bind() - say at which addresses messages are taken
 * @usockfd: socket, not bound yet
 * @addrs:  addresses of this host, perhaps of different kinds; a MAC address has its interface.
 *          Where port or host were left open, what was chosen is written there. Else not changed,
 *          not kept
 * @nbaddr: how many, 1 .. DODO_U_ADDRS_MAX. All are bound, or none
 *
 * Returns: 0; -1 with errno set; dodo_u_last_error() says what to do.
 * Errors:  EBADF   @usockfd is no socket of this library, or was closed meanwhile
 *          EINVAL  it is bound already, or comes from before fork(2) and was not bound then;
 *                  @nbaddr is out of range, @addrs is NULL, or one of them is no address, or a MAC
 *                  or link-local address without its interface: fix the call
 *          EADDRINUSE  the port belongs to another socket: take another one, or port 0
 *          EADDRNOTAVAIL  the address is not this host's, or not that interface's
 *          ECONNREFUSED  raw frames: no helper runs for the interface: start dodo-socket(8), or use
 *                  UDP
 *          EACCES  raw frames: the helper does not serve this user: join its group. UDP: a port
 *                  below 1024
 *          EDQUOT  raw frames: this user has as many sockets as the helper gives: close some
 *          ENOBUFS  raw frames: all users together have: try again later
 *          ENODEV  raw frames: there is no such interface, or it is none of Ethernet
 *          EPROTO  raw frames: the helper is of another version, serves another network namespace,
 *                  or failed: its log says more
 *          ETIMEDOUT  raw frames: the helper did not answer for 5 seconds: try again
 *          EMFILE, ENFILE, ENOMEM  no descriptors or memory: close something
 *          or another errno of socket(2) and bind(2)
 * Threads: safe.  Source: paper 4.6; several addresses are nbaddr's meaning here.  Since: 0.1
 */
DODO_API int dodo_u_bind(int usockfd, DodoUAddr *addrs, int nbaddr);

/**
 * dodo_u_connect() - say where messages go
 * @usockfd: socket; one that is not bound yet is bound to a free port of the right kind, which
 *          needs the interface in a MAC address
 * @addr:   the address of another socket; or DODO_U_NONE: no message can be sent from now on
 *
 * Sends nothing to @addr, and does not limit what the socket receives: messages from all addresses
 * still arrive. May be called again at any time. A socket that is bound to several addresses sends
 * from the first one that is of @addr's kind and, for raw frames, of its interface.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EBADF   @usockfd is no socket of this library, or was closed meanwhile
 *          EINVAL  @addr is of no kind, has port 0, or is a MAC address that is no single host's:
 *                  all zeros, broadcast or multicast
 *          EAFNOSUPPORT  the socket is bound to no address of this kind and interface: bind one
 *          or, where it is bound first, an error of dodo_u_bind()
 * Threads: safe; a message of another thread goes to the old or to the new address.
 * Source:  paper 4.6.  Since: 0.1
 */
DODO_API int dodo_u_connect(int usockfd, DodoUAddr addr);

/**
 * dodo_u_send() - send a message
 * @usockfd: socket, connected
 * @buff:   the message; not kept
 * @len:    its length, [bytes], 0 .. dodo_u_max()
 *
 * Returns as soon as the kernel has it; waits while the socket's buffer is full.
 *
 * Returns: @len; -1 with errno set, and nothing was sent.
 * Errors:  EBADF   @usockfd is no socket of this library, or was closed meanwhile
 *          EDESTADDRREQ  it is not connected: dodo_u_connect() first
 *          EMSGSIZE  the message is longer than dodo_u_max(): make two of it
 *          EINVAL  @buff is NULL with @len > 0; or it is connected to a link-local address without
 *                  its interface, or to another host from a loopback address
 *          EAGAIN  the buffer is full, and the socket has O_NONBLOCK: try again in a moment
 *          ENETDOWN, ENETUNREACH, EHOSTUNREACH, ENOBUFS, EPERM, or another errno of sendto(2): the
 *                  interface is down, there is no way, a queue is full, a firewall refuses: as if
 *                  lost on the way, so send it again later
 *          ENXIO   raw frames: the interface is gone: close the socket
 * Threads: safe.  Source: paper 4.6.  Since: 0.1
 */
DODO_API ssize_t dodo_u_send(int usockfd, const void *buff, size_t len);

/**
 * dodo_u_send_iovec() - send a message that lies in several buffers
 * @usockfd: as of dodo_u_send()
 * @iov:    buffers, one message in order; not changed, not kept
 * @iovc:   how many, 0 .. DODO_U_IOV_MAX
 *
 * Returns: the message's length; -1 with errno set, and nothing was sent.
 * Errors:  EBADF, EDESTADDRREQ, EMSGSIZE, EAGAIN, ENETDOWN, ENETUNREACH, EHOSTUNREACH, ENOBUFS,
 *          EPERM, ENXIO  as dodo_u_send()
 *          EINVAL  @iovc is out of range, @iov is NULL with @iovc > 0, or a buffer is NULL that is
 *                  longer than 0
 * Threads: safe.  Source: paper 4.6.  Since: 0.1
 */
DODO_API ssize_t dodo_u_send_iovec(int usockfd, const struct iovec *iov, int iovc);

/**
 * dodo_u_recv() - take a message
 * @usockfd: socket, bound
 * @buff:   room for it; not kept. Bytes beyond the result may be overwritten
 * @len:    how much, [bytes]
 * @from:   filled in: who sent it, as dodo_u_connect() takes it for an answer; may be NULL
 * @timeout: how long to wait, [ms]; 0: not at all; -1: as long as it takes
 *
 * Returns: the message's length, which may be 0; -1 with errno set.
 * Errors:  EAGAIN  none came in @timeout, or at once with O_NONBLOCK: try again
 *          EMSGSIZE  the message is longer than @len: @buff has its beginning, @from its sender,
 *                  the rest is lost: use more room
 *          EBADF   @usockfd is no socket of this library, or was closed meanwhile
 *          EINVAL  it is not bound, @buff is NULL with @len > 0, @len is beyond SSIZE_MAX, or
 *                  @timeout < -1
 *          ENETDOWN  raw frames, once: the interface has gone down. When it is up again, messages
 *                  come again; when it is gone for good, close the socket
 *          or another errno of recvmsg(2)
 * Threads: safe; each message is given to one of them.  Source: paper 4.6.  Since: 0.1
 */
DODO_API ssize_t dodo_u_recv(int usockfd, void *buff, size_t len, DodoUAddr *from, int timeout);

/**
 * dodo_u_recv_iovec() - take a message into several buffers
 * @usockfd, @from, @timeout: as of dodo_u_recv()
 * @iov:    buffers, filled one after the other; not changed, not kept
 * @iovc:   how many, 0 .. DODO_U_IOV_MAX; afterwards, how many of them hold bytes of the message
 *
 * Returns: the message's length, which may be 0; -1 with errno set, and *@iovc as it was.
 * Errors:  EAGAIN, EMSGSIZE, EBADF, ENETDOWN  as dodo_u_recv()
 *          EINVAL  it is not bound, @iovc is NULL or out of range, @iov is NULL with *@iovc > 0, a
 *                  buffer is NULL that is longer than 0, they are longer than SSIZE_MAX together,
 *                  or @timeout < -1
 * Threads: as dodo_u_recv().  Source: paper 4.6.  Since: 0.1
 */
DODO_API ssize_t dodo_u_recv_iovec(int usockfd, const struct iovec *iov, int *iovc, DodoUAddr *from,
                                   int timeout);

/**
 * dodo_u_max() - how long a message may be
 * @usockfd: socket, connected
 *
 * A UDP message that is longer than the MTU goes in pieces, and is lost with any of them.
 *
 * Returns: the most that dodo_u_send() takes, [bytes]: for raw frames, what the interface's MTU
 *          allows now, which the other end may not take if its own is smaller; -1 with errno set.
 * Errors:  EBADF   @usockfd is no socket of this library, or was closed meanwhile
 *          EDESTADDRREQ  it is not connected: dodo_u_connect() first
 *          ENODEV  raw frames: the interface is gone: close the socket
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API ssize_t dodo_u_max(int usockfd);

/** What dodo_u_stats() reports of a socket, since it was made. */
typedef struct DodoUStats {
    uint64_t sent;           /**< messages */
    uint64_t sent_bytes;     /**< of their contents */
    uint64_t received;       /**< messages */
    uint64_t received_bytes; /**< of their contents */
    uint64_t cut;            /**< messages that were longer than the room for them */
    uint64_t refused;        /**< frames that are no message: too short, too long, no sender */
    uint64_t dropped;        /**< that the kernel dropped: the receive buffer was full */
    uint64_t reserved[9];
} DodoUStats;

/**
 * dodo_u_stats() - count what a socket has done
 * @usockfd: socket
 * @st:     filled in
 *
 * Frames for other ports, hosts or protocols are nowhere counted: the kernel does not give them to
 * the socket.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EBADF   @usockfd is no socket of this library, or was closed meanwhile
 *          EINVAL  @st is NULL
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_u_stats(int usockfd, DodoUStats *st);

/**
 * dodo_u_last_error() - the text behind the errno of this thread's last failed call
 *
 * Returns: text, never NULL; valid until this thread's next call of the library that fails.
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API const char *dodo_u_last_error(void);

#ifndef DODO_NO_SHORT_NAMES
/* The paper's names. */
typedef DodoUAddr macaddr_t;
static inline int u_socket(int sendbufsize, int recvbufsize)
{
    return dodo_u_socket(sendbufsize, recvbufsize);
}
static inline int u_close(int usockfd)
{
    return dodo_u_close(usockfd);
}
static inline macaddr_t u_aton(const char *str_addr)
{
    return dodo_u_aton(str_addr);
}
static inline char *u_ntoa(const macaddr_t macaddr, char *str_addr)
{
    return dodo_u_ntoa(macaddr, str_addr);
}
static inline int u_bind(int usockfd, macaddr_t *macaddr, int nbaddr)
{
    return dodo_u_bind(usockfd, macaddr, nbaddr);
}
static inline int u_connect(int usockfd, const macaddr_t macaddr)
{
    return dodo_u_connect(usockfd, macaddr);
}
static inline ssize_t u_send(int usockfd, const void *buff, size_t len)
{
    return dodo_u_send(usockfd, buff, len);
}
static inline ssize_t u_send_iovec(int usockfd, const struct iovec *iov, int iovc)
{
    return dodo_u_send_iovec(usockfd, iov, iovc);
}
static inline ssize_t u_recv(int usockfd, void *buff, size_t len, macaddr_t *macaddr, int timeout)
{
    return dodo_u_recv(usockfd, buff, len, macaddr, timeout);
}
static inline ssize_t u_recv_iovec(int usockfd, const struct iovec *iov, int *iovc,
                                   macaddr_t *macaddr, int timeout)
{
    return dodo_u_recv_iovec(usockfd, iov, iovc, macaddr, timeout);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
