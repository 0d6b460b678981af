/* SPDX-License-Identifier: MIT */
/* The calls that the program would make without us: of the next library that has them. They stay
 * cancellation points. */
#ifndef DODO_ADAPTERS_PRELOAD_REAL_H
#define DODO_ADAPTERS_PRELOAD_REAL_H

#include <linux/capability.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct __user_cap_header_struct *CapHeader;
typedef struct __user_cap_data_struct *CapData;

/* Before real_find() the calls go to the kernel. */
void real_find(void);

ssize_t real_read(int fd, void *buf, size_t len);
ssize_t real_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t real_readv(int fd, const struct iovec *iov, int count);
ssize_t real_preadv(int fd, const struct iovec *iov, int count, off_t offset);
ssize_t real_preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags);
int real_close(int fd);
int real_close_range(unsigned from, unsigned to, int flags);
int real_dup2(int fd, int to);
int real_dup3(int fd, int to, int flags);

int real_sigaction(int number, const struct sigaction *action, struct sigaction *before);
sighandler_t real_signal(int number, sighandler_t handler);
sighandler_t real_sysv_signal(int number, sighandler_t handler);
sighandler_t real_sigset(int number, sighandler_t handler);
int real_setuid(uid_t user);
int real_seteuid(uid_t user);
int real_setreuid(uid_t user, uid_t effective);
int real_setresuid(uid_t user, uid_t effective, uid_t saved);
int real_setfsuid(uid_t user);
int real_capset(CapHeader header, CapData data);

#endif
