#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_edges.py CMD IMD DODO RMD HELLO PROGRAM...: random configuration files, variables and command lines, right ones and
wrong ones, for every program that people start. Whatever comes in: no program dies or hangs, an error is a line or two that
say what to do, of a file with its name and line, and all parts say the same of it.

EDGES_SEED=N and EDGES_CASES=FROM..TO choose the cases; EDGES_SHOW=yes prints each of them."""
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import CMD, DODO, IMD, PATIENCE, Case
from random_input import ODD, CommandLines, ConfFiles, fields

OTHERS = [os.path.abspath(path) for path in sys.argv[4:]]
SEED = os.environ.get('EDGES_SEED', '1')
FIRST, LAST = (int(n) for n in os.environ.get('EDGES_CASES', '1..200').split('..'))
SHOW = os.environ.get('EDGES_SHOW')
HANGS = PATIENCE / 3  # seconds; programs that ask somebody are to give up in a millisecond

# What would go on ends at once: there is no such user, and nobody is at the manager's address.
GOOD_CONF = """[dodo]
manager = 127.0.0.1:9
[daemon]
user = absent-user
[client]
request_retry = 5ms
request_retry_max = 5ms
request_deadline = 20ms
[rmd]
input = none
owner_socket = absent
"""
# Errors say what is expected, what to do, where to read on, or ask what may be so. Of a file that a command line names the
# system's words are enough.
REMEDY = re.compile('|'.join((
    r'expected ', r'needed', r'\bgive ', r'remove', r'must (both )?be', r'choose', r'set cgroup', r'run chmod', r'join some',
    r'let this user', r'make (it|one) with', r'move', r'begin one', r'--make makes it', r'write \[', r'another',
    r'one (host|file) is enough', r'one file at most', r'exclude each other', r'goes without', r'--how is', r'it may have',
    r'--help', r'see (RULES in )?\S+\(\d\)', r'is this', r'is (that )?(rmd|dodo-rmd|what dodo-rmd)', r'is the daemon running',
    r'does (that host|dodo-rmd)', r'which \w+\?', r'no such user', r'only root', r'not overwritten', r'left out; the first',
    r'a line is item', r'is no directory', r'cannot make a socket',
    r'(No such file or directory|Not a directory|Is a directory|not a regular file|File name too long)$')))
# What dodo config finds fault with where there are keys of rmd, and rmd alone refuses.
POPULATE = '[imd] populate is for hosts without an owner: remove it where rmd lends the memory'
# Those that print a table print it in spite of some errors.
PRINTS = ('config', 'check', 'join', 'rmd', 'run', 'keygen')
# Options that have a program do more than this test wants.
TOO_MUCH = {'dodo-synthetic': ['make'], 'lu': ['generate'], 'dmine-generate': ['output'], 'events': ['follow'],
            'mount': ['report']}
HOSTS = [['127.0.0.1:9'], ['[::1]:9'], ['a b'], [''], ['127.0.0.1:9', 'more'], ['x' * 300]]
OPERANDS = {'ping': HOSTS, 'drain': HOSTS, 'explain': HOSTS, 'join': HOSTS, 'owner': [['30min'], ['x'], ['1h', '2h']],
            'keygen': [['new'], ['text'], ['absent/new'], ['a', 'b']], 'survey': [['absent'], ['text'], ['.'], ['text', 'text']],
            'run': [['true'], ['absent'], ['--', 'true', '--odd'], ['text']],
            'mount': [['.'], ['absent', 'absent'], ['.', 'absent'], ['text', '.'], ['.', '.', '.']]}
FIRST_WORDS = {'ping': ['--timeout=1ms', '--count=1'], 'bench': ['--area=64K', '--timeout=1ms'], 'run': ['--check'],
               **{name: ['--timeout=1ms'] for name in ('status', 'top', 'regions', 'events', 'drain', 'explain', 'rekey',
                                                       'check', 'join')}}
VARIABLES = [b'DODO_' + n for n in (b'MANAGER', b'KEY', b'CLUSTER', b'INSECURE', b'TRANSPORT', b'INTERFACE', b'LOG', b'CONFIG',
                                    b'CACHE_SIZE', b'READAHEAD', b'IMD_POLL', b'POLL', b'POLL_SHARE', b'MIRROR')]


def plain(text):
    """As programs print it: what could steer a terminal, or is not UTF-8, as question marks."""
    text = text.decode('utf-8', 'surrogateescape')
    return re.sub('[\x00-\x1f\x7f\ud800-\udfff]|([\x80-\x9f])', lambda m: '??' if m.group(1) else '?', text)


class Outcome:
    """Of a run: its status, or minus the signal; what it printed."""

    def __init__(self, words, environment):
        self.words, self.hangs = words, False
        with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            try:
                out, err = process.communicate(timeout=HANGS)
            except subprocess.TimeoutExpired:
                self.hangs = True
                process.send_signal(signal.SIGKILL)
                out, err = process.communicate()
        self.status = process.returncode
        self.out, self.err = (b.decode('utf-8', 'surrogateescape') for b in (out, err))

    def __str__(self):
        return '\n%s\n%d, %.300s\n%s' % (plain(b' '.join(self.words)[-1000:]), self.status, self.out, self.err)

    def without_times(self):
        return self.status, re.sub(r'[0-9T:.-]{19,}Z|[0-9.]+ ?(ns|us|ms|s)\b', 'TIME', self.err)

    def last_line(self):
        """Of the errors, without the program's name."""
        return self.err.splitlines()[-1].split(': ', 1)[1] if self.err else ''


