/* SPDX-License-Identifier: MIT */
/* The page by which a program says what it has done: written, read, torn, damaged. */
#include "libdodo/program_page.h"

#include <string.h>

#include "tests/lib/case.h"

typedef struct Seen {
    ProgramPage page[PROGRAM_SEEN];
} Seen;

/* The figures are @from, @from + 1, ... */
static ProgramFigures counting(uint64_t from)
{
    uint64_t words[PROGRAM_WORDS];
    ProgramFigures f;
    for (unsigned i = 0; i < PROGRAM_WORDS; i++)
        words[i] = from + i;
    memcpy(&f, words, sizeof f);
    return f;
}

static Seen seen_of(const ProgramPage *page)
{
    Seen s;
    for (unsigned i = 0; i < PROGRAM_SEEN; i++)
        memcpy(&s.page[i], page, sizeof *page);
    return s;
}

static ProgramPage a_page(void)
{
    ProgramPage page;
    memset(&page, 0, sizeof page);
    program_page_begin(&page, 4711, 12345, "reader");
    return page;
}

TEST(page__is_read_as_it_was_written)
{
    Program p;
    ProgramPage page = a_page();
    const ProgramFigures library = counting(100), cache = counting(1000);
    program_part_write(&page.parts[PROGRAM_LIBRARY], &library);
    program_part_write(&page.parts[PROGRAM_CACHE], &cache);
    const Seen s = seen_of(&page);
    assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_GOOD);
    assert_int_equal(p.pid, 4711);
    assert_int_equal(p.started_ns, 12345);
    assert_string_equal(p.name, "reader");
    assert_int_equal(p.figures.regions, 1100);
    assert_int_equal(p.figures.valued_reads, 1100 + 2 * (PROGRAM_WORDS - 1));
}

TEST(page__says_nothing_at_first)
{
    Program p;
    const ProgramPage page = a_page();
    const Seen s = seen_of(&page);
    assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_GOOD);
    assert_int_equal(p.figures.regions, 0);
    assert_int_equal(p.figures.remote_saved_ns, 0);
}

/* Whatever it is of: the second look would be of both. */
TEST(page__that_was_written_meanwhile_is_looked_at_again)
{
    Program p;
    ProgramPage page = a_page();
    const ProgramFigures one = counting(1), other = counting(50);
    for (unsigned part = 0; part < PROGRAM_PARTS; part++) {
        program_part_write(&page.parts[part], &one);
        Seen s = seen_of(&page);
        program_part_write((ProgramPart *)&s.page[2].parts[part], &other);
        assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_BUSY);
        s = seen_of(&page);
        for (unsigned i = 0; i < PROGRAM_SEEN; i++)
            s.page[i].parts[part].turn++; /* its writer is at it, or was ended there */
        assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_BUSY);
    }
}

/* A writer that is stopped before any of its words: none of the mixtures is believed. */
TEST(page__torn_anywhere_is_not_believed)
{
    Program p;
    ProgramPage page = a_page();
    const ProgramFigures one = counting(1), other = counting(50);
    program_part_write(&page.parts[0], &one);
    const ProgramPage before = page;
    program_part_write(&page.parts[0], &other);
    for (unsigned n = 0; n <= PROGRAM_WORDS; n++) {
        Seen s = seen_of(&before);
        for (unsigned i = 1; i < PROGRAM_SEEN; i++) {
            s.page[i].parts[0].turn++;
            for (unsigned w = 0; w < n; w++)
                s.page[i].parts[0].words[w] = page.parts[0].words[w];
        }
        assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_BUSY);
    }
}

static void assert_foreign(const ProgramPage *page, size_t len)
{
    Program p;
    const Seen s = seen_of(page);
    assert_int_equal(program_page_judge(s.page, len, &p), PROGRAM_FOREIGN);
}

TEST(page__of_another_kind_is_none)
{
    ProgramPage page = a_page();
    assert_foreign(&page, sizeof page - 1);
    assert_foreign(&page, 0);
    page.magic++;
    assert_foreign(&page, sizeof page);
    page = a_page();
    page.version++;
    assert_foreign(&page, sizeof page);
    page = a_page();
    page.bytes--;
    assert_foreign(&page, sizeof page);
    memset(&page, 0, sizeof page); /* it is being made */
    assert_foreign(&page, sizeof page);
    memset(&page, 0xFF, sizeof page);
    assert_foreign(&page, sizeof page);
}

TEST(page__has_a_printable_name_that_ends)
{
    Program p;
    ProgramPage page = a_page();
    memset(page.name, 'x', sizeof page.name); /* without an end */
    Seen s = seen_of(&page);
    assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_GOOD);
    assert_string_equal(p.name, "xxxxxxxxxxxx...");
    memcpy(page.name, "a\033[2J\n\xff", 8);
    s = seen_of(&page);
    assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_GOOD);
    assert_string_equal(p.name, "a?[2J??");
    program_page_begin(&page, 1, 1, "a name that is longer than it may be");
    s = seen_of(&page);
    assert_int_equal(program_page_judge(s.page, sizeof page, &p), PROGRAM_GOOD);
    assert_string_equal(p.name, "a name that is ");
}
