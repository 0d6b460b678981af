/* SPDX-License-Identifier: MIT */
/*
 * libdodo: regions of files, cached in other hosts' idle memory.
 *
 * A region is a piece of a backing file (descriptor, offset, length) that is held in the memory
 * of one idle host of the cluster. The calls and their meaning are those of
 *   S. Koussih, A. Acharya, S. Setia: "Dodo: A User-level System for Exploiting Idle Memory in
 *   Workstation Clusters", HPDC 1999 (sections 3.2, 4.4; Figure 3),
 * with types widened to size_t, off_t, ssize_t.
 *
 * Remote memory is a read cache: mwrite() has written the backing file when it returns, and any
 * host may vanish at any instant without a byte being lost. The library finds the cluster's
 * manager by DODO_MANAGER=HOST:PORT or its config file at the first call; see dodo(7).
 *
 * Every call may be made from any thread, at the same time, on the same descriptor too. None is
 * async-signal-safe or a cancellation point, and a thread that may be cancelled asynchronously must
 * not make any (pthreads(7)). EINTR never surfaces. A child of fork(2) starts with
 * no regions. The library prints nothing and installs no signal handler.
 */
#ifndef DODO_DODO_H
#define DODO_DODO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DODO_API __attribute__((visibility("default")))
/** A result that tells of lost data: the compiler warns where it is ignored. */
#define DODO_CHECK __attribute__((warn_unused_result))
#else
#define DODO_API
#define DODO_CHECK
#endif

/* Files are larger than 2 GiB: on 32-bit systems compile with -D_FILE_OFFSET_BITS=64. */
typedef char dodo_assert_off_t_has_64_bits[sizeof(off_t) == 8 ? 1 : -1];

/** Flags of dodo_mopen_flags(). */
enum {
    /** A descriptor open for reading is enough; dodo_mwrite() then fails with EINVAL. Any number
     *  of read-only regions may have a range of a file, in any number of processes. Those of one
     *  user on one host share its remote memory: the second process that opens the same range of
     *  the same file finds what the first one has read, and a pool holds it once. Only while the
     *  file has not changed for a while, no program has it open for writing, and what hosts return
     *  is checked (verify); not with DODO_MIRROR. */
    DODO_RDONLY = 1,
    /** Keep the region in remote memory after dodo_mclose(), for the next run that opens the same
     *  range of the unchanged file with this flag (the paper's dmine, 5.2.1). */
    DODO_RETAIN = 2,
    /** Never fail for want of remote memory: reads come from the backing file, and the region is
     *  established again when memory returns. */
    DODO_FALLBACK = 4,
    /** A region longer than any host's room: it is made of stripes, pieces of it on several hosts.
     *  A stripe that is lost, or found no room, is read from the backing file and established
     *  again when memory returns; only without any is the region lost, or dodo_mopen_flags() fails
     *  with ENOMEM. */
    DODO_STRIPE = 8,
    /** Two copies of the region, or of each of its stripes, on different hosts. A write goes to
     * both. When one is lost with its host, reads go on at the other one and not at the backing
     * file, and a new second copy is made from it in the background. Without room for a second copy
     *  there is one, and the other one is tried for again. */
    DODO_MIRROR = 16
};

/**
 * dodo_mopen() - allocate a region of remote memory for a piece of a file
 * @len:    length of the region, [bytes], at least 1
 * @fd:     backing file, open for reading and writing (O_RDWR), a regular file; the library opens
 *          its own description of it, so @fd may be closed or reused afterwards
 * @offset: where the region starts in the file, [bytes], at least 0; need not be inside the file
 *
 * Returns: a region descriptor >= 0 for the other calls; -1 with errno set. Reads no file data:
 *          the region fills as it is read and written.
 * Errors:  ENOMEM  no host has the memory, the manager does not answer, or one of both was so
 *                  less than a refraction period ago (then at once, without traffic): use the
 *                  file itself, try again later
 *          EINVAL  @fd is no open descriptor, not open for reading and writing, or not a regular
 *                  file; @len < 1; @offset < 0; @offset + @len is 2^62 or more: correct
 *                  the call
 *          EBUSY   the range is part of an open region already, here or in another process of
 *                  this host: close that one first; or somebody has locked the file to its end
 *                  (l_len 0): see dodo_mopen(3)
 *          EACCES  the library cannot open the file for writing a second time (no /proc, or a
 *                  permission given up): open the region before, or with DODO_RDONLY
 *          EMFILE, ENFILE, or another errno of opening the file: as open(2) says
 * Time:    one round trip to the manager; at most the request deadline, see dodo.conf(5).
 * Note:    while a region is open, only Dodo may change its range of the file. The process's own
 *          locks on the file stay, also when the region is closed.
 * Threads: safe.  Ownership: the descriptor is the caller's until dodo_mclose().
 * Source:  paper 3.2.  Since: 0.1
 */
