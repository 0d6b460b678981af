# SPDX-License-Identifier: MIT
"""Chromium without a window, driven through a pipe. None of it needs more than Python's own library."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome')


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. What it complains of is in .complaints."""

    def __init__(self, program, patience):
        self.patience = patience
        self.home = tempfile.mkdtemp(prefix='dodo-browser.')
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        command = [program, '--headless', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe', '--no-first-run',
                   '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
                   '--disable-dev-shm-usage', '--user-data-dir=' + self.home, 'about:blank']
        if os.geteuid() == 0:
            command.insert(1, '--no-sandbox')  # it refuses to run as root otherwise
        self.process = self.start(command, to_read, to_write)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.session = 0, b'', None
        self.complaints = []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    @staticmethod
    def start(command, to_read, to_write):
        """The browser reads descriptor 3, and writes 4."""
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, to_write)]

        def arrange():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   pass_fds=(3, 4, *high), preexec_fn=arrange)  # pylint: disable=subprocess-popen-preexec-fn
        for fd in high:
            os.close(fd)
        return process

    def close(self):
        os.close(self.to)  # it ends
        try:
            self.process.wait(self.patience)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.back)
            shutil.rmtree(self.home, ignore_errors=True)

    def message(self, deadline):
        while b'\0' not in self.rest:
            if not select.select([self.back], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError('the browser does not answer')
            more = os.read(self.back, 1 << 20)
            if not more:
                raise AssertionError('the browser has ended')
            self.rest += more
        text, _, self.rest = self.rest.partition(b'\0')
        return json.loads(text)

    def note(self, message):
        method, params = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.complaints.append(json.dumps(params['exceptionDetails'])[:600])
        elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
            self.complaints.append(params['entry']['text'] + ' ' + params['entry'].get('url', ''))
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning'):
            self.complaints.append(json.dumps(params['args'])[:600])

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + self.patience
        while True:
            answer = self.message(deadline)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise AssertionError('%s: %s' % (method, answer['error']))
                return answer['result']
            self.note(answer)

    def look_like(self, dark, width, height):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def password(self, user, password):
        text = base64.b64encode(('%s:%s' % (user, password)).encode()).decode()
        self.call('Network.setExtraHTTPHeaders', headers={'Authorization': 'Basic ' + text})

    def open(self, url):
        self.call('Page.navigate', url=url)

    def js(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise AssertionError('%s: %s' % (expression, json.dumps(answer['exceptionDetails'])[:600]))
        return answer['result'].get('value')

    def until(self, expression):
        """Its value, as soon as that is true."""
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline:
            value = self.js(expression)
            if value:
                return value
            select.select([], [], [], 0.05)
        raise AssertionError('not true within %d s: %s; %s' % (self.patience, expression, self.complaints))

    def key(self, key, code=None):
        codes = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'End': 35, 'Home': 36, 'ArrowUp': 38, 'ArrowDown': 40}
        for kind in ('keyDown', 'keyUp'):
            text = {'text': '\r'} if key == 'Enter' and kind == 'keyDown' else {}
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=code or key, windowsVirtualKeyCode=codes[key], **text)

    def click(self, selector):
        at = self.js('(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center"}); const r = '
                     'e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()' % json.dumps(selector))
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=at[0], y=at[1], button='left', clickCount=1)

    def picture(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))
