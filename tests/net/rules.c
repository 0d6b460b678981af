/* SPDX-License-Identifier: MIT */
/* rules DIRECTORY MOUNTED PLAIN: the cases of rules_table.c, in two empty directories, of which
 * DIRECTORY is called through its mount MOUNTED. After each call, result, error and attributes of
 * all files are the same in both, and a file of the mount is as it is in DIRECTORY. Cases of
 * several users need root; others are passed over. */
#include "tests/net/rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 40, PATH_BYTES = 600 };

typedef struct File {
    char path[PATH_BYTES];
    struct stat st;
    char target[PATH_BYTES];
    long capability; /* its length; -1: none */
} File;
typedef struct Files {
    unsigned count;
    File of[FILES_MAX];
} Files;

typedef struct Side {
    int root, dir; /* of the directory, and of the case in it */
    Files before, after;
    long result;
    int error;
} Side;

enum { MOUNTED, PLAIN, BEHIND, SIDES };
static Side sides[SIDES];
static uid_t uid;
static gid_t gid, other_group; /* 0: none */
static mode_t mask;

static void die(const char *what)
{
    (void)fprintf(stderr, "rules: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* "@255" is a name of so many characters. */
static const char *expand(const char *text, char buf[PATH_BYTES])
{
    size_t len = text && *text == '@' ? strtoul(text + 1, NULL, 10) : 0;
    if (len == 0)
        return text;
    memset(buf, 'n', len);
    buf[len] = 0;
    return buf;
}

static long done(int fd, long result)
{
    int error = errno;
    (void)close(fd);
    errno = error;
    return result;
}

static long with_open(const Step *s, const char *a, int flags)
{
    int fd = open(a, flags | O_CLOEXEC, (mode_t)s->m), error;
    if (fd < 0)
        return -1;
    switch ((int)s->op) {
    case WRITE:
        return done(fd, write(fd, "x", 1));
    case FTRUNCATE:
        return done(fd, ftruncate(fd, s->n));
    case FALLOCATE:
        error = posix_fallocate(fd, s->n, s->m);
        (void)close(fd);
        errno = error;
        return error ? -1 : 0;
    case FCHMOD:
        return done(fd, fchmod(fd, (mode_t)s->n));
    case FCHOWN:
        return done(fd, fchown(fd, (uid_t)s->n, (gid_t)s->m));
    default:
        return done(fd, 0);
    }
}

static long set_times(const char *a, long which, int flags)
{
    const struct timespec first = {100, 100}, second = {200, 999999999};
    const struct timespec now = {0, UTIME_NOW}, omit = {0, UTIME_OMIT}, bad = {1, 1000000000};
    const struct timespec all[TIMES][2] = {
        [BOTH] = {first, second},      [NOW] = {now, now},
        [NONE] = {omit, omit},         [ACCESS_NOW] = {now, omit},
        [CHANGE_ONLY] = {omit, first}, [TOO_MANY_NS] = {first, bad},
    };
    return utimensat(AT_FDCWD, a, all[which], flags);
}

static long bind_to(const char *a)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s", a);
    return done(fd, bind(fd, (const struct sockaddr *)(const void *)&name, sizeof name));
}

/* The right to take any user's identity, which the kernel keeps with a file until it is changed. */
static const char capability[] = "security.capability";

static long grant(const char *a)
{
    const struct vfs_cap_data cap = {.magic_etc = VFS_CAP_REVISION_2,
                                     .data[0].permitted = 1 << CAP_SETUID};
    return setxattr(a, capability, &cap, sizeof cap, 0);
}

static long copy(const char *a, const char *b)
{
    int from = open(a, O_RDONLY | O_CLOEXEC), to = open(b, O_WRONLY | O_CLOEXEC);
    ssize_t n = copy_file_range(from, NULL, to, NULL, 100, 0);
    int error = errno;
    (void)close(from);
    errno = error;
    return done(to, n);
}

static long call_names(const Step *s, const char *a, const char *b)
{
    switch ((int)s->op) {
    case MKDIR:
        return mkdir(a, (mode_t)s->n);
    case RMDIR:
        return rmdir(a);
    case UNLINK:
        return unlink(a);
    case LINK:
        return link(a, b);
    case SYMLINK:
        return symlink(a, b);
    case RENAME:
        return rename(a, b);
    case MKFIFO:
        return mkfifo(a, (mode_t)s->n);
    case MKNOD:
        return mknod(a, (mode_t)s->n, (dev_t)s->m);
    default:
        return bind_to(a);
    }
}

static long call(const Step *s)
{
    char first[PATH_BYTES], second[PATH_BYTES];
    const char *a = expand(s->a, first), *b = expand(s->b, second);
    switch ((int)s->op) {
    case MAKE:
        return with_open(&(Step){.op = MAKE, .m = s->n}, a, O_CREAT | O_EXCL | O_WRONLY);
    case OPEN:
        return with_open(s, a, (int)s->n);
    case FTRUNCATE:
        return with_open(s, a, (int)s->m);
    case WRITE:
        return with_open(s, a, (s->n ? (int)s->n : O_WRONLY) | O_NONBLOCK);
    case FALLOCATE:
        return with_open(s, a, O_WRONLY | O_NONBLOCK);
    case FCHMOD:
    case FCHOWN:
        return with_open(s, a, O_RDONLY);
    case TRUNCATE:
        return truncate(a, s->n);
    case CHMOD:
        return chmod(a, (mode_t)s->n);
    case CHOWN:
        return chown(a, (uid_t)s->n, (gid_t)s->m);
    case LCHOWN:
        return lchown(a, (uid_t)s->n, (gid_t)s->m);
    case UTIMES:
        return set_times(a, s->n, 0);
    case LUTIMES:
        return set_times(a, s->n, AT_SYMLINK_NOFOLLOW);
    case ACCESS:
        return faccessat(AT_FDCWD, a, (int)s->n, AT_EACCESS);
    case GRANT:
        return grant(a);
    case COPY:
        return copy(a, b);
    default:
        return call_names(s, a, b);
    }
}

/* As the user of the case. */
static void one(Side *side, const Step *s)
{
    bool others = uid != geteuid() || gid != getegid() || other_group != 0;
    if (fchdir(side->dir) < 0)
        die("the case's directory");
    if (others &&
        (setgroups(other_group != 0, &other_group) < 0 || setegid(gid) < 0 || seteuid(uid) < 0))
        die("the user of a case");
    (void)umask(mask);
    errno = 0;
    side->result = call(s);
    side->error = side->result < 0 ? errno : 0;
    (void)umask(0);
    if (others && (seteuid(0) < 0 || setegid(0) < 0 || setgroups(0, NULL) < 0))
        die("back to root");
}

/* ---- what is there ----------------------------------------------------------------------------
 */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const File *)a)->path, ((const File *)b)->path);
}

