/* SPDX-License-Identifier: MIT */
/* dodo survey as people run it: files in, a table and figures out, what it says and how it ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rmd/survey.h"
#include "tests/lib/case.h"

static char *dodo_path;
static char dir[64], said[8192];

/* In the directory, through a shell; standard error is in @said too. */
static void assert_run(int status, const char *words)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "cd %s && %s survey %s 2>&1", dir, dodo_path, words);
    FILE *f = popen(command, "re");
    assert_non_null(f);
    size_t n = fread(said, 1, sizeof said - 1, f);
    said[n] = '\0';
    int is = pclose(f);
    if (!WIFEXITED(is) || WEXITSTATUS(is) != status)
        fail_msg("\"%s\" ended with %#x: %s", words, (unsigned)is, said);
}

static void assert_says(const char *words)
{
    if (!strstr(said, words))
        fail_msg("\"%s\" is not in: %s", words, said);
}

static void path_of(const char *name, char ret[128])
{
    (void)snprintf(ret, 128, "%s/%s", dir, name);
}

/* A recording of @samples of a host; @damage in one line of ten. */
static void record(const char *host, unsigned samples, bool damage)
{
    char path[128], line[SURVEY_LINE_MAX];
    path_of(host, path);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    (void)survey_header_format(line);
    assert_true(fputs(line, f) >= 0);
    for (unsigned i = 0; i < samples; i++) {
        SurveySample s = {.time_s = 1795295460 + 60 * i, .idle = i % 4 == 0};
        survey_sample_host(&s, host);
        s.kb[SURVEY_total] = 4 << 20;
        s.kb[SURVEY_available] = s.kb[SURVEY_free] = 3 << 20;
        s.kb[SURVEY_lendable] = 2 << 20;
        s.kb[SURVEY_process] = 1 << 20;
        (void)survey_line_format(&s, line);
        if (damage && i % 10 == 9)
            line[5] = '?';
        assert_true(fputs(line, f) >= 0);
    }
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    (void)snprintf(dir, sizeof dir, "/tmp/dodo-survey-XXXXXX");
    assert_non_null(mkdtemp(dir));
    record("a", 100, false);
    record("b", 100, true);
    record("none", 0, false);
    (void)setenv("DODO_CONFIG", "/dev/null", 1);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"a", "b", "none", "fig-all.svg", "fig-hosts.svg"};
    char path[128];
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        path_of(names[i], path);
        (void)unlink(path);
    }
    return rmdir(dir);
}

TEST(prints_a_table)
{
    assert_run(0, "a");
    assert_says("1 host, 100 samples, 2026-11-21 21:11 to 2026-11-21 22:50 UTC\n");
    assert_says("3072 (0)");
    assert_says(" 25.0%\n");
    assert_says("lendable        2 GiB (50.0%), on idle hosts    512 MiB (12.5%)\n");
    assert_run(0, "--kib a");
    assert_says("3145728 (0)");
    assert_run(0, "- <a");
    assert_says("1 host, 100 samples");
    assert_run(0, "a a"); /* all of it counts twice */
    assert_says("1 host, 200 samples");
}

TEST(counts_damage_aloud)
{
    assert_run(0, "a b none");
    assert_says("dodo survey: b: 10 damaged lines left out; the first is line 11\n");
    assert_says("2 hosts, 190 samples");
    assert_run(0, "--json a b");
    assert_says("\"damaged_lines\":10,");
    assert_says("{\"hosts\":2,\"samples\":190,");
}

TEST(draws_figures)
{
    static const char *const names[] = {"fig-all.svg", "fig-hosts.svg"};
    char path[128], text[5] = "";
    assert_run(0, "--svg fig a b");
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        path_of(names[i], path);
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_int_equal(fread(text, 1, 4, f), 4);
        assert_string_equal(text, "<svg");
        (void)fclose(f);
    }
    assert_run(1, "--svg nowhere/fig a");
    assert_says("dodo survey: nowhere/fig-all.svg: cannot write it: No such file or directory\n");
}

TEST(says_what_to_fix)
{
    assert_run(2, "");
    assert_says("dodo survey: give recordings");
    assert_run(1, "a missing");
    assert_string_equal(said, "dodo survey: missing: No such file or directory\n");
    assert_run(1, ".");
    assert_string_equal(said, "dodo survey: .: Is a directory\n");
    assert_run(1, "none");
    assert_string_equal(said,
                        "dodo survey: there is no sample: is that what dodo-rmd --survey wrote?\n");
    assert_run(1, "a 3>&1 >/dev/full 2>&3 #");
    assert_memory_equal(said, "dodo survey: cannot write to the standard output: ", 50);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    assert_run(1, "/dev/zero");                                    /* which has no end */
    assert_says("/dev/zero: Invalid argument");
    assert_run(2, "--lots a");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: test-survey_command DODO\n");
        return 2;
    }
    dodo_path = realpath(argv[1], NULL);
    int failures = dodo_path ? cases_run(set_up, tear_down) : 1;
    free(dodo_path);
    return failures;
}
