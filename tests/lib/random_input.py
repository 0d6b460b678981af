# SPDX-License-Identifier: MIT
"""Random configuration files and command lines, right ones and wrong ones; the same for the same seed."""
import os
import re
import socket

TIMES = ['1ms', '50ms', '500ms', '1s', '2', '1.5s', '30s', '5min', '24h', '0', '0s', '10us']
SIZES = ['64K', '256K', '1M', '1.5G', '65536', '0', '8m', '1T']
COUNTS = ['0', '1', '2', '19', '64', '100', '4096', '7720', '65535', '1048576']
FLAGS = ['yes', 'no', 'true', 'false', 'on', 'off', '1', '0']
ADDRESSES = ['127.0.0.1:9', '[::1]:9', '127.0.0.1:9,127.0.0.2:9', 'lo', 'lo:7', '127.0.0.1', '0.0.0.0:0']
WORDS = ['random', 'weighted', 'udp', 'raw', 'coarse', 'full', 'debug', 'error', 'auto', 'none', 'lo', 'absent',
         '/bin/true', '/bin/true a b', 'load < 0.5', 'load <', 'dodo', '58465342,0x6969', '*.db']
KINDS = ((r'[0-9.]+(ns|us|ms|s|min|h)', TIMES), (r'[0-9.]+[KMGT]', SIZES), (r'[0-9.]+', COUNTS), (r'yes|no', FLAGS))
# Each of them is refused, but where any text may stand.
ODD = [b'', b' ', b'-1', b'1x', b'10 parsecs', b'1e9', b'0x10', b'.5', b'1.', b'1.5.5', b'9' * 30, b'1' + b'0' * 400,
       b'18446744073709551616', b'18446744073709551615', b'1,5G', b'1 G', b'64KiB', b'5 min', b'yes no', b'YES',
       b'"quoted"', b"'", b'%s%n%d%', b'\\', b'[imd]', b'=', b'==x', b'#', b'~', b'$HOME', b'*', b'1.2.3.4.5:7', b'127.0.0.1:',
       b'127.0.0.1:99999', b'[::1', b'::1:7', b'a,,b', b',', b'caf\xc3\xa9', b'\xff\xfe', b'\xc3', b'\xc2\x9b31m',
       b'\x1b[31m', b'\x1b]0;x\x07', b'a\tb', b'a\x08b', b'\x7f', b'x' * 300, b'x' * 5000, b'x' * 6000, b'\xe2\x82\xac' * 500,
       b'/' + b'y' * 300, b'a/' * 3000, b'\xf0\x9f\x98\x80', b'\xed\xa0\x80', b'a\rb']


def fields(text):
    return text.encode('utf-8', 'surrogateescape')


class ConfFiles:
    """Random configurations. @keys: [(group, key, its value by default or None)]."""

    def __init__(self, rng, keys):
        self.rng, self.keys = rng, keys
        self.groups = sorted({group for group, _, _ in keys})

    def good_value(self, preset):
        for pattern, values in KINDS:
            if preset and re.fullmatch(pattern, preset):
                return fields(self.rng.choice([preset, preset, *values]))
        return fields(preset or self.rng.choice(ADDRESSES + WORDS + SIZES + COUNTS))

    def value(self, preset, wrong):
        return self.rng.choice(ODD) if self.rng.random() < wrong else self.good_value(preset)

    def group(self, wrong):
        if self.rng.random() >= wrong:
            return fields(self.rng.choice(self.groups))
        return self.rng.choice([b'', b'Dodo', b'dodo ', b'do]do', b'[dodo', b'nobody', b'g' * 70] + ODD)

    def pair(self, group, wrong):
        of_group = [k for k in self.keys if fields(k[0]) == group] or self.keys
        _, key, preset = self.rng.choice(of_group)
        name = fields(key)
        if self.rng.random() < wrong:
            name = self.rng.choice([name.upper(), name[:-1], name + b's', name.replace(b'_', b'-'), b'a b', *ODD])
        separator = self.rng.choice([b' = '] * 6 + [b'=', b'\t=\t', b'  =', b'= '])
        return name + separator + self.value(preset, wrong)

    def line(self, group, wrong):
        if self.rng.random() >= wrong:
            return self.pair(group, wrong)
        return self.rng.choice([
            lambda: fields(self.rng.choice(self.keys)[1]), lambda: self.rng.choice(ODD), lambda: b'; ' + self.rng.choice(ODD),
            lambda: b'# ' + self.rng.choice(ODD), lambda: b'[' + group, lambda: group + b']', lambda: b'a\0b = c',
            lambda: self.pair(group, wrong) + b' # comment', lambda: b'include = x.conf', lambda: b'= 1', lambda: b''])()

    def text(self):
        """One file's bytes. Half of them have nothing odd in them."""
        rng, wrong = self.rng, self.rng.choice((0, 0, 0, 0.05, 0.2))
        lines = []
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            group = self.group(wrong)
            lines.append(b'[' + group + b']')
            lines += [self.line(group, wrong) for _ in range(rng.randrange(5))]
            if wrong and lines and rng.random() < 0.1:
                lines.append(rng.choice(lines))  # once more
        newline = rng.choice([b'\n'] * 8 + [b'\r\n', b'\r' if wrong else b'\n'])
        start = rng.choice([b''] * 20 + [b'\xef\xbb\xbf', b'\xff\xfe', b'\n' * 1000, b'#' * 65536] if wrong else [b''])
        return start + newline.join(lines) + (newline if rng.random() < 0.8 else b'')

    def put(self, path):
        """A file of that name, or what is none."""
        way = self.rng.choice(['file'] * 40 + ['missing', 'directory', 'fifo', 'socket', 'loop', 'null', 'zero', 'large',
                                               'below'])
        if way == 'directory':
            os.mkdir(path)
        elif way == 'fifo':
            os.mkfifo(path)
        elif way == 'socket':
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(b'socket')
            os.rename(b'socket', path)
        elif way in ('loop', 'null', 'zero', 'below'):
            to = {'loop': path, 'null': '/dev/null', 'zero': '/dev/zero', 'below': '/dev/null/x'}[way]
            os.symlink(to, path)
        elif way in ('file', 'large'):
            with open(path, 'wb') as f:
                f.write(self.text() * (1 if way == 'file' else 2000))

    def make(self, directory):
        """The path of a configuration in the directory, which is the current one."""
        names = [b'c.conf'] * 12 + [b'caf\xc3\xa9', b'a b', b'\x1b[31m', b'n\xffn', b'%s', b'l\nm', b'z' * 200]
        path = os.path.join(fields(directory), self.rng.choice(names))
        self.put_all(path)
        return path

    def put_all(self, path):
        """The file, and at times others beside it."""
        self.put(path)
        more = path + b'.d'
        if self.rng.random() < 0.7:
            return
        if self.rng.random() < 0.05:
            self.put(more)
            return
        os.mkdir(more)
        for name in self.rng.sample([b'1.conf', b'2.conf', b'.3.conf', b'4.conf~', b'\xff.conf', b'\x1b[0m.conf'], 3):
            self.put(os.path.join(more, name))
        if self.rng.random() < 0.03:
            for number in range(64):
                with open(os.path.join(more, b'many%d.conf' % number), 'wb'):
                    pass