DODO_API int dodo_mopen(size_t len, int fd, off_t offset);

/**
 * dodo_mopen_flags() - dodo_mopen() with flags
 * @flags:  any of DODO_RDONLY, DODO_RETAIN, DODO_FALLBACK, DODO_STRIPE, DODO_MIRROR; 0 is
 *          dodo_mopen()
 *
 * Returns and errors as dodo_mopen(), and EINVAL for an unknown flag. With DODO_FALLBACK it fails
 * with ENOMEM only when the library itself has no memory.
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API int dodo_mopen_flags(size_t len, int fd, off_t offset, unsigned flags);

/**
 * dodo_mread() - read from a region
 * @rd:     region descriptor
 * @offset: first byte wanted, from the region's start, [bytes]
 * @buf:    destination, @len bytes, any alignment; not kept
 * @len:    bytes wanted; 0 checks the arguments and returns 0
 *
 * Returns: bytes placed in @buf: @len, or fewer at the region's end or at the backing file's end
 *          (0 there); -1 with errno set. Every byte is one the file held at some moment during
 *          the call, or one that a dodo_mwrite() running beside it was writing.
 * Errors:  ENOMEM  the region is not active: its host died, was reclaimed or dropped it, or @rd
 *                  is not open. Read the file instead; dodo_mclose() @rd. Never with
 *                  DODO_FALLBACK, but for an @rd that is not open
 *          EINVAL  @offset < 0 or beyond the region's end, @buf NULL with @len > 0, or @len above
 *                  SSIZE_MAX
 *          EIO, or another errno of reading the backing file (blocks that are not yet remote)
 *          After an error @buf[0..@len) is unspecified.
 * Time:    a dead host costs one transfer deadline, once for all its regions; see dodo.conf(5).
 * Threads: safe; reads run in parallel, also on one region.
 * Source:  paper 3.2, 4.4.  Since: 0.1
 */
DODO_API ssize_t dodo_mread(int rd, off_t offset, void *buf, size_t len);

/**
 * dodo_mreadv() - read from a region into several buffers
 * @rd, @offset: as of dodo_mread()
 * @iov:    buffers, filled one after the other; not kept
 * @iovcnt: how many, 0 .. IOV_MAX (1024)
 *
 * Returns: bytes placed in the buffers, as dodo_mread() for as many bytes as they hold together.
 * Errors:  ENOMEM, EIO  as dodo_mread()
 *          EINVAL  @offset < 0 or beyond the region's end, @iovcnt out of range, @iov NULL with
 *                  @iovcnt > 0, a buffer NULL that is longer than 0, more than SSIZE_MAX in all
 * Time, threads: as dodo_mread(). Small buffers next to each other cost no more than a large one.
 * Source:  beyond the paper; order of arguments as preadv(2).  Since: 0.1
 */
DODO_API ssize_t dodo_mreadv(int rd, const struct iovec *iov, int iovcnt, off_t offset);

/**
 * dodo_mwrite() - write to a region and to its backing file
 * @rd:     region descriptor, not DODO_RDONLY
 * @offset: where, from the region's start, [bytes]
 * @buf:    source, @len bytes; not kept
 * @len:    bytes to write; 0 checks the arguments and returns 0
 *
 * Both halves run at the same time; the call returns when both are over. Data written is as
 * durable as after pwrite(2): use dodo_msync() to have it on the disk.
 *
 * Returns: bytes written to the file: @len, or fewer at the region's end or when the file took
 *          fewer; -1 with errno set. If only the remote half failed the count is returned
 *          nevertheless, and the next call on @rd gets ENOMEM.
 * Errors:  ENOMEM  the region is not active (see dodo_mread()): nothing of this call reached the
 *                  file; write the file instead
 *          EINVAL  as dodo_mread(), or the region is read-only
 *          ENOSPC, EDQUOT, EFBIG, EIO, ...: the errno of writing the backing file
 * Threads: safe; writes to common 4 KiB blocks of a region queue.
 * Source:  paper 3.2.  Since: 0.1
 */
