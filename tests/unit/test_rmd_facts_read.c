/* SPDX-License-Identifier: MIT */
/* What the kernel tells, from copies of its files. */
#include <math.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/facts_read.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

#define NOW (1700000000 * NS_PER_S) /* Tuesday, 14 November 2023, 22:13:20 UTC */

typedef struct Fixture {
    TmpDir dir;
    FactsReader *reader;
    Facts facts;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    tmpdir_make(&f->dir);
    f->reader = facts_reader_new(f->dir.path);
    assert_non_null(f->reader);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    facts_init(&f->facts);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    assert_null(facts_reader_free(f->reader));
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

static double fact(Fixture *f, enum Fact i)
{
    facts_read(f->reader, NOW, &f->facts);
    return f->facts.value[i];
}

static void all_is_there(Fixture *f)
{
    tmpdir_text(&f->dir, "proc/loadavg", "0.25 1.50 2.75 2/345 6789\n");
    tmpdir_text(&f->dir, "sys/devices/system/cpu/online", "0-3\n");
    tmpdir_text(&f->dir, "proc/meminfo",
                "MemTotal:       16384000 kB\nMemFree:          100000 kB\n"
                "MemAvailable:    8192000 kB\nBuffers:              10 kB\n");
    tmpdir_text(&f->dir, "proc/pressure/memory",
                "some avg10=1.25 avg60=0.50 avg300=0.10 total=12345\n"
                "full avg10=0.75 avg60=0.25 avg300=0.05 total=1234\n");
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(facts__all)
{
    Fixture *f = *state;
    all_is_there(f);
    tmpdir_text(&f->dir, "sys/class/power_supply/AC/type", "Mains\n");
    tmpdir_text(&f->dir, "sys/class/power_supply/AC/online", "1\n");
    f->facts.value[FACT_console_idle] = 77; /* somebody else's */
    facts_read(f->reader, NOW, &f->facts);
    assert_true(f->facts.value[FACT_load] == 0.25);
    assert_true(f->facts.value[FACT_cpus] == 4);
    assert_true(f->facts.value[FACT_mem_total] == 16384000.0 * 1024);
    assert_true(f->facts.value[FACT_mem_available] == 8192000.0 * 1024);
    assert_true(f->facts.value[FACT_mem_pressure] == 1.25);
    assert_true(f->facts.value[FACT_on_battery] == 0);
    assert_true(f->facts.value[FACT_hour] == 22);
    assert_true(f->facts.value[FACT_weekday] == 2);
    assert_true(f->facts.value[FACT_console_idle] == 77);
    assert_false(facts_known(&f->facts, FACT_load_idle));
    assert_false(facts_known(&f->facts, FACT_user_sessions));
}

CASE(facts__nothing_is_there)
{
    Fixture *f = *state;
    static const enum Fact unknown[] = {FACT_load,          FACT_cpus,         FACT_mem_total,
                                        FACT_mem_available, FACT_mem_pressure, FACT_on_battery};
    for (int i = 0; i < FACT_COUNT; i++)
        f->facts.value[i] = 1; /* from an earlier poll */
    facts_read(f->reader, NOW, &f->facts);
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
        assert_false(facts_known(&f->facts, unknown[i]));
    assert_true(f->facts.value[FACT_hour] == 22);
}

/* A file that comes later is read, one that changes is read again. */
CASE(facts__polls)
{
    Fixture *f = *state;
    assert_true(isnan(fact(f, FACT_load)));
    all_is_there(f);
    assert_true(fact(f, FACT_load) == 0.25);
    tmpdir_text(&f->dir, "proc/loadavg", "11.00 1.50 2.75 2/345 6789\n");
    assert_true(fact(f, FACT_load) == 11);
    tmpdir_text(&f->dir, "proc/loadavg", "");
    assert_true(isnan(fact(f, FACT_load)));
}

CASE(facts__strange_texts)
{
    Fixture *f = *state;
    static const struct {
        const char *path, *text;
        enum Fact fact;
        double value; /* NAN: unknown */
    } cases[] = {
        {"proc/loadavg", "nan 0 0", FACT_load, NAN},
        {"proc/loadavg", "-1 0 0", FACT_load, NAN},
        {"proc/loadavg", "inf", FACT_load, NAN},
        {"proc/loadavg", "1e999", FACT_load, NAN},
        {"proc/loadavg", "0.00", FACT_load, 0},
        {"proc/loadavg", "x", FACT_load, NAN},
        {"sys/devices/system/cpu/online", "0\n", FACT_cpus, 1},
        {"sys/devices/system/cpu/online", "0,2-5,7\n", FACT_cpus, 6},
        {"sys/devices/system/cpu/online", "0-127", FACT_cpus, 128},
        {"sys/devices/system/cpu/online", "3-1\n", FACT_cpus, NAN},
        {"sys/devices/system/cpu/online", "0-99999999\n", FACT_cpus, NAN},
        {"sys/devices/system/cpu/online", "0-18446744073709551615\n", FACT_cpus, NAN},
        {"sys/devices/system/cpu/online", "0-\n", FACT_cpus, NAN},
        {"sys/devices/system/cpu/online", "0,x\n", FACT_cpus, NAN},
        {"sys/devices/system/cpu/online", "\n", FACT_cpus, NAN},
        {"proc/meminfo", "MemTotal:\n", FACT_mem_total, NAN},
        {"proc/meminfo", "XMemTotal: 1 kB\nMemTotal: 2 kB", FACT_mem_total, 2048},
        {"proc/meminfo", "MemTotal: 2 kB\n", FACT_mem_available, NAN}, /* an old kernel */
        {"proc/pressure/memory", "full avg10=1.00 avg60=0.00", FACT_mem_pressure, NAN},
        {"proc/pressure/memory", "some avg10=", FACT_mem_pressure, NAN},
        {"proc/pressure/memory", "some avg10=100.00 avg60", FACT_mem_pressure, 100},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        tmpdir_text(&f->dir, cases[i].path, cases[i].text);
        double v = fact(f, cases[i].fact);
        if (isnan(cases[i].value) ? !isnan(v) : !(v == cases[i].value))
            fail_msg("%s: \"%s\" is %g", cases[i].path, cases[i].text, v);
    }
}

CASE(facts__local_time)
{
    Fixture *f = *state;
    static const struct {
        const char *zone;
        uint64_t s;
        int hour, weekday;
    } cases[] = {
        {"UTC", 0, 0, 4},
        {"UTC", 1700000000, 22, 2},
        {"XST-2", 1700000000, 0, 3},
        {"XST+23", 1700000000, 23, 1},
        {"UTC", 1699747200, 0, 7},
        {"UTC", 1699747199, 23, 6},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(setenv("TZ", cases[i].zone, 1), 0);
        facts_read(f->reader, cases[i].s * NS_PER_S, &f->facts);
        assert_int_equal((int)f->facts.value[FACT_hour], cases[i].hour);
        assert_int_equal((int)f->facts.value[FACT_weekday], cases[i].weekday);
    }
}

/* ---- power ---------------------------------------------------------------------------------- */

typedef struct Supply {
    const char *name, *type, *scope, *status, *online;
} Supply;

static void supply_write(Fixture *f, const char *name, const char *file, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "sys/class/power_supply/%s/%s", name, file);
    if (text)
        tmpdir_text(&f->dir, path, text);
}

CASE(facts__power)
{
    Fixture *f = *state;
    static const struct {
        Supply supplies[3];
        double value;
    } cases[] = {
        {{{"BAT0", "Battery\n", NULL, "Discharging\n"}}, 1},
        {{{"BAT0", "Battery\n", NULL, "Charging\n"}}, 0},
        {{{"BAT0", "Battery\n", NULL, "Full\n"}}, 0},
        {{{"BAT0", "Battery\n", "System\n", "Discharging\n"}}, 1},
        {{{"AC", "Mains\n", NULL, NULL, "0\n"}, {"BAT0", "Battery\n", NULL, "Discharging\n"}}, 1},
        {{{"AC", "Mains\n", NULL, NULL, "1\n"}, {"BAT0", "Battery\n", NULL, "Discharging\n"}}, 0},
        {{{"USB", "USB\n", NULL, NULL, "1\n"}, {"BAT0", "Battery\n", NULL, "Discharging\n"}}, 0},
        {{{"BAT0", "Battery\n", NULL, "Full\n"}, {"BAT1", "Battery\n", NULL, "Discharging\n"}}, 1},
        /* One of two plugs is enough, in whichever order the directory names them. */
        {{{"USB0", "USB\n", NULL, NULL, "1\n"},
          {"USB1", "USB\n", NULL, NULL, "0\n"},
          {"BAT0", "Battery\n", NULL, "Discharging\n"}},
         0},
        {{{"USB0", "USB\n", NULL, NULL, "0\n"},
          {"USB1", "USB\n", NULL, NULL, "1\n"},
          {"BAT0", "Battery\n", NULL, "Discharging\n"}},
         0},
        {{{"AC", "Mains\n", NULL, NULL, "0\n"}}, 0},
        {{{"hid-mouse", "Battery\n", "Device\n", "Discharging\n"}}, 0},
        {{{"UPS", "UPS\n", NULL, "Discharging\n"}}, 1},
        {{{"BAT0", "Battery\n"}}, NAN}, /* it does not tell */
        {{{"AC", "Mains\n", NULL, NULL, "1\n"}, {"BAT0", "Battery\n"}}, 0},
        {{{"odd"}}, 0},
        {{{NULL}}, 0}, /* a kernel that knows of none */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[256];
        tmpdir_text(&f->dir, "sys/class/power_supply/.keep", "");
        for (const Supply *s = cases[i].supplies; s < cases[i].supplies + 3 && s->name; s++) {
            supply_write(f, s->name, "x", "");
            supply_write(f, s->name, "type", s->type);
            supply_write(f, s->name, "scope", s->scope);
            supply_write(f, s->name, "status", s->status);
            supply_write(f, s->name, "online", s->online);
        }
        double v = fact(f, FACT_on_battery);
        if (isnan(cases[i].value) ? !isnan(v) : !(v == cases[i].value))
            fail_msg("case %zu is %g", i, v);
        (void)tmpdir_path(&f->dir, "sys/class/power_supply", path);
        assert_int_equal(nftw(path, tmpdir_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    }
    assert_true(fact(f, FACT_on_battery) == 0); /* without the directory, too */
}

/* The real ones: a host that runs Linux has a load, processors and memory. */
CASE(facts__of_this_host)
{
    FactsReader *r = facts_reader_new("");
    Facts facts;
    facts_init(&facts);
    facts_read(r, NOW, &facts);
    assert_true(facts.value[FACT_load] >= 0);
    assert_true(facts.value[FACT_cpus] >= 1);
    assert_true(facts.value[FACT_mem_total] > facts.value[FACT_mem_available]);
    facts_reader_free(r);
}
