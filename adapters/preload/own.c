/* SPDX-License-Identifier: MIT */
#include "adapters/preload/own.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "adapters/preload/numbers.h"
#include "base/cleanup.h"
#include "base/os.h"

enum { FDS_MAX = 1 << 16, BITS = 64, CODES_MAX = 8, FLOOR_MAX = FDS_MAX / 2 };

static __thread unsigned inside __attribute__((tls_model("initial-exec")));

/* ---- descriptors ---------------------------------------------------------------------------- */

static atomic_ullong fds[FDS_MAX / BITS];

/* Descriptors of the libraries are at this number or above: half of what the process may have. */
static int floor_now(void)
{
    int half = os_descriptors_half();
    return half < FLOOR_MAX ? half : FLOOR_MAX;
}

static uint64_t bit_of(int fd)
{
    return (uint64_t)1 << (unsigned)fd % BITS;
}

static void add(int fd)
{
    if (fd >= 0 && fd < FDS_MAX)
        atomic_fetch_or(&fds[fd / BITS], bit_of(fd));
}

void own_remove(int fd)
{
    if (own_has(fd))
        atomic_fetch_and(&fds[fd / BITS], ~bit_of(fd));
}

bool own_has(int fd)
{
    return fd >= 0 && fd < FDS_MAX &&
           (atomic_load_explicit(&fds[fd / BITS], memory_order_relaxed) & bit_of(fd));
}

int own_next(unsigned from, unsigned to)
{
    for (unsigned fd = from; fd <= to && fd < FDS_MAX; fd++) {
        if (fd % BITS == 0 && fds[fd / BITS] == 0)
            fd += BITS - 1;
        else if (own_has((int)fd))
            return (int)fd;
    }
    return -1;
}

/* No point at which a thread may be cancelled, and errno stays. */
static void nap(void)
{
    const struct timespec moment = {.tv_nsec = 50000};
    int error = errno;
    (void)syscall(SYS_nanosleep, &moment, NULL);
    errno = error;
}

static void busy(bool begins)
{
    if (begins) {
        inside++;
        numbers_make_begin(nap);
    } else {
        numbers_make_end();
        inside--;
    }
}

static atomic_int threads;

static void threads_change(int by)
{
    (void)atomic_fetch_add(&threads, by);
}

unsigned own_threads(void)
{
    int count = threads;
    return count > 0 ? (unsigned)count : 0;
}

const OsDescriptors *own_place(void)
{
    static OsDescriptors place = {.own = add, .busy = busy, .threads = threads_change};
    place.floor = floor_now();
    return &place;
}

void own_close_begin(void)
{
    numbers_close_begin(nap);
}

void own_close_end(void)
{
    numbers_close_end();
}

void own_forget(void)
{
    threads = 0;
    numbers_forget();
}

/* ---- code ----------------------------------------------------------------------------------- */

typedef struct Code {
    uintptr_t from, to;
} Code;
static Code codes[CODES_MAX];
static atomic_uint codes_count;

static bool code_has(const Code *code, uintptr_t at)
{
    return at >= code->from && at < code->to;
}

static int code_find(struct dl_phdr_info *object, size_t size, void *ctx)
{
    Code found = {UINTPTR_MAX, 0}, *wanted = ctx;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (part->p_type != PT_LOAD)
            continue;
        found.from = from < found.from ? from : found.from;
        found.to = to > found.to ? to : found.to;
    }
    if (!code_has(&found, wanted->from))
        return 0;
    *wanted = found;
    return 1;
}

void own_code_add(const void *address)
{
    Code code = {(uintptr_t)address, 0};
    unsigned count = codes_count;
    if (count == CODES_MAX || dl_iterate_phdr(code_find, &code) == 0)
        return;
    codes[count] = code;
    codes_count = count + 1;
}

void own_begin(OwnBefore *before)
{
    static const int caused[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all;
    (void)sigfillset(&all);
    for (size_t i = 0; i < ARRAY_SIZE(caused); i++)
        (void)sigdelset(&all, caused[i]);
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before->cancel_type);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before->signals);
    inside++;
}

void own_end(const OwnBefore *before)
{
    int type;
    inside--;
    (void)pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    (void)pthread_setcanceltype(before->cancel_type, &type);
}

void own_thread(void)
{
    inside = 1;
}

bool own_calls(const void *caller)
{
    if (inside > 0)
        return true;
    unsigned count = atomic_load_explicit(&codes_count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++)
        if (code_has(&codes[i], (uintptr_t)caller))
            return true;
    return false;
}
