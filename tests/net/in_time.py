#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""in_time.py SECONDS COMMAND...: runs it. One that has not ended by then is killed with all of its session: status 124,
and standard error says where each of its threads was."""
import os
import shutil
import signal
import subprocess
import sys


def text(path):
    try:
        with open(path, 'rb') as f:
            return f.read().replace(b'\0', b' ').decode(errors='replace').strip()
    except OSError:
        return ''


def session_of(pid):
    fields = text(f'/proc/{pid}/stat').rpartition(')')[2].split()
    return int(fields[3]) if len(fields) > 3 else 0


def show(pid):
    print(f'stuck: {pid}: {text(f"/proc/{pid}/cmdline")}', file=sys.stderr)
    for tid in sorted(os.listdir(f'/proc/{pid}/task'), key=int):
        task = f'/proc/{pid}/task/{tid}'
        print(f'stuck:   {text(task + "/comm")}: {text(task + "/wchan")}, system call {text(task + "/syscall")}', file=sys.stderr)
    if shutil.which('gdb'):
        trace = subprocess.run(['gdb', '-batch', '-p', str(pid), '-ex', 'thread apply all bt 24'], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        for line in trace.stdout.decode(errors='replace').splitlines():
            if line.startswith(('#', 'Thread')):
                print(f'stuck:   {line[:160]}', file=sys.stderr)


def main():
    program = subprocess.Popen(sys.argv[2:], start_new_session=True)  # pylint: disable=consider-using-with
    try:
        status = program.wait(float(sys.argv[1]))
        return status if status >= 0 else 128 - status
    except subprocess.TimeoutExpired:
        pass
    session = [int(p) for p in os.listdir('/proc') if p.isdigit() and session_of(p) == program.pid]
    for pid in session:
        try:
            show(pid)
        except OSError:
            pass  # it has ended meanwhile
    for pid in session:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    program.wait()
    return 124


sys.exit(main())
