/* SPDX-License-Identifier: MIT */
/* What a sample is made of, and how it is written and read again. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "rmd/survey.h"
#include "tests/lib/case.h"

static const char meminfo[] = "MemTotal:       16000000 kB\n"
                              "MemFree:         4000000 kB\n"
                              "MemAvailable:   11000000 kB\n"
                              "Buffers:          100000 kB\n"
                              "Cached:          7300000 kB\n"
                              "Active(file):    2000000 kB\n"
                              "Inactive(file):  5000000 kB\n"
                              "Dirty:            300000 kB\n"
                              "Writeback:        100000 kB\n"
                              "AnonPages:       2500000 kB\n"
                              "Mapped:           700000 kB\n"
                              "Shmem:            200000 kB\n"
                              "SReclaimable:     250000 kB\n"
                              "Hugetlb:           64000 kB\n";
static const char zoneinfo[] = "Node 0, zone   Normal\n        low      25000\n";
static const char line[] = "1795295460 piglet 16000000 1786000 2600000 3264000 8350000 4000000 "
                           "5850000 731 0.07 1\n";

/* Buffers + Cached - Shmem = 7,200,000 are files; 500,000 of them are mapped, 4,100,000 clean and
 * inactive. */
TEST(a_sample_has_the_parts_of_the_paper)
{
    SurveySample s = {0};
    assert_int_equal(survey_sample_memory(&s, meminfo, zoneinfo, 4096), 0);
    assert_int_equal(s.kb[SURVEY_total], 16000000);
    assert_int_equal(s.kb[SURVEY_available], 4000000 + 4100000 + 250000);
    assert_int_equal(s.kb[SURVEY_process], 2500000 + 200000 + 500000 + 64000);
    assert_int_equal(s.kb[SURVEY_file_cache], 7200000 - 500000 - 4100000);
    assert_int_equal(s.kb[SURVEY_free], 4000000);
    assert_int_equal(s.kb[SURVEY_lendable], s.kb[SURVEY_available] - 100000 - 2400000);
    assert_int_equal(s.kb[SURVEY_kernel] + s.kb[SURVEY_file_cache] + s.kb[SURVEY_process] +
                         s.kb[SURVEY_available],
                     s.kb[SURVEY_total]);
}

TEST(what_the_kernel_keeps_free_is_the_kernels)
{
    static const char scarce[] = "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 400 kB\n"
                                 "Active(file): 0 kB\nInactive(file): 0 kB\nAnonPages: 300 kB\n";
    SurveySample s = {0};
    assert_int_equal(survey_sample_memory(&s, scarce, zoneinfo, 4096), 0);
    assert_int_equal(s.kb[SURVEY_available], 400);
    assert_int_equal(s.kb[SURVEY_process], 300);
    assert_int_equal(s.kb[SURVEY_kernel], 300);
    assert_int_equal(s.kb[SURVEY_lendable], 0);
}

/* The counters are not of one instant. */
TEST(parts_are_never_more_than_the_whole)
{
    static const char torn[] = "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 700 kB\n"
                               "Active(file): 100 kB\nInactive(file): 300 kB\nAnonPages: 9000 kB\n"
                               "Cached: 5000 kB\n";
    SurveySample s = {0};
    assert_int_equal(survey_sample_memory(&s, torn, zoneinfo, 4096), 0);
    assert_int_equal(s.kb[SURVEY_available], 700);
    assert_int_equal(s.kb[SURVEY_process], 300);
    assert_int_equal(s.kb[SURVEY_file_cache], 0);
    assert_int_equal(s.kb[SURVEY_kernel], 0);
    assert_int_equal(survey_sample_memory(&s, "MemTotal: 1000 kB\n", zoneinfo, 4096), -EINVAL);
    assert_int_equal(survey_sample_memory(&s, torn, "", 4096), -EINVAL);
}

static SurveySample sample(void)
{
    SurveySample s = {.time_s = 1795295460};
    assert_int_equal(survey_sample_memory(&s, meminfo, zoneinfo, 4096), 0);
    survey_sample_host(&s, "piglet");
    survey_sample_activity(&s, 730.6, 0.07, true);
    return s;
}

TEST(is_written_as_a_line)
{
    char buf[SURVEY_LINE_MAX];
    SurveySample s = sample();
    assert_int_equal(survey_line_format(&s, buf), strlen(line));
    assert_string_equal(buf, line);
    survey_sample_activity(&s, NAN, NAN, false);
    (void)survey_line_format(&s, buf);
    assert_string_equal(strstr(buf, "5850000"), "5850000 - - 0\n");
    size_t n = survey_header_format(buf);
    assert_int_equal(n, strlen(buf));
    assert_string_equal(buf,
                        "# dodo-survey 1 time_s host total_kb kernel_kb file_cache_kb "
                        "process_kb available_kb free_kb lendable_kb console_idle_s load idle\n");
}

