#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_metrics.py CMD IMD DODO [RMD]: what real daemons show to a scraper, and what scrapers can do to them."""
import http.client
import json
import os
import random
import resource
import select
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import CMD, DODO, PATIENCE, Case
from openmetrics import parse

RMD = sys.argv[4] if len(sys.argv) > 4 else None
SEED = int(os.environ.get('SEED', '1'))
CONNECTIONS_MAX = 16  # METRICS_CONNECTIONS_MAX
# A host that always lends.
LENDS = '''[rmd]
dedicated = yes
load_below = 100000
idle_after = 1ms
poll = 50ms
utmp = none
input = none
bus = none
imd_port = 0
idle_priority = no
'''


def ask(at, method='GET', path='/metrics', headers=None, body=None):
    """Status, headers, text."""
    connection = http.client.HTTPConnection(*at, timeout=PATIENCE)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        headers = {name: ', '.join(answer.headers.get_all(name)) for name in answer.headers}
        return answer.status, headers, answer.read().decode()
    finally:
        connection.close()


def scrape(at):
    status, headers, text = ask(at)
    if status != 200 or headers['Content-Type'] != 'application/openmetrics-text; version=1.0.0; charset=utf-8':
        raise AssertionError('%s %s' % (status, headers))
    return parse(text)


def sent(at, request):
    """What comes back for these bytes, until the end of the connection."""
    with socket.create_connection(at, PATIENCE) as s:
        answer = b''
        try:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            while True:
                more = s.recv(65536)
                if not more:
                    return answer
                answer += more
        except ConnectionError:  # it has closed before it read all
            return answer


def sleeps(pid):
    """How often its main thread has fallen asleep."""
    with open('/proc/%d/status' % pid, encoding='utf-8') as f:
        return int(f.read().split('\nvoluntary_ctxt_switches:')[1].split()[0])


