#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A strict reader of OpenMetrics 1.0 text, of the parts that Dodo uses: counters, gauges, info, state sets; no
timestamps, exemplars, histograms. parse(TEXT) returns the samples, or raises ValueError with the line."""
import re

FAMILY = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
NUMBER = r'-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?'
META = re.compile(r'# (TYPE|UNIT|HELP) (%s) (.+)' % FAMILY)
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r'(%s)(?:\{(%s(?:,%s)*)\})? (%s)' % (FAMILY, LABEL, LABEL, NUMBER))
SUFFIXES = {'counter': '_total', 'gauge': '', 'info': '_info', 'stateset': ''}


class Reader:
    def __init__(self):
        self.samples = {}  # (name, labels as they stand) -> value
        self.types = {}
        self.family = None  # that the lines are about now
        self.meta = {}
        self.sampled = False

    def enter(self, family):
        """A line is about this family, all of whose lines stand together."""
        if family != self.family:
            self.leave()
            if family in self.types:
                raise ValueError('the lines of a family do not stand together')
            self.family, self.meta, self.sampled = family, {}, False

    def leave(self):
        if self.family is None:
            return
        kind = self.meta.get('TYPE')
        if kind not in SUFFIXES or not self.sampled or 'HELP' not in self.meta:
            raise ValueError('%s: a family has a type that is known, help, and samples' % self.family)
        self.types[self.family] = kind
        if kind == 'stateset':
            on = [v for (name, _), v in self.samples.items() if name == self.family]
            if sorted(set(on)) != [0, 1] or sum(on) != 1:
                raise ValueError('%s: it is in one state' % self.family)

    def describe(self, what, family, text):
        self.enter(family)
        if what in self.meta or self.sampled:
            raise ValueError('%s once, and before the samples' % what)
        if what == 'UNIT' and not family.endswith('_' + text):
            raise ValueError('a name ends with its unit')
        if what == 'HELP' and re.search(r'\\(?![\\n"])', text):
            raise ValueError('an escape that is none')
        self.meta[what] = text

    def sample(self, name, labels, value):
        kind = self.meta.get('TYPE')
        if kind not in SUFFIXES or name != self.family + SUFFIXES[kind]:
            raise ValueError('a sample is of the family before it, and has the ending of its type')
        names = [label.split('=')[0] for label in re.findall(LABEL, labels or '')]
        if len(set(names)) != len(names):
            raise ValueError('a label is there twice')
        if kind == 'stateset' and self.family not in names:
            raise ValueError('the label of a state set is its name')
        if (name, labels) in self.samples:
            raise ValueError('a sample is there twice')
        if kind == 'counter' and float(value) < 0 or kind == 'info' and value != '1':
            raise ValueError('no value of a %s' % kind)
        self.sampled = True
        self.samples[name, labels] = float(value)


def parse(text):
    reader, lines = Reader(), text.split('\n')
    if lines[-2:] != ['# EOF', ''] or lines.count('# EOF') != 1:
        raise ValueError('the text ends with # EOF and the end of that line')
    for number, line in enumerate(lines[:-2], 1):
        try:
            meta, sample = META.fullmatch(line), SAMPLE.fullmatch(line)
            if meta:
                reader.describe(*meta.groups())
            elif sample:
                reader.sample(*sample.groups())
            else:
                raise ValueError('neither a description nor a sample')
        except ValueError as e:
            raise ValueError('line %d: %s: %s' % (number, line, e)) from None
    reader.leave()
    return reader.samples
