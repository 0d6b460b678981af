/* SPDX-License-Identifier: MIT */
#include "imd/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/config.h"

#ifdef DODO_SECCOMP
#include <seccomp.h>
#endif

/* Sanitizers open files and use system calls of their own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static void __attribute__((format(printf, 3, 4)))
miss(char *missing, size_t cap, const char *format, ...)
{
    size_t at = strlen(missing);
    va_list args;
    if (at > 0 && at + 1 < cap) {
        missing[at++] = ' ';
        missing[at] = '\0';
    }
    va_start(args, format);
    (void)vsnprintf(missing + at, cap - at, format, args);
    va_end(args);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Only root may; rmd has done it for us where it could. */
static void drop_groups(char *missing, size_t cap)
{
    int count = getgroups(0, NULL);
    if (count > 0 && setgroups(0, NULL) != 0)
        miss(missing, cap, "groups(%d remain: %s)", count, strerror(errno));
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Landlock's interface, of Linux 5.13: headers may be older. Each version handles more rights. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
enum {
    LANDLOCK_VERSION = 1,        /* flag: asks for the version */
    LANDLOCK_RIGHTS_FIRST = 13,  /* rights of version 1 are bits 0 to 12 */
    LANDLOCK_RIGHTS_MORE_MAX = 2 /* rename across directories, and truncate */
};

/* No path is allowed: all rights are handled, and no rule gives one back. */
static void deny_files(char *missing, size_t cap)
{
    uint64_t rights;
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    long more = version - 1 > LANDLOCK_RIGHTS_MORE_MAX ? LANDLOCK_RIGHTS_MORE_MAX : version - 1;
    if (version < 1) {
        miss(missing, cap, "landlock(%s)", strerror(errno));
        return;
    }
    rights = ((uint64_t)1 << (LANDLOCK_RIGHTS_FIRST + more)) - 1;
    CLEANUP_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
    if (rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        miss(missing, cap, "landlock(%s)", strerror(errno));
}

/* ---- system calls ---------------------------------------------------------------------------- */

#ifdef DODO_SECCOMP
/* What a running imd uses. Sockets, files and processes are not in it: it has what it needs. */
static const int allowed[] = {
    /* sockets that are open */
    SCMP_SYS(recvmmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recv),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(send),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockname),
    SCMP_SYS(shutdown),
    /* descriptors that are open */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(close),
    SCMP_SYS(fcntl),
    SCMP_SYS(fstat),
    SCMP_SYS(lseek),
    SCMP_SYS(eventfd2),
    /* waiting */
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(futex),
    SCMP_SYS(restart_syscall),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(mlock),
    SCMP_SYS(mlock2),
    SCMP_SYS(munlock),
    SCMP_SYS(mincore),
    /* time and chance */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrandom),
    /* threads of its own and their priorities */
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getpriority),
    SCMP_SYS(setpriority),
    SCMP_SYS(getrusage),
    SCMP_SYS(getcpu),
    SCMP_SYS(membarrier),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    /* signals */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
};

/* Who tries these is not imd any more. What else is not allowed gets EPERM: a newer C library may
 * try what it can do without. */
static const int deadly[] = {
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
};

static int allow_plain(scmp_filter_ctx filter)
{
    int res = 0;
    for (size_t i = 0; i < ARRAY_SIZE(allowed) && res == 0; i++)
        res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < ARRAY_SIZE(deadly) && res == 0; i++)
        res = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, deadly[i], 0);
    return res;
}

/* Memory never to be run, threads but no processes, signals to itself alone. */
static int allow_in_part(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp not_run = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const struct scmp_arg_cmp thread =
        SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_VM | CLONE_THREAD, CLONE_VM | CLONE_THREAD);
    const struct scmp_arg_cmp own = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
    const struct scmp_arg_cmp dumpable = SCMP_A0(SCMP_CMP_EQ, PR_SET_DUMPABLE);
    const struct scmp_arg_cmp vma_name = SCMP_A0(SCMP_CMP_EQ, 0x53564d41 /* PR_SET_VMA */);
    int res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, not_run);
    if (res == 0)
        res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_run);
    if (res == 0)
        res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread);
    if (res == 0) /* its flags cannot be seen: the C library takes clone() instead */
        res = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (res == 0) /* abort() */
        res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, own);
    if (res == 0)
        res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, dumpable);
    if (res == 0)
        res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, vma_name);
    return res;
}

static void filter_calls(char *missing, size_t cap)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int res = filter ? allow_plain(filter) : -ENOMEM;
    if (res == 0)
        res = allow_in_part(filter);
    if (res == 0)
        res = seccomp_load(filter);
    if (res != 0)
        miss(missing, cap, "seccomp(%s)", strerror(-res));
    if (filter)
        seccomp_release(filter);
}
#else
static void filter_calls(char *missing, size_t cap)
{
    miss(missing, cap, "seccomp(built without libseccomp)");
}
#endif

/* ---- all of it ------------------------------------------------------------------------------- */

/* What reads a file on its first use has it now. */
static void warm_up(void)
{
    tzset();
    (void)OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL);
}

void sandbox_enter(char *ret_missing, size_t cap)
{
    *ret_missing = '\0';
    warm_up();
    drop_groups(ret_missing, cap);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        miss(ret_missing, cap, "no_new_privs(%s)", strerror(errno));
    if (SANITIZED) {
        miss(ret_missing, cap, "landlock,seccomp(sanitizers)");
        return;
    }
    deny_files(ret_missing, cap);
    filter_calls(ret_missing, cap);
}
