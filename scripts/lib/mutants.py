# SPDX-License-Identifier: MIT
"""The small bugs that scripts/mutate plants: where in a C file, and which.

It reads C as clang-format writes it, and knows statements and operators, not types. What is not C any
more is left to the compiler to find.
"""
import dataclasses
import os
import re


@dataclasses.dataclass
class Edit:
    start: int
    end: int
    text: str
    statement: bool  # else an expression


@dataclasses.dataclass
class Mutant:
    path: str
    line: int
    what: str
    edits: list
    number: int = 0

    @property
    def is_field(self):
        return self.what.startswith('field ')

    @property
    def folder(self):
        return self.path.split('/', maxsplit=1)[0]


OPAQUE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^#(?:[^\n]*\\\n)*[^\n]*',
                    re.S | re.M)
DECLARATION = re.compile(r'(?:(?:static|const|struct|enum|union|unsigned|(?:CLEANUP|g_auto)\w*(?:\([^)]*\))?)\s+)*'
                         r'(?!return\b|goto\b|else\b|sizeof\b)\w+\s*(?:\s|\*)\**(?:const )?\w+\s*(=(?!=)|;|,|\[|$)')
UNTOUCHED = re.compile(r'assert\(|\(void\)|static |RULE\(|(\w+_)?(trace|log|print|warn|info|debug|message)\w*\(')
SYMMETRIC = re.compile(r'(\w+_equal|\w+_add|calloc|(min|max)_\w+|mem(set|cmp)|strcmp)$')  # with regard to two arguments
SHIFTED = {'<': '<=', '>': '>=', '<=': '<', '>=': '>', '==': '!=', '!=': '=='}
PAIRS = {'true': 'false', 'false': 'true', 'min': 'max', 'max': 'min', 'MIN': 'MAX', 'MAX': 'MIN'}
SIBLINGS_MAX = 2  # of a field's name, whose struct is not known


def blanked(source):
    """The same length; comments, strings and directives are spaces."""
    return OPAQUE.sub(lambda m: re.sub(r'[^\n]', '"' if m.group()[0] in '"\'' else ' ', m.group()), source)


def closing(text, i):
    """Where the bracket that opens at @i closes."""
    depth = 0
    for j in range(i, len(text)):
        depth += (text[j] in '([{') - (text[j] in ')]}')
        if depth == 0:
            return j
    return len(text) - 1


def find_flat(text, start, end, wanted):
    """The first place in [start, end) outside of brackets where @wanted matches; else end."""
    i = start
    while i < end:
        if wanted.match(text, i):
            return i
        i = closing(text, i) + 1 if text[i] in '([{' else i + 1
    return end


COMMA, SEMICOLON, ASSIGNED = (re.compile(p) for p in (',', ';', r'=(?!=)'))


class Walker:
    """Goes through a function's body, and notes its conditions and simple statements."""

    def __init__(self, text):
        self.text = text
        self.conditions = []  # (start, end)
        self.simple = []  # (start, end without the semicolon, block, is it the last of the function)

    def skip(self, i):
        return re.compile(r'\s*').match(self.text, i).end()

    def block(self, i, outermost):
        end = closing(self.text, i)
        i = self.skip(i + 1)
        while i < end:
            before = len(self.simple)
            i = self.skip(self.statement(i, end))
            if outermost and i >= end and len(self.simple) == before + 1 and self.simple[-1][2] == end:
                self.simple[-1] = (*self.simple[-1][:3], True)
        return end + 1

    def statement(self, i, block):
        text = self.text
        i = self.skip(i)
        label = re.compile(r'(case\b[^:;]*|default|\w+)\s*:(?!:)').match(text, i)
        if label:
            return label.end()
        if text[i] == '{':
            return self.block(i, False)
        header = re.compile(r'(else\b|do\b)|(\w+)\s*(\()').match(text, i)
        if header and header.group(1):
            return self.statement(header.end(), block if header.group(1) == 'else' else i)
        if header:
            end = closing(text, header.start(3))
            inner = (header.end(), end)
            word = header.group(2)
            if word in ('if', 'while'):
                self.conditions.append(inner)
            elif word == 'for':
                first = find_flat(text, *inner, SEMICOLON)
                self.conditions.append((self.skip(first + 1), find_flat(text, first + 1, end, SEMICOLON)))
            after = self.skip(end + 1)
            if word in ('if', 'while', 'for', 'switch') or text[after] == '{':
                return after + 1 if text[after] == ';' else self.statement(after, i)
        end = find_flat(text, i, len(text), SEMICOLON)
        self.simple.append((i, end, block, False))
        return end + 1


