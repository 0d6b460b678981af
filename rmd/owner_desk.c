/* SPDX-License-Identifier: MIT */
#include "rmd/owner_desk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/num.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/text_file.h"
#include "daemon/log.h"

enum { ASKS_AT_ONCE = 16 };

static uint64_t real_s(void)
{
    return (uint64_t)time(NULL);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* @waits: for the disk. */
static bool write_record(const OwnerDesk *d, const char *path, bool waits, GError **failure)
{
    static const GFileSetContentsFlags sure =
        G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE;
    g_autofree char *text = g_malloc(OWNER_RECORD_TEXT_MAX);
    const size_t len = owner_record_write(&d->record, real_s(), text, OWNER_RECORD_TEXT_MAX);
    return g_file_set_contents_full(path, text, (gssize)len,
                                    waits ? sure : G_FILE_SET_CONTENTS_NONE, 0600, failure);
}

/* Another file takes the name when it is whole. GLib sees to that only where the disk is waited
 * for. */
static bool replace_file(const OwnerDesk *d, bool waits, GError **failure)
{
    if (waits)
        return write_record(d, d->file, true, failure);
    g_autofree char *next = g_strconcat(d->file, ".new", NULL);
    if (!write_record(d, next, false, failure))
        return false;
    if (rename(next, d->file) == 0)
        return true;
    g_set_error(failure, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", d->file,
                strerror(errno));
    return false;
}

/* @waits: for the disk; while users pause nothing is lent, and nobody minds. A pause that is over
 * stays in the record until somebody asks. */
static void save(OwnerDesk *d, uint64_t now_ns, bool waits)
{
    const bool paused = d->record.unknown || owner_record_paused_until(&d->record, real_s()) > 0;
    g_autoptr(GError) failure = NULL;
    d->turn.saved_ns = now_ns;
    if (!d->file || !d->unsaved)
        return;
    const bool good = replace_file(d, waits || paused, &failure);
    if (!good && !d->lost)
        log_event(LOG_LEVEL_WARN, "owner_file_not_written",
                  "error=\"%s\" fix=\"see [rmd] owner_file\"", failure->message);
    d->lost = !good;
    d->unsaved = !good;
}

/* 0; -ENOENT: there is none; -errno with @error. */
static int read_record(OwnerDesk *d, char error[CONFIG_ERROR_MAX])
{
    CLEANUP(text_file_wipe) TextFile file = {.len = 0};
    char name[LINES_NAME_MAX];
    int res = text_file_read(d->file, text_file_regular, &file, error, CONFIG_ERROR_MAX);
    if (res < 0)
        return res;
    g_autofree char *text = g_strndup(file.bytes, file.len);
    if (owner_record_read(&d->record, text, real_s()) && strlen(text) == file.len)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s: it is damaged",
                   printable_path(d->file, name, sizeof name));
    return -EBADMSG;
}

/* The file stays under the name of @aside, and one that says so is in its place: at no time there
 * is none. What is no regular file stays where it is. */
static bool put_aside(const OwnerDesk *d, const char *aside)
{
    struct stat st;
    if (lstat(d->file, &st) != 0 || !S_ISREG(st.st_mode) || !write_record(d, aside, true, NULL))
        return false;
    if (renameat2(AT_FDCWD, aside, AT_FDCWD, d->file, RENAME_EXCHANGE) == 0)
        return true;
    (void)unlink(aside);
    return false;
}

/* Users may have paused in it. */
static void load(OwnerDesk *d)
{
    char error[CONFIG_ERROR_MAX] = "";
    const int res = d->file ? read_record(d, error) : 0;
    if (res == 0 || res == -ENOENT)
        return;
    g_autofree char *aside = g_strconcat(d->file, ".damaged", NULL);
    d->record.unknown = true;
    const bool put = put_aside(d, aside);
    log_event(LOG_LEVEL_WARN, "owner_file_not_read",
              "error=\"%s\" does=\"nothing is lent\" kept=%s fix=\"%sask who had paused the "
              "lending, then run dodo owner --resume --all, as root\"",
              error, put ? aside : d->file, put ? "" : "move it away, or see [rmd] owner_file; ");
    if (!put)
        g_clear_pointer(&d->file, g_free); /* it is not written over */
}

/* ---- the socket ------------------------------------------------------------------------------ */

static bool address_of(const char *path, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return false;
    (void)strcpy(ret->sun_path, path);
    return true;
}

/* One that nobody serves any more is in the way. */
static int make_way(int fd, const struct sockaddr_un *at)
{
    struct stat st;
    if (lstat(at->sun_path, &st) != 0)
        return 0;
    if (!S_ISSOCK(st.st_mode) || connect(fd, (const void *)at, sizeof *at) == 0 ||
        errno != ECONNREFUSED)
        return -EADDRINUSE;
    return unlink(at->sun_path) == 0 ? 0 : -errno;
}