DODO_API DODO_CHECK ssize_t dodo_mwrite(int rd, off_t offset, const void *buf, size_t len);

/**
 * dodo_mwritev() - write several buffers to a region and to its backing file
 * @rd, @offset: as of dodo_mwrite()
 * @iov:    buffers, written one after the other; not kept
 * @iovcnt: how many, 0 .. IOV_MAX (1024)
 *
 * Not atomic: it goes on piece by piece, so that what was written is always a beginning of the
 * whole; when a later piece fails, what the earlier ones wrote is returned.
 *
 * Returns: bytes written to the file, as dodo_mwrite() for as many bytes as there are together.
 * Errors:  ENOMEM, ENOSPC, EDQUOT, EFBIG, EIO, ...: as dodo_mwrite()
 *          EINVAL  as dodo_mreadv(), or the region is read-only
 * Threads: as dodo_mwrite().
 * Source:  beyond the paper; order of arguments as pwritev(2).  Since: 0.1
 */
DODO_API DODO_CHECK ssize_t dodo_mwritev(int rd, const struct iovec *iov, int iovcnt, off_t offset);

/**
 * dodo_mclose() - give a region back
 * @rd:     region descriptor; freed here whatever the result
 *
 * The file stays as it is; the descriptor that was given to dodo_mopen() is not touched. A
 * DODO_RETAIN | DODO_RDONLY region stays in remote memory for the next run, if nobody has its file
 * open for writing.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @rd is not open, was reclaimed already (not with DODO_FALLBACK), or the manager
 *                  cannot be reached: the region is freed anyway; there is nothing more to do
 * Time:    one round trip to the manager; at most the request deadline, see dodo.conf(5), and
 *          none while a manager is silent that has left a request unanswered for as long.
 * Threads: safe; waits for calls in progress on @rd, those of queues too, which it moves on itself;
 *          dodo_queue_wait() gives them back afterwards.
 * Source:  paper 3.2.  Since: 0.1
 */
DODO_API int dodo_mclose(int rd);

/**
 * dodo_msync() - wait until all of a region's data is on the disk
 * @rd:     region descriptor
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @rd is not open
 *          EIO, ENOSPC, EDQUOT: of fdatasync(2) on the backing file; the remote copy is not read
 *          again
 * Threads: safe.  Source: paper 3.2.  Since: 0.1
 */
DODO_API DODO_CHECK int dodo_msync(int rd);

/**
 * dodo_prefetch() - announce that a part of a region will be read
 * @rd:     region descriptor
 * @offset: its first byte, from the region's start, [bytes]
 * @len:    its length, [bytes]; what lies beyond the region's end does not count
 *
 * A hint, which returns immediately: in the background, blocks of the part that this process has
 * not seen filled are read from the backing file and sent to the region's host, 256 KiB at a time,
 * while no call on the region is in progress, and after all that dodo_mread() has to send there. A
 * dodo_mread() that comes before reads what else was announced around its bytes, up to 1 MiB. 64
 * hints may wait; more are ignored, as is one for a DODO_FALLBACK region without memory. Ends with
 * the region.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  ENOMEM  the region is not active, see dodo_mread()
 *          EINVAL  @offset < 0 or beyond the region's end, @len > SSIZE_MAX
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_prefetch(int rd, off_t offset, size_t len);

/**
 * dodo_mfillv() - give remote memory what the backing file holds
 * @rd:     region descriptor
 * @iov:    buffers with the bytes of the file that stand at the region's [@offset, ...), in order;
 *          not changed, not kept
 * @iovcnt: how many, at most IOV_MAX
 * @offset: where, from the region's start, [bytes]
 *
 * For a program that has data of the file in its own memory, and would rather have later reads of
 * it come from remote memory than from the disk: nothing is read from or written to the file. The
 * caller promises that the file holds just these bytes, and that nobody writes there by another way
 * than dodo_mwrite() meanwhile; what is given wrong is read back wrong, also by programs that share
 * the region (DODO_RDONLY). Only blocks of 4 KiB that the buffers hold whole, or to the region's
 * end, are filled; none that a dodo_mwrite() of another thread touches meanwhile.
 *
 * Returns: the bytes looked at: the sum of the buffers, or fewer at the region's end, or where a
 *          write ran beside; -1 with errno set.
 * Errors:  ENOMEM  the region is not active, or its host is lost: see dodo_mread()
 *          EINVAL  as dodo_mreadv()
 * Time:    as dodo_mwrite() without its file.
 * Threads: safe.  Source: the clone of the paper's Figure 5.  Since: 0.1
 */
