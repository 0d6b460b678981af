/* SPDX-License-Identifier: MIT */
#include "adapters/mount/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/helper.h"

enum { ASKERS = 4 }; /* so many questions at once */

/* A process of one thread. */
typedef struct Asker {
    pid_t pid;
    int channel;
} Asker;

struct Mirror {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool begun; /* the first has been started, or cannot be; under the lock */
    Asker askers[ASKERS];
    atomic_uint count; /* those that have been started */
    atomic_bool grown; /* all of them, or as many as there can be */
    atomic_uint living;
    GAsyncQueue *free;      /* those that nobody waits for */
    Asker none;             /* stands in there for all, when there are none any more */
    atomic_bool no_numbers; /* not for this user, or not with this kernel */
    const char *mountpoint;
    _Atomic uint64_t mount_id; /* 0: there is none yet */
};

/* What to ask the kernel for. */
enum Kind {
    BY_NUMBER, /* an inode of the mount at @path */
    BY_NAME,   /* the file @path of the mount, if it has @number; 0: any */
    BY_FD,     /* the file whose descriptor comes with it */
    COPY,      /* nothing: start another asker, for the channel that comes with it */
};
typedef struct Question {
    enum Kind kind;
    uint64_t mount_id;
    uint64_t number; /* the kernel's, or the file's */
    char path[PATH_MAX];
} Question;
#define QUESTION_LEN(path_len) (offsetof(Question, path) + (path_len))

/* ---- messages with a descriptor ------------------------------------------------------------ */

typedef union Control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} Control;

/* @fd: -1 for none. The length, or -1. */
static ssize_t send_with(int channel, const void *data, size_t len, int fd)
{
    Control control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {(void *)data, len}; // NOLINT: it is only read
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;
    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof control.bytes;
    }
    do
        n = sendmsg(channel, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n;
}

/* The length, 0 at the end, or -1; @fd is -1 where none came. */
static ssize_t receive_with(int channel, void *data, size_t cap, int *fd)
{
    Control control;
    struct iovec part = {data, cap};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof control.bytes};
    ssize_t n;
    *fd = -1;
    do
        n = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    return n;
}

/* ---- the processes --------------------------------------------------------------------------- */

static void ask_attributes(int fd)
{
    struct statx st;
    (void)statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st);
}

/* How the kernel names an inode of a FUSE mount for open_by_handle_at(2). */
enum { HANDLE_TYPE = 0x81, HANDLE_WORDS = 3 /* the number's halves, high and low; generation */ };
typedef union Handle {
    struct file_handle header;
    struct {
        struct file_handle header; // NOLINT: what follows is its end
        uint32_t words[HANDLE_WORDS];
    } whole;
} Handle;

/* What the kernel knows of @fd without asking anybody; 0, -errno. */
static int what_is_known(int fd, unsigned mask, struct statx *st)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, st) < 0 ? -errno : 0;
}

