/* SPDX-License-Identifier: MIT */
#include "imd/owner_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "daemon/log.h"
#include "imd/owner.h"
#include "imd/priority.h"
#include "imd/shell_private.h"

int owner_socket_take(int fd, char *error, size_t error_cap)
{
    int type = 0;
    socklen_t len = sizeof type;
    int res = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 ? 0 : -errno;

    if (res == 0 && type != SOCK_SEQPACKET)
        res = -EINVAL;
    if (res == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        res = -errno;
    if (res < 0)
        (void)snprintf(error, error_cap,
                       "--owner-fd %d: not a socket of rmd's; without rmd leave the option out",
                       fd);
    return res;
}

/* False: it does not listen just now. That it is gone shows when we listen. */
static bool __attribute__((format(printf, 2, 3))) say(int fd, const char *format, ...)
{
    char text[OWNER_TEXT_MAX];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return len > 0 && (size_t)len < sizeof text &&
           send(fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len;
}

void owner_socket_ready(int fd, uint64_t epoch, uint64_t pool_bytes)
{
    if (!say(fd, "ready epoch=%016" PRIx64 " pool=%" PRIu64, epoch, pool_bytes))
        log_event(LOG_LEVEL_WARN, "owner_deaf", "message=ready");
}

void owner_socket_saves(int fd)
{
    if (!say(fd, "saves"))
        log_event(LOG_LEVEL_WARN, "owner_deaf", "message=saves");
}

bool owner_socket_used(int fd, uint64_t used_bytes, uint64_t limit_bytes)
{
    return say(fd, "used %" PRIu64 " limit %" PRIu64, used_bytes, limit_bytes);
}

ssize_t owner_socket_receive(int fd, char text[OWNER_TEXT_MAX + 1])
{
    for (;;) {
        ssize_t len = recv(fd, text, OWNER_TEXT_MAX + 1, MSG_DONTWAIT);
        if (len >= 0)
            return len;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return -EAGAIN;
        if (errno != EINTR)
            return 0;
    }
}

/* ---- the control thread's -------------------------------------------------------------------- */

void imd_close_owner(Imd *imd)
{
    if (imd->owner >= 0)
        (void)close(imd->owner);
    imd->owner = -1;
}

static void take_word(Imd *imd, const char *text, size_t len, uint64_t now_ns)
{
    enum OwnerEvent event = member_heard(&imd->member, text, len, now_ns);
    if (event == OWNER_ASKS)
        owner_socket_saves(imd->owner);
    if (event == OWNER_LIMIT || event == OWNER_SAVE)
        priority_group(imd->member.hurrying, now_ns); /* rmd may have thought otherwise */
    if (event == OWNER_RELOAD)
        imd_take_told(imd);
    if (event == OWNER_UNKNOWN)
        log_event(LOG_LEVEL_WARN, "owner_not_understood", "bytes=%zu", len);
}

void imd_hear_owner(Imd *imd, uint64_t now_ns)
{
    char text[OWNER_TEXT_MAX + 1];
    ssize_t len = -EAGAIN;
    while (imd->owner >= 0 && (len = owner_socket_receive(imd->owner, text)) > 0)
        take_word(imd, text, (size_t)len, now_ns);
    if (len == 0) {
        loop_unwatch(imd->loop, imd->owner);
        imd_close_owner(imd);
        member_owner_gone(&imd->member, now_ns);
    }
}

static void on_owner(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    imd_hear_owner(imd, now);
    imd_settle(imd, now);
}

int imd_owner_watch(Imd *imd)
{
    return imd->owner >= 0 ? loop_watch(imd->loop, imd->owner, on_owner, imd) : 0;
}