DODO_API ssize_t dodo_mfillv(int rd, const struct iovec *iov, int iovcnt, off_t offset);

/**
 * dodo_mdiscard() - a part of a region need not stay in remote memory
 * @rd:     region descriptor
 * @offset: its first byte, from the region's start, [bytes]
 * @len:    its length, [bytes]; what lies beyond the region's end does not count
 *
 * For a program that knows that it is done with a part of its data, while others still have use for
 * the memory. The backing file is not touched, and later reads of the part return what it holds;
 * they may bring it to remote memory again. Only blocks of 4 KiB that lie wholly in the part, or
 * reach to the region's end, are given up. Their host has the memory back within seconds, in pieces
 * of 2 MiB that hold nothing else. The region's room there stays reserved until it is closed. What
 * other processes share (DODO_RDONLY) stays.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  ENOMEM  the region is not active, see dodo_mread()
 *          EINVAL  @offset < 0 or beyond the region's end, @len > SSIZE_MAX
 * Time:    as dodo_mwrite() without its file.
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_mdiscard(int rd, off_t offset, size_t len);

/* ---- calls that nobody waits for ------------------------------------------------------------ */

/** A queue of asynchronous requests, reads, writes and syncs: one thread keeps many under way, of
 *  regions on many hosts. */
typedef struct DodoQueue DodoQueue;

/** The result of a request of a queue. */
typedef struct DodoDone {
    void *tag;      /**< as it was submitted */
    ssize_t result; /**< what dodo_mread(), dodo_mwrite() or dodo_msync() would have returned */
    int error;      /**< its errno when @result is -1, or ECANCELED; else 0 */
} DodoDone;