static int open_socket(const char *path)
{
    struct sockaddr_un at;
    const int on = 1;
    if (!address_of(path, &at))
        return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int res = fd < 0 ? -errno : make_way(fd, &at);
    if (res == 0 && (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
                     bind(fd, (const void *)&at, sizeof at) != 0 || chmod(path, 0666) != 0))
        res = -errno;
    if (res < 0 && fd >= 0)
        (void)close(fd);
    return res < 0 ? res : fd;
}

/* As it is set; or in the directory of that variable, which the service manager sets. */
static char *place(const char *set, const char *variable, const char *name)
{
    const char *dir = g_getenv(variable);
    if (set)
        return strcmp(set, "none") == 0 ? NULL : g_strdup(set);
    return dir && *dir && !strchr(dir, ':') ? g_build_filename(dir, name, NULL) : NULL;
}

void owner_desk_open(OwnerDesk *d, const RmdOptions *o)
{
    *d = (OwnerDesk){.fd = -1, .turn = {.noted_ns = os_now_ns(), .saved_ns = os_now_ns()}};
    d->file = place(o->owner_file, "STATE_DIRECTORY", "owner");
    d->socket_path = place(o->owner_socket, "RUNTIME_DIRECTORY", "owner");
    load(d);
    if (!d->socket_path)
        return;
    d->fd = open_socket(d->socket_path);
    if (d->fd >= 0)
        return;
    log_event(LOG_LEVEL_WARN, "no_owner_socket",
              "path=%s error=\"%s\" fix=\"see [rmd] owner_socket; until then dodo owner does not "
              "work here\"",
              d->socket_path, strerror(-d->fd));
    g_clear_pointer(&d->socket_path, g_free);
    d->fd = -1;
}

void owner_desk_close(OwnerDesk *d)
{
    save(d, os_now_ns(), true);
    if (d->socket_path) {
        (void)unlink(d->socket_path);
        (void)close(d->fd);
    }
    g_clear_pointer(&d->socket_path, g_free);
    g_clear_pointer(&d->file, g_free);
    d->fd = -1;
}

/* Before anything that has to do with how late it is. */
static void mind_clock(OwnerDesk *d)
{
    struct timespec real = {0}, boot = {0};
    (void)clock_gettime(CLOCK_REALTIME, &real);
    (void)clock_gettime(CLOCK_BOOTTIME, &boot);
    if (real.tv_sec > boot.tv_sec)
        d->unsaved |= owner_record_clock(&d->record, (uint64_t)(real.tv_sec - boot.tv_sec));
}

/* ---- what is asked --------------------------------------------------------------------------- */

static void tell_monitor(const OwnerDesk *d, Monitor *m)
{
    const uint64_t now_ns = os_now_ns(), now_s = real_s();
    const uint64_t until_s = owner_record_paused_until(&d->record, now_s);
    const uint64_t left_s = sub_u64(until_s, now_s);
    monitor_pause(m,
                  until_s == 0               ? 0
                  : until_s == OWNER_FOREVER ? TIME_NEVER
                                             : time_add(now_ns, left_s * NS_PER_S),
                  now_ns);
    monitor_pauses_unknown(m, d->record.unknown, now_ns);
}

typedef struct Ask {
    char text[OWNER_ASK_MAX + 1];
    struct sockaddr_un from;
    socklen_t from_len;
    uid_t uid;
    const char *error; /* NULL: it is done; or why not */
    bool changes;      /* there is something to write */
    const char *event; /* for the log; NULL: nothing is another than before */
} Ask;

static const char *pause_for(OwnerDesk *d, Ask *a, const char *time)
{
    const uint64_t now = real_s();
    uint64_t s = OWNER_FOREVER;
    if (strcmp(time, "forever") != 0) {
        if (parse_u64(time, 1, OWNER_PAUSE_MAX_S, &s) != 0)
            return "a pause takes a second to a year";
        s += now;
    }
    const int res = owner_record_pause(&d->record, a->uid, s, now);
    if (res < 0)
        return "too many users have paused the lending";
    a->changes = res == 0 || d->lost; /* what could not be written is tried again */
    a->event = res == 0 ? "owner_paused" : NULL;
    return NULL;
}

static const char *resume(OwnerDesk *d, Ask *a)
{
    if (!owner_record_resume(&d->record, a->uid, real_s()))
        return "you have not paused the lending; others' pauses end with dodo owner --resume "
               "--all, as root";
    a->changes = true;
    a->event = "owner_resumed";
    return NULL;
}

static const char *resume_all(OwnerDesk *d, Ask *a)
{
    if (a->uid != 0)
        return "only root ends the pauses of others";
    owner_record_resume_all(&d->record);
    a->changes = true;
    a->event = "owner_resumed_all";
    return NULL;
}

