/* SPDX-License-Identifier: MIT */
#include "daemon/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/input.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* Only root may; rmd has done it for its imd where it could. */
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
#ifndef SYS_landlock_add_rule
#define SYS_landlock_add_rule 445
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
enum {
    LANDLOCK_VERSION = 1,        /* flag: asks for the version */
    LANDLOCK_PATH_BENEATH = 1,   /* kind of rule */
    LANDLOCK_RIGHTS_FIRST = 13,  /* rights of version 1 are bits 0 to 12 */
    LANDLOCK_RIGHTS_MORE_MAX = 2 /* rename across directories, and truncate */
};

static const uint64_t LANDLOCK_READ_FILE = 1 << 2, LANDLOCK_READ_DIR = 1 << 3; /* rights */

typedef struct PathRule {
    uint64_t rights;
    int32_t dir;
} __attribute__((packed)) PathRule; /* the kernel's struct landlock_path_beneath_attr */

/* What is not there, or may not be looked at, stays denied. */
static void allow_reading(int rules, const char *path, int follow, uint64_t rights)
{
    CLEANUP_CLOSE int at = open(path, O_PATH | follow | O_CLOEXEC);
    struct stat st;
    if (at < 0 || fstat(at, &st) != 0)
        return;
    const PathRule rule = {.dir = at,
                           .rights = S_ISDIR(st.st_mode) ? rights : rights & ~LANDLOCK_READ_DIR};
    (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_PATH_BENEATH, &rule, 0);
}

/* All rights are handled; rules give reading back, beneath the paths alone. */
static void deny_files(const char *const *readable, char *missing, size_t cap)
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
    for (; rules >= 0 && readable && *readable; readable++)
        allow_reading(rules, *readable, 0, LANDLOCK_READ_FILE | LANDLOCK_READ_DIR);
    if (rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        miss(missing, cap, "landlock(%s)", strerror(errno));
}

/* Everything in @dir but @except. What appears in @dir later is not in it. */
static void allow_others(int rules, const char *dir, const char *except)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX + NAME_MAX + 2];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strcmp(e->d_name, except) == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        allow_reading(rules, path, O_NOFOLLOW, LANDLOCK_READ_FILE);
    }
    if (d)
        (void)closedir(d);
}

/* What is not there has the name that it would have. */
static int resolve(const char *path, char real[PATH_MAX + NAME_MAX + 2])
{
    if (realpath(path, real))
        return 0;
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    if (errno != ENOENT || !dir || strlen(slash + 1) > NAME_MAX || !realpath(dir, real))
        return -errno;
    size_t len = strlen(real);
    memcpy(real + len, slash, strlen(slash) + 1);
    return 0;
}

int sandbox_hide(const char *path)
{
    const uint64_t rights = LANDLOCK_READ_FILE;
    char real[PATH_MAX + NAME_MAX + 2];
    if (resolve(path, real) < 0)
        return -errno;
    CLEANUP_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
    if (rules < 0)
        return -errno;
    for (char *slash = real, *next; slash; slash = next) {
        *slash = '\0'; /* before it is the directory, after it the entry on the way */
        next = strchr(slash + 1, '/');
        if (next)
            *next = '\0';
        allow_others(rules, *real ? real : "/", slash + 1);
        *slash = '/';
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        return -errno;
    return 0;
}

/* ---- system calls ---------------------------------------------------------------------------- */

#ifdef DODO_SECCOMP
/* What every daemon uses that has opened what it needs. New sockets and programs are in no list. */
static const int always[] = {
    /* descriptors that are open */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recv),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(send),
    SCMP_SYS(sendmsg),
    SCMP_SYS(shutdown),
    SCMP_SYS(close),
    SCMP_SYS(fcntl),
    SCMP_SYS(fstat),
    SCMP_SYS(lseek),
    /* waiting */
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(futex),
    SCMP_SYS(restart_syscall),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    /* time and chance */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrandom),
    /* who it is, and its end */
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    /* signals */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
};

static const int serving[] = {
    /* sockets that are open */
    SCMP_SYS(recvmmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockname),
    SCMP_SYS(eventfd2),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(timerfd_settime),
    /* memory of its own that stays where it is */
    SCMP_SYS(mlock),
    SCMP_SYS(mlock2),
    SCMP_SYS(munlock),
    SCMP_SYS(mincore),
    /* threads of its own and their priorities */
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
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
};

