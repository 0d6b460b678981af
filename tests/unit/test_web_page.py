#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_web_page.py CMD IMD: the manager's page in a browser, with few hosts, with many, and with texts that are none.

With WEB_PICTURES=DIRECTORY it leaves pictures of the page there."""
import os
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
import browser
import simulated_cluster
from daemons import PATIENCE, Case

PICTURES = os.environ.get('WEB_PICTURES')
LOOKS = 'Number(document.documentElement?.dataset.looks || 0)'


class Page(Case):
    @classmethod
    def setUpClass(cls):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
        cls.browser = browser.Browser(browser.find(), PATIENCE)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        super().setUp()
        self.url = self.start_web()
        self.browser.call('Network.setExtraHTTPHeaders', headers={})

    def tearDown(self):
        self.browser.open('about:blank')  # before those that it asks end
        self.browser.until('location.href === "about:blank"')
        self.browser.complaints.clear()

    def start_web(self):
        return self.start_cmd('--metrics', '127.0.0.1:0').says(r'metrics url=(\S+)/metrics')

    def simulate(self, hosts, hostile=False):
        cluster = simulated_cluster.Cluster(hosts, hostile)
        server = simulated_cluster.serve(self.url, cluster)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return cluster, 'http://127.0.0.1:%d/' % server.server_address[1]

    def show(self, url, dark=False, width=1280, height=1150, looks=1):
        b, looks = self.browser, looks if PICTURES else min(looks, 2)  # more of them are only nicer
        b.look_like(dark, width, height)
        b.open(url)
        b.until('%s >= %d' % (LOOKS, looks))
        return b

    def text(self, selector):
        return self.browser.js('document.querySelector("%s").innerText' % selector)

    def picture(self, name):
        if PICTURES:
            self.browser.js('new Promise(requestAnimationFrame)')
            self.browser.picture(os.path.join(PICTURES, name + '.png'))

    def nothing_is_wrong(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual(self.browser.js('document.title'), 'Dodo')

    def rows(self):
        return self.browser.js('[...document.querySelectorAll("#window .row")].filter(r => !r.hidden).map(r => r.innerText)')

    # ---- what it shows -----------------------------------------------------------------------------------------------

    def test_few_hosts(self):
        _, url = self.simulate(3)
        for dark in (False, True):
            self.show(url, dark, looks=6)
            rows = self.rows()
            self.assertEqual(len(rows), 3)
            self.assertRegex(rows[0], r'(?s)^10\.0\.0\.2:7701.*lends.*4\.0 GiB.*GiB.*\d+.*/s.*/s.*/s.*%')
            self.assertRegex(rows[2], r'(?s)^10\.0\.0\.4:7702.*busy.*memory is short: 412 MiB available of 16 GiB')
            self.assertRegex(self.text('#t-lent'), r'^of 12\.0 GiB that hosts lend, .* free$')
            self.assertEqual(self.text('#t-states'), '1 busy, 0 silent, 0 leaving')
            self.assertRegex(self.text('#r-read'), r'^\d.* [KM]iB/s$')
            self.assertIn('12 datagrams came', self.text('#events'))
            self.assertIn('Manager up 2 h 10 min', self.text('#state'))
            strip = self.browser.js('document.querySelector("#host-1 canvas").getAttribute("aria-label")')
            self.assertRegex(strip, r'^lends \d+ %, busy \d+ %, unknown \d+ %$|unknown \d+ %, lends \d+ %')
            self.picture('three-dark' if dark else 'three-light')
        self.nothing_is_wrong()

    def test_many_hosts(self):
        """As many rows are there as are seen; all hosts are found, sorted and reached by keys."""
        _, url = self.simulate(1000)
        b = self.show(url, dark=True, looks=4)
        self.assertEqual(self.text('#shown'), '1,000 in all')
        self.assertLess(b.js('document.querySelectorAll("#window .row").length'), 60)
        self.assertLess(b.js('document.querySelectorAll("*").length'), 3500)
        print('a look at 1,000 hosts takes %s ms to show' % b.js('document.documentElement.dataset.tookMs'))
        self.picture('thousand-dark')
        b.js('document.querySelector("#hosts-grid").focus()')
        b.key('End')
        self.assertEqual(b.js('document.querySelector("#hosts-grid").getAttribute("aria-activedescendant")'), 'host-999')
        self.assertIn('10.0.3.251', b.js('document.querySelector("#host-999").innerText'))
        b.click('.row.top span:nth-child(7) button')
        self.assertEqual(b.js('document.querySelector(".row.top span:nth-child(7)").getAttribute("aria-sort")'), 'descending')
        b.js('document.querySelector("#hosts-grid").scrollTop = 1e6')
        # In one go, before the browser has a chance to scroll back.
        found = b.js('(() => { const f = document.querySelector("#find"); f.value = "10.0.2.7:"; f.dispatchEvent(new '
                     'Event("input")); return [...document.querySelectorAll("#window .row")].filter(r => !r.hidden)'
                     '.map(r => r.innerText); })()')
        self.assertEqual([row.split('\n')[0] for row in found], ['10.0.2.7:7701'])
        self.assertEqual(self.text('#shown'), '1 of 1,000')
        b.js('(() => { const f = document.querySelector("#find"); f.value = ""; f.dispatchEvent(new Event("input")); '
             'const o = document.querySelector("#only"); o.value = "silent"; o.dispatchEvent(new Event("change")); })()')
        self.assertRegex(self.text('#shown'), r'^\d+ of 1,000$')
        self.assertTrue(all('silent' in row for row in self.rows()))
        self.show(url, looks=4)
        self.picture('thousand-light')
        self.nothing_is_wrong()

    def test_why_a_host_does_not_lend(self):
        """By one click, and by keys alone."""
        _, url = self.simulate(3)
        b = self.show(url, looks=2)
        b.click('#host-2')
        self.assertEqual(self.text('#d-why'),
                         'It does not lend, its owner needs it: memory is short: 412 MiB available of 16 GiB.')
        self.assertEqual(self.text('#d-explain'), 'dodo explain 10.0.0.4')
        self.assertIn('it said good-bye (12 regions)', self.text('#d-events'))
        self.assertNotIn('10.0.0.3', self.text('#d-events'))
        self.picture('why-light')
        b.key('Escape')
        self.assertTrue(b.js('document.querySelector("#detail").hidden'))
        self.assertEqual(b.js('document.activeElement.id'), 'hosts-grid')
        for key in ('Home', 'ArrowDown', 'Enter'):
            b.key(key)
        self.assertEqual(self.text('#d-name'), '10.0.0.3:7701')
        self.assertEqual(b.js('document.activeElement.id'), 'detail')
        self.show(url, dark=True, looks=2)
        b.click('#host-0')
        self.picture('why-dark')
        self.nothing_is_wrong()

    def test_keys_reach_all(self):
        """Tab goes through everything that can be used, and on."""
        _, url = self.simulate(3)
        b = self.show(url)
        reached = []
        for _ in range(25):
            b.key('Tab')
            reached.append(b.js('document.activeElement.id || document.activeElement.className || '
                                'document.activeElement.innerText || document.activeElement.tagName'))
        for wanted in ('skip', 'find', 'only', 'hosts-grid', 'Host', 'In use', 'events', 'scroll'):
            self.assertIn(wanted, reached)

    def test_no_data(self):
        _, url = self.simulate(0)
        self.show(url, dark=True)
        self.assertIn('No host lends its memory, and no monitor reports.', self.text('#hosts-none'))
        self.assertEqual(self.text('#clients-none'), 'No program uses the cluster.')
        self.assertEqual(self.text('#t-lent'), 'No host lends memory.')
        self.assertIn('No traffic is known yet', self.text('#chart-none'))
        self.picture('none-dark')
        self.show(url, width=420, height=1500)
        self.picture('none-narrow')
        self.nothing_is_wrong()

    def test_a_narrow_window(self):
        _, url = self.simulate(3)
        b = self.show(url, width=420, height=1900, looks=3)
        self.assertLessEqual(b.js('document.documentElement.scrollWidth'), 420)
        self.assertLessEqual(b.js('document.querySelector("#hosts-grid").scrollWidth'), 420)
        self.picture('three-narrow')

    def test_a_manager_that_goes_and_comes(self):
        cluster, url = self.simulate(3)
        b = self.show(url)
        cluster.answers = False
        b.until('document.querySelector("#state").innerText.startsWith("Stale: the manager does not answer.")')
        self.assertEqual(len(self.rows()), 3)
        self.picture('stale-light')
        cluster.answers, cluster.instance = True, '1111111111111111'
        del cluster.events[1:]
        b.until('document.querySelector("#state").innerText.startsWith("Manager up")')
        b.until('document.querySelectorAll("#events li").length === 1')

    def test_texts_are_no_markup(self):
        """What peers say is shown as they say it."""
        _, url = self.simulate(3, hostile=True)
        b = self.show(url, looks=2)
        self.assertIn('<img src=x onerror="document.title=1"><script>', self.text('#events'))
        self.assertIn('<b onclick="x">&amp;"\'</b>', self.rows()[2])
        b.click('#host-2')
        self.assertEqual(b.js('document.querySelectorAll("main b:not(.legend b), main img, main script").length'), 0)
        self.nothing_is_wrong()

    # ---- what the model makes of answers -----------------------------------------------------------------------------

    def model(self, body):
        """What these statements return, with model.js as m."""
        return self.browser.js('(async () => { const m = await import("/model.js"); %s })()' % body)

    def test_words(self):
        self.show(self.url + '/')
        self.assertEqual(self.model('return [0, 1023, 1024, 1536, 102400, 1048575, 5 * 2 ** 40, 2 ** 63].map(m.bytes)'),
                         ['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '100 KiB', '1024 KiB', '5.0 TiB', '8.0 EiB'])
        self.assertEqual(self.model('return [0, 59999, 60000, 3661000, 90000000].map(m.span)'),
                         ['0 s', '59 s', '1 min', '1 h 1 min', '1 d 1 h'])
        self.assertEqual(self.model('return [null, 0, 0.9994, 1].map(m.share)'), ['–', '0.0 %', '99.9 %', '100 %'])
        self.assertEqual(self.model('return ["10.0.0.2:7701", "10.0.0.2:7702", "[fd00::2]:7701", "127.0.0.1:5", "[::1]:5"]'
                                    '.map(m.hostKey)'), ['10.0.0.2', '10.0.0.2', '[fd00::2]', '127.0.0.1:5', '[::1]:5'])

    def test_rates_are_of_one_start_of_a_host(self):
        self.show(self.url + '/')
        answer = ('const say = (epoch, n) => [{instance: "a", cluster: {}, uptime_ms: 1, version: "", next: "0", hosts: [{address: '
                  '"10.0.0.2:7701", state: "idle", reason: "", epoch, pool_bytes: 9, free_bytes: 4, read_bytes: n, write_bytes: 0, '
                  'fill_bytes: 2 * n, reads: n / 10, reads_unfilled: n / 40}]}]; const w = new m.Model(), seen = []; '
                  'const look = (at, epoch, n) => { w.takeStatus(say(epoch, n), at); const r = w.rows[0].known.rates; '
                  'seen.push(r && [r.read_bytes / r.seconds, w.sum.fill, w.sum.hits]); };')
        looks = 'look(1000, "x", 4000); look(3000, "x", 8000); look(5000, "x", 8000); look(7000, "y", 400); look(9000, "y", 800);'
        self.assertEqual(self.model(answer + looks + 'return seen'),
                         [None, [2000, 4000, 0.75], [1000, 2000, 0.75], None, [200, 400, 0.75]])
        # Over twenty seconds, not over all time.
        self.assertEqual(self.model(answer + 'for (let i = 0; i <= 20; i++) look(i * 2000, "x", Math.min(i, 9) * 8000); '
                                    'return [seen[5][0] > 3000, seen[19][0], seen[20][0]]'), [True, 0, 0])

    def test_a_drain_is_no_owner_that_is_back(self):
        self.show(self.url + '/')
        words, why, states = self.model("""
            const e = {number: 1, age_ms: 60000, kind: "host_busy", address: "10.0.0.2:7701", regions: 2,
                       reason: "drain begins: it gets no new regions"};
            const w = new m.Model(), h = {state: "leaving", draining: true, reason: "it is being drained: 2 regions are left"};
            w.takeEvents({instance: "a", last: 1, events: [e]}, 1e12);
            return [[m.eventWord(e), m.eventWord({kind: "host_busy", reason: "load 2"})],
                    [m.why(h), m.why({state: "leaving", draining: false, reason: ""})],
                    w.hosts.size];""")
        self.assertEqual(words, ['drain', 'owner is back'])
        self.assertIn('out of service', why[0])
        self.assertIn('2 regions are left', why[0])
        self.assertIn('good-bye', why[1])
        self.assertEqual(states, 0)

    def test_strips_know_what_events_tell(self):
        self.show(self.url + '/')
        told = self.model("""
            const w = new m.Model(), now = 1e12, minute = 60000;
            const status = (state) => [{instance: "a", cluster: {}, uptime_ms: 1, version: "", next: "0",
                                        hosts: state ? [{address: "10.0.0.2:7701", state, reason: ""}] : []}];
            w.takeStatus(status("idle"), now);
            const event = (number, ago, kind, port) => ({number, age_ms: ago * minute, kind, address: "10.0.0.2:" + port,
                                                         regions: 0, reason: ""});
            const more = w.takeEvents({instance: "a", last: 9, events: [event(1, 20, "host_joined", 7701),
                event(2, 15, "host_left", 7701), event(3, 15, "host_busy", 7702), event(4, 5, "host_joined", 7701)]}, now);
            const again = w.takeEvents({instance: "a", last: 9, events: []}, now);
            const h = w.hosts.get("10.0.0.2").history.map((x) => [(x.at - now) / minute, x.state]);
            const shares = m.shares(w.hosts.get("10.0.0.2").history, now);
            w.takeStatus(status(null), now + minute);
            const gone = w.hosts.get("10.0.0.2").history.at(-1).state;
            w.takeStatus([{...status("idle")[0], instance: "b"}], now + 2 * minute);
            return [more, again, h, shares, gone, w.events.length, w.hosts.get("10.0.0.2").history.length];""")
        self.assertEqual(told[:2], [True, False])
        self.assertEqual(told[2], [[-20, 'idle'], [-15, 'gone'], [-15, 'busy'], [-5, 'idle']])
        self.assertEqual({k: round(v, 3) for k, v in told[3].items() if v}, {'unknown': 0.333, 'idle': 0.333, 'busy': 0.333})
        self.assertEqual(told[4:], ['gone', 0, 1])

    # ---- as it is ----------------------------------------------------------------------------------------------------

    def test_a_real_cluster(self):
        _, host = self.start_imd()
        b = self.show(self.url + '/', looks=2)
        self.assertEqual(b.js('document.querySelector("#host-0").innerText.split("\\n")[0]'), host)
        self.assertIn('16.0 MiB', self.rows()[0])
        b.until('document.querySelector("#events").innerText.includes("host joined")')
        self.nothing_is_wrong()

    def test_a_token(self):
        token = os.path.join(self.work, 'token')
        self.write(token, 'a' * 20)
        self.write(self.config, '[cmd]\nmetrics_token_file = %s\n' % token)
        url = self.start_web()
        self.browser.password('anybody', 'a' * 20)
        self.show(url + '/')
        self.assertIn('Manager up', self.text('#state'))
        self.nothing_is_wrong()


if __name__ == '__main__':
    if not browser.find():
        print('SKIP: chromium is not installed')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
