/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/net/rules.h"

/* Two users, and groups of theirs. */
enum { ANN = 1000, BOB = 1001, STAFF = 2000, OTHERS = 3000 };
#define FULL 01777 /* a directory of all, where each removes what is his */

/* clang-format off */
const Step rules_steps[] = {
    /* ---- chmod ---- */
    {CASE, "chmod: modes of each kind of file"},
    {MAKE, "f", .n = 0644}, {MKDIR, "d", .n = 0755}, {MKFIFO, "p", .n = 0644}, {SYMLINK, "f", "l"},
    {CHMOD, "f", .n = 0}, {CHMOD, "f", .n = 07777}, {CHMOD, "d", .n = 01750}, {CHMOD, "p", .n = 0111},
    {CHMOD, "l", .n = 0640}, {FCHMOD, "f", .n = 0600}, {CHMOD, "d", .n = 06755},
    {CASE, "chmod: what is not there"},
    {MAKE, "f", .n = 0644}, {CHMOD, "none", .n = 0644}, {CHMOD, "f/x", .n = 0644}, {CHMOD, "none/x", .n = 0644},
    {SYMLINK, "l2", "l1"}, {SYMLINK, "l1", "l2"}, {CHMOD, "l1", .n = 0644}, {CHMOD, "@256", .n = 0644},
    {CASE, "chmod: the owner alone"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0644}, {CHMOD, "f", .n = 0600}, {AS, .n = BOB, .m = BOB},
    {CHMOD, "f", .n = 0666}, {AS, .n = BOB, .m = ANN}, {CHMOD, "f", .n = 0666},
    {CASE, "chmod: set-group-ID is for members of the group"},
    {MAKE, "f", .n = 0755}, {CHOWN, "f", .n = ANN, .m = STAFF}, {AS, .n = ANN, .m = ANN}, {CHMOD, "f", .n = 02755},
    {CHMOD, "f", .n = 06755}, {AS, "2000", .n = ANN, .m = ANN}, {CHMOD, "f", .n = 02755},
    {CASE, "chmod: the sticky bit of a user's file"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0644}, {CHMOD, "f", .n = 01644}, {MKDIR, "d", .n = 0755},
    {CHMOD, "d", .n = 01755},

    /* ---- chown ---- */
    {CASE, "chown: root gives all away"},
    {MAKE, "f", .n = 06755}, {CHOWN, "f", .n = ANN, .m = STAFF}, {CHMOD, "f", .n = 06755}, {CHOWN, "f", .n = -1, .m = OTHERS},
    {MAKE, "g", .n = 0644}, {CHMOD, "g", .n = 06744}, {CHOWN, "g", .n = BOB, .m = -1}, {MKDIR, "d", .n = 0755},
    {CHMOD, "d", .n = 06755}, {CHOWN, "d", .n = ANN, .m = ANN}, {SYMLINK, "f", "l"}, {LCHOWN, "l", .n = BOB, .m = BOB},
    {CHOWN, "l", .n = BOB, .m = BOB}, {CHOWN, "f", .n = -1, .m = -1}, {CHOWN, "none", .n = 1, .m = 1}, {FCHOWN, "f", .n = 5, .m = 6},
    {MKFIFO, "p", .n = 0644}, {CHOWN, "p", .n = ANN, .m = ANN},
    {CASE, "chown: an owner gives it to groups of his"},
    {AS, "2000", .n = ANN, .m = ANN}, {MAKE, "f", .n = 0755}, {CHMOD, "f", .n = 06755}, {CHOWN, "f", .n = -1, .m = STAFF},
    {CHMOD, "f", .n = 06755}, {CHOWN, "f", .n = ANN, .m = ANN}, {CHOWN, "f", .n = -1, .m = OTHERS}, {CHOWN, "f", .n = BOB, .m = -1},
    {CHOWN, "f", .n = -1, .m = -1}, {CHMOD, "f", .n = 06755}, {CHOWN, "f", .n = -1, .m = -1}, {AS, .n = BOB, .m = BOB},
    {CHOWN, "f", .n = BOB, .m = BOB}, {CHOWN, "f", .n = -1, .m = -1}, {LCHOWN, "f", .n = ANN, .m = -1},
    {CASE, "chown: by whom it is not allowed"},
    {MAKE, "f", .n = 0644}, {AS, .n = ANN, .m = ANN}, {CHOWN, "f", .n = ANN, .m = ANN}, {FCHOWN, "f", .n = ANN, .m = -1},

    /* ---- truncate, ftruncate, posix_fallocate ---- */
    {CASE, "truncate: sizes"},
    {MAKE, "f", .n = 0644}, {TRUNCATE, "f", .n = 12345}, {TRUNCATE, "f", .n = 12345}, {TRUNCATE, "f", .n = 0},
    {TRUNCATE, "f", .n = -1}, {TRUNCATE, "f", .n = INT64_MAX}, {FALLOCATE, "f", .n = INT64_MAX - 5, .m = 100}, {FTRUNCATE, "f", .n = 70000, .m = O_RDWR}, {FTRUNCATE, "f", .n = 7, .m = O_RDONLY},
    {FTRUNCATE, "f", .n = -1, .m = O_RDWR}, {TRUNCATE, "none", .n = 0}, {MKDIR, "d", .n = 0755}, {TRUNCATE, "d", .n = 0},
    {TRUNCATE, "f/x", .n = 0}, {MKFIFO, "p", .n = 0644}, {TRUNCATE, "p", .n = 0}, {SYMLINK, "f", "l"}, {TRUNCATE, "l", .n = 3},
    {CASE, "truncate: set-user-ID goes"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0755}, {CHMOD, "f", .n = 06777}, {AS, .n = BOB, .m = BOB},
    {TRUNCATE, "f", .n = 100}, {AS, .n = ANN, .m = ANN}, {CHMOD, "f", .n = 06777}, {AS, .n = BOB, .m = BOB},
    {FTRUNCATE, "f", .n = 50, .m = O_RDWR}, {AS, .n = ANN, .m = ANN}, {CHMOD, "f", .n = 02767}, {TRUNCATE, "f", .n = 10},
    {CASE, "truncate: rights"},
    {MAKE, "f", .n = 0644}, {AS, .n = ANN, .m = ANN}, {TRUNCATE, "f", .n = 0}, {AS, .n = 0, .m = 0}, {CHMOD, "f", .n = 0},
    {TRUNCATE, "f", .n = 9},
    {CASE, "posix_fallocate"},
    {MAKE, "f", .n = 0644}, {FALLOCATE, "f", .n = 0, .m = 1000}, {FALLOCATE, "f", .n = 500, .m = 100}, {FALLOCATE, "f", .n = 5000, .m = 1},
    {FALLOCATE, "f", .n = 0, .m = 0}, {FALLOCATE, "f", .n = -1, .m = 1}, {FALLOCATE, "f", .n = 0, .m = -1}, {MKFIFO, "p", .n = 0644},
    {CHMOD, "f", .n = 06755}, {AS, .n = ANN, .m = ANN}, {FALLOCATE, "f", .n = 0, .m = 9000}, {AS, .n = 0, .m = 0}, {CHMOD, "f", .n = 06777},
    {AS, .n = ANN, .m = ANN}, {FALLOCATE, "f", .n = 0, .m = 9000},

    /* ---- write ---- */
    {CASE, "write: set-user-ID goes, but for root"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0755}, {CHMOD, "f", .n = 06777}, {AS, .n = BOB, .m = BOB}, {WRITE, "f"},
    {AS, .n = ANN, .m = ANN}, {CHMOD, "f", .n = 04777}, {WRITE, "f"}, {CHMOD, "f", .n = 02767}, {WRITE, "f"}, {AS, .n = 0, .m = 0},
    {CHMOD, "f", .n = 06777}, {WRITE, "f"},

    {CASE, "write: so it is by other openings"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0777}, {CHMOD, "f", .n = 06777}, {AS, .n = BOB, .m = BOB}, {WRITE, "f", .n = O_WRONLY | O_APPEND},
    {AS, .n = ANN, .m = ANN}, {CHMOD, "f", .n = 06777}, {WRITE, "f", .n = O_RDWR}, {CHMOD, "f", .n = 02767}, {WRITE, "f", .n = O_RDWR | O_APPEND},
    {AS, .n = 0, .m = 0}, {CHMOD, "f", .n = 06777}, {WRITE, "f", .n = O_RDWR}, {WRITE, "f", .n = O_WRONLY | O_APPEND},

    {CASE, "write: file capabilities go"},
    {MAKE, "f", .n = 0777}, {CHMOD, "f", .n = 0777}, {GRANT, "f"}, {AS, .n = ANN, .m = ANN}, {GRANT, "f"}, {WRITE, "f"}, {AS, .n = 0, .m = 0},
    {GRANT, "f"}, {AS, .n = ANN, .m = ANN}, {TRUNCATE, "f", .n = 10}, {AS, .n = 0, .m = 0}, {GRANT, "f"}, {AS, .n = ANN, .m = ANN},
    {OPEN, "f", .n = O_WRONLY | O_TRUNC}, {AS, .n = 0, .m = 0}, {GRANT, "f"}, {WRITE, "f"}, {GRANT, "f"}, {CHOWN, "f", .n = ANN, .m = ANN},
    {GRANT, "f"}, {CHMOD, "f", .n = 0755}, {LINK, "f", "g"}, {RENAME, "f", "h"}, {FALLOCATE, "h", .n = 0, .m = 9000}, {GRANT, "h"},
    {AS, .n = ANN, .m = ANN}, {FALLOCATE, "h", .n = 0, .m = 99000}, {AS, .n = 0, .m = 0}, {GRANT, "h"}, {AS, .n = ANN, .m = ANN},
    {FTRUNCATE, "h", .n = 5, .m = O_RDWR}, {AS, .n = 0, .m = 0}, {GRANT, "h"}, {MAKE, "i", .n = 0644}, {WRITE, "i"}, {CHMOD, "h", .n = 0777}, {AS, .n = BOB, .m = BOB},
    {COPY, "i", "h"}, {AS, .n = 0, .m = 0}, {CHMOD, "h", .n = 06777}, {AS, .n = BOB, .m = BOB}, {COPY, "i", "h"}, {COPY, "none", "h"},

    /* ---- link ---- */
    {CASE, "link: counts and times"},
    {MAKE, "f", .n = 0644}, {LINK, "f", "g"}, {LINK, "f", "h"}, {CHMOD, "g", .n = 0600}, {UNLINK, "f"}, {TRUNCATE, "h", .n = 5},
    {UNLINK, "g"}, {MKFIFO, "p", .n = 0600}, {LINK, "p", "q"}, {SYMLINK, "h", "l"}, {LINK, "l", "m"}, {BIND, "s"}, {LINK, "s", "t"},
    {CASE, "link: what it refuses"},
    {MAKE, "f", .n = 0644}, {MAKE, "g", .n = 0644}, {MKDIR, "d", .n = 0755}, {LINK, "f", "g"}, {LINK, "d", "e"}, {LINK, "none", "x"},
    {LINK, "f", "none/x"}, {LINK, "f", "g/x"}, {LINK, "g/x", "x"}, {LINK, "f", "@256"}, {LINK, "f", "@255"}, {LINK, "f", "d"}, {LINK, "f", "d/f"},
    {CASE, "link: rights"},
    {MKDIR, "d", .n = 0755}, {MAKE, "f", .n = 0666}, {MAKE, "g", .n = 0644}, {AS, .n = ANN, .m = ANN}, {LINK, "f", "d/x"}, {LINK, "f", "h"},
    {LINK, "g", "i"},

    /* ---- mkdir, rmdir ---- */
    {CASE, "mkdir: modes and the mask"},
    {MKDIR, "a", .n = 0777}, {MKDIR, "b", .n = 01777}, {UMASK, .n = 077}, {MKDIR, "c", .n = 0777}, {UMASK, .n = 0}, {MKDIR, "e", .n = 0777},
    {MKDIR, "a/x", .n = 0}, {MKDIR, "@255", .n = 0755}, {MKDIR, "@256", .n = 0755}, {MKDIR, "a", .n = 0755}, {MKDIR, "none/x", .n = 0755},
    {MAKE, "f", .n = 0644}, {MKDIR, "f", .n = 0755}, {MKDIR, "f/x", .n = 0755}, {SYMLINK, "none", "l"}, {MKDIR, "l", .n = 0755}, {MKDIR, ".", .n = 0755},
    {MKDIR, "g/", .n = 0755},
    {CASE, "mkdir: in a directory of set-group-ID"},
    {MKDIR, "d", .n = 0777}, {CHOWN, "d", .n = 0, .m = STAFF}, {CHMOD, "d", .n = 02777}, {MKDIR, "d/r", .n = 0755}, {AS, .n = ANN, .m = ANN},
    {MKDIR, "d/a", .n = 0755}, {MAKE, "d/f", .n = 0644}, {MKFIFO, "d/p", .n = 0644}, {SYMLINK, "x", "d/l"}, {MAKE, "d/g", .n = 02755},
    {MAKE, "d/h", .n = 06711}, {BIND, "d/s"},
    {CASE, "mkdir: rights"},
    {MKDIR, "d", .n = 0755}, {AS, .n = ANN, .m = ANN}, {MKDIR, "d/x", .n = 0755}, {MKDIR, "e", .n = 0700}, {AS, .n = BOB, .m = BOB}, {MKDIR, "e/x", .n = 0755},
    {AS, .n = 0, .m = 0}, {MKDIR, "e/x", .n = 0755},
    {CASE, "rmdir"},
    {MKDIR, "d", .n = 0755}, {MKDIR, "d/e", .n = 0755}, {RMDIR, "d"}, {RMDIR, "d/."}, {RMDIR, "d/e/.."}, {RMDIR, "d/e"}, {RMDIR, "d"}, {RMDIR, "d"},
    {MAKE, "f", .n = 0644}, {RMDIR, "f"}, {RMDIR, "f/x"}, {SYMLINK, "d", "l"}, {MKDIR, "d", .n = 0755}, {RMDIR, "l"}, {RMDIR, "l/"}, {RMDIR, "@256"}, {RMDIR, "d/"},
    {CASE, "rmdir: rights"},
    {MKDIR, "d", .n = 0755}, {MKDIR, "d/e", .n = 0777}, {AS, .n = ANN, .m = ANN}, {RMDIR, "d/e"}, {AS, .n = 0, .m = 0}, {CHMOD, "d", .n = FULL},
    {AS, .n = ANN, .m = ANN}, {RMDIR, "d/e"}, {MKDIR, "d/a", .n = 0755}, {AS, .n = BOB, .m = BOB}, {RMDIR, "d/a"}, {AS, .n = ANN, .m = ANN}, {RMDIR, "d/a"},

    /* ---- mkfifo, mknod ---- */
    {CASE, "mkfifo and mknod: kinds"},
    {MKFIFO, "p", .n = 0644}, {MKFIFO, "p", .n = 0644}, {UMASK, .n = 027}, {MKFIFO, "q", .n = 0777}, {MKNOD, "r", .n = S_IFREG | 0666},
    {MKNOD, "s", .n = S_IFSOCK | 0666}, {MKNOD, "t", .n = S_IFIFO | 0666}, {MKNOD, "c", .n = S_IFCHR | 0666, .m = 0x103},
    {MKNOD, "b", .n = S_IFBLK | 0666, .m = 0x700}, {MKNOD, "d", .n = S_IFDIR | 0755}, {MKNOD, "@256", .n = S_IFIFO | 0666}, {MKFIFO, "p/x", .n = 0644},
    {MKFIFO, "none/x", .n = 0644}, {MKFIFO, "@255", .n = 0644}, {CHMOD, "c", .n = 0600}, {UNLINK, "c"}, {MKNOD, "n", .n = 0640},
    {CASE, "mknod: a user makes no devices"},
    {AS, .n = ANN, .m = ANN}, {MKNOD, "c", .n = S_IFCHR | 0666, .m = 0x103}, {MKNOD, "b", .n = S_IFBLK | 0666, .m = 0x700},
    {MKNOD, "r", .n = S_IFREG | 04755}, {MKFIFO, "p", .n = 0644}, {AS, .n = 0, .m = 0}, {MKDIR, "d", .n = 0755}, {AS, .n = ANN, .m = ANN},
    {MKFIFO, "d/p", .n = 0644}, {MKNOD, "d/r", .n = S_IFREG | 0644},

    /* ---- open ---- */
    {CASE, "open: what is made, and how"},
    {OPEN, "f", .n = O_CREAT | O_WRONLY, .m = 0644}, {OPEN, "f", .n = O_CREAT | O_EXCL | O_WRONLY, .m = 0644}, {UMASK, .n = 077},
    {OPEN, "g", .n = O_CREAT | O_RDWR, .m = 0666}, {OPEN, "h", .n = O_CREAT | O_RDONLY, .m = 06755}, {OPEN, "i", .n = O_CREAT | O_RDWR, .m = 0},
    {WRITE, "f"}, {OPEN, "f", .n = O_WRONLY | O_TRUNC}, {OPEN, "f", .n = O_WRONLY | O_TRUNC}, {OPEN, "@255", .n = O_CREAT | O_WRONLY, .m = 0644},
    {OPEN, "@256", .n = O_CREAT | O_WRONLY, .m = 0644}, {OPEN, "none", .n = O_RDONLY}, {OPEN, "f/x", .n = O_CREAT | O_WRONLY, .m = 0644},
    {OPEN, "none/x", .n = O_CREAT | O_WRONLY, .m = 0644},
    {CASE, "open: directories, links, pipes and sockets"},
    {MKDIR, "d", .n = 0755}, {MAKE, "f", .n = 0644}, {OPEN, "d", .n = O_WRONLY}, {OPEN, "d", .n = O_RDWR}, {OPEN, "d", .n = O_RDONLY | O_TRUNC},
    {OPEN, "d", .n = O_CREAT | O_RDONLY, .m = 0644}, {OPEN, "f", .n = O_RDONLY | O_DIRECTORY}, {SYMLINK, "f", "l"}, {OPEN, "l", .n = O_RDONLY | O_NOFOLLOW},
    {OPEN, "l", .n = O_CREAT | O_EXCL | O_WRONLY, .m = 0644}, {SYMLINK, "new", "m"}, {OPEN, "m", .n = O_CREAT | O_WRONLY, .m = 0644},
    {SYMLINK, "y", "x"}, {SYMLINK, "x", "y"}, {OPEN, "x", .n = O_RDONLY}, {OPEN, "x", .n = O_CREAT | O_WRONLY, .m = 0644}, {MKFIFO, "p", .n = 0644},
    {OPEN, "p", .n = O_WRONLY | O_NONBLOCK}, {OPEN, "p", .n = O_RDONLY | O_NONBLOCK}, {BIND, "s"}, {OPEN, "s", .n = O_RDONLY}, {OPEN, "f/", .n = O_RDONLY},
    {OPEN, "q/", .n = O_CREAT | O_WRONLY, .m = 0644}, {OPEN, "d/.", .n = O_CREAT | O_RDONLY, .m = 0644}, {OPEN, "f", .n = O_PATH}, {OPEN, "f", .n = O_RDONLY | O_NOATIME},
    {CASE, "open: rights of owner, group and others"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0140}, {OPEN, "f", .n = O_RDONLY}, {OPEN, "f", .n = O_WRONLY}, {ACCESS, "f", .n = 1}, {ACCESS, "f", .n = 4},
    {AS, .n = BOB, .m = ANN}, {OPEN, "f", .n = O_RDONLY}, {OPEN, "f", .n = O_WRONLY}, {AS, "1000", .n = BOB, .m = BOB}, {OPEN, "f", .n = O_RDONLY},
    {AS, .n = BOB, .m = BOB}, {OPEN, "f", .n = O_RDONLY}, {OPEN, "f", .n = O_RDWR}, {OPEN, "f", .n = O_RDONLY | O_NOATIME}, {ACCESS, "f", .n = 4},
    {AS, .n = 0, .m = 0}, {OPEN, "f", .n = O_RDWR}, {MKDIR, "d", .n = 0700}, {MAKE, "d/x", .n = 0666}, {AS, .n = ANN, .m = ANN}, {OPEN, "d/x", .n = O_RDONLY},
    {OPEN, "d", .n = O_RDONLY}, {OPEN, "d/y", .n = O_CREAT | O_WRONLY, .m = 0644}, {UMASK, .n = 0}, {OPEN, "z", .n = O_CREAT | O_WRONLY, .m = 07777},
    {CASE, "open: O_TRUNC wants the right to write"},
    {MAKE, "f", .n = 0644}, {WRITE, "f"}, {AS, .n = ANN, .m = ANN}, {OPEN, "f", .n = O_RDONLY | O_TRUNC}, {OPEN, "f", .n = O_WRONLY | O_TRUNC},
    {AS, .n = 0, .m = 0}, {CHMOD, "f", .n = 06777}, {AS, .n = ANN, .m = ANN}, {OPEN, "f", .n = O_WRONLY | O_TRUNC},

    /* ---- rename ---- */
    {CASE, "rename: over each other"},
    {MAKE, "f", .n = 0644}, {MAKE, "g", .n = 0600}, {MKDIR, "d", .n = 0755}, {MKDIR, "e", .n = 0700}, {MAKE, "e/x", .n = 0644}, {RENAME, "f", "g"},
    {RENAME, "g", "d"}, {RENAME, "d", "g"}, {RENAME, "d", "e"}, {RENAME, "e", "d"}, {RENAME, "d", "d/y"}, {RENAME, "none", "g"}, {RENAME, "g", "none/x"},
    {RENAME, "g", "@255"}, {RENAME, "@255", "@256"}, {RENAME, "d", "."}, {RENAME, ".", "d"}, {RENAME, "d/..", "q"}, {RENAME, "d/x", "d/x"}, {RENAME, "d/x/z", "w"},
    {CASE, "rename: links, pipes and sockets"},
    {MAKE, "f", .n = 0644}, {LINK, "f", "g"}, {RENAME, "f", "g"}, {SYMLINK, "f", "l"}, {RENAME, "l", "m"}, {MKFIFO, "p", .n = 0644}, {RENAME, "p", "f"}, {BIND, "s"},
    {RENAME, "s", "m"}, {MKDIR, "d", .n = 0755}, {SYMLINK, "d", "k"}, {RENAME, "g", "k/g"}, {RENAME, "k", "o"}, {RENAME, "d/g", "o/"}, {RENAME, "d/", "n"},
    {CASE, "rename: rights"},
    {MKDIR, "d", .n = 0755}, {MAKE, "d/f", .n = 0666}, {MKDIR, "t", .n = 0}, {CHMOD, "t", .n = FULL}, {MAKE, "t/r", .n = 0666}, {AS, .n = ANN, .m = ANN},
    {RENAME, "d/f", "x"}, {MAKE, "y", .n = 0644}, {RENAME, "y", "d/y"}, {RENAME, "t/r", "t/s"}, {RENAME, "y", "t/r"}, {RENAME, "y", "t/y"}, {AS, .n = BOB, .m = BOB},
    {RENAME, "t/y", "t/z"}, {MAKE, "b", .n = 0644}, {RENAME, "b", "t/y"}, {AS, .n = ANN, .m = ANN}, {RENAME, "t/y", "t/z"}, {MKDIR, "t/d", .n = 0755},
    {AS, .n = BOB, .m = BOB}, {RENAME, "t/d", "t/e"}, {RENAME, "t/d", "e"},
    {CASE, "rename: a directory that is another's to another place"},
    {MKDIR, "p", .n = 0777}, {CHMOD, "p", .n = 0777}, {MKDIR, "q", .n = 0777}, {CHMOD, "q", .n = 0777}, {MKDIR, "p/d", .n = 0755}, {AS, .n = ANN, .m = ANN},
    {RENAME, "p/d", "q/d"}, {RENAME, "p/d", "p/e"},

    /* ---- symlink, unlink ---- */
    {CASE, "symlink"},
    {SYMLINK, "target", "l"}, {SYMLINK, "target", "l"}, {SYMLINK, "@255", "m"}, {SYMLINK, "x", "@255"}, {SYMLINK, "x", "@256"}, {SYMLINK, "", "n"},
    {SYMLINK, "x", "none/l"}, {MAKE, "f", .n = 0644}, {SYMLINK, "x", "f/l"}, {SYMLINK, "x", "f"}, {MKDIR, "d", .n = 0755}, {AS, .n = ANN, .m = ANN},
    {SYMLINK, "x", "d/l"}, {SYMLINK, "x", "mine"}, {LCHOWN, "mine", .n = -1, .m = ANN}, {LCHOWN, "l", .n = ANN, .m = -1},
    {CASE, "unlink"},
    {MAKE, "f", .n = 0644}, {LINK, "f", "g"}, {UNLINK, "f"}, {UNLINK, "f"}, {MKDIR, "d", .n = 0755}, {UNLINK, "d"}, {UNLINK, "g/x"}, {UNLINK, "none/x"},
    {SYMLINK, "g", "l"}, {UNLINK, "l"}, {MKFIFO, "p", .n = 0644}, {UNLINK, "p"}, {BIND, "s"}, {UNLINK, "s"}, {UNLINK, "@256"}, {UNLINK, "g/"},
    {CASE, "unlink: rights"},
    {MKDIR, "d", .n = 0755}, {MAKE, "d/f", .n = 0666}, {MKDIR, "t", .n = 0}, {CHMOD, "t", .n = FULL}, {AS, .n = ANN, .m = ANN}, {UNLINK, "d/f"},
    {MAKE, "t/a", .n = 0666}, {AS, .n = BOB, .m = BOB}, {UNLINK, "t/a"}, {AS, .n = ANN, .m = ANN}, {UNLINK, "t/a"}, {AS, .n = 0, .m = 0}, {CHOWN, "t", .n = BOB, .m = BOB},
    {AS, .n = ANN, .m = ANN}, {MAKE, "t/b", .n = 0666}, {AS, .n = BOB, .m = BOB}, {UNLINK, "t/b"},

    /* ---- utimensat ---- */
    {CASE, "utimensat: which times"},
    {MAKE, "f", .n = 0644}, {MKDIR, "d", .n = 0755}, {SYMLINK, "f", "l"}, {UTIMES, "f", .n = BOTH}, {UTIMES, "d", .n = BOTH}, {UTIMES, "f", .n = CHANGE_ONLY},
    {UTIMES, "f", .n = NONE}, {UTIMES, "f", .n = ACCESS_NOW}, {UTIMES, "f", .n = NOW}, {LUTIMES, "l", .n = BOTH}, {UTIMES, "l", .n = BOTH}, {UTIMES, "f", .n = TOO_MANY_NS},
    {UTIMES, "none", .n = BOTH}, {UTIMES, "f/x", .n = BOTH}, {MKFIFO, "p", .n = 0644}, {UTIMES, "p", .n = BOTH},
    {CASE, "utimensat: rights"},
    {AS, .n = ANN, .m = ANN}, {MAKE, "f", .n = 0466}, {UTIMES, "f", .n = BOTH}, {UTIMES, "f", .n = NOW}, {AS, .n = BOB, .m = BOB}, {UTIMES, "f", .n = NOW},
    {UTIMES, "f", .n = BOTH}, {UTIMES, "f", .n = NONE}, {UTIMES, "f", .n = ACCESS_NOW}, {AS, .n = ANN, .m = ANN}, {CHMOD, "f", .n = 0444}, {AS, .n = BOB, .m = BOB},
    {UTIMES, "f", .n = NOW}, {UTIMES, "f", .n = NONE},
};
/* clang-format on */
const size_t rules_steps_count = sizeof rules_steps / sizeof *rules_steps;
