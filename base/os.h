/* SPDX-License-Identifier: MIT */
/* The clock and the randomness of the operating system, for shells only: never for a core. */
#ifndef DODO_BASE_OS_H
#define DODO_BASE_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/env.h"

uint64_t os_clock_ns(clockid_t clock);
uint64_t os_now_ns(void); /* CLOCK_MONOTONIC */
/* What the calling thread has had of the processors. */
uint64_t os_thread_cpu_ns(void);
int os_random_try(void *buf, size_t len); /* getrandom(2), whole: 0, -errno */
/* The same; aborts where the kernel refuses it. For daemons and tools: never in a user's program.
 */
void os_random(void *ctx, void *buf, size_t len);
/* An Env for shells: os_random and no trace. */
Env os_env(void);

/* First thing in a program's main(): those of the standard descriptors that are not there are
 * /dev/null from now on, so that no file that is opened later gets what is printed. Each is open
 * for what it is not for: who reads or writes there gets the same EBADF as without it, and a tool
 * sees that its output is lost. */
void os_keep_standard(void);

/* The descriptor that @fd makes, or the same as one above the standard ones: a program may print to
 * those though it has closed them. After os_descriptors_place() it is where that says. Negative,
 * with errno: as it was, or none is free; then it is closed. */
#define os_above_standard(fd) (os_descriptors_begin(), os_descriptors_move(fd))
int os_descriptors_move(int fd); /* and ends what was begun */

/* Where descriptors are in programs that know nothing of these libraries: they close descriptors
 * that they have not opened, and expect low numbers for their own. */
typedef struct OsDescriptors {
    int floor;                 /* those that last are here or above, as far as there are any */
    void (*own)(int fd);       /* hears of each of these */
    void (*busy)(bool begins); /* hears when this thread is about to have one with a number that
                                  the program may close, and when it has none any more; nests */
    void (*threads)(int by);   /* hears of each thread of os_thread_start(), in it: 1 as it begins,
                                  -1 as it ends */
} OsDescriptors;
/* From here on. Before other threads use this. */
void os_descriptors_place(const OsDescriptors *where);
/* One in @parts of the numbers that the process may have now, at most @most. */
unsigned os_descriptors_part(unsigned parts, unsigned most);
/* Half of them. */
int os_descriptors_half(void);

/* The calling thread has descriptors at any number for a moment. */
void os_descriptors_begin(void);
void os_descriptors_end(const bool *begun); /* NULL: the same */
/* So it is until the block that this is in ends: before what closes them. */
#define OS_DESCRIPTORS_BUSY                                                    \
    __attribute__((cleanup(os_descriptors_end), unused)) const bool os_busy_ = \
        (os_descriptors_begin(), true)

/* What a small file has, as those of the kernel's, up to @cap - 1 bytes and a 0. @dir: AT_FDCWD, or
 * where a relative path begins. The length, or -errno and an empty text. */
ssize_t os_text_read(int dir, const char *path, char *text, size_t cap);

/* Whether the kernel has all of [@offset, @offset + @len) of a file in memory, @len > 0. False
 * where it does not tell: kernels since 6.5 can (cachestat(2)). */
bool os_file_held(int fd, uint64_t offset, uint64_t len);
bool os_file_held_known(void);

/* Is it the file that @st was read from? An open file keeps its device and inode number. On a file
 * system that uses a number twice, two files differ in size or time of change. */
struct stat;
bool os_is_same_file(int fd, const struct stat *st);

/* May this process make a file of so many bytes (RLIMIT_FSIZE)? One that writes a longer one gets
 * SIGXFSZ, and mostly dies of it. */
bool os_file_may_have(uint64_t bytes);

/* Before a read of the whole range: makes the kernel ask the drive for all of it at once, or for so
 * much. It would read a long range a part after the other, and where two threads do that, the drive
 * gets their parts in turns, and moves its head for each. No errno is changed. */
enum {
    OS_ASK_LONG = 128 << 10, /* no more than that is left to the read */
    OS_ASK_BYTES = 8 << 20,
};
void os_ask_for_all(int fd, uint64_t offset, uint64_t len);

/* Starts a thread that no signal is delivered to: they are for the threads that there were. 0,
 * -errno. */
int os_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);

/* How often the calling thread has lost its processor to another. */
int64_t os_preemptions(void);

#endif
