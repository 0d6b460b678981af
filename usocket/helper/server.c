/* SPDX-License-Identifier: MIT */
#include "usocket/helper/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "daemon/log.h"
#include "usocket/helper/raw_open.h"
#include "usocket/raw/grant.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

enum { AT_STOP, AT_LISTENER, AT_CLIENTS };
enum { REST_MS = 100 }; /* as a daemon's metrics rest, until a descriptor may be free */

/* ---- who asks -------------------------------------------------------------------------------- */

static bool in_group(int fd, gid_t group, const struct ucred *who)
{
    static gid_t groups[NGROUPS_MAX]; /* for a stack that is small they are many */
    socklen_t len = sizeof groups;
    if (who->gid == group)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0)
        return false;
    for (size_t i = 0; i < len / sizeof *groups; i++)
        if (groups[i] == group)
            return true;
    return false;
}

bool server_may_ask(const Server *s, int fd, uid_t *ret_uid, pid_t *ret_pid)
{
    struct ucred who;
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
        return false;
    *ret_uid = who.uid;
    *ret_pid = who.pid;
    return who.uid == 0 || who.uid == geteuid() || in_group(fd, s->group, &who);
}

/* ---- which sockets there are ----------------------------------------------------------------- */

/* All of a file, with a 0. 0, -errno; -EFBIG. It waits for nobody: the file may be a FIFO. */
static int read_all(const char *path, char *text, size_t cap)
{
    size_t len = 0;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n = read(fd, text + len, cap - 1 - len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        len += n > 0 ? (size_t)n : 0;
        if (len == cap - 1)
            return -EFBIG;
    }
    text[len] = '\0';
    return 0;
}

/* What is not known to be gone is there. */
static int forget_gone(Server *s)
{
    static const char path[] = "/proc/self/net/packet";
    int res = read_all(path, s->list, sizeof s->list);
    if (res == 0)
        res = read_all(path, s->later, sizeof s->later);
    if (res == 0 && grants_list_is_whole(s->list, s->later))
        grants_keep_listed(&s->grants, s->list);
    return res;
}

/* ---- the state ------------------------------------------------------------------------------- */

/* In a new file, which then takes the place of the old one. */
static int replace_file(const char *path, const char *text, size_t len)
{
    char next[4096];
    if ((size_t)snprintf(next, sizeof next, "%s.new", path) >= sizeof next)
        return -ENAMETOOLONG;
    CLEANUP_CLOSE int fd =
        open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, len);
    if (n < 0 || (size_t)n != len)
        return n < 0 ? -errno : -ENOSPC;
    return rename(next, path) == 0 ? 0 : -errno;
}

static void save(Server *s)
{
    if (!s->state)
        return;
    int res = replace_file(s->state, s->text, grants_format(&s->grants, s->text, sizeof s->text));
    if (res < 0 && told_add(&s->unsaved, 1, os_now_ns()) > 0)
        log_event(LOG_LEVEL_WARN, "state_not_saved",
                  "file=%s error=\"%s\" fix=\"a restart may give ports twice\"", s->state,
                  strerror(-res));
}

static void load(Server *s)
{
    if (!s->state)
        return;
    int res = read_all(s->state, s->text, sizeof s->text);
    if (res == 0)
        res = grants_parse(s->text, &s->grants);
    if (res < 0 && res != -ENOENT)
        log_event(LOG_LEVEL_WARN, "state_not_read", "file=%s error=\"%s\"", s->state,
                  strerror(-res));
}

int server_begin(Server *s)
{
    s->grants.count = 0;
    load(s);
    return forget_gone(s);
}

/* ---- a request ------------------------------------------------------------------------------- */

/* A socket for the request; its descriptor, or -errno. */
static int give(Server *s, const GrantRequest *r, uid_t uid, GrantReply *ret)
{
    Grant grant = {.uid = uid, .port = r->port};
    FrameFilter filter = {0};
    uint16_t random = 0;
    struct stat st;

    if (strcmp(r->interface, s->interface) != 0)
        return -ENODEV;
    int res = raw_interface(s->interface, &grant.interface, filter.mac);
    if (res < 0)
        return res;
    if (!mac_is_any(r->mac) && memcmp(r->mac, filter.mac, FRAME_MAC) != 0)
        return -EADDRNOTAVAIL;
    if (forget_gone(s) < 0 || os_random_try(&random, sizeof random) < 0)
        return -EPROTO;
    res = grants_pick(&s->grants, &grant, random, &grant.port);
    if (res < 0)
        return res;
    filter.interface = grant.interface;
    filter.port = grant.port;
    CLEANUP_CLOSE int fd = raw_open(&filter);
    if (fd < 0)
        return fd == -EPERM ? -EPROTO : fd;
    if (fstat(fd, &st) != 0)
        return -errno;
    grant.inode = st.st_ino;
    grants_add(&s->grants, &grant);
    save(s);
    *ret = (GrantReply){.port = grant.port, .interface = grant.interface};
    memcpy(ret->mac, filter.mac, FRAME_MAC);
    return STEAL_FD(fd);
}

