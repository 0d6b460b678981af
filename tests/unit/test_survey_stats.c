/* SPDX-License-Identifier: MIT */
/* The table of recordings whose means and deviations are known, and recordings that are damaged. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/survey.h"
#include "tests/lib/case.h"

#define START_S 1795295460ull

/* A sample of a host with @total_kb, of which an eighth each are kernel, file cache and process,
 * but for @delta_kb that go from available to processes. */
static SurveySample sample(const char *host, uint64_t total_kb, uint64_t minute, uint64_t delta_kb,
                           bool idle)
{
    SurveySample s = {.time_s = START_S + 60 * minute, .idle = idle};
    survey_sample_host(&s, host);
    s.kb[SURVEY_total] = total_kb;
    s.kb[SURVEY_kernel] = s.kb[SURVEY_file_cache] = total_kb / 8;
    s.kb[SURVEY_process] = total_kb / 8 + delta_kb;
    s.kb[SURVEY_available] = total_kb - 3 * (total_kb / 8) - delta_kb;
    s.kb[SURVEY_free] = total_kb / 4;
    s.kb[SURVEY_lendable] = s.kb[SURVEY_available] / 2;
    return s;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * fabs(b))
        fail_msg("%.12g is not %.12g", a, b);
}

/* 0, 1, ... n - 1: the mean is (n - 1) / 2, the variance (n * n - 1) / 12. */
TEST(moments_of_a_row_of_numbers)
{
    static const unsigned counts[] = {1, 2, 3, 10, 1000, 100000};
    for (unsigned i = 0; i < ARRAY_SIZE(counts); i++) {
        double n = counts[i];
        SurveyMoments m = {0};
        for (unsigned k = 0; k < counts[i]; k++)
            survey_moments_add(&m, 1e9 + k);
        assert_near(m.mean, 1e9 + (n - 1) / 2);
        assert_near(survey_moments_deviation(&m), sqrt((n * n - 1) / 12));
    }
    assert_true(survey_moments_deviation(&(SurveyMoments){0}) == 0);
}

/* What a kernel has of what is built in. */
TEST(sizes_are_those_that_are_sold)
{
    static const uint64_t sizes[][2] = {
        {24684084, 24ull << 20}, {32 << 10, 32 << 10}, {16314680, 16 << 20},   {7900000, 8 << 20},
        {3800000, 4 << 20},      {65773984, 64 << 20}, {131000000, 128 << 20}, {1900000, 2 << 20},
    };
    unsigned before = 0;
    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
        assert_int_equal(survey_group_kb(survey_group_of(sizes[i][0])), sizes[i][1]);
    for (uint64_t kb = 1; kb < 1ull << 52; kb += 1 + kb / 7) {
        unsigned group = survey_group_of(kb);
        assert_true(group < SURVEY_GROUPS_MAX && group >= before);
        assert_true(survey_group_kb(group) >= kb);
        assert_true(kb <= 4 || (double)survey_group_kb(group) < (double)kb * 1.25);
        before = group;
    }
}

/* Two hosts of 8 GiB, one busy throughout, one of 16 GiB that is idle in every other minute. */
static Survey *three_hosts(void)
{
    enum { MINUTES = 1001 };
    Survey *s = survey_new(true);
    for (unsigned i = 0; i < MINUTES; i++) {
        SurveySample a = sample("a", 8 << 20, i, 1024 * i, true);
        SurveySample b = sample("b", 8 << 20, i, 1024 * i, false);
        SurveySample c = sample("c", 16 << 20, i, 0, i % 2);
        assert_true(survey_add(s, &c) && survey_add(s, &a) && survey_add(s, &b));
    }
    survey_finish(s);
    return s;
}

