/* SPDX-License-Identifier: MIT */
#include "adapters/run/reads.h"

#include "tests/lib/case.h"
#include "tests/lib/elf_imports.h"
#include "tests/lib/tmpdir_case.h"

/* Its libraries, too, are looked at: of a program of the system, which has some. */
TEST(reads__of_a_program)
{
    Executable e;
    executable_look("cat", NULL, &e);
    assert_int_equal(e.error, 0);
    g_autofree char *text = reads_text(&e);
    assert_non_null(text);
    assert_true(g_str_has_prefix(
        text, "read(2) and the like, which --how preload serves: imported by cat\n"));
}

TEST_WITH(reads__of_a_file_that_is_no_program, dir_set_up, dir_tear_down)
{
    const char *const names[] = {"read"};
    ElfImports elf = elf_imports(names, 1, SHN_UNDEF);
    Executable e = {.kind = EXECUTABLE_DYNAMIC};
    (void)tmpdir_path(&dir, "file", e.binary);
    assert_null(reads_text(&e));
    tmpdir_write(&dir, "file", &elf, sizeof elf);
    assert_null(reads_text(&e));
}
