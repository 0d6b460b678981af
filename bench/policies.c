/* SPDX-License-Identifier: MIT */
/* Miss ratios of the cache's policies on generated and recorded traces, beside the best that any
 * could do (Belady's, which knows the future), as docs/policies.md shows them; or on a trace of
 * one's own. The policies are the library's own, in its own core. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "bench/policies_run.h"
#include "bench/policies_trace.h"
#include "dodo/manage.h"
#include "examples/command_line.h"
#include "tests/lib/cache_trace.h"

static const char help_text[] =
    "Usage: policies --table | --svg\n"
    "       policies --trace FILE --cache N[,N...] [--optimum] [--json]\n"
    "Miss ratios of the region cache's replacement policies, in the library's own core.\n"
    "\n"
    "  --table            the table of docs/policies.md\n"
    "  --svg              its plot\n"
    "  --trace FILE       a trace: a block number a line, of one piece each; -: standard input\n"
    "  --cache N[,N...]   sizes of the cache [pieces], at most 64 of them\n"
    "  --optimum          also the fewest misses that any policy could have (Belady)\n"
    "  --json             the result as one JSON object\n"
    "  --help, --version\n"
    "\n"
    "A piece takes 4 KiB of memory while its cache is measured. Status: 0; 1: the trace cannot be\n"
    "read; 2: bad command line.\n";

enum { ROOMS = 6, COLUMNS = 7, SIZES_MAX = 64, PIECES_MAX = 1 << 26 };

typedef struct Options {
    bool table, svg, optimum, json;
    const char *trace;
    uint64_t sizes[SIZES_MAX]; /* [pieces] */
    unsigned sizes_count;
} Options;
static const unsigned rooms[ROOMS] = {64, 128, 256, 512, 768, 1024};
static const struct {
    const char *name, *colour;
    int policy; /* -1: Belady's */
} lines[COLUMNS] = {{"LRU", "#0072b2", MANAGE_LRU},
                    {"MRU", "#d55e00", MANAGE_MRU},
                    {"first-in", "#009e73", MANAGE_FIRST_IN},
                    {"adaptive", "#cc79a7", MANAGE_ADAPTIVE},
                    {"S3-FIFO", "#e69f00", MANAGE_S3_FIFO},
                    {"SIEVE", "#56b4e9", MANAGE_SIEVE},
                    {"optimum", "#555555", -1}};
static unsigned reads[TRACES];
static double ratios[TRACES][ROOMS][COLUMNS];

static uint64_t misses(const PolicyTrace *t, uint64_t room, unsigned line)
{
    return lines[line].policy < 0 ? optimum_misses(t, room)
                                  : policy_misses(t, room, lines[line].policy);
}

static void measure(void)
{
    static uint16_t made[TRACE_LEN];
    static uint32_t at[TRACE_LEN];
    for (unsigned t = 0; t < TRACES; t++) {
        reads[t] = trace_make(t, made);
        for (unsigned i = 0; i < reads[t]; i++)
            at[i] = made[i];
        PolicyTrace trace = {at, reads[t], TRACE_PIECES};
        for (unsigned r = 0; r < ROOMS; r++)
            for (unsigned k = 0; k < COLUMNS; k++)
                ratios[t][r][k] = (double)misses(&trace, rooms[r], k) / reads[t];
    }
}

/* ---- what it prints ---------------------------------------------------------------------------
 */

/* Of the caches that do not hold all data. */
static double mean(unsigned column)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned t = 0; t < TRACES; t++)
        for (unsigned r = 0; r < ROOMS; r++)
            if (rooms[r] < TRACE_PIECES) {
                sum += ratios[t][r][column];
                count++;
            }
    return sum / count;
}