TEST(groups_have_their_hosts_moments)
{
    Survey *s = three_hosts();
    const SurveyGroup *small = &s->groups[survey_group_of(8 << 20)];
    const SurveyGroup *large = &s->groups[survey_group_of(16 << 20)];
    assert_int_equal(small->hosts, 2);
    assert_int_equal(large->hosts, 1);
    assert_int_equal(small->idle_samples, 1001);
    assert_int_equal(large->idle_samples, 500);
    double deviation = 1024 * sqrt((1001.0 * 1001 - 1) / 12);
    assert_near(small->kb[SURVEY_available].mean, (5 << 20) - 1024 * 500);
    assert_near(survey_moments_deviation(&small->kb[SURVEY_available]), deviation);
    assert_near(survey_moments_deviation(&small->kb[SURVEY_process]), deviation);
    assert_near(large->kb[SURVEY_available].mean, 10 << 20);
    assert_near(survey_moments_deviation(&large->kb[SURVEY_available]), 0);
    SurveyTotals t = survey_totals(s);
    assert_near(t.memory_kb, 32 << 20);
    assert_near(t.available_kb, 2 * ((5 << 20) - 1024 * 500) + (10 << 20));
    assert_near(t.available_idle_kb, (5 << 20) - 1024 * 500 + (10 << 20) * 500.0 / 1001);
    assert_near(t.lendable_kb, t.available_kb / 2);
    assert_near(t.lendable_idle_kb, t.available_idle_kb / 2);
    survey_free(s);
}

/* clang-format off */
static const char table[] =
    "3 hosts, 3003 samples, 2026-11-21 21:11 to 2026-11-22 13:51 UTC\n"
    "Mean (standard deviation) in MiB:\n"
    "HOSTS    MEMORY   SAMPLES         KERNEL     FILE CACHE        PROCESS      AVAILABLE       LENDABLE    IDLE\n"
    "    2     8 GiB      2002       1024 (0)       1024 (0)     1524 (289)     4620 (289)     2310 (144)   50.0%\n"
    "    1    16 GiB      1001       2048 (0)       2048 (0)       2048 (0)      10240 (0)       5120 (0)   50.0%\n"
    "All hosts together, 32 GiB, on the average:\n"
    "available   19.02 GiB (59.4%), on idle hosts  9.507 GiB (29.7%)\n"
    "lendable    9.512 GiB (29.7%), on idle hosts  4.753 GiB (14.9%)\n"
    "\n"
    "3 hosts, 3003 samples, 2026-11-21 21:11 to 2026-11-22 13:51 UTC\n"
    "Mean (standard deviation) in KiB:\n"
    "HOSTS    MEMORY   SAMPLES               KERNEL           FILE CACHE              PROCESS            AVAILABLE             LENDABLE    IDLE\n"
    "    2     8 GiB      2002          1048576 (0)          1048576 (0)     1560576 (295899)     4730880 (295899)     2365440 (147949)   50.0%\n"
    "    1    16 GiB      1001          2097152 (0)          2097152 (0)          2097152 (0)         10485760 (0)          5242880 (0)   50.0%\n"
    "All hosts together, 32 GiB, on the average:\n"
    "available   19.02 GiB (59.4%), on idle hosts  9.507 GiB (29.7%)\n"
    "lendable    9.512 GiB (29.7%), on idle hosts  4.753 GiB (14.9%)\n";
static const char json[] =
    "{\"hosts\":3,\"samples\":3003,\"first_s\":1795295460,\"last_s\":1795355460,"
    "\"damaged_lines\":7,\"foreign_lines\":8,\"left_out_samples\":9,"
    "\"groups\":[{\"memory_bytes\":8589934592,\"hosts\":2,\"samples\":2002,"
    "\"idle_share\":0.500000,\"total_bytes\":{\"mean\":8589934592,\"deviation\":0},"
    "\"kernel_bytes\":{\"mean\":1073741824,\"deviation\":0},"
    "\"file_cache_bytes\":{\"mean\":1073741824,\"deviation\":0},"
    "\"process_bytes\":{\"mean\":1598029824,\"deviation\":303000365},"
    "\"available_bytes\":{\"mean\":4844421120,\"deviation\":303000365},"
    "\"free_bytes\":{\"mean\":2147483648,\"deviation\":0},"
    "\"lendable_bytes\":{\"mean\":2422210560,\"deviation\":151500182}},"
    "{\"memory_bytes\":17179869184,\"hosts\":1,\"samples\":1001,\"idle_share\":0.499500,"
    "\"total_bytes\":{\"mean\":17179869184,\"deviation\":0},"
    "\"kernel_bytes\":{\"mean\":2147483648,\"deviation\":0},"
    "\"file_cache_bytes\":{\"mean\":2147483648,\"deviation\":0},"
    "\"process_bytes\":{\"mean\":2147483648,\"deviation\":0},"
    "\"available_bytes\":{\"mean\":10737418240,\"deviation\":0},"
    "\"free_bytes\":{\"mean\":4294967296,\"deviation\":0},"
    "\"lendable_bytes\":{\"mean\":5368709120,\"deviation\":0}}],\"memory_bytes\":34359738368,"
    "\"available_bytes\":20426260480,\"available_idle_bytes\":10207766894,"
    "\"lendable_bytes\":10213130240,\"lendable_idle_bytes\":5103883447}\n";