class Metrics(Case):
    def start_cmd_at(self, metrics='127.0.0.1:0'):
        return self.start_cmd('--metrics', metrics)

    def start_imd_at(self, metrics='127.0.0.1:0'):
        return self.start_imd('--metrics', metrics)[0]

    def bench(self, *words):
        patient = os.path.join(self.work, 'patient.conf')
        self.write(patient, '[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n')
        run = subprocess.run([DODO, 'bench', '--manager', self.manager, '--area', '8M', '--region-size', '1M', '--dir',
                              self.work, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
                             env=dict(os.environ, DODO_CONFIG=patient), check=False)
        self.assertEqual(run.returncode, 0, run.stdout.decode())
        return run.stdout.decode()

    def cluster(self):
        cmd = self.start_cmd_at()
        imd = self.start_imd_at()
        return cmd, imd

    # ---- what they show --------------------------------------------------------------------------------------------

    def test_counters_move_when_the_daemons_work(self):
        cmd, imd = (d.metrics() for d in self.cluster())
        before = [scrape(cmd), scrape(imd)]
        self.assertEqual(before[0]['dodo_cmd_hosts', 'state="idle"'], 1)
        self.assertEqual(before[0]['dodo_cmd_pool_bytes', None], 16 << 20)
        self.assertEqual(before[1]['dodo_imd_joined', None], 1)
        self.assertEqual(before[1]['dodo_imd_free_bytes', None], 16 << 20)
        for name in ('reads', 'read_bytes', 'writes', 'fills', 'fill_bytes'):
            self.assertEqual(before[1]['dodo_imd_%s_total' % name, None], 0)
        self.bench('--read', '--write', '--seconds', '100ms', '--size', '8K')
        after = [scrape(cmd), scrape(imd)]
        self.assertEqual(after[0]['dodo_cmd_opens_total', None], 8)
        self.assertEqual(after[0]['dodo_cmd_closes_total', None], 8)
        self.assertEqual(after[0]['dodo_cmd_regions', None], 0)
        for name in ('reads', 'writes', 'fills', 'messages_sent'):
            self.assertGreater(after[1]['dodo_imd_%s_total' % name, None], before[1]['dodo_imd_%s_total' % name, None])
        self.assertGreaterEqual(after[1]['dodo_imd_fill_bytes_total', None], 8 << 20)
        self.assertGreater(after[1]['dodo_imd_read_bytes_total', None], after[1]['dodo_imd_reads_total', None])
        for b, a in zip(before, after):
            self.assertEqual(list(a), list(b))
            for name, value in b.items():
                if name[0].endswith('_total'):
                    self.assertGreaterEqual(a[name], value)
            uptime = [n for n in b if n[0].endswith('_uptime_seconds')][0]
            self.assertGreater(a[uptime], b[uptime])

    def test_refused_datagrams_count(self):
        cmd = self.start_cmd_at()
        host, port = self.manager.split(':')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for _ in range(5):
                s.sendto(b'no message of ours', (host, int(port)))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if scrape(cmd.metrics())['dodo_cmd_datagrams_refused_total', 'reason="malformed"'] == 5:
                return
        self.fail('they are not counted')

    def test_a_host_that_goes(self):
        cmd, imd = self.cluster()
        self.assertEqual(imd.end(), 0)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            now = scrape(cmd.metrics())
            if now['dodo_cmd_pool_bytes', None] == 0 and now['dodo_cmd_hosts', 'state="idle"'] == 0:
                return
        self.fail('the manager still counts on it')

    @unittest.skipUnless(RMD, 'rmd was not built')
    def test_the_monitor(self):
        self.start_cmd_at()
        self.write(self.config, LENDS)
        rmd = self.start(RMD, '--manager', self.manager, '--listen', '127.0.0.1:0', '--pool', '64M', '--metrics',
                         '127.0.0.1:0')
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            now = scrape(rmd.metrics())
            if now['dodo_rmd_state', 'dodo_rmd_state="lending"'] and now['dodo_rmd_manager_answers', None]:
                break
        else:
            self.fail(rmd.said())
        self.assertGreaterEqual(now['dodo_rmd_lendings_total', None], 1)
        self.assertGreater(now['dodo_rmd_lendable_bytes', None], 0)
        self.assertEqual(rmd.end(), 0)

    def test_head_and_others(self):
        at = self.start_cmd_at().metrics()
        text = ask(at)[2]
        status, headers, body = ask(at, 'HEAD')
        self.assertEqual((status, body), (200, ''))
        self.assertAlmostEqual(int(headers['Content-Length']), len(text), delta=20)
        self.assertTrue(sent(at, b'HEAD /metrics HTTP/1.1\r\n\r\n').endswith(b'\r\n\r\n'))
        self.assertEqual(ask(at, path='/metrics?a=b')[0], 200)
        for path in ('/none', '/metrics/', '/metric', '/metrics%20', '//metrics', '/../metrics'):
            self.assertEqual(ask(at, path=path)[0], 404, path)
        for target in (b'/metrics', b'host.example:443'):  # no tunnel: it ends before one that came earlier and says nothing
            with socket.create_connection(at, PATIENCE) as silent, socket.create_connection(at, PATIENCE) as s:
                s.sendall(b'CONNECT %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % target)
                with s.makefile('rb') as answer:
                    self.assertIn(b' 405 Method Not Allowed', answer.read())
                self.assertEqual(select.select([silent], [], [], 0)[0], [])
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'):
            status, headers, _ = ask(at, method)
            self.assertEqual((status, headers['Allow']), (405, 'GET, HEAD'), method)
        self.assertEqual(ask(at, 'BREW')[0], 501)
        self.assertEqual(ask(at, body='x' * 2000, headers={'Content-Length': '2000'})[0], 413)
        self.assertEqual(ask(at, headers={'X-Long': 'x' * 5000})[0], 400)

    def test_ip6(self):
        try:
            with socket.socket(socket.AF_INET6) as s:
                s.bind(('::1', 0))
        except OSError:
            self.skipTest('no IPv6 here')
        at = self.start_cmd_at('[::1]:0').metrics()
        self.assertEqual(at[0], '::1')
        self.assertEqual(scrape(at)['dodo_cmd_clients', None], 0)

    # ---- who may ask -----------------------------------------------------------------------------------------------

    def test_a_token(self):
        token, path = 'Aa0-._~+/=' * 4, os.path.join(self.work, 'token')
        self.write(path, '# for the scraper\n%s\n' % token)
        self.write(self.config, '[cmd]\nmetrics_token_file = %s\n' % path)
        at = self.start_cmd_at().metrics()
        for said in ({}, {'Authorization': 'Bearer '}, {'Authorization': 'Bearer ' + token[:-1]},
                     {'Authorization': 'Bearer %sx' % token}, {'Authorization': 'Digest ' + token},
                     {'Authorization': token}, {'Authorization': 'Bearer ' + 'x' * 1000}):
            for path in ('/metrics', '/other'):
                status, headers, text = ask(at, path=path, headers=said)
                self.assertEqual((status, headers['WWW-Authenticate'], text),
                                 (401, 'Bearer, Basic realm="dodo: the token is the password"', 'Unauthorized\n'), said)
        self.assertEqual(ask(at, headers={'Authorization': 'Bearer ' + token})[0], 200)
        self.assertEqual(ask(at, headers={'Authorization': 'bearer ' + token})[0], 200)

    def refuses(self, text, metrics='127.0.0.1:0', config=''):
        self.write(self.config, config)
        cmd = self.start(CMD, '--listen', '127.0.0.1:0', '--metrics', metrics)
        self.assertEqual(cmd.process.wait(PATIENCE), 1)
        self.assertIn(text, cmd.said())

    def test_it_does_not_start(self):
        path = os.path.join(self.work, 'token')
        asks = '[cmd]\nmetrics_token_file = %s\n' % path
        self.refuses('set metrics_token_file in dodo.conf, or give a loopback address', '0.0.0.0:0')
        self.refuses('set metrics_token_file in dodo.conf, or give a loopback address', '[::]:0')
        self.refuses('token: No such file', config=asks)
        for token in ('', 'short\n', 'x' * 257 + '\n', 'sixteen characters with blanks\n', 'a' * 20 + '\n' + 'b' * 20):
            self.write(path, token)
            self.refuses('make one with: openssl rand -hex 32', config=asks)
        self.write(path, 'a' * 20, 0o604)
        self.refuses('readable by others; run chmod o-rwx', config=asks)

    def test_a_malformed_address(self):
        cmd = self.start(CMD, '--listen', '127.0.0.1:0', '--metrics', '127.0.0.1:port')
        self.assertEqual(cmd.process.wait(PATIENCE), 2)
        self.assertIn('--metrics', cmd.said())

    def test_any_address_with_a_token(self):
        path = os.path.join(self.work, 'token')
        self.write(path, 'a' * 20)
        self.write(self.config, '[cmd]\nmetrics_token_file = %s\n' % path)
        _, port = self.start_cmd_at('0.0.0.0:0').metrics()
        self.assertEqual(ask(('127.0.0.1', port))[0], 401)

    # ---- an address that cannot be bound ---------------------------------------------------------------------------

    def taken_port(self):
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        return '127.0.0.1:%d' % taken.getsockname()[1]

    def test_a_taken_port_costs_only_the_metrics(self):
        taken = self.taken_port()
        warning = r'warn \w+: (no_metrics) address=%s error="Address already in use" fix="choose another port, or 0 for any' % taken
        daemons = [self.start_cmd_at(taken), self.start_imd_at(taken)]
        for daemon in daemons:
            daemon.says(warning)
        self.bench('--read', '--seconds', '100ms')
        self.assertEqual([d.end() for d in daemons], [0, 0])

    @unittest.skipUnless(RMD, 'rmd was not built')
    def test_a_host_lends_without_metrics(self):
        taken = self.taken_port()
        self.start_cmd_at()
        self.write(self.config, LENDS + '[imd]\nmetrics = %s\n' % taken)
        rmd = self.start(RMD, '--manager', self.manager, '--listen', '127.0.0.1:0', '--pool', '64M', '--metrics', taken)
        rmd.says(r'warn rmd: (no_metrics)')
        rmd.says(r'warn imd: (no_metrics)')
        rmd.says(r'imd: (joined)')
        self.bench('--read', '--seconds', '100ms')
        self.assertEqual(rmd.end(), 0)

    def test_an_address_of_no_interface(self):
        path = os.path.join(self.work, 'token')
        self.write(path, 'a' * 20)
        self.write(self.config, '[cmd]\nmetrics_token_file = %s\n' % path)
        self.start_cmd_at('192.0.2.1:7710').says(
            r'(no_metrics) address=192.0.2.1:7710 error="[^"]+" fix="give an address of this host')

    # ---- what a scraper can do -------------------------------------------------------------------------------------

    def test_stalled_scrapers_hold_nobody_up(self):
        """More connections than there may be, which ask for nothing, for half, or read no answer."""
        _, imd = self.cluster()
        at = imd.metrics()
        asks = [b'', b'GET /met', b'GET /metrics HTTP/1.1\r\nHost: x\r\n', b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' * 50,
                b'POST /metrics HTTP/1.1\r\nContent-Length: 1000\r\n\r\nx']
        stalled = []
        for i in range(100):
            s = socket.socket()
            self.addCleanup(s.close)
            s.setblocking(False)
            s.connect_ex(at)
            stalled.append(s)
            if select.select([], [s], [], 0)[1]:
                s.send(asks[i % len(asks)])
        told = self.bench('--read', '--seconds', '500ms', '--json')
        run = json.loads(told)['runs'][0]
        self.assertEqual((run['remote_share'], run['wrong_bytes']), (1, 0))
        self.assertGreater(run['calls'], 10)
        ping = subprocess.run([DODO, 'ping', '--count', '3', '--manager', self.manager], stdout=subprocess.PIPE, check=False)
        self.assertEqual(ping.returncode, 0)
        taken = len(os.listdir('/proc/%d/fd' % imd.process.pid))
        self.assertLess(taken, 16 + CONNECTIONS_MAX + 8)
        # None of them lives for long: who comes behind them gets an answer.
        self.assertGreater(scrape(at)['dodo_imd_reads_total', None], 0)
        for s in stalled:
            s.close()
        scrape(at)
        self.assertEqual(imd.end(), 0)

    def test_a_scraper_that_finds_no_descriptor_free(self):
        """He waits, and the daemon sleeps meanwhile."""
        cmd = self.start_cmd_at()
        imd = self.start_imd_at()
        for daemon in cmd, imd:
            at, pid = daemon.metrics(), daemon.process.pid
            usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, usual[1]))
            with socket.create_connection(at, PATIENCE) as s:
                begun = sleeps(pid)
                while sleeps(pid) < begun + 5:
                    self.assertIsNone(daemon.process.poll(), daemon.said())
                    select.select([], [], [], 0.02)
                resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
                s.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
                self.assertEqual(b'HTTP/1.0 200', s.recv(12, socket.MSG_WAITALL))
            scrape(at)

    def test_a_hundred_scrapes_one_after_the_other(self):
        at = self.start_cmd_at().metrics()
        pid, fds = self.programs[0].process.pid, []
        for _ in range(100):
            scrape(at)
            fds.append(len(os.listdir('/proc/%d/fd' % pid)))
        self.assertLessEqual(max(fds) - min(fds), CONNECTIONS_MAX)

    def test_a_request_without_end(self):
        """It is never silent, and never too long."""
        cmd = self.start_cmd_at()
        at = cmd.metrics()
        deadline = time.monotonic() + PATIENCE
        with socket.create_connection(at, PATIENCE) as s:
            s.sendall(b'GET /metrics HTTP/1.1\r\nX: ')
            try:
                while not select.select([s], [], [], 0.2)[0] or s.recv(4096):
                    self.assertLess(time.monotonic(), deadline)
                    s.sendall(b'x')
            except ConnectionError:
                pass
        with socket.create_connection(at, PATIENCE) as s:
            s.sendall(b'GET /metrics HTTP/1.1\r\nX: ')
            scrape(at)
            self.assertEqual(cmd.end(), 0)  # with that under way

    def test_bad_requests(self):
        """Random bytes, and requests with bytes changed: 4xx, 501, or the end of the connection."""
        rng = random.Random(SEED)
        _, imd = self.cluster()
        at = imd.metrics()
        good = b'GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc'
        seen = {}
        for i in range(300):
            if i % 2:
                request = rng.randbytes(rng.randrange(1, 6000))
            else:
                request = bytearray(good)
                for _ in range(rng.randrange(1, 6)):
                    at_byte = rng.randrange(len(request))
                    if rng.random() < 0.3:
                        del request[at_byte:at_byte + rng.randrange(1, 9)]
                        request = request or bytearray(b'\n')
                    else:
                        request[at_byte] = rng.randrange(256)
                request = bytes(request)
            answer = sent(at, request)
            status = answer[:12].decode('latin-1')[9:] if answer.startswith(b'HTTP/1.') else 'end'
            seen[status] = seen.get(status, 0) + 1
            if answer and status not in ('200', '400', '401', '404', '405', '413', '417', '501'):
                self.fail('seed %d, request %d: %r got %r' % (SEED, i, request, answer[:200]))
        self.assertGreater(seen.get('400', 0), 20)
        scrape(at)
        self.assertEqual(imd.end(), 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