class Edges(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.work)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('DODO_')}
        self.environment.update(HOME=self.work, TMPDIR=self.work, LC_ALL='C.UTF-8', RES_OPTIONS='timeout:1 attempts:1')
        self.helps, self.tally = {}, {}
        self.programs_of = {os.path.basename(path): [path] for path in (CMD, IMD, *OTHERS)}
        commands = self.output_of([DODO, '--help']).split('Commands:\n')[1].split('\n\n')[0]
        self.programs_of.update({line.split()[0]: [DODO, line.split()[0]] for line in commands.splitlines()})
        for name in ('mount', 'run'):  # they are programs of their own, of another package
            if subprocess.run([DODO, name, '--help'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).returncode == 1:
                del self.programs_of[name]
        listed = json.loads(self.output_of([DODO, 'config', '--json', '--config', '/dev/null']))
        self.keys = [(s['group'], s['key'], s['value']) for s in listed['settings']]

    def output_of(self, words):
        return subprocess.run(words, env=self.environment, stdout=subprocess.PIPE, check=True).stdout.decode()

    # ---- what holds of every run

    def run_once(self, name, words, more=None):
        environment = {fields(k): fields(v) for k, v in self.environment.items()}
        environment.update(more or {})
        outcome = Outcome([fields(w) if isinstance(w, str) else w for w in words], environment)
        if SHOW:
            print(name, outcome, flush=True)
        self.judge(name, outcome)
        return outcome

    def judge(self, name, o):
        lines = o.err.splitlines()
        self.assertFalse(o.hangs, 'it hangs: %s' % o)
        self.assertIn(o.status, (0, 1, 125, 126, 127) if name == 'run' else (0, 1, 2), o)
        for text in (o.out, o.err):
            self.assertNotRegex(text, '[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]', o)
        if o.status == 0:
            return
        if name not in PRINTS or o.status == 2:
            self.assertEqual(o.out, '', o)
        self.assertTrue(lines or o.out, o)
        if name not in ('config', 'survey'):  # a line for each fault, or each file
            self.assertLessEqual(len(lines), 2, o)
        for line in lines:
            self.judge_line(name, line, o)

    def judge_line(self, name, line, o):
        full = name if name == 'dodo' or len(self.programs_of[name]) == 1 else 'dodo ' + name
        if re.match(r'(\d{4}-[0-9T:.-]+Z \w+ (%s|dodo)|dodo error): ' % full, line):
            return  # of a log
        self.assertRegex(line, '^%s: ' % full, o)
        self.assertLess(len(line), 1000, o)
        if name != 'hello':  # it has the library's words alone
            self.assertRegex(line, REMEDY, o)

    # ---- configuration files

    def read_by(self, rng, conf):
        """A program that reads the file, and ends at once: its name, words and variables."""
        user = ['--user', 'absent-user']
        name, words = rng.choice([
            ('cmd', [CMD, '--listen', '127.0.0.1:0', *user]),
            ('imd', [IMD, '--listen', '127.0.0.1:0', '--manager', '127.0.0.1:9', '--pool', '1M', *user]),
            ('rmd', [*self.programs_of['rmd'], '--check']),
            ('ping', [DODO, 'ping', '--timeout=1ms', '127.0.0.1:9']),
            ('check', [DODO, 'check', '--timeout=1ms', '--manager=127.0.0.1:9']),
            ('hello', [*self.programs_of['hello'], '/dev/null'])])  # no file for a region: it asks nobody
        if name == 'hello' or rng.random() < 0.3:
            return name, words, {b'DODO_CONFIG': conf}
        return name, words + [b'--config', conf], {}

    def try_conf(self, rng):
        """What is at fault by `dodo config` is so for all parts, in the same words, and nothing else is."""
        conf = ConfFiles(rng, self.keys).make(self.work)
        listed = self.run_once('config', [DODO, 'config', '--config', conf] + (['--json'] if rng.random() < 0.2 else []))
        name, words, more = self.read_by(rng, conf)
        read = self.run_once(name, words, more)
        if rng.random() < 0.2:
            self.assertEqual(self.run_once(name, words, more).without_times(), read.without_times())
        said = '%s%s' % (listed, read)
        at = r'^(%s|\.\.\.z+)(\.d(/[^:]+\.conf)?)?(:\d+)?: ' % re.escape(plain(conf))  # the end of a long name
        faults = [line[len('dodo config: '):] for line in listed.err.splitlines()]
        last = read.last_line().replace('mopen: ', '', 1)
        if name == 'check':
            last = re.sub(r'^config +\w+ +', '', read.out.splitlines()[0])
        for fault in faults:
            self.assertRegex(fault, at, said)
        self.tally[name, bool(faults)] = self.tally.get((name, bool(faults)), 0) + 1
        if name != 'rmd' and faults and faults[0].endswith(POPULATE):
            self.assertNotEqual(last, faults[0], said)  # rmd alone refuses it
        elif name in ('rmd', 'cmd') and re.search(r':\d+: (recruit_when|reclaim_when|lease): ', last):
            self.assertEqual(read.status, 1, said)  # dodo config does not try those
        elif faults:
            self.assertEqual((read.status, last), (1, faults[0]), said)
        else:
            self.assertNotRegex(last, at, said)
            self.assertLess(read.status, 2, said)

    # ---- variables

    def try_environment(self, rng):
        good = [fields(v) for v in ('127.0.0.1:9', 'yes', 'udp', 'lo', 'debug', '1ms', '100', '64M', 'text')]
        more = {b'DODO_CONFIG': b'good.conf'}
        for variable in rng.sample(VARIABLES, rng.choice((1, 1, 2, 3))):
            more[variable] = rng.choice(good if rng.random() < 0.4 else ODD)
        self.run_once('config', [DODO, 'config'], more)
        name, words, conf = self.read_by(rng, b'good.conf')
        self.run_once(name, words, {**conf, **more})

    # ---- command lines

    def random_words(self, rng, name):
        if name == 'hello':
            return rng.choice([['text'], ['good.conf']])
        if name not in self.helps:
            self.helps[name] = self.output_of([*self.programs_of[name], '--help'])
        return CommandLines(rng, self.helps[name], TOO_MUCH.get(name, []), OPERANDS.get(name, ())).make()

    def try_command_line(self, rng):
        name = rng.choice(sorted(self.programs_of))
        words = [*self.programs_of[name], *FIRST_WORDS.get(name, []), *self.random_words(rng, name)]
        more = {b'DODO_CONFIG': b'good.conf'}
        first = self.run_once(name, words, more)
        if rng.random() < 0.1 and name != 'keygen':  # its file is there now
            self.assertEqual(self.run_once(name, words, more).without_times(), first.without_times())

    def try_dodo(self, rng):
        self.run_once('dodo', [DODO, rng.choice(ODD + [b'--versio', b'-x', b'statu', b'help']), *rng.sample(ODD, 2)])

    # ---- all of them

    def try_case(self, number):
        """In an empty directory of its own, which is the current one."""
        directory = os.path.join(self.work, 'case')
        os.mkdir(directory)
        os.chdir(directory)
        self.write('good.conf', GOOD_CONF)
        self.write('text', 'some text\n')
        rng = random.Random('%s/%d' % (SEED, number))
        way = rng.choices([self.try_conf, self.try_command_line, self.try_environment, self.try_dodo], [45, 45, 9, 1])[0]
        work, self.work = self.work, directory
        try:
            way(rng)
        finally:
            self.work = work
            os.chdir(work)
            shutil.rmtree(fields(directory))

    def test_random_cases(self):
        for number in range(FIRST, LAST + 1):
            with self.subTest(again='EDGES_SEED=%s EDGES_CASES=%d..%d' % (SEED, number, number)):
                self.try_case(number)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        print('seed %s, cases %d to %d: %d programs, %.1f s of processor time; (program, faults): files read %s' %
              (SEED, FIRST, LAST, len(self.programs_of), spent.ru_utime + spent.ru_stime, self.tally))

    # ---- SIGHUP

    def reload(self, daemon, count):
        """The line of its log that says what came of it, the @count-th of its kind."""
        daemon.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and daemon.process.poll() is None:
            told = re.findall(r' ((?:not_)?reloaded [^\n]*)\n', daemon.said())
            if len(told) == count:
                return told[-1]
            select.select([], [], [], 0.01)
        raise AssertionError('it does not reload: %s' % daemon.said()[-2000:])

    def try_reloads(self, name, *command):
        conf = ConfFiles(random.Random('%s/%s' % (SEED, name)), self.keys)
        path = os.path.join(self.work, 'c.conf')
        self.write(path, '')
        daemon = self.start(*command, '--config', path, '--log-level', 'info')
        daemon.says(r'ready: (listen=\S+)')
        for count in range(1, (LAST - FIRST) // 10 + 2):
            subprocess.run(['rm', '-rf', path, path + '.d'], check=True)
            conf.put_all(fields(path))
            listed = self.run_once('config', [DODO, 'config', '--config', path])
            told = self.reload(daemon, count)
            with self.subTest(daemon=name, reload=count, seed=SEED):
                faults = [line[len('dodo config: '):] for line in listed.err.splitlines()]
                if (name == 'imd' and 'Permission denied' in told) or re.search(r':\d+: lease: ', told):
                    pass  # imd is confined, and may not read /dev any more; dodo config does not try a lease
                elif faults and faults[0].endswith(POPULATE):
                    self.assertIn(told.split()[0], ('reloaded', 'not_reloaded'))
                elif faults:
                    self.assertEqual(told, 'not_reloaded error="%s"' % re.sub(r'(["\\])', r'\\\1', faults[0]))
                else:
                    self.assertNotIn(path, told)
        self.assertEqual(daemon.end(), 0, daemon.said())

    def test_reloads_of_cmd(self):
        """A wrong file is refused, and the daemon goes on."""
        self.try_reloads('cmd', CMD, '--listen', '127.0.0.1:0')

    def test_reloads_of_imd(self):
        self.try_reloads('imd', IMD, '--listen', '127.0.0.1:0', '--manager', '127.0.0.1:9', '--pool', '1M')

    def test_standard_descriptors(self):
        """What a daemon opens is at none of them, though it has been started without. Only root may look."""
        joins = ['--manager', '127.0.0.1:9', '--pool', '1M']
        starts = {'cmd': [], 'imd': joins, 'rmd': joins}
        self.write(self.config, '[rmd]\ninput = none\nowner_socket = owner\n')
        for name, words in starts.items():
            daemon = self.start('/bin/sh', '-c', 'exec "$@" <&- 2>&-', 'sh', *self.programs_of[name], '--listen',
                                '127.0.0.1:0', *words)
            daemon.says('(%s) ready: ' % name)
            if os.geteuid() == 0:
                for fd in (0, 2):
                    self.assertEqual(os.readlink('/proc/%d/fd/%d' % (daemon.process.pid, fd)), '/dev/null', name)
            self.assertEqual(daemon.end(), 0)

    def test_log_is_as_long_as_a_file_may_be(self):
        """A daemon works on without."""
        joins = ['--manager', '127.0.0.1:9', '--pool', '1M']
        starts = {'cmd': [], 'imd': joins, 'rmd': joins}
        self.write(self.config, '[rmd]\ninput = none\nowner_socket = owner\n')
        self.write(os.path.join(self.work, 'log'), 'x' * 512)
        for name, words in starts.items():
            daemon = self.start('/bin/sh', '-c', 'ulimit -f 1 && exec "$@" 2>>log', 'sh', *self.programs_of[name],
                                '--listen', '127.0.0.1:0', '--log-level', 'debug', *words)
            daemon.says('(%s) ready: ' % name)
            self.assertEqual(daemon.end(), 0, name)

    def test_output_is_lost(self):
        """Nobody takes a short answer for a whole one."""
        rmd, = self.programs_of['rmd']
        for words in (['config'], ['config', '--json'], ['check'], ['keygen'], ['--help'], ['ping', '--help'], ['--version']):
            self.lose_output([DODO, *words])
        for command, status in (('mount', 1), ('run', 125)):
            if command in self.programs_of:
                self.lose_output([DODO, command, '--help'], status)
        for program in (CMD, IMD, rmd):
            self.lose_output([program, '--help'])
            self.lose_output([program, '--version'])
        for option in ('--check', '--explain'):
            self.lose_output([rmd, '--config', '/dev/null', option])

    def test_descriptors_are_used_up(self):
        """It says which limit to raise."""
        conf = os.path.join(self.work, 'conf')
        with open(conf, 'w', encoding='utf-8') as file:
            file.write('[rmd]\nbus = none\ninput = none\nutmp = none\n')
        for limit in range(4, 12):
            words = ['sh', '-c', 'ulimit -n %d && exec "$@"' % limit, 'sh', *self.programs_of['rmd'],
                     '--config', conf, '--survey', 'survey']
            # A sanitizer's search for leaks needs some, too.
            options = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
            o = Outcome([word.encode() for word in words], {**self.environment, 'ASAN_OPTIONS': options})
            self.assertEqual(o.status, 1, o)
            self.assertIn('it may have only %d files open, and needs 64: raise ulimit -n' % limit, o.last_line(), o)

    def lose_output(self, words, status=1):
        with open('/dev/full', 'wb') as full:
            run = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                                 env=self.environment, timeout=PATIENCE, check=False)
        said = run.stderr.decode()
        self.assertEqual(run.returncode, status, (words, said))
        said = re.sub(r'^.* not_all_confined .*\n', '', said) # with sanitizers
        self.assertRegex(said, r'^\w+( \w+)?: cannot write to the standard output: .*\n$', words)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