/* clang-format on */

TEST(the_table_is_as_it_is)
{
    char *text = NULL;
    size_t len;
    Survey *s = three_hosts();
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    survey_print_table(f, s, false);
    (void)fputc('\n', f);
    survey_print_table(f, s, true);
    (void)fclose(f);
    assert_string_equal(text, table);
    free(text);
    survey_free(s);
}

TEST(json_has_what_the_table_has)
{
    char *text = NULL;
    size_t len;
    const SurveyLosses losses = {.damaged = 7, .foreign = 8, .hosts = 9};
    Survey *s = three_hosts();
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    survey_print_json(f, s, &losses);
    (void)fclose(f);
    assert_string_equal(text, json);
    free(text);
    survey_free(s);
}

/* ---- reading --------------------------------------------------------------------------------- */

static SurveyLosses read_text(Survey *s, const char *text, size_t len)
{
    SurveyLosses losses;
    FILE *f = fmemopen((void *)(uintptr_t)text, len, "r");
    assert_non_null(f);
    assert_int_equal(survey_read(s, f, &losses), 0);
    (void)fclose(f);
    return losses;
}

TEST(damage_is_left_out_and_counted)
{
    char text[16384], line[SURVEY_LINE_MAX];
    size_t n = survey_header_format(text);
    Survey *s = survey_new(false);
    for (unsigned i = 0; i < 50; i++) {
        SurveySample one = sample("a", 1 << 20, i, 0, true);
        size_t len = survey_line_format(&one, line);
        if (i % 10 == 3)
            line[len / 2] = '\0';
        memcpy(text + n, line, len);
        n += len;
    }
    memset(text + n, 'x', 5000); /* longer than any line */
    n += 5000;
    static const char other[] = "\n\n# dodo-survey 9 x\nx y\n";
    memcpy(text + n, other, strlen(other));
    n += strlen(other);
    n += survey_header_format(text + n);
    SurveySample last = sample("a", 1 << 20, 50, 0, true);
    n += survey_line_format(&last, text + n) - 3; /* breaks off */
    SurveyLosses losses = read_text(s, text, n);
    assert_int_equal(s->samples, 45);
    assert_int_equal(losses.damaged, 7);
    assert_int_equal(losses.first_damaged, 5);
    assert_int_equal(losses.foreign, 1);
    assert_int_equal(losses.hosts, 0);
    survey_free(s);
}

TEST(hosts_are_limited)
{
    char name[32];
    unsigned refused = 0;
    Survey *s = survey_new(false);
    for (unsigned i = 0; i < SURVEY_HOSTS_MAX + 5; i++) {
        (void)snprintf(name, sizeof name, "host%u", i);
        SurveySample one = sample(name, 1 << 20, 0, 0, true);
        refused += !survey_add(s, &one);
    }
    assert_int_equal(refused, 5);
    assert_int_equal(s->host_count, SURVEY_HOSTS_MAX);
    SurveySample known = sample("host7", 1 << 20, 0, 0, true);
    assert_true(survey_add(s, &known));
    survey_free(s);
}

/* A directory opens, but cannot be read. */
TEST(failures_of_reading_are_passed_on)
{
    SurveyLosses losses;
    Survey *s = survey_new(false);
    FILE *f = fopen("/", "re");
    assert_non_null(f);
    assert_true(survey_read(s, f, &losses) < 0);
    (void)fclose(f);
    survey_free(s);
    assert_null(survey_free(NULL));
}
