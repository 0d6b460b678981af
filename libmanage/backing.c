/* SPDX-License-Identifier: MIT */
#include "libmanage/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/description.h"
#include "base/lease.h"
#include "base/list.h"
#include "base/num.h"
#include "base/os.h"
#include "base/parked.h"
#include "libdodo/descriptors.h"

enum { IOV_PIECES = 64 };

/* What reads the regions of one file: the kernel reads ahead by description, and starts again
 * with each. Locks, writes and fdatasync stay with the region's own description: the kernel reports
 * an error of writing back once to each. */
typedef struct Reader {
    ListNode link;
    atomic_ullong next; /* where the last long read ended */
    unsigned regions;
    int fd;
    dev_t device;
    ino_t inode;
    bool read_only;
} Reader;

struct Backing {
    uint64_t offset, since_ns;
    int reading; /* the reader's description, or its own */
    int fd;
    uint64_t len;
    ListNode link;
    Reader *reader; /* NULL: its own description reads */
    bool read_only;
    bool shared; /* the program's own description: others may have its lock, too */
    dev_t device;
    ino_t inode;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static ListNode all = {&all, &all};
static ListNode readers = {&readers, &readers};

/* By the region's own description: the program's descriptor may be another file's by now. NULL: no
 * memory for it, or no descriptor. */
static Reader *reader_new(const Backing *b)
{
    Reader *r = malloc(sizeof *r);
    struct stat st;
    bool shared;
    if (!r)
        return NULL;
    *r = (Reader){.device = b->device, .inode = b->inode, .read_only = b->read_only};
    r->fd = description_open(b->fd, b->read_only, &st, &shared);
    if (r->fd >= 0 && !shared) {
        list_push_back(&readers, &r->link);
        return r;
    }
    if (r->fd >= 0)
        description_close(r->fd, shared);
    free(r);
    return NULL;
}

static Reader *reader_get(const Backing *b, const struct stat *st)
{
    Reader *reader = NULL;
    LIST_FOREACH(node, &readers) {
        Reader *r = CONTAINER_OF(node, Reader, link);
        if (r->device == b->device && r->inode == b->inode && r->read_only == b->read_only &&
            os_is_same_file(r->fd, st)) {
            reader = r;
            break;
        }
    }
    if (!reader)
        reader = reader_new(b);
    if (reader)
        reader->regions++;
    return reader;
}

static void reader_put(Reader *r)
{
    if (!r || --r->regions > 0)
        return;
    list_remove(&r->link);
    description_close(r->fd, false);
    free(r);
}

/* Whether nobody has the file open for writing, or mapped so. Who had a mapping could change what
 * is read from now on without a change of the file's stamp. */
static bool is_unwritten(const Backing *b)
{
    if (b->shared)
        return false;
    int res = lease_ask(b->fd);
    return res == 0 || (res == -EAGAIN && dodo_private_close_files() > 0 && lease_ask(b->fd) == 0);
}

/* Under the lock from the description on: no child of a fork has one that the list does not. */
static int open_and_enter(Backing *b, int fd)
{
    struct stat st = {0};
    b->fd = description_open(fd, b->read_only, &st, &b->shared);
    if (b->fd < 0)
        return b->fd;
    b->device = st.st_dev;
    b->inode = st.st_ino;
    int result = description_lock(b->fd, b->offset, b->len, b->read_only ? F_RDLCK : F_WRLCK);
    if (result < 0) {
        description_close(b->fd, b->shared);
        return result;
    }
    b->reader = b->shared ? NULL : reader_get(b, &st);
    b->reading = b->reader ? b->reader->fd : b->fd;
    list_push_back(&all, &b->link);
    return 0;
}

int backing_open(int fd, uint64_t offset, uint64_t len, bool read_only, Backing **ret)
{
    if (!description_holds(offset, len))
        return -EINVAL;
    Backing *b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    *b = (Backing){.offset = offset,
                   .len = len,
                   .read_only = read_only,
                   .since_ns = os_clock_ns(CLOCK_REALTIME)};
    (void)pthread_mutex_lock(&all_lock);
    int result = open_and_enter(b, fd);
    (void)pthread_mutex_unlock(&all_lock);
    if (result < 0) {
        free(b);
        return result;
    }
    if (b->read_only && !is_unwritten(b))
        b->since_ns = 0;
    *ret = b;
    return 0;
}

void backing_close(Backing *b)
{
    (void)pthread_mutex_lock(&all_lock);
    list_remove(&b->link);
    if (!b->shared)
        (void)description_lock(b->fd, b->offset, b->len, F_UNLCK);
    description_close(b->fd, b->shared);
    reader_put(b->reader);
    (void)pthread_mutex_unlock(&all_lock);
    free(b);
}

int backing_fd(const Backing *b)
{
    return b->fd;
}

void backing_id(const Backing *b, dev_t *ret_device, ino_t *ret_inode)
{
    *ret_device = b->device;
    *ret_inode = b->inode;
}

uint64_t backing_offset(const Backing *b)
{
    return b->offset;
}

uint64_t backing_since_ns(const Backing *b)
{
    return b->since_ns;
}

/* ---- reading and writing -------------------------------------------------------------------- */

/* Takes @done bytes off the front of a vector. */
static void advance(struct iovec **iov, int *count, size_t done)
{
    while (*count > 0 && done >= (*iov)->iov_len) {
        done -= (*iov)->iov_len;
        (*iov)++;
        (*count)--;
    }
    if (done > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + done;
        (*iov)->iov_len -= done;
    }
}

static ssize_t transfer(const Backing *b, const struct iovec *from, int count, uint64_t offset,
                        bool writing, int *ret_error)
{
    struct iovec copy[IOV_PIECES], *iov = copy;
    size_t at = 0;
    if (count < 0 || count > IOV_PIECES)
        return -EINVAL;
    for (int i = 0; i < count; i++)
        copy[i] = from[i];
    advance(&iov, &count, 0);
    while (count > 0) {
        off_t to = (off_t)(b->offset + offset + at);
        ssize_t n = writing ? pwritev(b->fd, iov, count, to) : preadv(b->reading, iov, count, to);
        if (n > 0) {
            at += (size_t)n;
            advance(&iov, &count, (size_t)n);
        } else if (n == 0) {
            break;
        } else if (errno != EINTR) {
            *ret_error = errno;
            return writing && at > 0 ? (ssize_t)at : -errno;
        }
    }
    return (ssize_t)at;
}

/* A long read is asked for at once. If it goes on where the last one ended, so is the next one:
 * what is asked for so, the kernel does not take for the beginning of more. */
static void ask_for(const Backing *b, uint64_t at, uint64_t len)
{
    if (len <= OS_ASK_LONG)
        return;
    os_ask_for_all(b->reading, at, len);
    if (b->reader &&
        atomic_exchange_explicit(&b->reader->next, at + len, memory_order_relaxed) == at)
        os_ask_for_all(b->reading, at + len, min_u64(len, sub_u64(OS_ASK_BYTES, len)));
}

ssize_t backing_read(const Backing *b, const struct iovec *iov, int count, uint64_t offset)
{
    int error;
    uint64_t len = 0;
    for (int i = 0; i < count; i++)
        len += iov[i].iov_len;
    ask_for(b, b->offset + offset, len);
    return transfer(b, iov, count, offset, false, &error);
}

ssize_t backing_pread(const Backing *b, void *buf, size_t len, uint64_t offset)
{
    off_t at = (off_t)(b->offset + offset);
    ask_for(b, (uint64_t)at, len);
#ifdef __LP64__ /* glibc's would be one, and switch it on and off besides */
    return syscall(SYS_pread64, b->reading, buf, len, at);
#else
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    ssize_t n = pread(b->reading, buf, len, at);
    (void)pthread_setcancelstate(state, NULL);
    return n;
#endif
}

bool backing_held(const Backing *b, uint64_t offset, size_t len)
{
    return os_file_held(b->reading, b->offset + offset, len);
}

void backing_advise(const Backing *b, uint64_t offset, uint64_t len, int advice)
{
    (void)posix_fadvise(b->reading, (off_t)(b->offset + offset), (off_t)len, advice);
}

void backing_ask(const Backing *b, uint64_t offset, uint64_t len)
{
    if (len > OS_ASK_LONG)
        os_ask_for_all(b->reading, b->offset + offset, len);
    else
        backing_advise(b, offset, len, POSIX_FADV_WILLNEED);
}

bool backing_can_tell(void)
{
    return os_file_held_known();
}

ssize_t backing_write(Backing *b, const struct iovec *iov, int count, uint64_t offset,
                      int *ret_error)
{
    *ret_error = 0;
    return transfer(b, iov, count, offset, true, ret_error);
}

int backing_sync(Backing *b)
{
    int result;
    do
        result = fdatasync(b->fd);
    while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

int64_t backing_size(Backing *b)
{
    struct stat st;
    if (fstat(b->fd, &st) < 0)
        return -errno;
    uint64_t size = (uint64_t)st.st_size > b->offset ? (uint64_t)st.st_size - b->offset : 0;
    return (int64_t)(size < b->len ? size : b->len);
}

/* ---- fork ------------------------------------------------------------------------------------ */

void backing_lock_all(void)
{
    (void)pthread_mutex_lock(&all_lock);
    parked_lock_all();
}

void backing_unlock_all(void)
{
    parked_unlock_all();
    (void)pthread_mutex_unlock(&all_lock);
}

/* Without unlocking: the locks are the parent's. */
void backing_abandon_all(void)
{
    LIST_FOREACH(node, &all) {
        Backing *b = CONTAINER_OF(node, Backing, link);
        (void)close(b->fd);
        free(b);
    }
    list_init(&all);
    LIST_FOREACH(node, &readers) {
        Reader *r = CONTAINER_OF(node, Reader, link);
        (void)close(r->fd);
        free(r);
    }
    list_init(&readers);
    parked_abandon_all();
}