TEST(the_largest_line_fits)
{
    char buf[SURVEY_LINE_MAX], name[200];
    SurveySample s = {.time_s = UINT64_MAX}, back;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    survey_sample_host(&s, name);
    survey_sample_activity(&s, 1e300, 1e300, true);
    for (int i = 0; i < SURVEY_MEMORY_COUNT; i++)
        s.kb[i] = UINT64_MAX;
    assert_true(survey_line_format(&s, buf) < SURVEY_LINE_MAX);
    /* Idle times and loads that are written can be read. */
    s = sample();
    survey_sample_activity(&s, INFINITY, INFINITY, true);
    size_t n = survey_line_format(&s, buf);
    SurveyReader r = {0};
    assert_int_equal(survey_line_read(&r, buf, n - 1, &back), SURVEY_LINE_SAMPLE);
}

TEST(names_have_no_spaces)
{
    SurveySample s;
    survey_sample_host(&s, "my host\n\"<&>");
    assert_string_equal(s.host, "my_host_____");
    survey_sample_host(&s, "");
    assert_string_equal(s.host, "-");
}

static enum SurveyLine read_line(SurveyReader *r, const char *text, SurveySample *ret)
{
    return survey_line_read(r, text, strlen(text), ret);
}

TEST(is_read_as_it_was_written)
{
    SurveyReader r = {0};
    SurveySample s = sample(), back;
    memset(&back, 0xee, sizeof back);
    assert_int_equal(survey_line_read(&r, line, strlen(line) - 1, &back), SURVEY_LINE_SAMPLE);
    assert_memory_equal(&back, &s, sizeof s);
    assert_int_equal(back.console_idle_s, 731);
    assert_int_equal(back.load_hundredths, 7);
    assert_int_equal(read_line(&r, "1795295460 - 10 1 2 3 4 10 0 - - 0", &back),
                     SURVEY_LINE_SAMPLE);
    assert_true(back.console_idle_s == SURVEY_UNKNOWN && back.load_hundredths == SURVEY_UNKNOWN);
}

/* A crash may leave any beginning of a line. */
TEST(a_part_of_a_line_is_none)
{
    SurveyReader r = {0};
    SurveySample s;
    for (size_t n = 1; n < strlen(line) - 1; n++)
        assert_int_equal(survey_line_read(&r, line, n, &s), SURVEY_LINE_DAMAGED);
}

TEST(damage_is_seen)
{
    static const char *const bad[] = {
        "1795295460 a 10 1 2 3 5 10 0 - - 0", /* more than the whole */
        "1795295460 a 10 1 2 3 3 10 0 - - 0", /* less */
        "1795295460 a 10 1 2 3 4 11 0 - - 0", /* free is more than all */
        "1795295460 a 10 1 2 3 4 10 5 - - 0", /* lendable is more than available */
        "1795295460 a 0 0 0 0 0 0 0 - - 0",   /* no memory */
        "1795295460 a 10 1 2 3 4 10 0 - - 2",
        "1795295460 a 10 1 2 3 4 10 0 - - 01",
        "1795295460 a 10 1 2 3 4 10 0 - - 0 ",
        "1795295460 a 10 1 2 3 4 10 0 - - 0\r",
        "1795295460  a 10 1 2 3 4 10 0 - - 0",
        " 1795295460 a 10 1 2 3 4 10 0 - - 0",
        "1795295460 a 010 1 2 3 4 10 0 - - 0",
        "1795295460 a +10 1 2 3 4 10 0 - - 0",
        "1795295460 a 10 1 2 3 4 10 0 - 0.1 0",
        "1795295460 a 10 1 2 3 4 10 0 - 1 0",
        "1795295460 a 10 1 2 3 4 10 0 - 0.123 0",
        "1795295460 a 10 1 2 3 4 10 0 -1 - 0",
        "1795295460 a/b 10 1 2 3 4 10 0 - - 0",
        "86400 a 10 1 2 3 4 10 0 - - 0",
        "99999999999 a 10 1 2 3 4 10 0 - - 0",
        "1795295460 a 99999999999999999999 1 2 3 4 10 0 - - 0",
        "1795295460 a 18446744073709551626 1 2 3 4 10 0 - - 0",
    };
    SurveyReader r = {0};
    SurveySample s;
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        if (read_line(&r, bad[i], &s) != SURVEY_LINE_DAMAGED)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(survey_line_read(&r, "\0\0\0", 3, &s), SURVEY_LINE_DAMAGED);
}

TEST(other_versions_are_reported_apart)
{
    static const char ours[] = "1795295460 a 10 1 2 3 4 10 0 - - 0";
    char header[SURVEY_LINE_MAX];
    SurveyReader r = {0};
    SurveySample s;
    assert_int_equal(read_line(&r, ours, &s), SURVEY_LINE_SAMPLE);
    assert_int_equal(read_line(&r, "# dodo-survey 2 whatever", &s), SURVEY_LINE_NOTHING);
    assert_int_equal(read_line(&r, ours, &s), SURVEY_LINE_FOREIGN);
    assert_int_equal(read_line(&r, "# anything", &s), SURVEY_LINE_NOTHING);
    assert_int_equal(read_line(&r, ours, &s), SURVEY_LINE_FOREIGN);
    assert_int_equal(read_line(&r, "", &s), SURVEY_LINE_NOTHING);
    size_t n = survey_header_format(header);
    assert_int_equal(survey_line_read(&r, header, n - 1, &s), SURVEY_LINE_NOTHING);
    assert_int_equal(read_line(&r, ours, &s), SURVEY_LINE_SAMPLE);
}
