/* SPDX-License-Identifier: MIT */
/* What is made for a caller belongs to it from its first moment. */
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "adapters/mount/mount.h"

/* The kernel has judged whether the caller may do it, by all of its groups, which we do not know.
 * Who gives up root's identity loses the right to overrule that, and gets it back here. */
static void overrule(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) < 0)
        return;
    data[0].effective |= data[0].permitted & 1u << CAP_DAC_OVERRIDE;
    (void)syscall(SYS_capset, &header, data);
}

bool caller_begin(fuse_req_t req)
{
    const struct fuse_ctx *who = fuse_req_ctx(req);
    if (!mount_of(req)->change_owner || (who->uid == 0 && who->gid == 0))
        return false;
    (void)setfsgid(who->gid);
    (void)setfsuid(who->uid);
    overrule();
    return true;
}

/* A directory's default access control list stands in for the umask. */
mode_t caller_mode(fuse_req_t req, const Inode *dir, mode_t mode)
{
    const mode_t mask = fuse_req_ctx(req)->umask;
    bool listed =
        (mode & mask) && getxattr(fd_path(dir->fd).text, "system.posix_acl_default", NULL, 0) >= 0;
    return listed ? mode : mode & ~mask;
}

void caller_end(bool begun)
{
    if (!begun)
        return;
    (void)setfsuid(0);
    (void)setfsgid(0);
}
