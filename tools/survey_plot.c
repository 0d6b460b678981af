/* SPDX-License-Identifier: MIT */
#include "tools/survey_plot.h"

#include <math.h>

enum { FONT = 11, FONT_TITLE = 13, LEGEND_STEP = 190 };

typedef struct Unit {
    double size;
    const char *name;
} Unit;

/* The largest that @max has at least two of; the last if none. Largest first. */
static Unit unit_of(double max, const Unit *units, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (max >= 2 * units[i].size)
            return units[i];
    return units[count - 1];
}

static Unit time_unit(double seconds)
{
    static const Unit units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}};
    return unit_of(seconds, units, sizeof units / sizeof *units);
}

static Unit memory_unit(double kb)
{
    static const Unit units[] = {{1024.0 * 1024 * 1024 * 1024, "PiB"},
                                 {1024.0 * 1024 * 1024, "TiB"},
                                 {1024.0 * 1024, "GiB"},
                                 {1024, "MiB"},
                                 {1, "KiB"}};
    return unit_of(kb, units, sizeof units / sizeof *units);
}

/* 1, 2 or 5 of a power of ten, so that about @wanted of them reach to @max. */
static double step_of(double max, unsigned wanted)
{
    double rough = max / wanted, power = pow(10, floor(log10(rough))), lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static void text(FILE *to, double x, double y, const char *anchor, int size, const char *words)
{
    (void)fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n",
                  x, y, anchor, size, words);
}

static void rule(FILE *to, double x1, double y1, double x2, double y2, const char *colour,
                 double width)
{
    (void)fprintf(to,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                  "stroke-width=\"%g\"/>\n",
                  x1, y1, x2, y2, colour, width);
}

void plot_begin(FILE *to, double width, double height, const char *title)
{
    (void)fprintf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\">\n<title>%s</title>\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  width, height, width, height, title);
    text(to, width / 2, 20, "middle", FONT_TITLE, title);
}

void plot_end(FILE *to)
{
    (void)fputs("</svg>\n", to);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void memory_axis(FILE *to, const PlotPanel *p)
{
    char words[64];
    Unit unit = memory_unit(p->max_kb);
    double max = p->max_kb / unit.size, step = step_of(max, p->height < 200 ? 4 : 8);
    for (unsigned i = 0; i * step <= max; i++) {
        double y = p->y + p->height * (1 - i * step / max);
        rule(to, p->x, y, p->x + p->width, y, "#ddd", 1);
        (void)snprintf(words, sizeof words, "%g", i * step);
        text(to, p->x - 6, y + 4, "end", FONT, words);
    }
    (void)snprintf(words, sizeof words, "%s%s", p->names_axes ? "Memory, " : "", unit.name);
    text(to, p->x - 6, p->y - 8, "middle", FONT, words);
}

static void time_axis(FILE *to, const PlotPanel *p)
{
    char words[64];
    Unit unit = time_unit(p->seconds);
    double max = p->seconds / unit.size, step = step_of(max, p->width < 400 ? 5 : 10);
    double bottom = p->y + p->height;
    for (unsigned i = 0; i * step <= max; i++) {
        double x = p->x + p->width * i * step / max;
        rule(to, x, bottom, x, bottom + 4, "#000", 1);
        (void)snprintf(words, sizeof words, "%g", i * step);
        text(to, x, bottom + 16, "middle", FONT, words);
    }
    (void)snprintf(words, sizeof words, "%s%s", p->names_axes ? "Time, " : "", unit.name);
    text(to, p->x + p->width / 2, bottom + 30, "middle", FONT, words);
}

void plot_axes(FILE *to, const PlotPanel *p)
{
    memory_axis(to, p);
    time_axis(to, p);
    rule(to, p->x, p->y, p->x, p->y + p->height, "#000", 1);
    rule(to, p->x, p->y + p->height, p->x + p->width, p->y + p->height, "#000", 1);
    if (p->title)
        text(to, p->x + p->width / 2, p->y - 8, "middle", FONT, p->title);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put(FILE *to, const PlotPanel *p, double s, double kb)
{
    (void)fprintf(to, "%.1f,%.1f ", p->x + p->width * s / p->seconds,
                  p->y + p->height * (1 - kb / p->max_kb));
}

/* To a tenth of a unit of the picture, as put() writes it. */
static long height_of(const PlotPanel *p, double kb)
{
    return lround(10 * p->height * kb / p->max_kb);
}

/* One piece. Points on a level with both their neighbours are left out. */
static void piece(FILE *to, const PlotPanel *p, const PlotStyle *style, const PlotPoint *points,
                  unsigned count)
{
    (void)fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" points=\"",
                  style->colour, style->width);
    put(to, p, points[0].from_s, points[0].kb);
    for (unsigned i = 0; i < count; i++) {
        long here = height_of(p, points[i].kb);
        bool level = (i == 0 || height_of(p, points[i - 1].kb) == here) &&
                     (i + 1 == count || height_of(p, points[i + 1].kb) == here);
        if (!level)
            put(to, p, (points[i].from_s + points[i].to_s) / 2, points[i].kb);
    }
    put(to, p, points[count - 1].to_s, points[count - 1].kb);
    (void)fputs("\"/>\n", to);
}

void plot_line(FILE *to, const PlotPanel *p, const PlotStyle *style, const PlotPoint *points,
               unsigned count, double hold_s)
{
    for (unsigned i = 0, start = 0; i < count; i++) {
        if (i + 1 < count && points[i + 1].from_s - points[i].to_s <= hold_s)
            continue;
        piece(to, p, style, points + start, i + 1 - start);
        start = i + 1;
    }
}

void plot_legend(FILE *to, double x, double y, const PlotStyle *styles, unsigned count)
{
    for (unsigned i = 0; i < count; i++, x += LEGEND_STEP) {
        rule(to, x, y - 4, x + 24, y - 4, styles[i].colour, styles[i].width + 1);
        text(to, x + 30, y, "start", FONT, styles[i].name);
    }
}
