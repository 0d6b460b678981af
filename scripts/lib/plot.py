# SPDX-License-Identifier: MIT
"""What the plots of the scripts are drawn with, as SVG: panels side by side, each with an axis of values. Pure."""


def text(x, y, words, anchor='middle', size=11, more=''):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>'
            f'{words}</text>')


def line(x1, y1, x2, y2, colour, width=1.0):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}"/>')


def axis(ticks, width, y_of):
    """A line across the panel at each of the values, and the value beside it; that at 1 is dark."""
    return [part for tick in ticks for part in (
        line(0, y_of(tick), width, y_of(tick), '#000' if tick == 1 else '#ddd'),
        text(-6, y_of(tick) + 4, f'{tick:g}', 'end'))]


def panel(x, y, drawn):
    return [f'<g transform="translate({x},{y})">', *drawn, '</g>']


def legend(x, y, entries):
    """A line a row: colour, width, words."""
    return [part for i, (colour, width, words) in enumerate(entries) for part in (
        line(x, y + 18 * i, x + 20, y + 18 * i, colour, width),
        text(x + 26, y + 4 + 18 * i, words, 'start'))]


def picture(width, height, title, drawn):
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<title>{title}</title>', '<rect width="100%" height="100%" fill="#fff"/>',
        *drawn, '</svg>', ''])