def operand_end(text, i, both):
    stops = re.compile(r'\s(\|\||&&)\s' if both else r'\s(\|\|)\s')
    other = re.compile(r'\s[?:]\s|[,;]')
    while i < len(text) and not stops.match(text, i) and not other.match(text, i) and text[i] not in ')]}':
        i = closing(text, i) + 1 if text[i] in '([{' else i + 1
    return i


def operand_start(text, i, both):
    """Backwards."""
    stop = re.compile(r'(\|\||&&|[?:=,]|\breturn)\s' if both else r'(\|\||[?:=,]|\breturn)\s')
    depth = 0
    while i > 0:
        c = text[i - 1]
        if c in '([{' and depth == 0:
            break
        depth += (c in ')]}') - (c in '([{')
        at_stop = any(stop.fullmatch(text[max(0, i - n):i]) for n in (2, 3, 7))
        if depth == 0 and at_stop and not re.search(r'[=!<>]= $', text[:i]):
            break
        i -= 1
    return i


def operators(raw, text):
    for m in re.finditer(r'\s(&&|\|\|)\s+', text):
        both = m.group(1) == '&&'
        right, left = operand_end(text, m.end(), both), operand_start(text, m.start(), both)
        yield raw[:m.start()] + raw[right:], f'without {m.group(1)} {raw[m.end():right]}'
        yield raw[:left] + raw[m.end():], f'without {raw[left:m.start()]} {m.group(1)}'
    single = not re.search(r'&&|\|\|', text)
    for m in re.finditer(r' (<=?|>=?|==|!=) ', text):
        if not (single and m.group(1) in ('==', '!=')):
            yield f'{raw[:m.start(1)]}{SHIFTED[m.group(1)]}{raw[m.end(1):]}', f'{SHIFTED[m.group(1)]} for {m.group(1)}'
    for m in re.finditer(r' [+-] 1u?(?=[\s);,\]]|$)', text):
        yield raw[:m.start()] + raw[m.end():], f'without{m.group()}'
    for m in re.finditer(r'\s\?\s', text):
        start = operand_start(text, m.start(), False)
        while start > 0 and re.search(r'\|\|\s$', text[:start]):
            start = operand_start(text, start - 3, False)
        yield f'{raw[:start]}!({raw[start:m.start()]}){raw[m.start():]}', 'the other way round'
    for m in re.finditer(r'\b(true|false)\b|\b(min|max)(?=_\w+\()|\b(MIN|MAX)(?=\()', text):
        yield raw[:m.start()] + PAIRS[m.group()] + raw[m.end():], f'{PAIRS[m.group()]} for {m.group()}'


def arguments(raw, text):
    for m in re.finditer(r'\b(?!if|while|for|switch|sizeof|return)[a-z]\w*(\()', text):
        if SYMMETRIC.match(text[m.start():m.start(1)]):
            continue
        end = closing(text, m.start(1))
        parts, i = [], m.end()
        while i < end:
            j = find_flat(text, i, end, COMMA)
            parts.append((i + re.match(r'\s*', text[i:j]).end(), j))
            i = j + 1
        for (a, b), (c, d) in zip(parts, parts[1:]):
            if raw[a:b] != raw[c:d]:
                yield raw[:a] + raw[c:d] + raw[b:c] + raw[a:b] + raw[d:], f'{raw[c:d]} and {raw[a:b]} swapped'


def fields(raw, text, siblings):
    for m in re.finditer(r'(?:->|\.)([a-z]\w*)(?!\w*\()', text):
        for other in siblings.get(m.group(1), ()):
            yield raw[:m.start(1)] + other + raw[m.end(1):], f'field {other} for {m.group(1)}'


def of_expression(raw, text, siblings):
    seen = {raw}
    for new, what in (*operators(raw, text), *arguments(raw, text), *fields(raw, text, siblings)):
        if new not in seen:
            seen.add(new)
            yield new, ' '.join(what.split())


def related(a, b):
    """Is it to matter which of two statements comes first: does one set what the other names?"""
    for one, other in ((a, b), (b, a)):
        target = re.match(r'(?:\*|\+\+|--)?([\w\->.\[\]]+?)(?:\+\+|--)?\s*(?:[+\-|&^]?=|$)', one)
        if target and re.search(rf'(?<!\w){re.escape(target.group(1))}(?!\w)', other):
            return True
    calls = [re.match(r'\w+\((.*)\)$', s, re.S) for s in (a, b)]
    given = [set(re.findall(r'[\w\->.]+', call.group(1))) for call in calls if call]
    return len(given) == 2 and bool(given[0] & given[1])