static const int reading[] = {
    SCMP_SYS(access),   SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(stat),
    SCMP_SYS(lstat),    SCMP_SYS(statx),      SCMP_SYS(newfstatat), SCMP_SYS(fstatfs),
    SCMP_SYS(readlink), SCMP_SYS(getdents64),
};

static const int accepting[] = {SCMP_SYS(accept4), SCMP_SYS(getpeername)};

/* A process that tries these is no daemon of ours any more. Everything else that is not allowed
 * gets EPERM: a newer C library may try calls that it can do without. */
static const int deadly[] = {
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
};

static int add(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count)
{
    int res = 0;
    for (size_t i = 0; i < count && res == 0; i++)
        res = seccomp_rule_add(filter, action, calls[i], 0);
    return res;
}

static int add_plain(scmp_filter_ctx filter, unsigned needs)
{
    int res = add(filter, SCMP_ACT_ALLOW, always, ARRAY_SIZE(always));
    if (res == 0 && needs & SANDBOX_SERVE)
        res = add(filter, SCMP_ACT_ALLOW, serving, ARRAY_SIZE(serving));
    if (res == 0 && needs & SANDBOX_ACCEPT)
        res = add(filter, SCMP_ACT_ALLOW, accepting, ARRAY_SIZE(accepting));
    if (res == 0 && needs & SANDBOX_READ)
        res = add(filter, SCMP_ACT_ALLOW, reading, ARRAY_SIZE(reading));
    if (res == 0)
        res = add(filter, SCMP_ACT_KILL_PROCESS, deadly, ARRAY_SIZE(deadly));
    return res;
}

/* A call with what one of its arguments must be. */
typedef struct Part {
    unsigned needs; /* 0: always */
    int call;
    struct scmp_arg_cmp that;
} Part;

/* Memory never to be run; threads but no processes; signals to itself alone; files to
 * be read, and no more; of input devices their kind. */
static int add_parts(scmp_filter_ctx filter, unsigned needs)
{
    const scmp_datum_t thread = CLONE_VM | CLONE_THREAD, writing = O_ACCMODE | O_CREAT | O_TRUNC;
    /* The buffer's size is part of the number. */
    const scmp_datum_t sizes = (scmp_datum_t)_IOC_SIZEMASK << _IOC_SIZESHIFT;
    const Part parts[] = {
        {0, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        {0, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        {0, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())}, /* abort() */
        {0, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_DUMPABLE)},
        {0, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, 0x53564d41 /* PR_SET_VMA */)},
        {SANDBOX_SERVE, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread)},
        {SANDBOX_READ, SCMP_SYS(open), SCMP_A1(SCMP_CMP_MASKED_EQ, writing, 0)},
        {SANDBOX_READ, SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0)},
        {SANDBOX_ACCEPT, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD)},
        {SANDBOX_INPUT, SCMP_SYS(ioctl),
         SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX & ~sizes, EVIOCGPROP(0))},
    };
    int res = 0;
    for (size_t i = 0; i < ARRAY_SIZE(parts) && res == 0; i++)
        if (parts[i].needs == 0 || needs & parts[i].needs)
            res = seccomp_rule_add(filter, SCMP_ACT_ALLOW, parts[i].call, 1, parts[i].that);
    if (res == 0) /* its flags cannot be seen: the C library takes clone() instead */
        res = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return res;
}

static void filter_calls(unsigned needs, char *missing, size_t cap)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int res = filter ? add_plain(filter, needs) : -ENOMEM;
    if (res == 0)
        res = add_parts(filter, needs);
    if (res == 0)
        res = seccomp_load(filter);
    if (res != 0)
        miss(missing, cap, "seccomp(%s)", strerror(-res));
    if (filter)
        seccomp_release(filter);
}
#else
static void filter_calls(unsigned needs, char *missing, size_t cap)
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

void sandbox_enter(unsigned needs, const char *const *readable, char *ret_missing, size_t cap)
{
    *ret_missing = '\0';
    warm_up();
    if (!(needs & SANDBOX_GROUPS))
        drop_groups(ret_missing, cap);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        miss(ret_missing, cap, "no_new_privs(%s)", strerror(errno));
    if (SANITIZED) {
        miss(ret_missing, cap, "landlock,seccomp(sanitizers)");
        return;
    }
    deny_files(readable, ret_missing, cap);
    filter_calls(needs, ret_missing, cap);
}