/**
 * dodo_queue_open() - make a queue of asynchronous requests
 * @depth:  requests that it holds at once, submitted and not taken back yet, 1 .. 128
 *
 * A queue has a socket of its own and about 25 KiB of memory for each of @depth. It does its work
 * inside these calls, in the calling thread: requests go out when they are submitted, and answers
 * are taken in by dodo_queue_wait(). Backing files are read, written and synced by a thread of the
 * queue's, one request after the other, started at the first need.
 *
 * Order: requests of one queue that have a block (4 KiB, from the region's start) of a region in
 * common, one of them a write, take effect one after the other, as they were submitted: a read gets
 * what a write submitted before it wrote, and nothing of one submitted after it. All others run
 * beside each other, and end in any order, as do those of other queues and other threads' calls.
 * One that fails, or is cancelled, does not keep those behind it.
 *
 * Returns: the queue; NULL with errno set.
 * Errors:  EINVAL  @depth is not 1 .. 128
 *          ENOMEM  no memory or no descriptors for it, the library's settings are wrong, or the
 *                  process is ending; dodo_last_error() says which
 * Threads: safe.  Ownership: the queue is the caller's until dodo_queue_close(), also after
 *          dodo_shutdown() and in a child of fork(2), where all calls on it fail with EINVAL.
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API DodoQueue *dodo_queue_open(unsigned depth);

/**
 * dodo_queue_read() - submit a read
 * @q:      queue
 * @rd, @offset, @buf, @len: as of dodo_mread(). @buf is the library's until the read is taken back
 * @tag:    for the caller, who finds it in the DodoDone
 *
 * Never waits. What dodo_mread() would return or fail with comes by dodo_queue_wait(), wrong
 * arguments too.
 *
 * Returns: 0; -1 with errno set: then there is nothing to be taken back.
 * Errors:  EAGAIN  the queue holds as many as it was made for: take some first
 *          EINVAL  @q is NULL, the parent's, or the library was shut down since it was opened
 * Threads: one at a time a queue; another one waits until the first has returned.
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API int dodo_queue_read(DodoQueue *q, int rd, off_t offset, void *buf, size_t len, void *tag);

/**
 * dodo_queue_write() - submit a write
 * @q:      queue
 * @rd, @offset, @buf, @len: as of dodo_mwrite(). @buf is the library's, and must not change, until
 *          the write is taken back
 * @tag:    for the caller, who finds it in the DodoDone
 *
 * Never waits. What dodo_mwrite() would return or fail with comes by dodo_queue_wait(), wrong
 * arguments too: the backing file has the data when the write is over, not before. Look at the
 * result. At exit(3) a write that is under way may be in the file as a whole, in part, or not at
 * all: take it back, close its region or close the queue before.
 *
 * Returns: 0; -1 with errno set: then nothing was or will be written.
 * Errors:  EAGAIN, EINVAL  as dodo_queue_read()
 * Threads: as dodo_queue_read().
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API DODO_CHECK int dodo_queue_write(DodoQueue *q, int rd, off_t offset, const void *buf,
                                         size_t len, void *tag);

/**
 * dodo_queue_sync() - submit a sync
 * @q:      queue
 * @rd:     as of dodo_msync()
 * @tag:    for the caller, who finds it in the DodoDone
 *
 * Never waits. Begins when all writes of the region are over that were submitted to this queue
 * before it; later ones do not wait for it. When it ends with 0, the disk has what these writes put
 * into the file, and what was in it of the region when the sync was submitted. That a write failed,
 * only the write's own result says. A sync that runs holds up what else the queue has to do with
 * files.
 *
 * Returns: 0; -1 with errno set: then there is nothing to be taken back.
 * Errors:  EAGAIN, EINVAL  as dodo_queue_read()
 * Threads: as dodo_queue_read().
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API DODO_CHECK int dodo_queue_sync(DodoQueue *q, int rd, void *tag);

/**
 * dodo_queue_cancel() - cancel requests
 * @q:      queue
 * @tag:    of the request, or of several
 *
 * Cancels those with this tag that have changed nothing yet: what waits for others before it, and a
 * read that is not just being served from the file. These come by dodo_queue_wait() with -1 and
 * ECANCELED; a write or sync among them has done nothing. All others with the tag go on, and end as
 * they would have. Never waits. Buffers are the library's until the request is taken back, as ever.
 *
 * Returns: how many were cancelled: 0 when there was none with the tag, or when it was too late; -1
 *          with errno EINVAL when @q is NULL or the parent's.
 * Threads: as dodo_queue_read().
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API int dodo_queue_cancel(DodoQueue *q, void *tag);

/**
 * dodo_queue_wait() - take back requests that are over
 * @q:      queue
 * @done:   filled in, @max of them
 * @max:    at least 1
 * @timeout_ms: how long to wait for the first one, [ms]; 0: not at all; -1: as long as it takes
 *
 * Moves all requests of the queue on: they make little progress while no thread is in here.
 *
 * Returns: how many were taken, at most @max; 0 at the timeout, or when none is under way; -1 with
 *          errno set. dodo_last_error() has the text behind the last one taken that failed.
 * Errors:  EINVAL  @q is NULL or the parent's; @done is NULL; @max is 0; @timeout_ms < -1
 * Time:    a request ends as the plain call does: a dead host costs one transfer deadline, and what
 *          waits behind a request waits as long.
 * Threads: as dodo_queue_read().
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API int dodo_queue_wait(DodoQueue *q, DodoDone *done, unsigned max, int timeout_ms);

/**
 * dodo_queue_fd() - a descriptor for poll(2), select(2) or epoll(7)
 * @q:      queue
 *
 * Readable when dodo_queue_wait() has something to do: take datagrams in, repeat a question, or
 * give a request back. It may then return 0 nevertheless. Not to be read, changed or closed.
 *
 * Returns: the descriptor, the same each time; -1 with errno EINVAL when @q is NULL or the
 *          parent's.
 * Threads: safe.  Ownership: the queue's, until dodo_queue_close().
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API int dodo_queue_fd(const DodoQueue *q);

/**
 * dodo_queue_close() - end a queue
 * @q:      queue; gone whatever the result
 *
 * Waits for what is under way, as dodo_queue_wait() would; what was not taken back is forgotten.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @q is NULL, or the parent's: then only the child's memory of it is freed
 * Threads: no other thread may be in a call on @q, or begin one.
 * Source:  beyond the paper.  Since: 0.1
 */
