/* SPDX-License-Identifier: MIT */
#include "base/notify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/cleanup.h"

static int make_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

int notify_open(void)
{
    return getenv("NOTIFY_SOCKET") ? make_socket() : -1;
}

/* Where there is to be notified; 0: nowhere. */
static socklen_t address(struct sockaddr_un *ret)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len < 2 || len >= sizeof ret->sun_path || (*path != '/' && *path != '@'))
        return 0;
    memcpy(ret->sun_path, path, len);
    if (*path == '@')
        ret->sun_path[0] = '\0'; /* an abstract name */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void notify(int fd, const char *text, unsigned wait_s)
{
    struct sockaddr_un to;
    socklen_t to_len = address(&to);
    if (to_len == 0)
        return;
    CLEANUP_CLOSE int own = fd < 0 ? make_socket() : -1;
    const int by = fd < 0 ? own : fd;
    const struct timeval wait = {.tv_sec = wait_s};
    bool waits =
        by >= 0 && wait_s > 0 && setsockopt(by, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) == 0;
    if (by >= 0) /* a failure is the service manager's affair: it notices that nothing came */
        (void)sendto(by, text, strlen(text), MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT),
                     (const struct sockaddr *)&to, to_len);
}
