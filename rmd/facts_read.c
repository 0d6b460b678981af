/* SPDX-License-Identifier: MIT */
/* The files of /proc and /sys that are read at every poll stay open: reading one from its start
 * makes the kernel write it again. */
#include "rmd/facts_read.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/meminfo.h"
#include "base/time.h"
#include "rmd/power.h"

enum { PATH_BYTES = 4096, FILE_BYTES = 4096 };

enum FactsFile { FILE_LOAD, FILE_CPUS, FILE_MEMORY, FILE_PRESSURE, FILE_COUNT };
static const char *const file_paths[FILE_COUNT] = {
    [FILE_LOAD] = "/proc/loadavg",
    [FILE_CPUS] = "/sys/devices/system/cpu/online",
    [FILE_MEMORY] = "/proc/meminfo",
    [FILE_PRESSURE] = "/proc/pressure/memory",
};

struct FactsReader {
    const char *root;
    int fds[FILE_COUNT]; /* -1: not open */
};

FactsReader *facts_reader_new(const char *root)
{
    FactsReader *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->root = root;
    for (int i = 0; i < FILE_COUNT; i++)
        r->fds[i] = -1;
    return r;
}

FactsReader *facts_reader_free(FactsReader *r)
{
    for (int i = 0; r && i < FILE_COUNT; i++)
        if (r->fds[i] >= 0)
            (void)close(r->fds[i]);
    free(r);
    return NULL;
}

/* The file's text, or "" if it cannot be read. */
static void file_read(FactsReader *r, enum FactsFile file, char text[FILE_BYTES])
{
    char path[PATH_BYTES];
    text[0] = '\0';
    if (r->fds[file] < 0) {
        (void)snprintf(path, sizeof path, "%s%s", r->root, file_paths[file]);
        r->fds[file] = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (r->fds[file] < 0)
        return;
    ssize_t n = pread(r->fds[file], text, FILE_BYTES - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (n < 0) {
        (void)close(r->fds[file]);
        r->fds[file] = -1;
    }
}

/* The number that @text begins with, after spaces; NAN: none, or not one that counts something. */
static double number(const char *text)
{
    char *end;
    double v;
    text += strspn(text, " \t");
    if (!g_ascii_isdigit(*text))
        return NAN;
    v = g_ascii_strtod(text, &end);
    return isfinite(v) ? v : NAN;
}

static double memory_bytes(const char *text, const char *name)
{
    uint64_t bytes;
    return meminfo_find(text, name, &bytes) ? (double)bytes : NAN;
}

/* "some avg10=1.25 avg60=..." */
static double pressure_percent(const char *text)
{
    static const char start[] = "some avg10=";
    return strncmp(text, start, strlen(start)) == 0 ? number(text + strlen(start)) : NAN;
}

/* "0-3,5": 5. */
static double cpus_count(const char *text)
{
    double count = 0;
    while (g_ascii_isdigit(*text)) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-' && g_ascii_isdigit(end[1]))
            last = strtoul(end + 1, &end, 10);
        if (last < first || last - first > 1 << 20)
            return NAN;
        count += (double)(last - first + 1);
        text = *end == ',' ? end + 1 : end;
        if (*end != ',')
            break;
    }
    return count > 0 && (*text == '\n' || *text == '\0') ? count : NAN;
}

static void time_read(uint64_t now_ns, Facts *facts)
{
    time_t now = (time_t)(now_ns / NS_PER_S);
    struct tm tm;
    tzset(); /* the owner may have travelled */
    facts->value[FACT_hour] = facts->value[FACT_weekday] = NAN;
    if (!localtime_r(&now, &tm))
        return;
    facts->value[FACT_hour] = tm.tm_hour;
    facts->value[FACT_weekday] = tm.tm_wday == 0 ? 7 : tm.tm_wday;
}

void facts_read(FactsReader *r, uint64_t now_ns, Facts *facts)
{
    char text[FILE_BYTES], path[PATH_BYTES];
    file_read(r, FILE_LOAD, text);
    facts->value[FACT_load] = number(text);
    file_read(r, FILE_CPUS, text);
    facts->value[FACT_cpus] = cpus_count(text);
    file_read(r, FILE_MEMORY, text);
    facts->value[FACT_mem_total] = memory_bytes(text, "MemTotal");
    facts->value[FACT_mem_available] = memory_bytes(text, "MemAvailable");
    file_read(r, FILE_PRESSURE, text);
    facts->value[FACT_mem_pressure] = pressure_percent(text);
    (void)snprintf(path, sizeof path, "%s/sys/class/power_supply", r->root);
    int battery = power_on_battery(path);
    facts->value[FACT_on_battery] = battery < 0 ? NAN : battery;
    time_read(now_ns, facts);
}
