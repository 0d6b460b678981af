/* SPDX-License-Identifier: MIT */
/* Recordings of what a host could have lent: a sample as a line of text. Pure.
 *
 * A recording begins with a header that names the format's version and its fields:
 *
 *   # dodo-survey 1 time_s host total_kb kernel_kb file_cache_kb process_kb available_kb free_kb
 *   lendable_kb console_idle_s load idle                                        (one line)
 *   1795295460 piglet 16314680 421036 2120 3011524 12880000 9120004 10377604 731 0.07 1
 *
 * One space between fields; "-" for what is not known. Recordings may be cut between lines, and put
 * one behind the other: a header may come again. A line that breaks off is never taken for a whole
 * one, since its last field has one digit. */
#ifndef DODO_RMD_SURVEY_H
#define DODO_RMD_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SURVEY_VERSION = 1,
    SURVEY_HOST_MAX = 64,  /* as HOST_NAME_MAX */
    SURVEY_LINE_MAX = 320, /* with its newline; also the header's */
};

/* The parts of memory, as the columns of the paper's Table 1. X(name, text). Kernel, file cache,
 * process and available make up the total. */
#define SURVEY_MEMORY(X)                                                                     \
    X(total, "memory that the kernel manages")                                               \
    X(kernel, "the rest: the kernel's own memory, and what it keeps free for itself")        \
    X(file_cache, "file cache that is not lent: active, to be written, locked")              \
    X(process, "of processes: their own, shared, mapped files and programs, reserved pages") \
    X(available, "free, or clean file cache and caches of the kernel; as rmd lends of it")   \
    X(free, "free; the rest of what is available holds caches that would go")                \
    X(lendable, "available, less the kernel's low marks and the headroom: rmd's --pool auto")

enum SurveyMemory {
#define X(name, text) SURVEY_##name,
    SURVEY_MEMORY(X)
#undef X
        SURVEY_MEMORY_COUNT
};
extern const char *const survey_memory_names[SURVEY_MEMORY_COUNT];

#define SURVEY_UNKNOWN UINT64_MAX

typedef struct SurveySample {
    uint64_t time_s; /* since 1970 */
    char host[SURVEY_HOST_MAX + 1];
    uint64_t kb[SURVEY_MEMORY_COUNT]; /* of 1024 bytes, as in /proc/meminfo */
    uint64_t console_idle_s;          /* or SURVEY_UNKNOWN */
    uint64_t load_hundredths;         /* or SURVEY_UNKNOWN */
    bool idle;                        /* by the rules: it would have been recruited */
} SurveySample;

/* Of the two files' texts. 0, or -EINVAL: something that is needed is not there. */
int survey_sample_memory(SurveySample *s, const char *meminfo, const char *zoneinfo,
                         uint64_t page_bytes);
/* Characters that no host name has become '_'; an empty name, "-". */
void survey_sample_host(SurveySample *s, const char *name);
/* NAN: not known. */
void survey_sample_activity(SurveySample *s, double console_idle_s, double load, bool idle);

/* Both return the length, with the newline, and terminate. */
size_t survey_header_format(char buf[SURVEY_LINE_MAX]);
size_t survey_line_format(const SurveySample *s, char buf[SURVEY_LINE_MAX]);

/* ---- reading --------------------------------------------------------------------------------- */

enum SurveyLine {
    SURVEY_LINE_SAMPLE,
    SURVEY_LINE_NOTHING, /* a header, another line with '#', an empty one */
    SURVEY_LINE_FOREIGN, /* below the header of a version that is not known here */
    SURVEY_LINE_DAMAGED, /* or what no host can be: parts that are not the whole, a time before
                            there were recordings */
};

/* Zeroed: at the beginning of a recording; what comes before any header counts as ours. */
typedef struct SurveyReader {
    bool foreign;
} SurveyReader;
/* @line: @len bytes without a newline; any bytes. @ret is set for a sample alone. */
enum SurveyLine survey_line_read(SurveyReader *r, const char *line, size_t len, SurveySample *ret);

#endif
