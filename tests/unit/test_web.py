#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_web.py CMD IMD DODO: what the manager serves to a browser: which pages, to whom, with which headers."""
import base64
import http.client
import json
import os
import re
import select
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import PATIENCE, Case

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../cmd/web')
PAGES = {'/': ('text/html; charset=utf-8', 'index.html'), '/app.css': ('text/css; charset=utf-8', 'app.css'),
         '/app.js': ('text/javascript; charset=utf-8', 'app.js'), '/model.js': ('text/javascript; charset=utf-8', 'model.js'),
         '/icon.svg': ('image/svg+xml', 'icon.svg'), '/status': ('application/json', None), '/events': ('application/json', None)}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
COMMON = {'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer',
          'Cache-Control': 'no-store', 'Cross-Origin-Resource-Policy': 'same-origin', 'X-Frame-Options': 'DENY',
          'Connection': 'close'}


def read(name):
    with open(os.path.join(FILES, name), encoding='utf-8') as f:
        return f.read()


def ask(at, path, method='GET', headers=None):
    """Status, headers, bytes."""
    connection = http.client.HTTPConnection(*at, timeout=PATIENCE)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def basic(user, password):
    return {'Authorization': 'Basic ' + base64.b64encode(('%s:%s' % (user, password)).encode()).decode()}