static void look_at(Files *files, int root, const char *path)
{
    if (files->count == FILES_MAX)
        die("too many files in a case");
    File *f = &files->of[files->count++];
    memset(f, 0, sizeof *f);
    (void)snprintf(f->path, sizeof f->path, "%s", path);
    if (fstatat(root, path, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
        die(path);
    if (fchdir(root) < 0)
        die("a directory");
    f->capability = S_ISREG(f->st.st_mode) ? getxattr(path, capability, NULL, 0) : -1;
    if (S_ISLNK(f->st.st_mode))
        (void)!readlinkat(root, path, f->target, sizeof f->target - 1);
}

static void look_below(Files *files, int root, const char *path)
{
    char below[PATH_BYTES];
    int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return; /* the user may not look */
    look_at(files, root, path);
    for (const struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        (void)snprintf(below, sizeof below, "%s/%.300s", path, e->d_name);
        struct stat st;
        if (fstatat(root, below, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
            look_below(files, root, below);
        else
            look_at(files, root, below);
    }
    (void)closedir(dir);
}

static void look(Side *side, Files *files)
{
    files->count = 0;
    look_below(files, side->dir, ".");
    qsort(files->of, files->count, sizeof files->of[0], by_path);
}

static const File *find(const Files *files, const char *path)
{
    File key;
    (void)snprintf(key.path, sizeof key.path, "%s", path);
    return bsearch(&key, files->of, files->count, sizeof key, by_path);
}

/* ---- comparing --------------------------------------------------------------------------------
 */

static unsigned long calls, wrong;
static const char *case_name;

static void complain(const Step *s, const char *format, const char *path, long mounted, long plain)
{
    static const char *const names[] = {
#define TEXT(name) #name,
        RULES_OPS(TEXT)};
    (void)fprintf(stderr, "rules: %s: %s %s %s 0%lo %ld: ", case_name, names[s->op],
                  s->a ? s->a : "", s->b ? s->b : "", (unsigned long)s->n, s->m);
    (void)fprintf(stderr, "%s%s%s: %ld (0%lo), not %ld (0%lo)\n", format, *path ? " of " : "", path,
                  mounted, (unsigned long)mounted, plain, (unsigned long)plain);
    wrong++;
}

static bool moved(const Files *before, const File *now, bool modified)
{
    const File *then = find(before, now->path);
    if (!then || then->st.st_ino != now->st.st_ino)
        return true;
    const struct timespec *a = modified ? &then->st.st_mtim : &then->st.st_ctim,
                          *b = modified ? &now->st.st_mtim : &now->st.st_ctim;
    return a->tv_sec != b->tv_sec || a->tv_nsec != b->tv_nsec;
}

#define FIELD(name, a, b) \
    if ((a) != (b))       \
    complain(s, name, m->path, (long)(a), (long)(b))

static void compare_file(const Step *s, const File *m, const File *p)
{
    FIELD("mode", m->st.st_mode, p->st.st_mode);
    FIELD("links", m->st.st_nlink, p->st.st_nlink);
    FIELD("owner", m->st.st_uid, p->st.st_uid);
    FIELD("group", m->st.st_gid, p->st.st_gid);
    FIELD("device", m->st.st_rdev, p->st.st_rdev);
    if (!S_ISDIR(m->st.st_mode))
        FIELD("size", m->st.st_size, p->st.st_size);
    FIELD("capability", m->capability, p->capability);
    FIELD("target", strcmp(m->target, p->target), 0);
    FIELD("time of change moves", moved(&sides[MOUNTED].before, m, false),
          moved(&sides[PLAIN].before, p, false));
    FIELD("time of modification moves", moved(&sides[MOUNTED].before, m, true),
          moved(&sides[PLAIN].before, p, true));
    if ((s->op == UTIMES || s->op == LUTIMES) && s->n == BOTH)
        FIELD("time of access", m->st.st_atim.tv_nsec == 100, p->st.st_atim.tv_nsec == 100);
}

/* What the mount says is what there is. */
static void compare_behind(const Step *s, const File *m, const File *b)
{
    FIELD("mode behind", m->st.st_mode, b->st.st_mode);
    FIELD("links behind", m->st.st_nlink, b->st.st_nlink);
    FIELD("owner behind", m->st.st_uid, b->st.st_uid);
    FIELD("group behind", m->st.st_gid, b->st.st_gid);
    FIELD("capability behind", m->capability, b->capability);
    FIELD("size behind", m->st.st_size, b->st.st_size);
    FIELD("blocks behind", m->st.st_blocks, b->st.st_blocks);
    FIELD("change behind", m->st.st_ctim.tv_nsec, b->st.st_ctim.tv_nsec);
    FIELD("modification behind", m->st.st_mtim.tv_nsec, b->st.st_mtim.tv_nsec);
    FIELD("modification behind", m->st.st_mtim.tv_sec, b->st.st_mtim.tv_sec);
}

static void compare(const Step *s)
{
    const Files *m = &sides[MOUNTED].after, *p = &sides[PLAIN].after, *b = &sides[BEHIND].after;
    if (sides[MOUNTED].result != sides[PLAIN].result)
        complain(s, "result", "", sides[MOUNTED].result, sides[PLAIN].result);
    if (sides[MOUNTED].error != sides[PLAIN].error)
        complain(s, "error", "", sides[MOUNTED].error, sides[PLAIN].error);
    if (m->count != p->count || m->count != b->count)
        complain(s, "files", "", m->count, p->count);
    for (unsigned i = 0; i < m->count; i++) {
        const File *plain = find(p, m->of[i].path), *behind = find(b, m->of[i].path);
        if (!plain || !behind) {
            complain(s, "a file", m->of[i].path, 1, 0);
            continue;
        }
        compare_file(s, &m->of[i], plain);
        compare_behind(s, &m->of[i], behind);
    }
}

/* ---- cases ------------------------------------------------------------------------------------
 */

/* Two changes get different times, also where the kernel's clock for files is a coarse one. */
static void await_tick(void)
{
    struct timespec began, now;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &began);
    do {
        (void)usleep(200);
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (began.tv_nsec == now.tv_nsec && began.tv_sec == now.tv_sec);
}

static void case_begin(const Step *s, unsigned number)
{
    char name[16];
    case_name = s->a;
    uid = geteuid();
    gid = getegid();
    other_group = 0;
    mask = 022;
    (void)snprintf(name, sizeof name, "case%u", number);
    for (int i = 0; i < SIDES; i++) {
        if (i != BEHIND && mkdirat(sides[i].root, name, 0777) < 0)
            die("a directory for a case");
        if (sides[i].dir > 0)
            (void)close(sides[i].dir);
        sides[i].dir = openat(sides[i].root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
}

static void step(const Step *s)
{
    if (s->op == UMASK) {
        mask = (mode_t)s->n;
    } else if (s->op == AS) {
        uid = (uid_t)s->n;
        gid = (gid_t)s->m;
        other_group = s->a ? (gid_t)strtoul(s->a, NULL, 10) : 0;
    } else {
        for (int i = MOUNTED; i <= PLAIN; i++)
            look(&sides[i], &sides[i].before);
        await_tick();
        for (int i = MOUNTED; i <= PLAIN; i++)
            one(&sides[i], s);
        for (int i = 0; i < SIDES; i++)
            look(&sides[i], &sides[i].after);
        compare(s);
        calls++;
    }
}

/* Whether this process may be other users: not root in a namespace of one. */
static bool may_be_others(void)
{
    return geteuid() == 0 && setgroups(0, NULL) == 0 && seteuid(1000) == 0 && seteuid(0) == 0;
}

/* Whether the rest of the case is for several users. */
static bool is_for_several(const Step *s, const Step *end)
{
    for (; s < end && s->op != CASE; s++)
        if (s->op == AS)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const Step *end = rules_steps + rules_steps_count;
    unsigned number = 0, passed = 0;
    if (argc != 4)
        return 2;
    bool several = may_be_others();
    (void)umask(0);
    for (int i = 0; i < SIDES; i++) {
        sides[i].root = open(argv[i == MOUNTED ? 2 : i == PLAIN ? 3 : 1], O_RDONLY | O_DIRECTORY);
        if (sides[i].root < 0)
            die("a directory");
    }
    for (const Step *s = rules_steps; s < end; s++) {
        unsigned long before = wrong;
        case_begin(s++, number++);
        bool skip = !several && is_for_several(s, end);
        passed += skip;
        for (; s < end && s->op != CASE; s++)
            if (!skip && wrong == before) /* else one difference makes others */
                step(s);
        s--;
    }
    printf("%u cases, %u of them passed over, %lu calls: %lu differences\n", number, passed, calls,
           wrong);
    return wrong > 0;
}