/* Opens what @q names, if it is of that mount and has that number: O_PATH, or -1. */
static int open_of_mount(const Question *q)
{
    struct statx st;
    int fd = open(q->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool any = q->kind == BY_NUMBER || q->number == 0;
    if (fd < 0 || (what_is_known(fd, STATX_INO | STATX_MNT_ID, &st) == 0 &&
                   st.stx_mnt_id == q->mount_id && (any || st.stx_ino == q->number)))
        return fd;
    (void)close(fd);
    return -1;
}

/* The handle of inode number @number, if this kernel has such ones: that of @root, number 1, shows
 * it. */
static bool handle_make(int root, uint64_t number, Handle *ret)
{
    uint32_t *words = ret->whole.words;
    int unused;
    ret->header.handle_bytes = sizeof ret->whole.words;
    if (name_to_handle_at(root, "", &ret->header, &unused, AT_EMPTY_PATH) < 0 ||
        ret->header.handle_type != HANDLE_TYPE ||
        ret->header.handle_bytes != sizeof ret->whole.words || words[0] != 0 || words[1] != 1 ||
        words[2] != 0)
        return false;
    words[0] = (uint32_t)(number >> 32);
    words[1] = (uint32_t)number;
    return true;
}

/* Whether it was asked. */
static bool ask_number(const Question *q)
{
    Handle handle;
    int fd = -1, root = open_of_mount(q);
    if (root < 0)
        return true; /* it is unmounted */
    /* No O_PATH descriptor says which mount is meant, but a working directory does. */
    bool can = handle_make(root, q->number, &handle) && fchdir(root) == 0;
    if (can)
        fd = open_by_handle_at(AT_FDCWD, &handle.header, O_PATH | O_CLOEXEC);
    can = can && (fd >= 0 || errno == ESTALE); /* the kernel has forgotten it, and its size */
    if (fd >= 0) {
        ask_attributes(fd);
        (void)close(fd);
    }
    (void)!chdir("/");
    (void)close(root);
    return can;
}

/* The file that @q names, or -1. */
static int open_named(const Question *q)
{
    int fd = open_of_mount(q);
    if (fd >= 0)
        ask_attributes(fd);
    return fd;
}

/* Another asker: its pid, or -errno; 0: this is it. */
static pid_t copy(void)
{
    (void)signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
    return helper_copy("dodo-mirror");
}

/* Answers until there is nobody at the other end. */
static _Noreturn void asker_main(int channel)
{
    Question q;
    int at;
    while (receive_with(channel, &q, sizeof q, &at) > 0) {
        int fd = q.kind == BY_NAME ? open_named(&q) : -1;
        int done = q.kind == BY_NUMBER ? ask_number(&q) : q.kind == COPY ? copy() : fd >= 0;
        if (q.kind == COPY && done == 0) {
            (void)close(channel);
            channel = at;
            continue;
        }
        if (q.kind == BY_FD)
            ask_attributes(at);
        (void)send_with(channel, &done, sizeof done, fd);
        if (fd >= 0)
            (void)close(fd);
        if (at >= 0)
            (void)close(at);
    }
    _exit(0);
}

/* ---- those who wait for it ----------------------------------------------------------------- */

static void add(Mirror *m, Asker asker)
{
    Asker *a = &m->askers[m->count];
    *a = asker;
    m->count++; /* now it is there for mirror_is() */
    m->living++;
    g_async_queue_push(m->free, a);
}

Mirror *mirror_new(const char *mountpoint)
{
    Mirror *m = g_new0(Mirror, 1);
    m->mountpoint = mountpoint;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->free = g_async_queue_new();
    return m;
}

/* The first asker. */
static void begin(Mirror *m)
{
    Asker first;
    first.pid = helper_fork("dodo-mirror", &first.channel);
    if (first.pid == 0)
        asker_main(first.channel);
    if (first.pid > 0)
        add(m, first);
    else
        g_async_queue_push(m->free, &m->none);
}

void mirror_begin(Mirror *m)
{
    pthread_mutex_lock(&m->lock);
    if (!m->begun)
        begin(m);
    m->begun = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

void mirror_await(Mirror *m)
{
    pthread_mutex_lock(&m->lock);
    while (!m->begun)
        pthread_cond_wait(&m->changed, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

bool mirror_has_begun(Mirror *m)
{
    pthread_mutex_lock(&m->lock);
    bool begun = m->begun;
    pthread_mutex_unlock(&m->lock);
    return begun;
}

void mirror_end(Mirror *m)
{
    if (!m)
        return;
    for (unsigned i = 0; i < m->count; i++)
        (void)close(m->askers[i].channel);
    if (m->count > 0)
        (void)waitpid(m->askers[0].pid, NULL, 0); /* the others are its own */
    g_async_queue_unref(m->free);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    g_free(m);
}

/* Asks one process, and waits for its answer: whether it was done, with the descriptor that came;
 * -EPIPE. */
static int exchange_with(const Asker *a, const Question *q, size_t len, int fd, int *ret)
{
    int done = 0;
    bool good = send_with(a->channel, q, len, fd) >= 0 &&
                receive_with(a->channel, &done, sizeof done, ret) > 0;
    return good ? done : -EPIPE;
}

/* The same of one that is there: somebody may have killed others, which nobody asks again. */
static int exchange_with_any(Mirror *m, const Question *q, size_t len, int fd, int *ret)
{
    for (;;) {
        Asker *a = g_async_queue_pop(m->free);
        int res = a == &m->none ? -EPIPE : exchange_with(a, q, len, fd, ret);
        if (res != -EPIPE || a == &m->none) {
            g_async_queue_push(m->free, a);
            return res;
        }
        if (--m->living == 0)
            g_async_queue_push(m->free, &m->none);
    }
}

/* Another asker: false, if there can be none. */
static bool grow(Mirror *m)
{
    const Question q = {.kind = COPY};
    int pair[2], none;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    int pid = exchange_with(&m->askers[0], &q, QUESTION_LEN(0), pair[1], &none);
    (void)close(pair[1]);
    if (pid > 0)
        add(m, (Asker){pid, pair[0]});
    else
        (void)close(pair[0]);
    return pid > 0;
}

/* The same. Most mounts have no question before their end: the first one starts the others. */
static int exchange(Mirror *m, const Question *q, size_t len, int fd, int *ret)
{
    mirror_begin(m);
    if (!atomic_exchange(&m->grown, true)) {
        Asker *first = g_async_queue_pop(m->free); /* there is no other yet */
        while (first != &m->none && m->count < ASKERS && grow(m))
            ;
        g_async_queue_push(m->free, first);
    }
    return exchange_with_any(m, q, len, fd, ret);
}

/* The number of the mount that @path leads to. 0, -errno. */
static int mount_at(const char *path, uint64_t *ret)
{
    struct statx st = {0};
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int res = fd < 0 ? -errno : what_is_known(fd, STATX_MNT_ID, &st);
    if (fd >= 0)
        (void)close(fd);
    *ret = st.stx_mnt_id;
    return res;
}

int mirror_set_mount(Mirror *m)
{
    uint64_t id;
    int res = mount_at(m->mountpoint, &id);
    m->mount_id = id;
    return res;
}

bool mirror_sees_mount(const Mirror *m)
{
    uint64_t id = m->mount_id, now;
    return id != 0 && mount_at(m->mountpoint, &now) == 0 && now == id;
}

/* A question about what is at @path below the mount point: its length; 0: the path is too long. */
static size_t question_make(const Mirror *m, enum Kind kind, const char *path, uint64_t number,
                            Question *q)
{
    *q = (Question){.kind = kind, .mount_id = m->mount_id, .number = number};
    int len = snprintf(q->path, sizeof q->path, "%s/%s", m->mountpoint, path);
    return len < (int)sizeof q->path ? QUESTION_LEN((size_t)len + 1) : 0;
}

static int exchange_path(Mirror *m, enum Kind kind, const char *path, uint64_t number, int *ret)
{
    Question q;
    size_t len = question_make(m, kind, path, number, &q);
    *ret = -1;
    return len > 0 ? exchange(m, &q, len, -1, ret) : 0;
}

int mirror_ask_number(Mirror *m, uint64_t node)
{
    int none, res = m->no_numbers ? 0 : exchange_path(m, BY_NUMBER, "", node, &none);
    if (res < 0)
        return res;
    m->no_numbers = res == 0;
    return res == 0 ? -EOPNOTSUPP : 0;
}

int mirror_open(Mirror *m, const char *path, ino_t ino)
{
    int fd, res = exchange_path(m, BY_NAME, path, ino, &fd);
    return res < 0 ? res : fd < 0 ? -ENOENT : fd;
}

/* A copy of this process asks, with nothing open: the mount shall end if this process does. */
static void touch_by_copy(const Question *q)
{
    pid_t pid = helper_copy("dodo-mirror");
    if (pid == 0) {
        (void)close_range(0, ~0u, 0);
        (void)open_named(q);
        _exit(0);
    }
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
}

void mirror_touch(Mirror *m)
{
    Question q;
    int fd = -1;
    size_t len = question_make(m, BY_NAME, "", 0, &q);
    if (len > 0 && (!mirror_has_begun(m) || exchange_with_any(m, &q, len, -1, &fd) == -EPIPE))
        touch_by_copy(&q);
    if (fd >= 0)
        (void)close(fd);
}

int mirror_ask(Mirror *m, int fd)
{
    const Question q = {.kind = BY_FD};
    int none, res = exchange(m, &q, QUESTION_LEN(0), fd, &none);
    return res < 0 ? res : 0;
}

bool mirror_is(const Mirror *m, pid_t id)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->askers[i].pid == id)
            return true;
    return false;
}
