/* SPDX-License-Identifier: MIT */
/* Reads recordings line by line; no line takes more room than the longest that is written. */
#include <errno.h>

#include "tools/survey.h"

/* The length of the next line; more than @cap: it is that long, and is cut off. -1: the end. */
static long next_line(FILE *from, char *buf, size_t cap)
{
    long n = 0;
    int c;
    while ((c = getc_unlocked(from)) != EOF && c != '\n') {
        if ((size_t)n < cap)
            buf[n] = (char)c;
        n++;
    }
    return c == EOF && n == 0 ? -1 : n;
}

static void damage(SurveyLosses *l, uint64_t number)
{
    if (l->damaged++ == 0)
        l->first_damaged = number;
}

int survey_read(Survey *s, FILE *from, SurveyLosses *ret)
{
    char line[SURVEY_LINE_MAX];
    SurveyReader reader = {0};
    SurveySample sample;
    long len;
    *ret = (SurveyLosses){0};
    errno = 0;
    for (uint64_t number = 1; (len = next_line(from, line, sizeof line)) >= 0; number++) {
        size_t kept = (size_t)len < sizeof line ? (size_t)len : sizeof line;
        enum SurveyLine kind = survey_line_read(&reader, line, kept, &sample);
        if (kind == SURVEY_LINE_DAMAGED)
            damage(ret, number);
        else if (kind == SURVEY_LINE_FOREIGN)
            ret->foreign++;
        else if (kind == SURVEY_LINE_SAMPLE && !survey_add(s, &sample))
            ret->hosts++;
    }
    return ferror(from) ? -(errno ? errno : EIO) : 0;
}
