/* SPDX-License-Identifier: MIT */
/* On which file systems a lease tells of all that write a file. */
#include <linux/magic.h>

#include "adapters/mount/filesystems.h"
#include "tests/lib/case.h"

TEST(lease__tells_of_all_writers_on_local_file_systems)
{
    static const unsigned long all[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                        TMPFS_MAGIC, SQUASHFS_MAGIC};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(filesystem_type_is_local(all[i]));
}

TEST(lease__does_not_tell_of_all_writers_elsewhere)
{
    static const unsigned long not_all[] = {NFS_SUPER_MAGIC,       SMB_SUPER_MAGIC,
                                            FUSE_SUPER_MAGIC,      CEPH_SUPER_MAGIC,
                                            OVERLAYFS_SUPER_MAGIC, 0};
    for (size_t i = 0; i < sizeof not_all / sizeof *not_all; i++)
        assert_false(filesystem_type_is_local(not_all[i]));
}
