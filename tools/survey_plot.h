/* SPDX-License-Identifier: MIT */
/* A plot of memory over time, as SVG: axes, ticks, lines. */
#ifndef DODO_TOOLS_SURVEY_PLOT_H
#define DODO_TOOLS_SURVEY_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct PlotPanel {
    double x, y, width,
        height;             /* of the plot itself; room for what stands beside the axes is left */
    double seconds, max_kb; /* what the axes reach to; above 0 */
    const char *title;
    bool names_axes;
} PlotPanel;

typedef struct PlotPoint {
    double from_s, to_s, kb; /* the span that it stands for */
} PlotPoint;

typedef struct PlotStyle {
    const char *colour;
    double width;
    const char *name; /* in the legend */
} PlotStyle;

void plot_begin(FILE *to, double width, double height, const char *title);
void plot_end(FILE *to);
void plot_axes(FILE *to, const PlotPanel *p);
/* Through the middles of the spans; broken where longer than @hold_s lies between two. */
void plot_line(FILE *to, const PlotPanel *p, const PlotStyle *style, const PlotPoint *points,
               unsigned count, double hold_s);
/* One beside the other, from the left at x, y. */
void plot_legend(FILE *to, double x, double y, const PlotStyle *styles, unsigned count);

#endif
