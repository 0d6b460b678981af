# SPDX-License-Identifier: MIT
"""Disks and links of the testbed, as models: what is asked for, and what that ought to give.

testbed_model.py disk MODEL [T]    checks MODEL; prints it as KEY=VALUE words, T times faster
testbed_model.py rate RATE [T]     the same of a link's rate ("100mbit"), in tc's words
"""
import re
import sys

# The paper's: random 8K 0.57 MB/s, random 32K 1.56 MB/s, sequential 7.75 MB/s (its section 5). The 7.75
# are of requests of 8K and 32K. paper-large is a hypothesis: what its figures for lu and dmine imply for
# requests of 128K and more is 3.7 to 4.5 MB/s. The kernel reads ahead in 128K whatever a program asks
# for, so the disk cannot tell large requests from small ones in order, and the model is slower for all.
DISKS = {
    "paper": "position=12160us,bandwidth=7750000,random-bandwidth=3707000",
    "paper-large": "position=12160us,bandwidth=4100000,random-bandwidth=3707000",
    "hdd": "position=8200us,bandwidth=200000000",
    "nvme": "position=0,latency=80us,bandwidth=3000000000,parallel=64",
    "cloud": "position=0,latency=300us,bandwidth=125000000,iops=3000,burst=10ms,parallel=64",
}
TIMES = ("position", "latency", "burst")
RATES = ("bandwidth", "random-bandwidth", "iops")
KEYS = TIMES + RATES + ("parallel",)
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "": 1e9}
SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
BITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class Bad(ValueError):
    pass


def number(text, units, what):
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)", text.lower())
    if not match or match[2] not in units:
        raise Bad(f"{what} {text} is no good")
    return float(match[1]) * units[match[2]]


def disk(text, faster=1.0):
    """A model's values: times in ns, rates a second; KEYS that are not given are those of a drive."""
    values = {"position": 8.2e6, "latency": 0, "burst": 0, "bandwidth": 200e6,
              "random-bandwidth": 0, "iops": 0, "parallel": 1}
    for word in DISKS.get(text, text).split(","):
        key, _, value = word.partition("=")
        if key not in KEYS:
            raise Bad(f"a disk is {', '.join(DISKS)} or KEY=VALUE,... with the keys {', '.join(KEYS)}, not {text}")
        units = UNITS if key in TIMES else SIZES if key.endswith("bandwidth") else {"": 1}
        values[key] = number(value, units, key)
    for key in TIMES:
        values[key] /= faster
    for key in RATES:
        values[key] *= faster
    return values


def words(values):
    """As diskfs takes them."""
    result = [f"{key}={round(values[key])}ns" for key in TIMES]
    result += [f"{key}={round(values[key])}" for key in RATES + ("parallel",) if values[key]]
    return " ".join(result)


def rate_bits(text, faster=1.0):
    return number(text, BITS, "rate") * faster


def access_s(values, size):
    """How long a random access takes that is alone, without limits that many share."""
    rate = values["random-bandwidth"] or values["bandwidth"]
    move = size / rate * 1e9
    if values["burst"] > 0:  # used ahead of its time: the bytes come at once
        move = 0
    return (values["position"] + values["latency"] + move) / 1e9


def random_per_s(values, size, depth):
    """Random accesses of @size a second with @depth of them always outstanding."""
    together = min(depth, values["parallel"])
    limits = [together / max(access_s(values, size), 1e-9),
              (values["random-bandwidth"] or values["bandwidth"]) / size]
    if values["iops"]:
        limits.append(values["iops"] / max(1, -(-size // (256 << 10))))
    return min(limits)


def main(argv):
    if len(argv) not in (3, 4) or argv[1] not in ("disk", "rate"):
        sys.exit(__doc__)
    faster = float(argv[3]) if len(argv) > 3 else 1.0
    try:
        print(words(disk(argv[2], faster)) if argv[1] == "disk" else
              f"{round(rate_bits(argv[2], faster))}bit")
    except Bad as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv)
