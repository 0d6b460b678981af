/* SPDX-License-Identifier: MIT */
/* The calls that `same` makes. */
#ifndef DODO_TESTS_NET_SAME_H
#define DODO_TESTS_NET_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAMES = 7, FDS = 6, SIZE_MAX_ = 96 << 10, RESULT_MAX = 1 << 17 };

/* One of the two sides; its results are compared with the other's. */
typedef struct Side {
    int root; /* of the mount, or of the plain directory */
    int behind;
    int fds[FDS];
    bool fd_behind[FDS]; /* opened behind the mount */
    long result;
    int error;
    size_t len; /* of @data */
    unsigned char data[RESULT_MAX];
} Side;

/* The numbers of a call, drawn once for both sides. */
typedef struct Draws {
    unsigned n[10];
    bool behind;
} Draws;

/* Both return what the call does, with errno, and say() more. */
typedef long Call(Side *s, const Draws *d);
typedef struct NamedCall {
    const char *name;
    Call *call;
} NamedCall;
extern const NamedCall same_calls[];
extern const size_t same_calls_count;
extern const NamedCall same_fd_calls[];
extern const size_t same_fd_calls_count;

/* There is no other side: what differs between two file systems, or two descriptors, is tried, too.
 */
extern bool same_alone;
/* The kernel has shared mappings of files that are opened for reading and writing below the mount.
 */
extern bool same_shares;
/* The mount has just refused a shared mapping of such a file: the other side has none, either. */
extern bool same_refused;
/* Whether what is read by descriptor @n below a mount may go straight to the file, without pages of
 * the kernel's: a read at its end fails then, too, if the buffer is not there. */
bool same_goes_straight(const Side *s, unsigned n);
/* The files of some calls, in an empty directory. */
void same_make_files(int dir);
/* `same child LEN`, which a call runs. */
int same_child(const char *len);

/* What a call has read is compared, too. */
void say(Side *s, const void *data, size_t len);

#endif
