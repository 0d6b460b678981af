/* SPDX-License-Identifier: MIT */
/* See peers_stream.h. */
#include "bench/peers_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "bench/peers_common.h"

int stream_connect(const char *at, unsigned index)
{
    char text[ADDR_TEXT_MAX];
    int on = 1, fd CLEANUP_CLOSE = -1;
    struct timeval patience = {.tv_sec = 10};
    Addr a;
    if (!peer_part(at, index, text, sizeof text) || addr_parse(text, 0, &a) < 0 ||
        a.kind != ADDR_IP4)
        return -EINVAL;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(a.port)};
    memcpy(&to.sin_addr, a.host, sizeof to.sin_addr);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return -errno;
    return STEAL_FD(fd);
}

/* Takes the first @n bytes off. */
static void advance(struct msghdr *m, size_t n)
{
    while (m->msg_iovlen > 0 && n >= m->msg_iov->iov_len) {
        n -= m->msg_iov->iov_len;
        m->msg_iov++;
        m->msg_iovlen--;
    }
    if (m->msg_iovlen > 0) {
        m->msg_iov->iov_base = (uint8_t *)m->msg_iov->iov_base + n;
        m->msg_iov->iov_len -= n;
    }
}

int stream_send(int fd, struct iovec *iov, unsigned count)
{
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = count};
    while (m.msg_iovlen > 0) {
        ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -errno;
        advance(&m, n < 0 ? 0 : (size_t)n);
    }
    return 0;
}

int stream_receive(int fd, struct iovec *iov, unsigned count)
{
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = count};
    while (m.msg_iovlen > 0) {
        ssize_t n = recvmsg(fd, &m, MSG_WAITALL);
        if (n == 0)
            return -EPIPE;
        if (n < 0 && errno != EINTR)
            return -errno;
        advance(&m, n < 0 ? 0 : (size_t)n);
    }
    return 0;
}
