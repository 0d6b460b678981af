/* SPDX-License-Identifier: MIT */
#include "adapters/run/imports.h"

#include "tests/lib/case.h"
#include "tests/lib/elf_imports.h"

static bool get_part(void *ctx, uint64_t at, void *buf, size_t len)
{
    if (at > sizeof(ElfImports) || len > sizeof(ElfImports) - at)
        return false;
    memcpy(buf, (const char *)ctx + at, len);
    return true;
}

/* Its ways; -1: it does not say. */
static int ways_of(ElfImports elf)
{
    unsigned ways = 99;
    return imports_of(get_part, &elf, &ways) ? (int)ways : -1;
}

static int ways_of_name(const char *name)
{
    return ways_of(elf_imports(&name, 1, SHN_UNDEF));
}

static const char *const usual[] = {"write", "read", "fopen", "exit"};

TEST(imports__are_told_apart)
{
    const char *const all[] = {"pread64", "mmap", "splice", "fgets_unlocked", "close"};
    assert_int_equal(ways_of(elf_imports(usual, 4, SHN_UNDEF)), IMPORTS_READ);
    assert_int_equal(ways_of(elf_imports(all, 5, SHN_UNDEF)),
                     IMPORTS_READ | IMPORTS_STDIO | IMPORTS_MAPPING | IMPORTS_KERNEL);
    assert_int_equal(ways_of(elf_imports(usual, 0, SHN_UNDEF)), 0);
}

TEST(imports__names_that_only_look_like_known_ones)
{
    const char *const unlike[] = {"rea",   "readahead", "aread", "fread_", "",
                                  "r ead", " read",     "read ", "d read"};
    const char *const like[] = {"__read_chk", "readv", "preadv64v2"};
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++)
        assert_int_equal(ways_of_name(unlike[i]), 0);
    for (size_t i = 0; i < sizeof like / sizeof *like; i++)
        assert_int_equal(ways_of_name(like[i]), IMPORTS_READ);
}

TEST(imports__what_a_file_defines_is_none)
{
    assert_int_equal(ways_of(elf_imports(usual, 4, 1)), 0);
}

TEST(imports__of_another_kind_of_file)
{
    ElfImports elf = elf_imports(usual, 4, SHN_UNDEF);
    elf.head.e_ident[EI_CLASS] = ELFCLASSNONE;
    assert_int_equal(ways_of(elf), -1);
    elf = elf_imports(usual, 4, SHN_UNDEF);
    elf.head.e_ident[EI_DATA] = ELFDATANONE;
    assert_int_equal(ways_of(elf), -1);
    elf = elf_imports(usual, 4, SHN_UNDEF);
    elf.head.e_ident[EI_MAG0] = '#';
    assert_int_equal(ways_of(elf), -1);
    elf = elf_imports(usual, 4, SHN_UNDEF); /* of no dynamic symbols */
    elf.sections[1].sh_type = SHT_SYMTAB;
    assert_int_equal(ways_of(elf), -1);
}

TEST(imports__of_a_file_that_points_outside_itself)
{
    const ElfImports good = elf_imports(usual, 4, SHN_UNDEF);
    ElfImports elf = good;
    elf.head.e_shoff = UINT64_MAX - 10;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.head.e_shentsize = 1;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.head.e_shnum = 65535;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.sections[1].sh_link = 3;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.sections[1].sh_offset = UINT64_MAX - 10;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.sections[1].sh_size = UINT64_MAX;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.sections[2].sh_offset = UINT64_MAX - 3;
    assert_int_equal(ways_of(elf), -1);
    elf = good;
    elf.symbols[2].st_name = ELF_NAMES;
    assert_int_equal(ways_of(elf), -1);
}

/* The last one has no end. */
TEST(imports__of_a_name_at_the_end)
{
    const char *const one[] = {"read"};
    ElfImports elf = elf_imports(one, 1, SHN_UNDEF);
    elf.symbols[0].st_name = ELF_NAMES - 4;
    memcpy(elf.names + ELF_NAMES - 4, "read", 4);
    assert_int_equal(ways_of(elf), 0);
    elf.symbols[0].st_name = ELF_NAMES - 5;
    memcpy(elf.names + ELF_NAMES - 5, "read", 5);
    assert_int_equal(ways_of(elf), IMPORTS_READ);
}