VALUES = {'TIME': TIMES[:4], 'SIZE': SIZES[:3], 'N': COUNTS, 'X': ['0.3', '1', '2.5'], 'LEVEL': ['warn', 'error', 'debug'],
          'ADDR[:PORT]': ADDRESSES, 'HOST:PORT[,...]': ['127.0.0.1:9', '[::1]:9', '127.0.0.1:9,127.0.0.2:9'],
          'HOST[:PORT]': ['127.0.0.1:9', '[::1]', '127.0.0.1'], 'SIZES': ['4K', '4K,8K', '1M'],
          'FILE': ['absent', 'good.conf', '.', 'absent/absent', 'text'], 'DIR': ['absent', 'text', '.'], 'NAME': ['lo', 'absent', 'lru'],
          'udp|raw': ['udp', 'raw'], 'SIZE|auto': ['auto', '64M'], 'ID': ['0123456789abcdef', '1'], 'EXPR': ['load < 0.5', 'load <'],
          'BACKEND': ['disk', 'dodo', 'manage'], 'PATTERN': ['random', 'sequential']}


class CommandLines:
    """Random command lines of a program whose --help is @text. @leave_out: options that do too much."""

    def __init__(self, rng, text, leave_out=(), operands=()):
        self.rng, self.operands = rng, list(operands)
        found = re.findall(r'^ +(?:-\w, )?--([a-z][a-z-]*)(?:[= ](\S+))?(?:  |$)', text, re.M)
        self.options = [(name, value) for name, value in found if name not in leave_out]

    def value(self, kind, wrong):
        if self.rng.random() < wrong:
            return self.rng.choice(ODD)
        return fields(self.rng.choice(VALUES.get(kind, WORDS + COUNTS)))

    def option(self, wrong):
        name, kind = self.rng.choice(self.options)
        word = b'--' + fields(name)
        if not kind:
            return [word]
        value = self.value(kind, wrong)
        return [word + b'=' + value] if self.rng.random() < 0.5 else [word, value]

    def oddity(self):
        name, kind = self.rng.choice(self.options)
        word = b'--' + fields(name)
        return self.rng.choice([
            lambda: [word], lambda: [word + b'='], lambda: [word + b'=' + self.rng.choice(ODD)], lambda: [word[:-2]],
            lambda: [word[1:]], lambda: [word + b's'], lambda: [word.upper()], lambda: [word.replace(b'-', b'_')], lambda: [b'--'],
            lambda: [b'-'], lambda: [b'-h'], lambda: [b'-x'], lambda: [b'-' + self.rng.choice(ODD)], lambda: [b'--' + self.rng.choice(ODD)],
            lambda: [self.rng.choice(ODD)], lambda: [word, word], lambda: [word + b' ', b'x'],
            lambda: [b'\xe2\x80\x94' + fields(name)], lambda: self.option(0) * 2, lambda: [word + b'=' + self.value(kind, 0)]])()

    def make(self):
        """The words. A third of them have nothing odd in them."""
        rng, wrong = self.rng, self.rng.choice((0, 0.1, 0.4))
        words = []
        for _ in range(rng.choice((0, 1, 1, 2, 3, 5))):
            words += self.oddity() if rng.random() < wrong else self.option(wrong)
        if self.operands and rng.random() < 0.8:
            words += [fields(w) for w in rng.choice(self.operands)]
        if wrong and rng.random() < 0.2:
            words.insert(rng.randrange(len(words) + 1), rng.choice(ODD))
        if rng.random() < 0.01:
            words += [b'x'] * 2000
        return words
