/* SPDX-License-Identifier: MIT */
/* Recordings that anybody wrote: what is taken for a sample is one, and written again it is the
 * same line. The kernel's texts, too: whatever they say, the parts of memory make up the whole. */
#include <string.h>

#include "base/cleanup.h"
#include "rmd/survey.h"
#include "tests/fuzz/fuzz.h"

static void check_parts(const SurveySample *s)
{
    const uint64_t *kb = s->kb;
    FUZZ_CHECK(kb[SURVEY_total] > 0);
    FUZZ_CHECK(kb[SURVEY_kernel] + kb[SURVEY_file_cache] + kb[SURVEY_process] +
                   kb[SURVEY_available] ==
               kb[SURVEY_total]);
    FUZZ_CHECK(kb[SURVEY_free] <= kb[SURVEY_total]);
    FUZZ_CHECK(kb[SURVEY_lendable] <= kb[SURVEY_available]);
}

static void try_line(SurveyReader *r, const char *line, size_t len)
{
    char again[SURVEY_LINE_MAX];
    SurveySample s;
    memset(&s, 0xee, sizeof s);
    if (survey_line_read(r, line, len, &s) != SURVEY_LINE_SAMPLE)
        return;
    check_parts(&s);
    FUZZ_CHECK(survey_line_format(&s, again) == len + 1);
    FUZZ_CHECK(memcmp(line, again, len) == 0 && again[len] == '\n' && again[len + 1] == '\0');
}

static void try_lines(const char *text, size_t size)
{
    SurveyReader r = {0};
    const char *end = text + size;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t len = (size_t)((newline ? newline : end) - text);
        try_line(&r, text, len);
        text += len + 1;
    }
}

/* What is made of the kernel's texts can be read by ourselves. */
static void try_texts(const char *text)
{
    char line[SURVEY_LINE_MAX];
    SurveyReader r = {0};
    SurveySample s = {.time_s = 1795295460};
    if (survey_sample_memory(&s, text, text, 4096) != 0)
        return;
    check_parts(&s);
    survey_sample_host(&s, text);
    survey_sample_activity(&s, (double)strlen(text), (double)strlen(text) / 3, text[0] & 1);
    try_line(&r, line, survey_line_format(&s, line) - 1);
    FUZZ_CHECK(survey_line_read(&r, line, strlen(line) - 1, &s) == SURVEY_LINE_SAMPLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = strndup((const char *)data, size);
    FUZZ_CHECK(text);
    try_texts(text);
    try_lines((const char *)data, size);
    return 0;
}