/* NULL: it is done; or why not. */
static const char *change(OwnerDesk *d, Ask *a)
{
    if (strcmp(a->text, "status") == 0)
        return NULL;
    if (strcmp(a->text, "allow") == 0) { /* who has not paused allows already */
        (void)resume(d, a);
        return NULL;
    }
    if (g_str_has_prefix(a->text, "pause "))
        return pause_for(d, a, a->text + strlen("pause "));
    if (strcmp(a->text, "resume") == 0)
        return resume(d, a);
    if (strcmp(a->text, "resume all") == 0)
        return resume_all(d, a);
    return "that is not understood: is it of the same version?";
}

/* A user who changes his mind again and again has a line for what holds in the end. */
static void log_changes(const Ask *asks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const Ask *a = &asks[i];
        bool last = a->event;
        for (unsigned k = i + 1; last && k < count; k++)
            last = !asks[k].event || asks[k].uid != a->uid;
        if (last)
            log_event(LOG_LEVEL_INFO, a->event, "uid=%u ask=\"%s\"", (unsigned)a->uid, a->text);
    }
}

/* Everybody may ask, again and again: what changes nothing waits for no disk, and others wait for
 * it together. */
static void carry_out(OwnerDesk *d, Monitor *m, Ask *asks, unsigned count)
{
    bool changes = false;
    for (unsigned i = 0; i < count; i++) {
        asks[i].error = change(d, &asks[i]);
        changes = changes || asks[i].changes;
    }
    if (changes) {
        tell_monitor(d, m); /* the memory comes back before a disk is waited for */
        d->unsaved = true;
        save(d, os_now_ns(), true);
    }
    log_changes(asks, count);
}

static size_t answer(const OwnerDesk *d, const Monitor *m, const char *error, char *buf)
{
    MonitorStatus s;
    monitor_status(m, os_now_ns(), &s);
    const int len =
        snprintf(buf, OWNER_ANSWER_MAX,
                 OWNER_ANSWER_START "%s%s\nstate %s\nlendable %" PRIu64 "\nused %" PRIu64
                                    "\nreason %s\nkept %s\n",
                 error ? "error " : "ok", error ? error : "", monitor_state_word(s.state),
                 s.lendable_bytes, s.used_bytes, s.reason, d->file && !d->lost ? "yes" : "no");
    return (size_t)len +
           owner_record_write(&d->record, real_s(), buf + len, OWNER_ANSWER_MAX - (size_t)len);
}

typedef union Credentials { /* room for one cmsg, aligned */
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(struct ucred))];
} Credentials;

/* Who sent it, as the kernel says; false: it does not. */
static bool sender(struct msghdr *h, uid_t *ret)
{
    struct ucred who;
    const struct cmsghdr *c = CMSG_FIRSTHDR(h);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
        return false;
    memcpy(&who, CMSG_DATA(c), sizeof who);
    *ret = who.uid;
    return true;
}

/* False: no more is there. *ret_good: somebody is there who hears the answer. */
static bool receive(const OwnerDesk *d, Ask *a, bool *ret_good)
{
    Credentials credentials;
    struct iovec iov = {.iov_base = a->text, .iov_len = OWNER_ASK_MAX};
    struct msghdr h = {.msg_name = &a->from,
                       .msg_namelen = sizeof a->from,
                       .msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &credentials,
                       .msg_controllen = sizeof credentials};
    *a = (Ask){.from_len = 0}; /* what follows the text is zeros */
    const ssize_t n = recvmsg(d->fd, &h, 0);
    a->from_len = h.msg_namelen;
    *ret_good = n >= 0 && h.msg_namelen > sizeof(sa_family_t) && sender(&h, &a->uid);
    return n >= 0;
}

void owner_desk_take(OwnerDesk *d, Monitor *m)
{
    Ask asks[ASKS_AT_ONCE];
    unsigned count = 0;
    bool good;
    for (unsigned i = 0; i < ASKS_AT_ONCE && receive(d, &asks[count], &good); i++)
        count += good;
    mind_clock(d);
    carry_out(d, m, asks, count);
    g_autofree char *text = g_malloc(OWNER_ANSWER_MAX);
    for (unsigned i = 0; i < count; i++) {
        const size_t len = answer(d, m, asks[i].error, text);
        (void)sendto(d->fd, text, len, MSG_NOSIGNAL, (const void *)&asks[i].from, asks[i].from_len);
    }
}

void owner_desk_step(OwnerDesk *d, Monitor *m)
{
    const uint64_t now_ns = os_now_ns();
    uint64_t ms;
    MonitorStatus s;
    mind_clock(d);
    tell_monitor(d, m);
    monitor_status(m, now_ns, &s);
    const unsigned due = owner_turn(&d->turn, monitor_gap_ns(m), now_ns, &ms);
    if (due & OWNER_NOTES) {
        owner_record_note(&d->record, real_s(), ms, monitor_why(m), s.lendable_bytes);
        d->unsaved = true;
    }
    if (due & OWNER_SAVES)
        save(d, now_ns, false); /* the host is looked at meanwhile */
}
