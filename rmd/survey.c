/* SPDX-License-Identifier: MIT */
#include "rmd/survey.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/meminfo.h"
#include "base/num.h"
#include "rmd/pool_size.h"

#define TIME_MIN_S 1577836800ull /* 2020: no recording is older; a clock that was not set is */
#define TIME_MAX_S 4102444800ull /* 2100 */
#define KB_MAX (1ull << 50)      /* sums of many stay exact enough */
#define IDLE_MAX_S TIME_MAX_S
#define LOAD_MAX_HUNDREDTHS (100ull * 1000000)

#define HEADER_START "# dodo-survey "

const char *const survey_memory_names[SURVEY_MEMORY_COUNT] = {
#define X(name, text) #name,
    SURVEY_MEMORY(X)
#undef X
};

/* ---- a sample -------------------------------------------------------------------------------- */

/* What is not there counts as none. */
static uint64_t kb_of(const char *meminfo, const char *name)
{
    uint64_t bytes = 0;
    return meminfo_find(meminfo, name, &bytes) ? bytes >> 10 : 0;
}

int survey_sample_memory(SurveySample *s, const char *meminfo, const char *zoneinfo,
                         uint64_t page_bytes)
{
    MemoryState state;
    int res = memory_state_parse(meminfo, zoneinfo, page_bytes, &state);
    if (res != 0)
        return res;
    uint64_t shmem = kb_of(meminfo, "Shmem");
    uint64_t mapped = sub_u64(kb_of(meminfo, "Mapped"), shmem); /* files and programs */
    uint64_t files = sub_u64(kb_of(meminfo, "Buffers") + kb_of(meminfo, "Cached"), shmem);
    uint64_t held = mapped + kb_of(meminfo, "Dirty") + kb_of(meminfo, "Writeback");
    uint64_t clean = sub_u64(kb_of(meminfo, "Inactive(file)"), held);
    uint64_t process = kb_of(meminfo, "AnonPages") + shmem + mapped + kb_of(meminfo, "Hugetlb");
    /* The kernel's counters are not of one instant: the parts must not be more than the whole. */
    uint64_t *kb = s->kb, rest = kb[SURVEY_total] = state.total_bytes >> 10;
    rest -= kb[SURVEY_available] = min_u64(state.spare_bytes >> 10, rest);
    rest -= kb[SURVEY_process] = min_u64(process, rest);
    rest -= kb[SURVEY_file_cache] = min_u64(sub_u64(files, mapped + clean), rest);
    kb[SURVEY_kernel] = rest;
    kb[SURVEY_free] = min_u64(kb_of(meminfo, "MemFree"), kb[SURVEY_total]);
    kb[SURVEY_lendable] = memory_lendable_bytes(&state, 0) >> 10;
    return kb[SURVEY_total] > 0 && kb[SURVEY_total] <= KB_MAX ? 0 : -EINVAL;
}

static bool is_host_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

void survey_sample_host(SurveySample *s, const char *name)
{
    (void)snprintf(s->host, sizeof s->host, "%s", *name ? name : "-");
    for (char *p = s->host; *p; p++)
        if (!is_host_character(*p))
            *p = '_';
}

/* Rounded; what is no number is not known, what is too large is the largest. */
static uint64_t whole(double v, uint64_t max)
{
    if (isnan(v) || v < 0)
        return SURVEY_UNKNOWN;
    return v >= (double)max ? max : (uint64_t)(v + 0.5);
}

void survey_sample_activity(SurveySample *s, double console_idle_s, double load, bool idle)
{
    s->console_idle_s = whole(console_idle_s, IDLE_MAX_S);
    s->load_hundredths = whole(load * 100, LOAD_MAX_HUNDREDTHS);
    s->idle = idle;
}

/* ---- writing --------------------------------------------------------------------------------- */

size_t survey_header_format(char buf[SURVEY_LINE_MAX])
{
    size_t n = (size_t)snprintf(buf, SURVEY_LINE_MAX, HEADER_START "%u time_s host",
                                (unsigned)SURVEY_VERSION);
    for (int i = 0; i < SURVEY_MEMORY_COUNT; i++)
        n += (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " %s_kb", survey_memory_names[i]);
    return n + (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " console_idle_s load idle\n");
}

