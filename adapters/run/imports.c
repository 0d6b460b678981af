/* SPDX-License-Identifier: MIT */
#include "adapters/run/imports.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/cleanup.h"

/* Looks at no more symbols, and sections: a file that says more is none. */
enum { SYMBOLS_MAX = 1 << 20, SECTIONS_MAX = 1 << 12, SYMBOLS_AT_ONCE = 64, NAME_MAX_ = 32 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif
#define OWN_CLASS (__ELF_NATIVE_CLASS == 64 ? ELFCLASS64 : ELFCLASS32)

typedef struct File {
    ImportsGet *get;
    void *ctx;
} File;

static bool get(const File *f, uint64_t at, void *buf, size_t len)
{
    return f->get(f->ctx, at, buf, len);
}

/* ---- names --------------------------------------------------------------------------------- */

/* Also tests/checks/preload_symbols.sh holds the first to what the library has. */
static const struct {
    enum Imports way;
    const char *names; /* each between blanks */
} known[] = {
    {IMPORTS_READ, " __pread64 __pread64_chk __pread_chk __read __read_chk pread pread64 preadv "
                   "preadv2 preadv64 preadv64v2 read readv "},
    {IMPORTS_STDIO, " _IO_getc __fgets_chk __fgets_unlocked_chk __fgetws_chk __fread_chk "
                    "__fread_unlocked_chk __getdelim __isoc23_fscanf __isoc99_fscanf __uflow "
                    "__underflow fgetc fgetc_unlocked fgets fgets_unlocked fgetwc fgetws fread "
                    "fread_unlocked fscanf getc getc_unlocked getdelim getline getwc vfscanf "},
    {IMPORTS_MAPPING, " mmap mmap64 "},
    {IMPORTS_KERNEL, " copy_file_range sendfile sendfile64 splice "},
};

static unsigned way_of(const char *name)
{
    char word[NAME_MAX_ + 3] = " ";
    size_t len = strlen(name);
    if (len == 0 || strchr(name, ' '))
        return 0;
    memcpy(word + 1, name, len);
    memcpy(word + 1 + len, " ", 2);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strstr(known[i].names, word))
            return known[i].way;
    return 0;
}

/* ---- sections ------------------------------------------------------------------------------ */

typedef struct Sections {
    uint64_t offset;
    size_t size, count;
} Sections;

static bool sections_of(const File *f, Sections *ret)
{
    ElfW(Ehdr) head;
    if (!get(f, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != OWN_CLASS || head.e_ident[EI_DATA] != OWN_ORDER)
        return false;
    *ret = (Sections){head.e_shoff, head.e_shentsize, head.e_shnum};
    return ret->size >= sizeof(ElfW(Shdr)) && ret->count <= SECTIONS_MAX;
}

static bool section_get(const File *f, const Sections *s, size_t number, ElfW(Shdr) * ret)
{
    uint64_t at = s->offset + (uint64_t)number * s->size;
    return number < s->count && at >= s->offset && get(f, at, ret, sizeof *ret);
}

/* The table of the symbols that the loader knows, and that of their names. */
static bool tables_find(const File *f, ElfW(Shdr) * symbols, ElfW(Shdr) * names)
{
    Sections s;
    if (!sections_of(f, &s))
        return false;
    for (size_t i = 0; i < s.count; i++) {
        if (!section_get(f, &s, i, symbols))
            return false;
        if (symbols->sh_type == SHT_DYNSYM)
            return symbols->sh_entsize == sizeof(ElfW(Sym)) &&
                   symbols->sh_size / sizeof(ElfW(Sym)) <= SYMBOLS_MAX &&
                   section_get(f, &s, symbols->sh_link, names) && names->sh_type == SHT_STRTAB;
    }
    return false;
}

/* ---- symbols ------------------------------------------------------------------------------- */

/* A name that is longer is none that is known. */
static bool symbol_look(const File *f, const ElfW(Shdr) * names, const ElfW(Sym) * symbol,
                        unsigned *ways)
{
    char name[NAME_MAX_ + 1] = "";
    if (symbol->st_shndx != SHN_UNDEF || symbol->st_name == 0)
        return true;
    if (symbol->st_name >= names->sh_size)
        return false;
    uint64_t left = names->sh_size - symbol->st_name, at = names->sh_offset + symbol->st_name;
    size_t len = left < NAME_MAX_ ? (size_t)left : NAME_MAX_;
    if (at < names->sh_offset || !get(f, at, name, len))
        return false;
    if (memchr(name, 0, len))
        *ways |= way_of(name);
    return true;
}

bool imports_of(ImportsGet *get_part, void *ctx, unsigned *ret)
{
    const File f = {get_part, ctx};
    ElfW(Sym) some[SYMBOLS_AT_ONCE];
    ElfW(Shdr) symbols, names;
    *ret = 0;
    if (!tables_find(&f, &symbols, &names))
        return false;
    size_t count = symbols.sh_size / sizeof *some, n;
    for (size_t at = 0; at < count; at += n) {
        uint64_t offset = symbols.sh_offset + at * sizeof *some;
        n = count - at < SYMBOLS_AT_ONCE ? count - at : SYMBOLS_AT_ONCE;
        if (offset < symbols.sh_offset || !get(&f, offset, some, n * sizeof *some))
            return false;
        for (size_t i = 0; i < n; i++)
            if (!symbol_look(&f, &names, &some[i], ret))
                return false;
    }
    return true;
}