def of_simple(source, text, walker, siblings):
    """(what, edits) for each bug of a simple statement."""
    movable = None
    for start, end, block, last in walker.simple:
        raw, blank = source[start:end], text[start:end]
        before, movable = movable, None
        if not raw or UNTOUCHED.match(blank):
            continue
        declaration = DECLARATION.match(blank)
        if declaration:
            if declaration.group(1) == '=':
                at = start + declaration.end()
                at += re.match(r'\s*', text[at:]).end()
                stop = find_flat(text, at, end, COMMA)
                if text[at] not in '{"':
                    for new, what in of_expression(source[at:stop], text[at:stop], siblings):
                        yield what, [Edit(at, stop, new, False)]
            continue
        jump = re.match(r'(return|break|continue|goto)\b', blank)
        if not (jump and last):
            yield f'without {" ".join(raw.split())}', [Edit(start, end + 1, ';', True)]
        for new, what in of_expression(raw, blank, siblings):
            yield what, [Edit(start, end + 1, new + ';', True)]
        if jump:
            continue
        movable = (start, end, block)
        if not before or before[2] != block or text[before[1] + 1:start].strip():
            continue
        first = source[before[0]:before[1]]
        if related(first, raw):
            yield 'swapped with the next', [Edit(before[0], before[1] + 1, raw + ';', True),
                                            Edit(start, end + 1, first + ';', True)]


def mutants_of(path, source, siblings):
    siblings = {**siblings.get('proto', {}), **siblings.get(os.path.dirname(path), {})}
    text = blanked(source)
    found = []
    for body in re.finditer(r'^\{', text, re.M):
        if not re.search(r'\)\s*$', text[:body.start()]):
            continue  # a type or a table
        walker = Walker(text)
        walker.block(body.start(), True)
        for start, end in walker.conditions:
            raw = source[start:end]
            if raw.strip():
                found.append(('the other way round', [Edit(start, end, f'!({raw})', False)]))
                found += [(what, [Edit(start, end, new, False)])
                          for new, what in of_expression(raw, text[start:end], siblings)]
        found += of_simple(source, text, walker, siblings)
    found.sort(key=lambda f: f[1][0].start)
    return [Mutant(path, source.count('\n', 0, edits[0].start) + 1, what, edits) for what, edits in found]


def plant(source, mutant):
    """The source with this bug. No line moves."""
    for e in sorted(mutant.edits, key=lambda e: -e.start):
        lines = source.count('\n', e.start, e.end) - e.text.count('\n')
        source = source[:e.start] + e.text + '\n' * lines + source[e.end:]
    return source


def plant_all(source, mutants):
    """The source with all of them; mutant(NUMBER) says which one is awake."""
    places = {}
    for m in mutants:
        for e in m.edits:
            places.setdefault((e.start, e.end, e.statement), []).append((m.number, e.text))
    for (start, end, statement), bugs in sorted(places.items(), reverse=True):
        new = source[start:end]
        for number, text in bugs:
            chosen = 'if (mutant({})) {{ {} }} else {{ {} }}' if statement else 'mutant({}) ? ({}) : ({})'
            new = chosen.format(number, text, new)
        source = source[:start] + (f'{{ {new} }}' if statement else f'({new})') + source[end:]
    return source


def siblings_in(source):
    """By a field's name, those that stand next to it in a struct and have its type."""
    result, text = {}, blanked(source)
    for struct in re.finditer(r'struct \w*\s*\{', text):
        body = text[struct.end():closing(text, struct.end() - 1)]
        of_type = {}
        for field in re.finditer(r'^\s+((?:\w+ )+)(\*?\w+(?:, \*?\w+)*)(?: : \d+)?;', body, re.M):
            for name in field.group(2).split(', '):
                of_type.setdefault(field.group(1) + '*' * name.count('*'), []).append(name.lstrip('*'))
        for group in of_type.values():
            for a, b in zip(group, group[1:] + group[:1]):
                if a != b and b not in result.setdefault(a, []):
                    result[a].append(b)
    return {name: others[:SIBLINGS_MAX] for name, others in result.items() if others}


def siblings_of(top):
    """The same by folder."""
    result = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [f for f in folders if not f.startswith(('.', 'b-', 'build'))]
        text = ''
        for name in (n for n in names if n.endswith(('.h', '.c'))):
            with open(os.path.join(folder, name), encoding='utf-8') as f:
                text += f.read()
        result[os.path.relpath(folder, top)] = siblings_in(text)
    return result
