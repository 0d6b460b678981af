/* SPDX-License-Identifier: MIT */
#include "adapters/run/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool write_text(const char *path, const char *text)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* In a user namespace this user stays who it is; files of all others look like nobody's. */
static bool map_user(uid_t uid, gid_t gid)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", text))
        return false;
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)gid, (unsigned)gid);
    return write_text("/proc/self/gid_map", text);
}

bool namespace_enter(bool user)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)) < 0 || (user && !map_user(uid, gid)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | (user ? MS_SLAVE : MS_PRIVATE), NULL) == 0;
}

int namespace_try(bool user)
{
    volatile int error = 0; /* in memory that the child has, too */
    pid_t pid = vfork();
    if (pid == 0) {
        error = namespace_enter(user) ? 0 : errno;
        _exit(EXIT_SUCCESS);
    }
    if (pid < 0)
        return errno;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return error;
}

void namespace_drop_all_but_mounting(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (geteuid() == 0)
        return;
    data[0].permitted = data[0].effective = 1u << CAP_SYS_ADMIN;
    (void)syscall(SYS_capset, &header, data);
}
