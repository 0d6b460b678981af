/* SPDX-License-Identifier: MIT */
/* Miss ratios of the cache's policies on generated and recorded traces, beside the best that any
 * could do (Belady's, which knows the future), as docs/policies.md shows them: --table or --svg.
 * The policies are the library's own, in its own core. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "libmanage/core.h"
#include "tests/lib/cache_trace.h"

enum { PIECE = CACHE_BLOCK, ROOMS = 6, COLUMNS = 5 };
static const unsigned rooms[ROOMS] = {64, 128, 256, 512, 768, 1024};
static const struct {
    const char *name, *colour;
    int policy; /* -1: Belady's */
} lines[COLUMNS] = {{"LRU", "#0072b2", MANAGE_LRU},
                    {"MRU", "#d55e00", MANAGE_MRU},
                    {"first-in", "#009e73", MANAGE_FIRST_IN},
                    {"adaptive", "#cc79a7", MANAGE_ADAPTIVE},
                    {"optimum", "#555555", -1}};
static unsigned reads[TRACES];
static double ratios[TRACES][ROOMS][COLUMNS];

/* ---- the optimum ------------------------------------------------------------------------------
 */

/* When each read's piece is read again; @len: never. */
static void next_uses(const uint16_t *at, unsigned len, unsigned *next)
{
    unsigned seen[TRACE_PIECES];
    for (unsigned i = 0; i < TRACE_PIECES; i++)
        seen[i] = len;
    for (unsigned i = len; i-- > 0;) {
        next[i] = seen[at[i]];
        seen[at[i]] = i;
    }
}

/* Out goes what is used again the latest; what just came, too, if that is it. */
static unsigned optimum_misses(const uint16_t *at, unsigned len, unsigned room)
{
    static unsigned next[TRACE_LEN];
    unsigned when[TRACE_PIECES] = {0}, count = 0, misses = 0; /* when: 0: not cached */
    next_uses(at, len, next);
    for (unsigned i = 0; i < len; i++) {
        bool hit = when[at[i]] != 0;
        misses += !hit;
        count += !hit;
        when[at[i]] = next[i];
        if (count <= room)
            continue;
        unsigned latest = at[i];
        for (unsigned k = 0; k < TRACE_PIECES; k++)
            if (when[k] > when[latest])
                latest = k;
        when[latest] = 0;
        count--;
    }
    return misses;
}

/* ---- the cache --------------------------------------------------------------------------------
 */

static void released(void *ctx, void *file)
{
    (void)ctx;
    (void)file;
}

static Cache *make(unsigned room, int policy, int *ret_rd)
{
    static int file;
    const uint64_t len = (uint64_t)TRACE_PIECES * PIECE;
    CacheConfig cfg;
    cache_config_init(&cfg, (uint64_t)room * PIECE);
    cfg.piece_bytes = PIECE;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cfg.remote = false;
    Cache *c = cache_new(&cfg, &(CacheHooks){.file_release = released});
    *ret_rd = c && cache_set_policy(c, policy) == 0 ? cache_open(c, len, len, &file, 0) : -1;
    if (*ret_rd < 0) {
        fprintf(stderr, "policies: no memory\n");
        exit(1);
    }
    return c;
}

static unsigned policy_misses(const uint16_t *at, unsigned len, unsigned room, int policy)
{
    uint8_t buf[PIECE];
    struct manage_stats st;
    int rd;
    Cache *c = make(room, policy, &rd);
    for (unsigned i = 0; i < len; i++) {
        CacheCall call;
        cache_read_start(&call, c, rd, (off_t)at[i] * PIECE, buf, PIECE, 1);
        while (call.need == CACHE_JOB)
            cache_call_done(&call, c, &(CacheResult){.count = PIECE, .ns = 1}, 1);
    }
    cache_stats(c, &st);
    cache_free(c);
    return (unsigned)st.disk_reads;
}

static void measure(void)
{
    static uint16_t at[TRACE_LEN];
    for (unsigned t = 0; t < TRACES; t++) {
        reads[t] = trace_make(t, at);
        for (unsigned r = 0; r < ROOMS; r++)
            for (unsigned k = 0; k < COLUMNS; k++) {
                unsigned misses = lines[k].policy < 0
                                      ? optimum_misses(at, reads[t], rooms[r])
                                      : policy_misses(at, reads[t], rooms[r], lines[k].policy);
                ratios[t][r][k] = (double)misses / reads[t];
            }
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
    printf("\n|---|---:|---:|---:|---:|---:|---:|\n");
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

int main(int argc, char **argv)
{
    bool table = argc == 2 && strcmp(argv[1], "--table") == 0;
    bool svg = argc == 2 && strcmp(argv[1], "--svg") == 0;
    if (!table && !svg) {
        fprintf(stderr, "Usage: policies --table | --svg\n");
        return 2;
    }
    measure();
    if (table)
        print_table();
    else
        print_svg();
    return fflush(stdout) ? 1 : 0;
}
