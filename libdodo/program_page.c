/* SPDX-License-Identifier: MIT */
#include "libdodo/program_page.h"

#include <string.h>

#include "base/printable.h"

_Static_assert(sizeof(ProgramFigures) == PROGRAM_WORDS * sizeof(uint64_t), "words alone");
_Static_assert(sizeof(ProgramPage) <= 4096, "a page of the kernel's");

void program_page_begin(ProgramPage *page, uint64_t pid, uint64_t started_ns, const char *name)
{
    page->version = PROGRAM_PAGE_VERSION;
    page->bytes = sizeof *page;
    page->pid = pid;
    page->started_ns = started_ns;
    size_t len = strnlen(name, sizeof page->name - 1);
    memcpy(page->name, name, len);
    page->name[len] = '\0';
    atomic_store_explicit(&page->magic, PROGRAM_PAGE_MAGIC, memory_order_release);
}

void program_part_write(ProgramPart *part, const ProgramFigures *figures)
{
    uint64_t words[PROGRAM_WORDS];
    memcpy(words, figures, sizeof words);
    uint64_t turn = atomic_load_explicit(&part->turn, memory_order_relaxed);
    atomic_store_explicit(&part->turn, turn + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (unsigned i = 0; i < PROGRAM_WORDS; i++)
        atomic_store_explicit(&part->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&part->turn, turn + 2, memory_order_release);
}

static bool is_ours(const ProgramPage *page, size_t len)
{
    return len == sizeof *page && page->magic == PROGRAM_PAGE_MAGIC &&
           page->version == PROGRAM_PAGE_VERSION && page->bytes == sizeof *page;
}

/* Numbers that make no sense wrap around: they are the program's own. */
static void add(ProgramFigures *sum, const ProgramPart *part)
{
    uint64_t words[PROGRAM_WORDS];
    memcpy(words, sum, sizeof words);
    for (unsigned i = 0; i < PROGRAM_WORDS; i++)
        words[i] += part->words[i];
    memcpy(sum, words, sizeof words);
}

enum ProgramVerdict program_page_judge(const ProgramPage seen[PROGRAM_SEEN], size_t len,
                                       Program *ret)
{
    const ProgramPage *page = &seen[1];
    char name[PROGRAM_NAME_MAX + 1] = "";
    if (!is_ours(page, len))
        return PROGRAM_FOREIGN;
    for (unsigned i = 0; i < PROGRAM_PARTS; i++)
        if (seen[0].parts[i].turn % 2 || seen[0].parts[i].turn != seen[2].parts[i].turn)
            return PROGRAM_BUSY;
    *ret = (Program){.pid = page->pid, .started_ns = page->started_ns};
    memcpy(name, page->name, PROGRAM_NAME_MAX);
    (void)printable_short(name, ret->name, sizeof ret->name);
    for (unsigned i = 0; i < PROGRAM_PARTS; i++)
        add(&ret->figures, &page->parts[i]);
    return PROGRAM_GOOD;
}
