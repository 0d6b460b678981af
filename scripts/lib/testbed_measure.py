# SPDX-License-Identifier: MIT
"""What a testbed's links and disks give, measured in it, beside what was asked for.

testbed_measure.py run DIR [--json]      all of it; TESTBED_COMMAND is scripts/testbed, each measurement
                                         takes TESTBED_SECONDS
testbed_measure.py serve ADDRESS         on a host: answers the two that follow
testbed_measure.py link ADDRESS PORT     how fast bytes come from there, and how long an answer takes
testbed_measure.py disk PATH DATA DEPTH  of a scratch file on the disk that keeps its files in DATA
"""
import json
import mmap
import os
import random
import socket
import subprocess
import sys
import threading
import time

import testbed_model as model

SECONDS = float(os.environ.get("TESTBED_SECONDS", "1"))  # each measurement
SETTLE_S = SECONDS / 2  # until TCP has found its speed
SCRATCH = "testbed-measure.scratch"
SCRATCH_BYTES = 8 << 30  # of nothing: the file has no blocks


def serve(address):
    """TCP: bytes as long as they are taken. UDP on the same port: what comes goes back."""
    with socket.create_server((address, 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        port = tcp.getsockname()[1]
        udp.bind((address, port))
        print(port, flush=True)

        def echo():
            while True:
                udp.sendto(*udp.recvfrom(2048))

        threading.Thread(target=echo, daemon=True).start()
        connection, _ = tcp.accept()
        connection.setsockopt(*reno())
        with connection:
            try:
                while True:
                    connection.sendall(bytes(1 << 16))
            except OSError:
                pass


def reno():
    """What paces single packets by timers, as bbr does, measures timers."""
    return (socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def link(address, port):
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.settimeout(2)
        times = []
        for _ in range(500):
            start = time.perf_counter()
            udp.sendto(bytes(64), (address, port))
            try:
                udp.recv(2048)
                times.append(time.perf_counter() - start)
            except socket.timeout:
                pass  # lost
    got, buffer = 0, bytearray(1 << 20)
    with socket.create_connection((address, port), timeout=10) as tcp:
        start = time.perf_counter()
        while time.perf_counter() - start < SETTLE_S:
            tcp.recv_into(buffer)
        start = time.perf_counter()
        while (took := time.perf_counter() - start) < SECONDS:
            got += tcp.recv_into(buffer)
    return {"rtt_us": sorted(times)[len(times) // 2] * 1e6 if times else None,
            "bytes_per_s": got / took}


def random_reads(path, size, depth):
    """@depth threads, each of which reads at random places past the page cache."""
    counts, places = [0] * depth, SCRATCH_BYTES // size
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        fd = os.open(path, os.O_RDONLY)
    start = time.perf_counter()

    def reader(i):
        rng, buffer = random.Random(i), mmap.mmap(-1, size)
        while time.perf_counter() - start < SECONDS:
            os.preadv(fd, [buffer], rng.randrange(places) * size)
            counts[i] += 1

    threads = [threading.Thread(target=reader, args=(i,)) for i in range(depth)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    os.close(fd)
    return sum(counts) / took


def sequential_reads(path):
    """As a program reads a file from its beginning: through page cache and read-ahead."""
    fd, got, buffer = os.open(path, os.O_RDONLY), 0, bytearray(128 << 10)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    while (took := time.perf_counter() - start) < SECONDS:
        got += os.preadv(fd, [buffer], got)
    os.close(fd)
    return got / took


def disk(path, data, depth):
    scratch = os.path.join(data, SCRATCH)
    with open(scratch, "wb") as file:
        file.truncate(SCRATCH_BYTES)
    try:
        path = os.path.join(path, SCRATCH)
        runs = [{"size": size, "depth": d, "per_s": random_reads(path, size, d)}
                for d in sorted({1, depth}) for size in (8192, 32768)]
        return {"random": runs, "sequential_bytes_per_s": sequential_reads(path)}
    finally:
        os.unlink(scratch)


# ---- all of it -----------------------------------------------------------------------------------

def on(directory, host, *words, **options):
    command = [os.environ["TESTBED_COMMAND"], "exec", "--dir", directory, host, "--",
               sys.executable, "-B", os.path.abspath(__file__), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **options)


def answer(process):
    out, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"testbed: measuring failed with status {process.returncode}")
    return json.loads(out)


def lines_of_link(directory, source, sink):
    server = on(directory, source["name"], "serve", source["address"])
    try:
        result = answer(on(directory, sink["name"], "link", source["address"], server.stdout.readline().strip()))
    finally:
        server.kill()
        server.wait()
    rates = [h["rate_bits"] for h in (source, sink) if h["rate_bits"]]
    # A packet of 1,514 bytes, as the link counts, has 1,448 of the program's.
    asked = min(rates) / 8 * 1448 / 1514 / 1e6 if rates else None
    what = f"{source['name']} to {sink['name']}"
    yield {"what": what, "unit": "MB/s", "asked": asked, "measured": result["bytes_per_s"] / 1e6}
    yield {"what": f"{what}, there and back", "unit": "us", "asked": None, "measured": result["rtt_us"]}


def lines_of_disk(directory, host):
    volume = host["disk"]
    values = model.disk(",".join(f"{k}={v}" for k, v in volume["model"].items()))
    depth = min(32, int(values["parallel"]))
    result = answer(on(directory, host["name"], "disk", volume["path"], volume["data"], depth))
    if not volume["modelled"]:
        for run in result["random"]:
            yield {"what": f"plain disk of {host['name']}, random {run['size'] >> 10}K", "unit": "MB/s",
                   "asked": None, "measured": run["per_s"] * run["size"] / 1e6}
        return
    for run in result["random"]:
        size, many = run["size"], f", {run['depth']} at once" if run["depth"] > 1 else ""
        yield {"what": f"disk of {host['name']}, random {size >> 10}K{many}", "unit": "MB/s",
               "asked": model.random_per_s(values, size, run["depth"]) * size / 1e6,
               "measured": run["per_s"] * size / 1e6}
    yield {"what": f"disk of {host['name']}, sequential", "unit": "MB/s",
           "asked": values["bandwidth"] / 1e6, "measured": result["sequential_bytes_per_s"] / 1e6}


def run(directory, as_json):
    status = json.loads(subprocess.run([os.environ["TESTBED_COMMAND"], "status", "--dir", directory, "--json"],
                                       check=True, stdout=subprocess.PIPE).stdout)
    hosts = status["hosts"]
    sink = hosts[0]
    source = next((h for h in hosts if any(d["name"].startswith(("imd-", "rmd-")) for d in h["daemons"])), hosts[-1])
    lines = list(lines_of_link(directory, source, sink)) + list(lines_of_link(directory, sink, source))
    for host in hosts:
        if host["disk"]:
            lines += lines_of_disk(directory, host)
    if as_json:
        print(json.dumps(lines, indent=1))
        return
    print(f"{'':<44}{'asked for':>12}{'measured':>12}")
    for line in lines:
        asked, got = line["asked"], line["measured"]
        print(f"{line['what']:<44}{f'{asked:.4g}' if asked else '-':>12}{f'{got:.4g}' if got else '-':>12} "
              f"{line['unit']:<5}{f'{(got / asked - 1) * 100:+.1f} %' if asked and got else ''}")
    for line in status["skipped"]:
        print(f"SKIPPED: {line}")
    if os.getloadavg()[0] > os.cpu_count():
        print(f"The load average is {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: much of this is time that "
              "the measuring programs waited for a core.")


def main(argv):
    if argv[1:2] == ["run"] and len(argv) >= 3:
        run(argv[2], "--json" in argv[3:])
    elif argv[1:2] == ["serve"] and len(argv) == 3:
        serve(argv[2])
    elif argv[1:2] == ["link"] and len(argv) == 4:
        print(json.dumps(link(argv[2], int(argv[3]))))
    elif argv[1:2] == ["disk"] and len(argv) == 5:
        print(json.dumps(disk(argv[2], argv[3], int(argv[4]))))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
