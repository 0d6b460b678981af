/* SPDX-License-Identifier: MIT */
#include "adapters/run/executable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

/* How many interpreters may have interpreters, as for the kernel. */
enum { INTERPRETERS_MAX = 5 };

/* ---- where it is --------------------------------------------------------------------------- */

/* 0: this user may run it; errno. */
static int try_place(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/* The next directory of @search into @path, with @name; where the list goes on, or NULL. */
static const char *place_next(const char *search, const char *name, char path[PATH_MAX])
{
    size_t len = strcspn(search, ":");
    (void)snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, search, len > 0 ? "/" : "", name);
    return search[len] ? search + len + 1 : NULL;
}

/* A file that may not be run is passed over, but remembered. */
static int find(const char *name, const char *search, char path[PATH_MAX])
{
    int error = ENOENT;
    if (strchr(name, '/')) {
        (void)snprintf(path, PATH_MAX, "%s", name);
        return try_place(path);
    }
    while (*name && search) {
        search = place_next(search, name, path);
        int this_error = try_place(path);
        if (this_error == 0)
            return 0;
        if (this_error == EACCES)
            error = EACCES;
    }
    return error;
}

/* ---- what it is ---------------------------------------------------------------------------- */

/* The program's table of headers. */
typedef struct Headers {
    bool wide; /* of 64 bits */
    uint64_t offset;
    size_t size, count;
} Headers;

static bool headers_of(const unsigned char *head, size_t len, Headers *ret)
{
    Elf64_Ehdr wide;
    Elf32_Ehdr narrow;
    if (len < sizeof wide || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&wide, head, sizeof wide);
    memcpy(&narrow, head, sizeof narrow);
    *ret = head[EI_CLASS] == ELFCLASS32
               ? (Headers){false, narrow.e_phoff, narrow.e_phentsize, narrow.e_phnum}
               : (Headers){true, wide.e_phoff, wide.e_phentsize, wide.e_phnum};
    return true;
}

static int find_own_loader(struct dl_phdr_info *info, size_t size, void *ret)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(const char **)ret = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1; /* the first is the program */
}

const char *executable_own_loader(void)
{
    const char *own = NULL;
    (void)dl_iterate_phdr(find_own_loader, &own);
    return own;
}

/* Whether the loader that the header at @at names is not ours: one of another C library, or for
 * programs of another word size. */
static bool names_foreign_loader(int fd, const Headers *h, uint64_t at)
{
    Elf64_Phdr part;
    char path[PATH_MAX] = "";
    struct stat st, own_st;
    const char *own = executable_own_loader();
    if (!h->wide || !own || pread(fd, &part, sizeof part, (off_t)at) != sizeof part ||
        part.p_filesz >= sizeof path ||
        pread(fd, path, part.p_filesz, (off_t)part.p_offset) != (ssize_t)part.p_filesz)
        return true;
    return stat(path, &st) < 0 || stat(own, &own_st) < 0 || st.st_dev != own_st.st_dev ||
           st.st_ino != own_st.st_ino;
}

/* One that names a loader is linked dynamically. */
static enum ExecutableKind kind_of(int fd, const unsigned char *head, size_t len, bool *ret_foreign)
{
    Headers h;
    uint32_t type; /* begins a header in both classes */
    if (!headers_of(head, len, &h))
        return EXECUTABLE_UNKNOWN;
    for (size_t i = 0; i < h.count; i++) {
        uint64_t at = h.offset + i * h.size;
        if (pread(fd, &type, sizeof type, (off_t)at) != sizeof type)
            return EXECUTABLE_UNKNOWN;
        if (type == PT_INTERP) {
            *ret_foreign = names_foreign_loader(fd, &h, at);
            return EXECUTABLE_DYNAMIC;
        }
    }
    return EXECUTABLE_STATIC;
}

/* The interpreter of a "#!" line into @path. */
static bool interpreter_of(const char *head, size_t len, char path[PATH_MAX])
{
    if (len < 3 || memcmp(head, "#!", 2) != 0)
        return false;
    const char *start = head + 2;
    start += strspn(start, " \t");
    size_t n = strcspn(start, " \t\r\n");
    (void)snprintf(path, PATH_MAX, "%.*s", (int)n, start);
    return n > 0;
}

/* Rights that running it gives: not on a file system that gives none. */
static void look_at_rights(int fd, Executable *e)
{
    struct stat st;
    struct statvfs fs;
    if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0 || (fs.f_flag & ST_NOSUID))
        return;
    e->owner = st.st_uid;
    e->group = st.st_gid;
    e->set_user = st.st_mode & S_ISUID;
    e->set_group = (st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP);
    e->capabilities = fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* Looks at the binary. True: it has an interpreter, which is the binary now. */
static bool look_at(Executable *e)
{
    char head[512] = "";
    CLEANUP_CLOSE int fd = open(e->binary, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) { /* one that may be run, but not be read: what stat(2) says is true of it, too */
        CLEANUP_CLOSE int path = open(e->binary, O_PATH | O_CLOEXEC);
        look_at_rights(path, e);
        return false;
    }
    ssize_t n = read(fd, head, sizeof head - 1);
    size_t len = n > 0 ? (size_t)n : 0;
    if (interpreter_of(head, len, e->binary))
        return true;
    e->kind = kind_of(fd, (const unsigned char *)head, len, &e->foreign);
    look_at_rights(fd, e);
    return false;
}

void executable_look(const char *name, const char *search, Executable *ret)
{
    *ret = (Executable){0};
    ret->error = find(name, search ? search : "/bin:/usr/bin", ret->path);
    memcpy(ret->binary, ret->path, sizeof ret->binary);
    for (int i = 0; ret->error == 0 && look_at(ret); i++)
        ret->error = i == INTERPRETERS_MAX ? ELOOP : try_place(ret->binary);
}
