/* SPDX-License-Identifier: MIT */
/* The writer of recordings, on files: when it writes, what it does after a crash, when the file is
 * moved away and when the disk is full. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/survey.h"
#include "rmd/survey_file.h"
#include "tests/lib/case.h"
#include "tests/lib/stderr_text.h"

#define START_NS (1795295460ull * NS_PER_S)
#define MINUTE_NS (60 * NS_PER_S)

static char dir[64], path[128], root[96];

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void write_proc(const char *file, const char *text)
{
    char name[160];
    (void)snprintf(name, sizeof name, "%s/proc/%s", root, file);
    write_file(name, text);
}

static int set_up(void **state)
{
    char name[160];
    (void)snprintf(dir, sizeof dir, "/tmp/dodo-survey-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/recording", dir);
    (void)snprintf(root, sizeof root, "%s/root", dir);
    (void)snprintf(name, sizeof name, "%s/proc", root);
    assert_int_equal(mkdir(root, 0755) | mkdir(name, 0755), 0);
    write_proc("meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 600 kB\n"
                          "Active(file): 50 kB\nInactive(file): 50 kB\nAnonPages: 300 kB\n");
    write_proc("zoneinfo", "  low 10\n");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {
        "root/proc/meminfo", "root/proc/zoneinfo", "root/proc", "root", "recording", "moved", ""};
    char name[160];
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(name, sizeof name, "%s/%s", dir, names[i]);
        (void)remove(name);
    }
    return access(dir, F_OK) == 0 ? -1 : 0;
}

static SurveyFile *open_it(void)
{
    const SurveyFileConfig config = {path, root, "piglet", MINUTE_NS};
    char error[256] = "";
    SurveyFile *f = NULL;
    if (survey_file_open(&config, &f, error, sizeof error) != 0)
        fail_msg("%s", error);
    return f;
}

static void note(SurveyFile *f, uint64_t real_ns)
{
    Facts facts;
    facts_init(&facts);
    facts.value[FACT_console_idle] = 400;
    facts.value[FACT_load] = 0.01;
    survey_note(f, real_ns, &facts, true);
}

typedef struct Found {
    unsigned samples, damaged, nothing;
    uint64_t last_s;
} Found;

static Found read_back(const char *name)
{
    Found found = {0};
    SurveyReader r = {0};
    SurveySample s;
    char line[SURVEY_LINE_MAX];
    FILE *f = fopen(name, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        switch (survey_line_read(&r, line, strcspn(line, "\n"), &s)) {
        case SURVEY_LINE_SAMPLE:
            found.samples++;
            found.last_s = s.time_s;
            assert_string_equal(s.host, "piglet");
            assert_int_equal(s.kb[SURVEY_available], 550);
            assert_true(s.idle);
            break;
        case SURVEY_LINE_DAMAGED:
            found.damaged++;
            break;
        case SURVEY_LINE_NOTHING:
            found.nothing++;
            break;
        case SURVEY_LINE_FOREIGN:
            fail();
        }
    }
    (void)fclose(f);
    return found;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(writes_once_a_minute)
{
    SurveyFile *f = open_it();
    for (unsigned s = 0; s < 5 * 60; s++)
        note(f, START_NS + s * NS_PER_S + 123);
    survey_file_free(f);
    Found found = read_back(path);
    assert_int_equal(found.samples, 5);
    assert_int_equal(found.nothing, 1);
    assert_int_equal(found.last_s, START_NS / NS_PER_S + 240);
}

CASE(follows_a_clock_that_jumps)
{
    SurveyFile *f = open_it();
    note(f, START_NS);
    note(f, START_NS - 3600 * NS_PER_S);
    note(f, START_NS - 3599 * NS_PER_S);
    note(f, START_NS + 86400 * NS_PER_S);
    survey_file_free(f);
    assert_int_equal(read_back(path).samples, 3);
}

CASE(a_restart_appends)
{
    for (unsigned i = 0; i < 3; i++) {
        SurveyFile *f = open_it();
        note(f, START_NS + i * MINUTE_NS);
        survey_file_free(f);
    }
    Found found = read_back(path);
    assert_int_equal(found.samples, 3);
    assert_int_equal(found.nothing, 3);
}

CASE(goes_on_after_a_line_that_breaks_off)
{
    write_file(path, "# dodo-survey 1 x\n1795295400 piglet 1000 1");
    SurveyFile *f = open_it();
    note(f, START_NS);
    survey_file_free(f);
    Found found = read_back(path);
    assert_int_equal(found.samples, 1);
    assert_int_equal(found.damaged, 1);
}

CASE(the_file_may_be_moved_away)
{
    char moved[160];
    (void)snprintf(moved, sizeof moved, "%s/moved", dir);
    SurveyFile *f = open_it();
    note(f, START_NS);
    assert_int_equal(rename(path, moved), 0);
    note(f, START_NS + MINUTE_NS);
    survey_file_free(f);
    assert_int_equal(read_back(path).samples, 1);
    assert_int_equal(read_back(path).nothing, 1);
    assert_int_equal(read_back(moved).samples, 1);
}

/* Lines of the log with @word while @run() runs. */
static unsigned logged(const char *word, void (*run)(void))
{
    StderrText s = stderr_catch();
    run();
    return stderr_lines(&s, word);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file that may not grow beyond what is in the middle of a line fails as a full disk does. */
static void run_full(void)
{
    SurveyFile *f = open_it();
    note(f, START_NS);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    (void)fflush(NULL);
    limit_files((rlim_t)st.st_size + 10);
    for (unsigned i = 1; i <= 5; i++)
        note(f, START_NS + i * MINUTE_NS);
    limit_files(RLIM_INFINITY);
    note(f, START_NS + 6 * MINUTE_NS);
    note(f, START_NS + 7 * MINUTE_NS);
    survey_file_free(f);
}

CASE(a_full_disk_is_reported_once)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(logged("survey_failed", run_full), 1);
    Found found = read_back(path);
    assert_int_equal(found.samples, 3);
    assert_int_equal(found.damaged, 1);
    assert_int_equal(found.last_s, (START_NS + 7 * MINUTE_NS) / NS_PER_S);
    assert_int_equal(remove(path), 0);
    assert_int_equal(logged("survey_resumed", run_full), 1);
}

