/* SPDX-License-Identifier: MIT */
#include "adapters/mount/filesystems.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "base/cleanup.h"

/* Those that <linux/magic.h> of some kernels does not name. */
enum {
    BCACHEFS_MAGIC = 0xca451a4e,
    JFS_MAGIC = 0x3153464a,
    NTFS3_MAGIC = 0x7366746e,
    ZFS_MAGIC = 0x2fc12fc1,
};

/* Not overlayfs: a mapping there is of the file below, so a lease is granted beside one that is
 * written, and says nothing of a write to that file itself. */
bool filesystem_type_is_local(unsigned long type)
{
    static const unsigned long local[] = {
        EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,   BTRFS_SUPER_MAGIC,
        F2FS_SUPER_MAGIC,  TMPFS_MAGIC,       RAMFS_MAGIC,
        SQUASHFS_MAGIC,    ISOFS_SUPER_MAGIC, EROFS_SUPER_MAGIC_V1,
        MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC, NILFS_SUPER_MAGIC,
        UDF_SUPER_MAGIC,   BCACHEFS_MAGIC,    JFS_MAGIC,
        NTFS3_MAGIC,       ZFS_MAGIC,
    };
    for (size_t i = 0; i < ARRAY_SIZE(local); i++)
        if (local[i] == type)
            return true;
    return false;
}

bool filesystem_is_local(int fd)
{
    struct statfs st;
    return fstatfs(fd, &st) == 0 && filesystem_type_is_local((unsigned long)st.f_type);
}
