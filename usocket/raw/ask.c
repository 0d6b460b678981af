/* SPDX-License-Identifier: MIT */
#include "usocket/raw/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "usocket/raw/interface.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static const char run_dir[] = "/run/dodo-socket";

/* Where the helper of that interface listens. */
static int helper_path(const char *interface, struct sockaddr_un *ret)
{
    const char *dir = secure_getenv("DODO_SOCKET_DIR");
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%s", dir && *dir ? dir : run_dir,
                     interface);
    return n < 0 || (size_t)n >= sizeof ret->sun_path ? -ENAMETOOLONG : 0;
}

static int connect_helper(const char *interface, uint64_t wait_ns)
{
    struct sockaddr_un at;
    const struct timeval wait = {(time_t)(wait_ns / NS_PER_S),
                                 (suseconds_t)(wait_ns % NS_PER_S / NS_PER_US)};
    int res = helper_path(interface, &at);
    if (res < 0)
        return res;
    CLEANUP_CLOSE int fd = os_above_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0)
        return -errno;
    do
        res = connect(fd, (const struct sockaddr *)&at, sizeof at);
    while (res != 0 && errno == EINTR);
    if (res == 0)
        return STEAL_FD(fd);
    if (errno == EAGAIN)
        return -ETIMEDOUT;
    return errno == ENOENT || errno == ENOTDIR ? -ECONNREFUSED : -errno;
}

/* The helper's reply, and the socket with it: its descriptor in *ret_fd, or -1. */
static int receive_reply(int helper, GrantReply *ret, int *ret_fd)
{
    uint8_t bytes[GRANT_MESSAGE + 1];
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {bytes, sizeof bytes};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_LEN(sizeof *ret_fd)}; /* no room for a second */
    ssize_t n;
    do
        n = recvmsg(helper, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -EPROTO;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
        memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
    else if (m.msg_flags & MSG_CTRUNC) /* it came, and there was no descriptor for it */
        return -EMFILE;
    return grant_reply_decode(bytes, (size_t)n, ret);
}

/* The network namespace that a socket is of; 0: the kernel does not tell (before Linux 5.14). */
static uint64_t namespace_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t len = sizeof cookie;
    return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

/* Is it what we asked for, in our network namespace, of which @own is? In another one an interface
 * may have the same name and number. */
static int check_socket(int fd, int own, uint32_t interface, const GrantReply *r)
{
    int domain = 0, type = 0;
    socklen_t len = sizeof domain;
    if (r->interface != interface || namespace_of(fd) != namespace_of(own))
        return -EPROTO;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || domain != AF_PACKET ||
        type != SOCK_DGRAM)
        return -EPROTO;
    return 0;
}

int ask_helper(const AskRequest *r, GrantReply *ret)
{
    uint8_t bytes[GRANT_MESSAGE];
    GrantRequest request = {.port = r->port};
    char name[INTERFACE_NAME];

    int res = interface_name(r->interface, name);
    if (res < 0)
        return res;
    (void)snprintf(request.interface, sizeof request.interface, "%s", name);
    memcpy(request.mac, r->mac, FRAME_MAC);
    CLEANUP_CLOSE int helper = connect_helper(name, r->wait_ns);
    if (helper < 0)
        return helper;
    grant_request_encode(&request, bytes);
    if (send(helper, bytes, sizeof bytes, MSG_NOSIGNAL) < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -EPROTO;
    CLEANUP_CLOSE int fd = -1;
    res = receive_reply(helper, ret, &fd);
    if (res == 0 && ret->error)
        res = -ret->error;
    if (res == 0)
        res = fd >= 0 ? check_socket(fd, helper, r->interface, ret) : -EPROTO;
    return res < 0 ? res : STEAL_FD(fd);
}
