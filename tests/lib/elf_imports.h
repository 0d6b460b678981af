/* SPDX-License-Identifier: MIT */
/* The smallest ELF file that imports calls: for tests of who reads what it says. */
#ifndef DODO_TESTS_LIB_ELF_IMPORTS_H
#define DODO_TESTS_LIB_ELF_IMPORTS_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

enum { ELF_SYMBOLS = 6, ELF_NAMES = 128 };

typedef struct ElfImports {
    ElfW(Ehdr) head;
    ElfW(Shdr) sections[3]; /* none, symbols, names */
    ElfW(Sym) symbols[ELF_SYMBOLS];
    char names[ELF_NAMES];
} ElfImports;

/* With the symbols of these @names, up to ELF_SYMBOLS, each of @section. */
static inline ElfImports elf_imports(const char *const *names, unsigned count, unsigned section)
{
    ElfImports elf = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                             __ELF_NATIVE_CLASS == 64 ? ELFCLASS64 : ELFCLASS32,
                             __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB},
                 .e_shoff = offsetof(ElfImports, sections),
                 .e_shentsize = sizeof(ElfW(Shdr)),
                 .e_shnum = 3},
        .sections = {{0},
                     {.sh_type = SHT_DYNSYM,
                      .sh_offset = offsetof(ElfImports, symbols),
                      .sh_size = count * sizeof(ElfW(Sym)),
                      .sh_entsize = sizeof(ElfW(Sym)),
                      .sh_link = 2},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(ElfImports, names),
                      .sh_size = ELF_NAMES}}};
    size_t at = 1;
    for (unsigned i = 0; i < count; i++) {
        elf.symbols[i].st_name = (ElfW(Word))at;
        elf.symbols[i].st_shndx = (ElfW(Half))section;
        strcpy(elf.names + at, names[i]);
        at += strlen(names[i]) + 1;
    }
    return elf;
}

#endif