class Web(Case):
    def start_web(self, metrics='127.0.0.1:0', config=''):
        """Where its pages are."""
        self.write(self.config, config)
        host, port = self.start_cmd('--metrics', metrics).metrics()
        return host.replace('0.0.0.0', '127.0.0.1'), port

    def with_token(self, token, metrics='127.0.0.1:0'):
        path = os.path.join(self.work, 'token')
        self.write(path, token)
        return self.start_web(metrics, '[cmd]\nmetrics_token_file = %s\n' % path)

    # ---- pages -------------------------------------------------------------------------------------------------------

    def test_pages(self):
        at = self.start_web()
        for path, (kind, name) in PAGES.items():
            status, headers, body = ask(at, path)
            self.assertEqual((status, headers['Content-Type']), (200, kind), path)
            self.assertEqual(int(headers['Content-Length']), len(body))
            self.assertEqual({k: headers.get(k) for k in COMMON}, COMMON, path)
            if name:
                self.assertEqual(body.decode(), read(name))
            else:
                json.loads(body)
            status, headers, body = ask(at, path, 'HEAD')
            self.assertEqual((status, headers['Content-Type'], body), (200, kind, b''), path)

    def test_what_is_no_page(self):
        at = self.start_web()
        for path in ('/index.html', '/app.css/', '/status/', '//', '/web/app.js', '/../etc/passwd', '/%2e%2e/x', '/Status'):
            status, headers, _ = ask(at, path)
            self.assertEqual(status, 404, path)
            self.assertEqual({k: headers.get(k) for k in COMMON}, COMMON, path)
        for path in PAGES:
            for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'):
                status, headers, _ = ask(at, path, method)
                self.assertEqual((status, headers['Allow']), (405, 'GET, HEAD'), path + method)

    def test_queries(self):
        at = self.start_web()
        for path in ('/status', '/events'):
            for query in ('?since=0', '?since=18446744073709551615'):
                self.assertEqual(ask(at, path + query)[0], 200, query)
            for query in ('?', '?since=', '?since=-1', '?since=x', '?since=1&since=2', '?other=1', '?since=18446744073709551616',
                          '?since=%31'):
                self.assertEqual(ask(at, path + query)[0], 400, query)
        self.assertEqual(ask(at, '/?a=b')[0], 200)

    def test_what_it_says(self):
        at = self.start_web()
        _, host = self.start_imd()
        status = json.loads(ask(at, '/status')[2])
        self.assertEqual([(h['address'], h['state'], h['pool_bytes']) for h in status['hosts']], [(host, 'idle', 16 << 20)])
        self.assertEqual((status['cluster']['idle'], status['clients'], status['next']), (1, [], '0'))
        events = json.loads(ask(at, '/events')[2])
        self.assertEqual([(e['number'], e['kind'], e['address']) for e in events['events']],
                         [(1, 'manager_started', ''), (2, 'host_joined', host)])
        self.assertEqual((events['last'], events['instance']), (2, status['instance']))
        self.assertEqual([e['number'] for e in json.loads(ask(at, '/events?since=1')[2])['events']], [2])

    def test_what_hosts_have_served(self):
        """It comes with their reports."""
        at = self.start_web(config='[imd]\nbeat = 50ms\n')
        self.start_imd()
        status, out, err = self.run_dodo('bench', '--manager', self.manager, '--area', '4M', '--dir', self.work, '--read',
                                         '--write', '--size', '8K', '--seconds', '50ms')
        self.assertEqual(status, 0, out + err)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            host = json.loads(ask(at, '/status')[2])['hosts'][0]
            if host['write_bytes'] and host['reads'] > host['reads_unfilled'] > 0 and host['fill_bytes'] >= 4 << 20:
                break
            select.select([], [], [], 0.02)
        else:
            self.fail(host)
        self.assertGreater(host['read_bytes'], host['reads'])

    def test_only_the_manager_has_pages(self):
        self.start_web()
        at = self.start_imd('--metrics', '127.0.0.1:0')[0].metrics()
        for path in PAGES:
            self.assertEqual(ask(at, path)[0], 404, path)
        self.assertEqual(ask(at, '/metrics')[0], 200)

    # ---- who may -----------------------------------------------------------------------------------------------------

    def test_names_of_others(self):
        """A page elsewhere whose name leads here reads nothing; the token is as good as a name."""
        at = self.start_web()
        for host in ('127.0.0.1:%d' % at[1], 'localhost:%d' % at[1], '[::1]:1'):
            self.assertEqual(ask(at, '/status', headers={'Host': host})[0], 200, host)
        for path in PAGES:
            self.assertEqual(ask(at, path, headers={'Host': 'rebound.example:%d' % at[1]})[0], 403, path)
        self.assertEqual(ask(at, '/metrics', headers={'Host': 'rebound.example'})[0], 200)  # as before: no address is there
        at = self.with_token('a' * 20)
        self.assertEqual(ask(at, '/status', headers={'Host': 'dodo.example', **basic('x', 'a' * 20)})[0], 200)

    def test_a_token(self):
        token = 'Aa0-._~+/=' * 4
        at = self.with_token(token, '0.0.0.0:0')
        for path in [*PAGES, '/metrics', '/none']:
            for headers in ({}, basic('', ''), basic('dodo', token[:-1]), basic('dodo', token + 'x'), basic(token, ''),
                            basic('x' * 2000, token), {'Authorization': 'Basic ' + token}, {'Authorization': 'Basic'}):
                status, got, body = ask(at, path, headers=headers)
                self.assertEqual((status, body), (401, b'Unauthorized\n'), headers)
                self.assertTrue(got['WWW-Authenticate'].startswith('Basic realm='))
            self.assertEqual(ask(at, path + '?token=' + token)[0], 401)
        for path in PAGES:
            for headers in (basic('dodo', token), basic('', token), basic('Jürgen', token), {'Authorization': 'Bearer ' + token}):
                self.assertEqual(ask(at, path, headers=headers)[0], 200, headers)

    # ---- what is in the files ----------------------------------------------------------------------------------------

    def test_nothing_from_elsewhere_and_nothing_inline(self):
        page = read('index.html')
        self.assertNotRegex(page, r'(?i)\son[a-z]+\s*=')
        self.assertNotRegex(page, r'(?i)\sstyle\s*=|<style|javascript:')
        self.assertEqual(re.findall(r'<script[^>]*>([^<]*)</script>', page), [''])
        for link in re.findall(r'(?:href|src)="([^"#]+)"', page):
            self.assertIn(link, PAGES)
        for name in ('index.html', 'app.css', 'app.js', 'model.js'):
            self.assertNotRegex(read(name), r'https?://|innerHTML|insertAdjacent|document\.write|\beval\b|new Function', name)
        self.assertEqual(set(re.findall(r"from '([^']+)'", read('app.js') + read('model.js'))), {'./model.js'})
        for asked in re.findall(r"ask\('(/[a-z]+)", read('app.js')):
            self.assertIn(asked, PAGES)

    def test_every_id_is_there(self):
        page = read('index.html')
        ids = re.findall(r'id="([^"]+)"', page)
        self.assertEqual(len(ids), len(set(ids)))
        for name in re.findall(r"\$\('([a-z-]+)'\)", read('app.js')):
            self.assertIn(name, ids)
        for name in re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', page):
            self.assertIn(name, ids)

    def test_contrast(self):
        """WCAG AA: 4.5 for text, 3 for what is drawn, in both themes."""
        themes = [dict(re.findall(r'--(\w+): (#[0-9a-f]{6});', block))
                  for block in re.findall(r':root \{(.*?)\}', read('app.css'), re.S)]
        self.assertEqual(len(themes), 2)

        def light(color):
            parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
            return 0.2126 * r + 0.7152 * g + 0.0722 * b

        def contrast(a, b):
            low, high = sorted((light(a), light(b)))
            return (high + 0.05) / (low + 0.05)
        for theme in themes:
            for back in ('back', 'panel', 'hover'):
                for text in ('text', 'soft', 'idle', 'busy', 'silent', 'leaving'):
                    self.assertGreaterEqual(contrast(theme[text], theme[back]), 4.5, '%s on %s' % (text, back))
            for drawn in ('read', 'write', 'fill', 'focus'):
                self.assertGreaterEqual(contrast(theme[drawn], theme['panel']), 3, drawn)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