size_t survey_line_format(const SurveySample *s, char buf[SURVEY_LINE_MAX])
{
    size_t n = (size_t)snprintf(buf, SURVEY_LINE_MAX, "%" PRIu64 " %s", s->time_s, s->host);
    for (int i = 0; i < SURVEY_MEMORY_COUNT; i++)
        n += (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " %" PRIu64, s->kb[i]);
    if (s->console_idle_s == SURVEY_UNKNOWN)
        n += (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " -");
    else
        n += (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " %" PRIu64, s->console_idle_s);
    if (s->load_hundredths == SURVEY_UNKNOWN)
        n += (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " -");
    else
        n += (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " %" PRIu64 ".%02u",
                              s->load_hundredths / 100, (unsigned)(s->load_hundredths % 100));
    return n + (size_t)snprintf(buf + n, SURVEY_LINE_MAX - n, " %d\n", s->idle);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct Text {
    const char *at, *end;
} Text;

static bool take(Text *t, char c)
{
    bool is = t->at < t->end && *t->at == c;
    t->at += is;
    return is;
}

static bool is_digit(const Text *t)
{
    return t->at < t->end && *t->at >= '0' && *t->at <= '9';
}

/* As it is written: no sign, no zero before others. */
static bool take_number(Text *t, uint64_t max, uint64_t *ret)
{
    const char *start = t->at;
    uint64_t v = 0;
    for (; is_digit(t); t->at++) {
        unsigned digit = (unsigned)(*t->at - '0');
        if (v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *ret = v;
    return t->at > start && (*start != '0' || t->at == start + 1);
}

static bool take_host(Text *t, char ret[SURVEY_HOST_MAX + 1])
{
    size_t n = 0;
    while (t->at < t->end && is_host_character(*t->at) && n < SURVEY_HOST_MAX)
        ret[n++] = *t->at++;
    ret[n] = '\0';
    return n > 0;
}

static bool take_idle(Text *t, uint64_t *ret)
{
    *ret = SURVEY_UNKNOWN;
    return take(t, '-') || take_number(t, IDLE_MAX_S, ret);
}

static bool take_load(Text *t, uint64_t *ret)
{
    uint64_t ones;
    *ret = SURVEY_UNKNOWN;
    if (take(t, '-'))
        return true;
    if (!take_number(t, LOAD_MAX_HUNDREDTHS / 100, &ones) || !take(t, '.'))
        return false;
    *ret = ones * 100;
    for (unsigned unit = 10; unit > 0; unit /= 10) {
        if (!is_digit(t))
            return false;
        *ret += unit * (unsigned)(*t->at++ - '0');
    }
    return *ret <= LOAD_MAX_HUNDREDTHS;
}

static bool take_sample(Text t, SurveySample *s)
{
    if (!take_number(&t, TIME_MAX_S, &s->time_s) || !take(&t, ' ') || !take_host(&t, s->host))
        return false;
    for (int i = 0; i < SURVEY_MEMORY_COUNT; i++)
        if (!take(&t, ' ') || !take_number(&t, KB_MAX, &s->kb[i]))
            return false;
    if (!take(&t, ' ') || !take_idle(&t, &s->console_idle_s) || !take(&t, ' ') ||
        !take_load(&t, &s->load_hundredths) || !take(&t, ' '))
        return false;
    s->idle = take(&t, '1');
    return (s->idle || take(&t, '0')) && t.at == t.end;
}

static bool is_possible(const SurveySample *s)
{
    const uint64_t *kb = s->kb;
    return s->time_s >= TIME_MIN_S && kb[SURVEY_total] > 0 &&
           kb[SURVEY_kernel] + kb[SURVEY_file_cache] + kb[SURVEY_process] + kb[SURVEY_available] ==
               kb[SURVEY_total] &&
           kb[SURVEY_free] <= kb[SURVEY_total] && kb[SURVEY_lendable] <= kb[SURVEY_available];
}

/* A header of some version. */
static bool take_header(Text t, uint64_t *ret_version)
{
    for (const char *p = HEADER_START; *p; p++)
        if (!take(&t, *p))
            return false;
    return take_number(&t, UINT32_MAX, ret_version) && take(&t, ' ');
}

enum SurveyLine survey_line_read(SurveyReader *r, const char *line, size_t len, SurveySample *ret)
{
    Text t = {line, line + len};
    SurveySample s = {0};
    uint64_t version;
    if (take_header(t, &version))
        r->foreign = version != SURVEY_VERSION;
    if (len == 0 || *line == '#')
        return SURVEY_LINE_NOTHING;
    if (r->foreign)
        return SURVEY_LINE_FOREIGN;
    if (!take_sample(t, &s) || !is_possible(&s))
        return SURVEY_LINE_DAMAGED;
    *ret = s;
    return SURVEY_LINE_SAMPLE;
}