/* With the socket @fd; < 0: none. Who does not read it has the loss. */
static void reply(int client, const GrantReply *r, int fd)
{
    uint8_t bytes[GRANT_MESSAGE];
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {bytes, sizeof bytes};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

    grant_reply_encode(r, bytes);
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof control.bytes;
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    (void)sendmsg(client, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A user who opens and closes sockets has no more lines than for all that he may have. */
static void log_given(Server *s, uid_t uid, pid_t pid, uint16_t port)
{
    const uint64_t sockets = told_add(&s->given, GRANTS_USER_MAX, os_now_ns());
    if (sockets > 0)
        log_event(LOG_LEVEL_INFO, "given", "sockets=%" PRIu64 " uid=%u pid=%d port=%u", sockets,
                  uid, pid, port);
}

static void log_refused(Server *s, uid_t uid, pid_t pid, int error)
{
    const uint64_t requests = told_add(&s->refused, 1, os_now_ns());
    if (requests > 0)
        log_event(LOG_LEVEL_WARN, "refused", "requests=%" PRIu64 " uid=%u pid=%d error=\"%s\"",
                  requests, uid, pid, strerror(error));
}

/* Reads the request of a connection and answers it. */
static void answer(Server *s, int client)
{
    uint8_t bytes[GRANT_MESSAGE + 1];
    GrantRequest r;
    GrantReply out = {0};
    uid_t uid = 0;
    pid_t pid = 0;

    ssize_t n = recv(client, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0)
        return;
    bool may = server_may_ask(s, client, &uid, &pid);
    int fd = !may ? -EACCES : grant_request_decode(bytes, (size_t)n, &r);
    if (fd == 0)
        fd = give(s, &r, uid, &out);
    out.error = fd < 0 ? -fd : 0;
    if (fd < 0)
        log_refused(s, uid, pid, -fd);
    else
        log_given(s, uid, pid, out.port);
    reply(client, &out, fd);
    if (fd >= 0)
        (void)close(fd);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Ends the connection at @i of the clients. */
static void client_end(Server *s, unsigned i)
{
    struct pollfd *clients = s->poll + AT_CLIENTS;
    (void)close(clients[i].fd);
    s->clients--;
    memmove(clients + i, clients + i + 1, (s->clients - i) * sizeof *clients);
}

/* Takes a new connection; where there is no room, the one goes that has been silent longest. Who
 * cannot be taken, as there is no descriptor for him, still waits: the listener rests. */
static int client_begin(Server *s)
{
    int fd = accept4(s->poll[AT_LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    s->poll[AT_LISTENER].events = fd < 0 ? 0 : POLLIN;
    if (fd < 0)
        return errno == EBADF || errno == EINVAL || errno == ENOTSOCK ? -errno : 0;
    if (s->clients == SERVER_CLIENTS_MAX)
        client_end(s, 0);
    s->poll[AT_CLIENTS + s->clients++] = (struct pollfd){.fd = fd, .events = POLLIN};
    return 0;
}

int server_run(Server *s, int listener, int stop)
{
    int res = 0;
    s->poll[AT_STOP] = (struct pollfd){.fd = stop, .events = POLLIN};
    s->poll[AT_LISTENER] = (struct pollfd){.fd = listener, .events = POLLIN};
    while (res == 0) {
        const bool rests = !s->poll[AT_LISTENER].events;
        if (poll(s->poll, AT_CLIENTS + s->clients, rests ? REST_MS : -1) < 0) {
            res = errno == EINTR ? 0 : -errno;
            continue;
        }
        s->poll[AT_LISTENER].events = POLLIN;
        if (s->poll[AT_STOP].revents)
            break;
        for (unsigned i = s->clients; i-- > 0;)
            if (s->poll[AT_CLIENTS + i].revents) {
                answer(s, s->poll[AT_CLIENTS + i].fd);
                client_end(s, i);
            }
        if (s->poll[AT_LISTENER].revents)
            res = client_begin(s);
    }
    while (s->clients > 0)
        client_end(s, 0);
    return res;
}
