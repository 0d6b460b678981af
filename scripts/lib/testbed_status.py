# SPDX-License-Identifier: MIT
"""testbed_status.py DIR KEEPER [--json]: what a testbed consists of; standard input has what
`dodo status --json` said, or null. Runs among the testbed's processes: it sees their numbers."""
import json
import os
import sys


def text(*path):
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read().strip() or None
    except OSError:
        return None


def number(*path):
    value = text(*path)
    return int(value) if value and value.isdigit() else None


def first_number(group, *names):
    return next((n for n in (number(group, name) for name in names) if n is not None), None)


def runs(pid):
    stat = text("/proc", str(pid), "stat")
    return bool(stat) and stat.rpartition(")")[2].split()[0] not in "ZX"


def memory(host):
    group = text(host, "group")
    if not group:
        return None
    return {"limit_bytes": first_number(group, "memory.limit_in_bytes", "memory.max"),
            "used_bytes": first_number(group, "memory.usage_in_bytes", "memory.current"),
            "group": group}


def disk(host):
    if not text(host, "mount"):
        return None
    model = dict(word.split("=") for word in text(host, "model").split())
    return {"path": text(host, "mount"), "data": text(host, "data"),
            "modelled": os.path.exists(os.path.join(host, "modelled")), "model": model}


def host_of(directory, name, daemons, faults):
    host = os.path.join(directory, "hosts", name)
    rate = int(text(host, "rate").removesuffix("bit")) if text(host, "rate") else None
    return {
        "name": name, "address": text(host, "address"), "mac": text(host, "mac"),
        "rate_bits": rate, "queue_bytes": number(host, "queue") if rate else None,
        "loss_percent": sum(float(f[2]) for f in faults if f[:2] == ["loss", name]),
        "cut": ["alone", name] in faults,
        "cut_to": [f[2] for f in faults if f[:2] == ["cut", name]],
        "memory": memory(host), "disk": disk(host),
        "daemons": [d for d in daemons if d.pop("host") == name],
    }


def read(directory, keeper, cluster):
    daemons, names = [], text(directory, "names").split("\n")
    for name in sorted(os.listdir(os.path.join(directory, "daemons"))):
        host, pid, *address = text(directory, "daemons", name).split()
        daemons.append({"host": host, "name": name, "pid": int(pid), "runs": runs(pid),
                        "address": address[0] if address else None})
    faults = [line.split() for line in (text(directory, "faults") or "").split("\n")]
    hosts = [host_of(directory, n, [dict(d) for d in daemons], faults) for n in names]
    return {"dir": directory, "keeper_pid": int(keeper), "manager": text(directory, "manager"),
            "hosts": hosts, "skipped": (text(directory, "skipped") or "").split("\n")
            if text(directory, "skipped") else [], "cluster": cluster}


def link_of(host):
    words = [f"{host['rate_bits'] / 1e6:g} Mbit/s" if host["rate_bits"] else "unlimited"]
    if host["loss_percent"]:
        words.append(f"loses {host['loss_percent']:g} %")
    if host["cut"]:
        words.append("cut off")
    words += [f"cut to {name}" for name in host["cut_to"]]
    return ", ".join(words)


def show(status):
    print(f"testbed at {status['dir']}, kept by process {status['keeper_pid']}, "
          f"manager at {status['manager'] or '-'}")
    for host in status["hosts"]:
        words = [link_of(host)]
        if host["memory"]:
            words.append(f"{host['memory']['used_bytes'] >> 20} of {host['memory']['limit_bytes'] >> 20} MiB")
        if host["disk"]:
            words.append(f"disk at {host['disk']['path']}" + ("" if host["disk"]["modelled"] else " (not modelled)"))
        words += [f"{d['name']} {d['pid'] if d['runs'] else 'has ended'}" for d in host["daemons"]
                  if not d["name"].startswith("disk-")]
        print(f"  {host['name']:<12} {host['address']:<12} {'; '.join(words)}")
    cluster = status["cluster"]
    if cluster:
        idle = sum(h["state"] == "idle" for h in cluster["hosts"])
        print(f"cluster: {idle} hosts idle, {cluster['regions']} regions, {cluster['clients']} clients")
    else:
        print("cluster: the manager does not answer")
    for line in status["skipped"]:
        print(f"SKIPPED: {line}")


def main():
    status = read(sys.argv[1], sys.argv[2], json.load(sys.stdin))
    if "--json" in sys.argv[3:]:
        print(json.dumps(status, indent=1))
    else:
        show(status)


if __name__ == "__main__":
    main()
