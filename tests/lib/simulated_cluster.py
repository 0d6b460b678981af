#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""simulated_cluster.py MANAGER-URL HOSTS: serves the manager's own page, as it does, with made-up hosts and events, to see
what it looks like with many of them. Prints its address."""
import http.server
import json
import math
import sys
import threading
import time
import urllib.request

GIB = 1 << 30
REASONS = ('console in use', 'load is 1.52, limit 0.30', 'memory is short: 412 MiB available of 16 GiB', 'owner rule: no lending by day')
PAGE = 500  # WEB_HOSTS_MAX


class Cluster:
    """What /status and /events say, at any time since the start."""

    def __init__(self, hosts, hostile=False):
        self.hosts, self.start = hosts, time.monotonic() - 7800
        self.hostile = hostile
        self.instance = '00c0ffee00c0ffee'
        self.answers = True
        self.events = []
        self.make_events()

    def seconds(self):
        return time.monotonic() - self.start

    def state(self, i):
        if i % 7 == 2:
            return 'busy'
        if i % 97 == 13:
            return 'silent'
        return 'leaving' if i % 211 == 5 else 'idle'

    def address(self, i, port=7701):
        return '10.0.%d.%d:%d' % (i // 250, i % 250 + 2, port)

    def event(self, ago, kind, address, reason, regions=0):
        self.events.append({'number': len(self.events) + 1, 'at': self.seconds() - ago, 'kind': kind, 'address': address,
                            'id': '%016x' % (len(self.events) + 0xabc), 'regions': regions, 'reason': reason})

    def make_events(self):
        self.event(7800, 'manager_started', '', 'hosts and programs report to it what there is')
        plan = []
        for i in range(min(self.hosts, 120)):
            plan.append((1750 - i % 60, i, 'host_joined', 'it lends its memory', 0))
            if i % 7 == 2:
                plan.append((900 - 7 * (i % 50), i, 'host_left', 'it said good-bye', 12))
                plan.append((899 - 7 * (i % 50), i, 'host_busy', REASONS[i % len(REASONS)], 0))
            if i % 5 == 1:
                plan.append((1500 - 3 * i, i, 'host_left', 'it said good-bye', i))
                plan.append((1499 - 3 * i, i, 'host_busy', REASONS[i % len(REASONS)], 0))
                plan.append((1100 - 3 * i, i, 'host_idle', 'nobody is here', 0))
                plan.append((1098 - 3 * i, i, 'host_joined', 'it lends its memory', 0))
        for ago, i, kind, reason, regions in sorted(plan, reverse=True):
            port = 7702 if kind in ('host_busy', 'host_idle') else 7701
            self.event(ago, kind, self.address(i, port), reason, regions)
        if self.hosts:
            self.event(95, 'host_reported', self.address(0), 'a program says that it returned other bytes than it was given')
            self.event(64, 'stranger', '192.168.7.9:52110', '12 datagrams came that were not made with the key of this cluster')
            self.event(40, 'client_came', '10.0.9.1:41020', 'a program uses the cluster')
            self.event(12, 'client_lost', '', 'it was silent for too long', 3)
        if self.hostile:
            self.event(5, 'host_busy', '10.0.0.4:7702', '<img src=x onerror="document.title=1"><script>document.title=2</script>')

    def host(self, i):
        state = self.state(i)
        if state == 'busy':
            reason = '<b onclick="x">&amp;"\'</b>' if self.hostile else REASONS[i % len(REASONS)]
            return {'address': self.address(i, 7702), 'state': state, 'reason': reason, 'lendable_bytes': i % 3 * GIB}
        pool = (4, 8, 16, 2)[i % 4] * GIB
        used = int(pool * (0.15 + 0.8 * abs(math.sin(i + self.seconds() / 400))))
        speed = 38e6 if i % 3 == 0 and state == 'idle' else 1e4
        read = int(speed * (self.seconds() - 20 * math.cos(i + self.seconds() / 20)))  # from none to twice that
        reads = read // 65536
        return {'address': self.address(i), 'state': state, 'reason': 'nobody is here' if i % 2 else '',
                'epoch': '%016x' % (i + 1), 'pool_bytes': pool, 'free_bytes': pool - used, 'largest_free_bytes': (pool - used) // 2,
                'regions': used >> 26, 'read_bytes': read, 'write_bytes': read // 9, 'fill_bytes': read // 4, 'reads': reads,
                'reads_unfilled': reads // (11 + i % 9), 'set_aside': i == 0 and self.hosts > 3}

    def status(self, since):
        hosts = [self.host(i) for i in range(self.hosts)]
        states = [h['state'] for h in hosts]
        lent = [h for h in hosts if 'pool_bytes' in h]
        part = hosts[since:since + PAGE]
        answer = {'instance': self.instance, 'version': '0.1.0', 'uptime_ms': int(1000 * self.seconds()), 'cluster': {
            'idle': states.count('idle'), 'silent': states.count('silent'), 'leaving': states.count('leaving'),
            'monitors': len(hosts), 'busy': states.count('busy'), 'pool_bytes': sum(h['pool_bytes'] for h in lent),
            'free_bytes': sum(h['free_bytes'] for h in lent), 'regions': sum(h['regions'] for h in lent),
            'retained_regions': 3 * self.hosts, 'clients': min(self.hosts, 40), 'opens': 10000, 'opens_failed': 2 * self.hosts,
            'opens_refused': 0}, 'hosts': part, 'next': str(since + PAGE if since + PAGE < len(hosts) else 0)}
        if since == 0:
            answer['clients'] = [{'id': '%016x' % (77777777777 * (i + 1)), 'regions': 3 + i, 'bytes': (3 + i) << 26,
                                  'heard_ms': 700 * (i % 9)} for i in range(min(self.hosts, 40))]
        return answer

    def since(self, number):
        told = [e for e in self.events if e['number'] > number][:256]
        now = self.seconds()
        return {'instance': self.instance, 'last': len(self.events),
                'events': [{**{k: v for k, v in e.items() if k != 'at'}, 'age_ms': int(1000 * (now - e['at']))} for e in told]}


def serve(manager_url, cluster):
    """A server of the page of that manager; .server_address is where."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path, _, query = self.path.partition('?')
            since = int(query.removeprefix('since=') or 0)
            with urllib.request.urlopen(manager_url + path, timeout=60) as answer:  # its headers count, and its files
                body, headers = answer.read(), answer.headers
            if path == '/status':
                body = json.dumps(cluster.status(since)).encode()
            elif path == '/events':
                body = json.dumps(cluster.since(since)).encode()
            if not cluster.answers:
                self.close_connection = True
                return
            self.send_response(200)
            for name, value in headers.items():
                if name not in ('Content-Length', 'Date'):
                    self.send_header(name, value)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):  # pylint: disable=arguments-differ
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    server = serve(sys.argv[1], Cluster(int(sys.argv[2])))
    print('http://127.0.0.1:%d/' % server.server_address[1], flush=True)
    threading.Event().wait()


if __name__ == '__main__':
    main()
