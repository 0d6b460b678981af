/* SPDX-License-Identifier: MIT */
#include "imd/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "daemon/log.h"

static const uint64_t TELL_NS = NS_PER_S;

int owner_open(Owner *o, int fd, char *error, size_t error_cap)
{
    int type = 0;
    socklen_t len = sizeof type;
    int res = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 ? 0 : -errno;

    if (res == 0 && type != SOCK_SEQPACKET)
        res = -EINVAL;
    if (res == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        res = -errno;
    if (res < 0) {
        (void)snprintf(error, error_cap,
                       "--owner-fd %d: not a socket of rmd's; without rmd leave the option out",
                       fd);
        return res;
    }
    *o = (Owner){.fd = fd};
    return 0;
}

void owner_close(Owner *o)
{
    if (o->fd >= 0)
        (void)close(o->fd);
    o->fd = -1;
}

/* False: it does not listen just now. That it is gone shows when we listen. */
static bool __attribute__((format(printf, 2, 3))) say(const Owner *o, const char *format, ...)
{
    char text[OWNER_TEXT_MAX];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return len > 0 && (size_t)len < sizeof text &&
           send(o->fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len;
}

void owner_ready(Owner *o, uint64_t epoch, uint64_t pool_bytes)
{
    if (o->fd >= 0 && !say(o, "ready epoch=%016" PRIx64 " pool=%" PRIu64, epoch, pool_bytes))
        log_event(LOG_LEVEL_WARN, "owner_deaf", "message=ready");
}

/* Whether @word comes next; then @text begins after it. */
static bool take_word(const char **text, size_t *len, const char *word)
{
    const size_t n = strlen(word);
    if (*len < n || memcmp(*text, word, n) != 0)
        return false;
    *text += n;
    *len -= n;
    return true;
}

static bool take_number(const char **text, size_t *len, uint64_t *ret)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < *len && (*text)[i] != ' '; i++) {
        unsigned digit = (unsigned)((*text)[i] - '0');
        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *text += i;
    *len -= i;
    *ret = n;
    return i > 0;
}

bool owner_parse_limit(const char *text, size_t len, uint64_t *ret)
{
    uint64_t n;
    if (!take_word(&text, &len, "limit ") || !take_number(&text, &len, &n) || len > 0)
        return false;
    *ret = n;
    return true;
}

bool owner_parse_reload(const char *text, size_t len, OwnerReload *ret)
{
    uint64_t level, bytes, packets;
    if (!take_word(&text, &len, "reload ") || !take_number(&text, &len, &level) ||
        !take_word(&text, &len, " ") || !take_number(&text, &len, &bytes) ||
        !take_word(&text, &len, " ") || !take_number(&text, &len, &packets) || len > 0 ||
        level >= LOG_LEVEL_MAX)
        return false;
    *ret =
        (OwnerReload){.log_level = (uint32_t)level, .rate_bytes = bytes, .rate_packets = packets};
    return true;
}

static bool is_beat(const char *text, size_t len)
{
    return len == 4 && memcmp(text, "beat", len) == 0;
}

enum OwnerEvent owner_receive(Owner *o, uint64_t *ret_limit, uint64_t now_ns)
{
    char text[OWNER_TEXT_MAX + 1];

    if (o->fd < 0)
        return OWNER_NOTHING;
    for (;;) {
        ssize_t len = recv(o->fd, text, sizeof text, MSG_DONTWAIT);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return OWNER_NOTHING;
        if (len <= 0)
            return OWNER_GONE;
        o->heard_ns = now_ns;
        if (is_beat(text, (size_t)len)) {
            o->beats = true;
            continue;
        }
        if (owner_parse_limit(text, (size_t)len, ret_limit)) {
            o->reach = true;
            return OWNER_LIMIT;
        }
        if (owner_parse_reload(text, (size_t)len, &o->reload))
            return OWNER_RELOAD;
        log_event(LOG_LEVEL_WARN, "owner_not_understood", "bytes=%zd", len);
    }
}

uint64_t owner_silent_ns(const Owner *o, uint64_t silence_ns)
{
    return o->fd >= 0 && o->beats ? time_add(o->heard_ns, silence_ns) : TIME_NEVER;
}

static bool reached(const Owner *o, uint64_t used_bytes, uint64_t limit_bytes)
{
    return o->reach && used_bytes <= limit_bytes;
}

void owner_tell(Owner *o, uint64_t used_bytes, uint64_t limit_bytes, uint64_t now_ns)
{
    if (now_ns < owner_deadline(o, used_bytes, limit_bytes))
        return;
    o->told_ns = now_ns;
    o->deaf = !say(o, "used %" PRIu64 " limit %" PRIu64, used_bytes, limit_bytes);
    if (o->deaf)
        return;
    o->reach = o->reach && used_bytes > limit_bytes;
    o->used_bytes = used_bytes;
    o->limit_bytes = limit_bytes;
}

uint64_t owner_deadline(const Owner *o, uint64_t used_bytes, uint64_t limit_bytes)
{
    if (o->fd < 0)
        return TIME_NEVER;
    if (o->deaf)
        return time_add(o->told_ns, TELL_NS);
    if (reached(o, used_bytes, limit_bytes))
        return 0;
    if (used_bytes == o->used_bytes && limit_bytes == o->limit_bytes && o->told_ns != 0)
        return TIME_NEVER;
    return o->told_ns == 0 ? 0 : time_add(o->told_ns, TELL_NS);
}