DODO_API int dodo_queue_close(DodoQueue *q);

/* ---- state, log and errors ------------------------------------------------------------------ */

/** What dodo_stat() reports of a region. */
typedef struct DodoStat {
    char host[64];         /**< "ADDR:PORT" of its host as dodo status shows it, "" for none */
    uint64_t length;       /**< [bytes] */
    uint64_t filled_bytes; /**< held remotely, as far as this process has seen */
    uint64_t hits;         /**< bytes read from remote memory */
    uint64_t misses;       /**< bytes read from the backing file */
    uint64_t written;      /**< bytes written */
    uint32_t flags;        /**< as given to dodo_mopen_flags(), or by dodo.conf(5) */
    uint32_t active;       /**< 1: remote memory serves it; 0: its host is lost */
    uint32_t reused; /**< 1: found retained from an earlier run, or in another process's use */
    uint32_t copies; /**< in remote memory: 0, 1; 2 with DODO_MIRROR; of all stripes the least */
    uint64_t mirrored_bytes; /**< held by both copies, as far as this process has seen */
    uint64_t reserved[7];
} DodoStat;

/**
 * dodo_stat() - report the state of a region
 * @rd:     region descriptor
 * @st:     filled in
 *
 * Returns: 0; -1 with errno EINVAL when @rd is not open or @st is NULL.  No traffic.
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_stat(int rd, DodoStat *st);

/** Levels of the log hook; DODO_LOG=error|warn|info|debug sends the same lines to stderr. */
enum { DODO_LOG_ERROR = 0, DODO_LOG_WARN = 1, DODO_LOG_INFO = 2, DODO_LOG_DEBUG = 3 };

/** Called from any thread that is in the library; @text is borrowed until it returns. It must not
 *  call the library. */
typedef void (*dodo_log_fn)(void *ctx, int level, const char *text);

/**
 * dodo_set_log() - give the library's log lines to a function
 * @fn:     the function; NULL: none
 * @ctx:    passed to it; kept
 *
 * Threads: safe; another thread may still be in the old function when it returns.  Since: 0.1
 */
DODO_API void dodo_set_log(dodo_log_fn fn, void *ctx);

/**
 * dodo_last_error() - the text behind the errno of this thread's last failed call
 *
 * Returns: text, never NULL; valid until this thread's next call of the library.  Since: 0.1
 */
DODO_API const char *dodo_last_error(void);

/**
 * dodo_shutdown() - close all regions and leave the cluster
 *
 * As if every region were closed (retained ones are released), then says good-bye to the manager
 * and ends the library's thread. Waits for the requests of queues, which can still be taken back.
 * Runs by itself at normal exit, without releasing. A later dodo_mopen() starts it again.
 *
 * Returns: 0; -1 with errno EINVAL when the manager could not be informed (it finds out by itself).
 * Threads: safe, but no other thread of the program may be in the library. It waits for those of
 *          the region cache, whose regions lose their remote memory.  Since: 0.1
 */
DODO_API int dodo_shutdown(void);

/** Version of the library, as "0.1.0". */
DODO_API const char *dodo_version(void);

#ifndef DODO_NO_SHORT_NAMES
/* The paper's names. */
static inline int mopen(size_t len, int fd, off_t offset)
{
    return dodo_mopen(len, fd, offset);
}
static inline ssize_t mread(int rd, off_t offset, void *buf, size_t len)
{
    return dodo_mread(rd, offset, buf, len);
}
DODO_CHECK static inline ssize_t mwrite(int rd, off_t offset, const void *buf, size_t len)
{
    return dodo_mwrite(rd, offset, buf, len);
}
static inline int mclose(int rd)
{
    return dodo_mclose(rd);
}
/* msync(rd) is Dodo's, msync(addr, len, flags) stays POSIX's: the number of arguments decides, with
 * <sys/mman.h> included before or after this header, or not at all. */
#define DODO_PICK_4TH_(a, b, c, d, ...) d
#define msync(...)                                                                                 \
    DODO_PICK_4TH_(__VA_ARGS__, msync, dodo_msync_has_one_argument_and_msync_three, dodo_msync, 0) \
    (__VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
