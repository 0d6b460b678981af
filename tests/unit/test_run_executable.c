/* SPDX-License-Identifier: MIT */
#include "adapters/run/executable.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "tests/lib/case.h"
#include "tests/lib/tmpdir_case.h"

static char path[256];

static void make(const char *name, const void *bytes, size_t len, mode_t mode)
{
    tmpdir_write(&dir, name, bytes, len);
    assert_int_equal(chmod(tmpdir_path(&dir, name, path), mode), 0);
}

static void make_text(const char *name, const char *text, mode_t mode)
{
    make(name, text, strlen(text), mode);
}

/* An ELF file with one header of each of these types. */
static void make_elf(const char *name, const uint32_t *types, unsigned count)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr parts[4];
    } elf = {.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                      .e_phoff = sizeof(Elf64_Ehdr),
                      .e_phentsize = sizeof(Elf64_Phdr),
                      .e_phnum = (Elf64_Half)count}};
    for (unsigned i = 0; i < count; i++)
        elf.parts[i].p_type = types[i];
    make(name, &elf, sizeof elf, 0755);
}

static const Executable *look(const char *name)
{
    static Executable e;
    executable_look(tmpdir_path(&dir, name, path), NULL, &e);
    return &e;
}

/* Whether rights of a file have a meaning where the test's files are. */
static bool rights_count(void)
{
    struct statvfs st;
    assert_int_equal(statvfs(dir.path, &st), 0);
    return !(st.f_flag & ST_NOSUID);
}

TEST_WITH(look__what_the_loader_is_needed_for, dir_set_up, dir_tear_down)
{
    const uint32_t with[] = {PT_PHDR, PT_INTERP, PT_LOAD}, without[] = {PT_PHDR, PT_NOTE, PT_LOAD};
    make_elf("dynamic", with, 3);
    make_elf("static", without, 3);
    make_text("text", "no format", 0755);
    assert_int_equal(look("dynamic")->kind, EXECUTABLE_DYNAMIC);
    assert_int_equal(look("dynamic")->error, 0);
    assert_int_equal(look("static")->kind, EXECUTABLE_STATIC);
    assert_int_equal(look("text")->kind, EXECUTABLE_UNKNOWN);
}

/* An ELF file of which the loader at @loader is asked for. */
static void make_loaded(const char *name, const char *loader)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr part;
        char loader[256];
    } elf = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                 .e_phoff = sizeof(Elf64_Ehdr),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 1},
        .part = {.p_type = PT_INTERP, .p_offset = sizeof elf.head + sizeof elf.part},
    };
    elf.part.p_filesz = (Elf64_Xword)snprintf(elf.loader, sizeof elf.loader, "%s", loader) + 1;
    make(name, &elf, sizeof elf, 0755);
}

TEST_WITH(look__another_loader_than_ours, dir_set_up, dir_tear_down)
{
    char other[256];
    make_text("loader", "", 0755);
    make_loaded("other", tmpdir_path(&dir, "loader", other));
    make_loaded("none", "/nowhere/loader");
    assert_int_equal(look("other")->kind, EXECUTABLE_DYNAMIC);
    assert_true(look("other")->foreign);
    assert_true(look("none")->foreign);
    Executable own;
    executable_look("/proc/self/exe", NULL, &own);
    assert_false(own.foreign);
}

TEST_WITH(look__a_header_that_ends_early, dir_set_up, dir_tear_down)
{
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                       .e_phoff = UINT64_MAX - 3,
                       .e_phentsize = 56,
                       .e_phnum = 9};
    make("far", &head, sizeof head, 0755);
    make("short", &head, 20, 0755);
    assert_int_equal(look("far")->kind, EXECUTABLE_UNKNOWN);
    assert_int_equal(look("short")->kind, EXECUTABLE_UNKNOWN);
}

TEST_WITH(look__the_interpreter_of_a_script, dir_set_up, dir_tear_down)
{
    const uint32_t none[] = {PT_LOAD};
    char text[300], binary[256];
    make_elf("binary", none, 1);
    (void)snprintf(text, sizeof text, "#! %s -x\necho\n", tmpdir_path(&dir, "binary", binary));
    make_text("script", text, 0755);
    assert_int_equal(chmod(binary, 04755), 0);
    const Executable *e = look("script");
    assert_int_equal(e->error, 0);
    assert_string_equal(e->path, path);
    assert_string_equal(e->binary, binary);
    assert_int_equal(e->kind, EXECUTABLE_STATIC);
    assert_int_equal(e->set_user, rights_count());
    make_text("broken", "#!/nowhere/sh\n", 0755);
    assert_int_equal(look("broken")->error, ENOENT);
}

TEST_WITH(look__scripts_in_a_circle, dir_set_up, dir_tear_down)
{
    char text[300];
    (void)snprintf(text, sizeof text, "#!%s\n", tmpdir_path(&dir, "circle", path));
    make_text("circle", text, 0755);
    assert_int_equal(look("circle")->error, ELOOP);
}

TEST_WITH(look__rights_of_the_file, dir_set_up, dir_tear_down)
{
    const unsigned char capability[20] = {0, 0, 0, 2, 0x80}; /* version 2, CAP_SETUID */
    make_text("plain", "", 0755);
    const Executable *e = look("plain");
    assert_false(e->set_user || e->set_group || e->capabilities);
    make_text("user", "", 04755);
    assert_int_equal(look("user")->set_user, rights_count());
    assert_int_equal(look("user")->owner, rights_count() ? geteuid() : 0);
    make_text("group", "", 02755);
    assert_int_equal(look("group")->set_group, rights_count());
    make_text("locks", "", 02644 | S_IXUSR); /* no right, but mandatory locks */
    assert_false(look("locks")->set_group);
    make_text("capable", "", 0755);
    bool set = setxattr(path, "security.capability", capability, sizeof capability, 0) == 0;
    assert_int_equal(look("capable")->capabilities, set && rights_count());
}

TEST_WITH(look__in_the_directories_of_the_path, dir_set_up, dir_tear_down)
{
    Executable e;
    char search[600], wanted[256];
    make_text("one/not", "", 0644);
    make_text("two/not", "", 0755);
    make_text("two/only", "", 0755);
    make_text("one/never", "", 0644);
    (void)snprintf(search, sizeof search, "/nowhere:%s/one:%s/two", dir.path, dir.path);
    executable_look("not", search, &e);
    assert_int_equal(e.error, 0);
    assert_string_equal(e.path, tmpdir_path(&dir, "two/not", wanted));
    executable_look("only", search, &e);
    assert_int_equal(e.error, 0);
    executable_look("never", search, &e);
    assert_int_equal(e.error, EACCES);
    executable_look("nothing", search, &e);
    assert_int_equal(e.error, ENOENT);
    executable_look("", search, &e);
    assert_int_equal(e.error, ENOENT);
    executable_look(dir.path, search, &e); /* a directory */
    assert_int_equal(e.error, EACCES);
}
