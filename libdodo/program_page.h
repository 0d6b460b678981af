/* SPDX-License-Identifier: MIT */
/* The figures of a running program, for other programs of its user on this host, such as dodo
 * clients. They are on a page that the program keeps mapped from a file (program_file.h). The
 * program stores them as it counts them; a reader takes no lock and makes no request.
 *
 * Each part has one writer at a time: the library's, and the cache's. A part's turn is odd while it
 * is being written. Who reads takes the page three times, one after the other, and believes the
 * second where the turns of the first and of the third are the same and even. So nothing is mapped
 * that another process could cut short. Pure. */
#ifndef DODO_LIBDODO_PROGRAM_PAGE_H
#define DODO_LIBDODO_PROGRAM_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_PAGE_VERSION = 1, PROGRAM_NAME_MAX = 16, PROGRAM_SEEN = 3 };
#define PROGRAM_PAGE_MAGIC UINT64_C(0x4D4152474F52504F) /* "OPROGRAM" */

/* Since the program started, but for the first three, which are now. A read counts once, as the
 * farthest place that it had to go to; its bytes count where each came from. */
typedef struct ProgramFigures {
    uint64_t regions;
    uint64_t held_bytes;   /* in memory of other hosts, as far as this program has seen */
    uint64_t cached_bytes; /* in its own memory */
    uint64_t local_reads, local_bytes;
    uint64_t remote_reads, remote_bytes;
    uint64_t file_reads, file_bytes;
    uint64_t writes, write_bytes;
    /* How much longer reads that needed no file would have taken with it. */
    uint64_t local_saved_ns, remote_saved_ns;
    uint64_t valued_reads; /* of which that is known */
} ProgramFigures;

enum { PROGRAM_WORDS = sizeof(ProgramFigures) / sizeof(uint64_t) };
enum ProgramPartOf { PROGRAM_LIBRARY, PROGRAM_CACHE, PROGRAM_PARTS };

typedef struct ProgramPart {
    _Alignas(64) _Atomic uint64_t turn;
    _Atomic uint64_t words[PROGRAM_WORDS];
} ProgramPart;

typedef struct ProgramPage {
    _Atomic uint64_t magic; /* stored last */
    uint32_t version, bytes;
    uint64_t pid;
    uint64_t started_ns; /* of the clock that counts from the host's start, asleep or not */
    char name[PROGRAM_NAME_MAX];
    ProgramPart parts[PROGRAM_PARTS];
} ProgramPage;

/* What the page says. */
typedef struct Program {
    uint64_t pid, started_ns;
    char name[PROGRAM_NAME_MAX]; /* printable */
    ProgramFigures figures;      /* of all parts */
} Program;

/* In memory that is zero. */
void program_page_begin(ProgramPage *page, uint64_t pid, uint64_t started_ns, const char *name);
/* One thread at a time. */
void program_part_write(ProgramPart *part, const ProgramFigures *figures);

enum ProgramVerdict {
    PROGRAM_GOOD,
    PROGRAM_BUSY,   /* it was being written: look again */
    PROGRAM_FOREIGN /* another build's, damaged, or no page at all */
};
/* Of a page that was taken three times, @len bytes each. @ret is set where it is good. */
enum ProgramVerdict program_page_judge(const ProgramPage seen[PROGRAM_SEEN], size_t len,
                                       Program *ret);

#endif