static void print_table(void)
{
    printf("| trace | cache |");
    for (unsigned k = 0; k < COLUMNS; k++)
        printf(" %s |", lines[k].name);
    printf("\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (unsigned t = 0; t < TRACES; t++)
        for (unsigned r = 0; r < ROOMS; r++) {
            printf("| %s | %g%% |", r ? "" : traces[t].name, 100.0 * rooms[r] / TRACE_PIECES);
            for (unsigned k = 0; k < COLUMNS; k++)
                printf(" %.1f%% |", 100 * ratios[t][r][k]);
            printf("\n");
        }
    printf("| mean | below 100%% |");
    for (unsigned k = 0; k < COLUMNS; k++)
        printf(" %.1f%% |", 100 * mean(k));
    printf("\n");
}

enum { CELL_W = 190, CELL_H = 150, PLOT_W = 140, PLOT_H = 90, ACROSS = 4, MARGIN = 40 };

static void svg_plot(unsigned t)
{
    unsigned x0 = MARGIN + t % ACROSS * CELL_W, y0 = MARGIN + t / ACROSS * CELL_H;
    printf("<text x=\"%u\" y=\"%u\" font-weight=\"bold\">%s</text>\n", x0, y0 - 6, traces[t].name);
    printf("<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#bbb\"/>\n",
           x0, y0, PLOT_W, PLOT_H);
    printf("<text x=\"%u\" y=\"%u\" text-anchor=\"end\">1</text>"
           "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">0</text>"
           "<text x=\"%u\" y=\"%u\">0</text>"
           "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">100%%</text>\n",
           x0 - 4, y0 + 8, x0 - 4, y0 + PLOT_H, x0, y0 + PLOT_H + 12, x0 + PLOT_W,
           y0 + PLOT_H + 12);
    for (unsigned k = 0; k < COLUMNS; k++) {
        printf("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s points=\"",
               lines[k].colour, k == 0 ? "3" : "1.5",
               lines[k].policy < 0 ? " stroke-dasharray=\"4 2\"" : "");
        for (unsigned r = 0; r < ROOMS; r++)
            printf("%s%.1f,%.1f", r ? " " : "", x0 + (double)PLOT_W * rooms[r] / TRACE_PIECES,
                   y0 + PLOT_H * (1 - ratios[t][r][k]));
        printf("\"/>\n");
    }
}

static void print_svg(void)
{
    unsigned width = MARGIN + ACROSS * CELL_W;
    unsigned height = MARGIN + (TRACES + ACROSS - 1) / ACROSS * CELL_H + 10;
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
           "font-family=\"sans-serif\" font-size=\"10\">\n",
           width, height);
    printf("<title>Miss ratio by size of the cache, in parts of the data</title>\n");
    printf("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
    for (unsigned t = 0; t < TRACES; t++)
        svg_plot(t);
    for (unsigned k = 0; k < COLUMNS; k++)
        printf("<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"%s\" stroke-width=\"2\"%s/>"
               "<text x=\"%u\" y=\"%u\">%s</text>\n",
               MARGIN + k * 80, height - 24, MARGIN + k * 80 + 20, height - 24, lines[k].colour,
               lines[k].policy < 0 ? " stroke-dasharray=\"4 2\"" : "", MARGIN + k * 80 + 24,
               height - 20, lines[k].name);
    printf("</svg>\n");
}

/* ---- a trace of one's own ---------------------------------------------------------------------
 */

static void print_cell(const Options *o, const PolicyTrace *t, unsigned size, unsigned line)
{
    uint64_t missed = misses(t, o->sizes[size], line);
    double ratio = t->len ? (double)missed / (double)t->len : 0;
    if (o->json)
        printf("%s\n    {\"cache\": %" PRIu64 ", \"policy\": \"%s\", \"misses\": %" PRIu64
               ", \"miss_ratio\": %.6f}",
               size || line ? "," : "", o->sizes[size], lines[line].name, missed, ratio);
    else
        printf("%10" PRIu64 "  %-10s %12" PRIu64 " %11.4f\n", o->sizes[size], lines[line].name,
               missed, ratio);
}

static int run_trace(const Options *o)
{
    CLEANUP_FREE uint32_t *at = NULL;
    PolicyTrace t;
    if (policy_trace_read(o->trace, &t, &at) < 0)
        return 1;
    if (o->json)
        printf("{\"reads\": %zu, \"blocks\": %" PRIu32 ", \"results\": [", t.len, t.pieces);
    else
        printf("%zu reads of %" PRIu32 " blocks\n     cache  policy           misses  miss ratio\n",
               t.len, t.pieces);
    for (unsigned i = 0; i < o->sizes_count; i++)
        for (unsigned k = 0; k < COLUMNS; k++)
            if (lines[k].policy >= 0 || o->optimum)
                print_cell(o, &t, i, k);
    if (o->json)
        printf("\n]}\n");
    return 0;
}

/* ---- the command line -------------------------------------------------------------------------
 */

static int parse_sizes(void *options, const char *arg)
{
    Options *o = options;
    for (o->sizes_count = 0; o->sizes_count < SIZES_MAX; arg++) {
        char number[24] = "";
        size_t len = strcspn(arg, ",");
        if (len >= sizeof number)
            return -1;
        memcpy(number, arg, len);
        if (parse_u64(number, 1, PIECES_MAX, &o->sizes[o->sizes_count++]) < 0)
            return -1;
        arg += len;
        if (!*arg)
            return 0;
    }
    return -1;
}

static const char *find_fault(const void *options, char *text)
{
    const Options *o = options;
    (void)text;
    if (o->table + o->svg + (o->trace != NULL) != 1)
        return "one of --table, --svg and --trace is needed";
    if (o->trace && o->sizes_count == 0)
        return "--trace needs --cache";
    return o->trace || !(o->sizes_count || o->optimum || o->json)
               ? NULL
               : "--cache, --optimum and --json go with --trace";
}

static const CommandOption option_table[] = {
    {"table", OPTION_FLAG, offsetof(Options, table)},
    {"svg", OPTION_FLAG, offsetof(Options, svg)},
    {"trace", OPTION_TEXT, offsetof(Options, trace)},
    {"cache", OPTION_OTHER, .parse = parse_sizes},
    {"optimum", OPTION_FLAG, offsetof(Options, optimum)},
    {"json", OPTION_FLAG, offsetof(Options, json)},
    {0},
};

int main(int argc, char **argv)
{
    const CommandLine line = {"policies", "policies " DODO_VERSION, help_text, option_table,
                              find_fault};
    Options o = {0};
    int status = 0;
    if (command_line_parse(&line, &o, argc, argv, &status))
        return status;
    if (o.trace) {
        status = run_trace(&o);
    } else {
        measure();
        if (o.table)
            print_table();
        else
            print_svg();
    }
    return fflush(stdout) ? 1 : status;
}
