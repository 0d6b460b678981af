/* SPDX-License-Identifier: MIT */
/* Directories and files may be another user's work: no link is followed, nothing is mapped, and no
 * more is looked at than there could be in good faith. */
#include "tools/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names_in.h"
#include "libdodo/program_dir.h"

enum { USERS_MAX = 1024, LOOKS = 1000 /* at a page that is being written */ };

typedef struct Look {
    GArray *seen;
    GHashTable *dirs; /* inodes of those that were looked at: two ways may lead to one */
} Look;

typedef struct DirLook {
    const Look *look;
    uid_t uid;
} DirLook;

static const int dir_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/* ---- one file -------------------------------------------------------------------------------- */

static enum ProgramVerdict take(int fd, Program *ret)
{
    ProgramPage seen[PROGRAM_SEEN];
    for (unsigned i = 0; i < PROGRAM_SEEN; i++)
        if (pread(fd, &seen[i], sizeof seen[i], 0) != (ssize_t)sizeof seen[i])
            return PROGRAM_FOREIGN;
    return program_page_judge(seen, sizeof seen[0], ret);
}

static void look_at_file(void *ctx, int dir, const char *name)
{
    const DirLook *in = ctx;
    struct stat st;
    ProgramSeen s = {.uid = in->uid};
    enum ProgramVerdict verdict = PROGRAM_BUSY;
    if (!program_name_fits(name))
        return;
    CLEANUP_CLOSE int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != in->uid ||
        st.st_size != sizeof(ProgramPage) || !program_lives(fd))
        return;
    for (unsigned i = 0; i < LOOKS && verdict == PROGRAM_BUSY; i++)
        verdict = take(fd, &s.program);
    if (verdict == PROGRAM_GOOD)
        g_array_append_val(in->look->seen, s);
}

/* ---- directories ----------------------------------------------------------------------------- */

/* @uid's alone, and not looked at yet. */
static bool is_good(const Look *l, int dir, uid_t uid)
{
    struct stat st;
    if (fstat(dir, &st) < 0 || st.st_uid != uid || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return false;
    g_autofree char *id =
        g_strdup_printf("%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    return g_hash_table_add(l->dirs, g_steal_pointer(&id));
}

/* @base/@own/programs, of that user. */
static void look_at_dir(const Look *l, int base, const char *own, uid_t uid)
{
    CLEANUP_CLOSE int parent = openat(base, own, dir_flags);
    CLEANUP_CLOSE int dir = parent < 0 ? -1 : openat(parent, "programs", dir_flags);
    if (dir < 0 || !is_good(l, dir, uid))
        return;
    if (uid == geteuid())
        program_dir_sweep(dir);
    DirLook in = {l, uid};
    names_in(dir, PROGRAM_FILES_MAX, look_at_file, &in);
}

static void look_in(const Look *l, const char *base, const char *own, uid_t uid)
{
    CLEANUP_CLOSE int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        look_at_dir(l, dir, own, uid);
}

/* ---- users ----------------------------------------------------------------------------------- */

/* The whole of @text is a number; what @prefix says stands before it. */
static bool take_uid(const char *text, const char *prefix, uid_t *ret)
{
    char *end;
    if (!g_str_has_prefix(text, prefix))
        return false;
    const char *digits = text + strlen(prefix);
    errno = 0;
    unsigned long uid = g_ascii_isdigit(*digits) ? strtoul(digits, &end, 10) : 0;
    *ret = (uid_t)uid;
    return g_ascii_isdigit(*digits) && !*end && errno == 0 && uid == *ret;
}

/* Directories of users in one for all of them; @own: of Dodo in each, NULL: it is that one. */
static void look_at_users(const Look *l, const char *base, const char *prefix, const char *own)
{
    uid_t uid;
    const struct dirent *e;
    DIR *d = opendir(base);
    if (!d)
        return;
    for (unsigned n = 0; n < USERS_MAX && (e = readdir(d));) {
        if (!take_uid(e->d_name, prefix, &uid))
            continue;
        n++;
        CLEANUP_CLOSE int user = own ? openat(dirfd(d), e->d_name, dir_flags) : -1;
        if (!own)
            look_at_dir(l, dirfd(d), e->d_name, uid);
        else if (user >= 0)
            look_at_dir(l, user, own, uid);
    }
    (void)closedir(d);
}

void programs_look(GArray *seen)
{
    char base[64], own[64];
    const uid_t uid = geteuid();
    g_autoptr(GHashTable) dirs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const Look l = {seen, dirs};
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    (void)snprintf(base, sizeof base, "/run/user/%u", uid);
    (void)snprintf(own, sizeof own, "dodo-%u", uid);
    if (runtime && *runtime == '/')
        look_in(&l, runtime, "dodo", uid);
    look_in(&l, base, "dodo", uid);
    look_in(&l, "/dev/shm", own, uid);
    if (uid != 0)
        return;
    look_at_users(&l, "/run/user", "", "dodo");
    look_at_users(&l, "/dev/shm", "dodo-", NULL);
}