static void run_blind(void)
{
    SurveyFile *f = open_it();
    write_proc("meminfo", "nothing\n");
    note(f, START_NS);
    note(f, START_NS + MINUTE_NS);
    survey_file_free(f);
}

CASE(memory_that_cannot_be_read_is_no_sample)
{
    assert_int_equal(logged("survey_failed", run_blind), 1);
    assert_int_equal(read_back(path).samples, 0);
}

CASE(says_what_cannot_be_a_recording)
{
    char error[256] = "", none[160];
    SurveyFileConfig config = {dir, root, "piglet", MINUTE_NS};
    SurveyFile *f = NULL;
    assert_int_equal(survey_file_open(&config, &f, error, sizeof error), -EISDIR);
    assert_non_null(strstr(error, dir));
    config.path = "/dev/null";
    assert_int_equal(survey_file_open(&config, &f, error, sizeof error), -EINVAL);
    assert_string_equal(error, "/dev/null: expected a regular file");
    (void)snprintf(none, sizeof none, "%s/none/recording", dir);
    config.path = none;
    assert_int_equal(survey_file_open(&config, &f, error, sizeof error), -ENOENT);
    assert_null(f);
    assert_null(survey_file_free(NULL));
}

/* The real files of the host that runs this. */
CASE(records_this_host)
{
    const SurveyFileConfig config = {path, "", NULL, MINUTE_NS};
    char error[256], line[SURVEY_LINE_MAX];
    SurveyFile *file = NULL;
    SurveyReader r = {0};
    SurveySample s = {0};
    assert_int_equal(survey_file_open(&config, &file, error, sizeof error), 0);
    note(file, START_NS);
    survey_file_free(file);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        (void)survey_line_read(&r, line, strcspn(line, "\n"), &s);
    (void)fclose(f);
    assert_int_equal(s.time_s, START_NS / NS_PER_S);
    assert_true(s.kb[SURVEY_total] > 0 && s.kb[SURVEY_process] > 0);
}
