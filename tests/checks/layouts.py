#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each table of a layout in dodo-protocol(7) has the fields of proto/messages.def, in their order,
where they are and as long as they are."""
import re
import sys

# The page's tables, in its order; the header's is the first, and is in no list.
TABLES = ["hello", "ping", "address", "read", "data_header", "write_header", "write_ack",
          "request_header", "reply_header"]
REST = {"data_header": "data", "write_header": "data", "request_header": "body",
        "reply_header": "body"}
BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "code": 2}


def constants():
    with open("proto/wire.h", encoding="ascii") as f:
        return {n: int(v) for n, v in re.findall(r"\b(WIRE_\w+) = (\d+)\b", f.read())}


def messages():
    """name -> [(field, bytes)]"""
    with open("proto/messages.def", encoding="ascii") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    known, found = constants(), {}
    for name, body in re.findall(r"\nBEGIN\((\w+), \w+\)(.*?)\nEND\(", text, re.S):
        fields = []
        for kind, arguments in re.findall(r"\b([A-Z]+)\(([^)]*)\)", body):
            a = [x.strip() for x in arguments.split(",")]
            if kind == "F":
                inner = found.get(a[0])
                fields.append((a[1], sum(n for _, n in inner) if inner else BYTES.get(a[0], 0)))
            elif kind == "BELOW":
                fields.append((a[0], 1))
            elif kind in ("FLAGS", "COUNT"):
                fields.append((a[0], 4))
            elif kind == "BYTES":
                fields.append((a[1], known.get(a[0]) or int(a[0])))
            elif kind == "RESERVED" and fields and fields[-1][0] == "reserved":
                fields[-1] = ("reserved", fields[-1][1] + int(a[0]))
            elif kind == "RESERVED":
                fields.append(("reserved", int(a[0])))
        found[name] = fields
    return found


def rows(name, fields):
    at = 0
    for field, size in fields:
        yield f"{at} {size} {field.removesuffix('.bytes').replace('_', ' ')}"
        at += size
    if name in REST:
        yield f"{at} rest {REST[name]}"


def page():
    """[[row of a table]]"""
    tables = []
    with open("docs/dodo-protocol.7", encoding="ascii") as f:
        for line in f:
            cells = line.rstrip("\n").split("\t")
            if line == ".SH RAW FRAMES\n":
                break  # below the messages: tests/unit/test_raw_peers.c has its bytes
            if line.startswith(".TS"):
                tables.append([])
            elif len(cells) > 2 and cells[0].isdigit() and (cells[1].isdigit() or
                                                            cells[1] == "rest"):
                tables[-1].append(" ".join(cells[:3]).lower())
    return [t for t in tables if t]


def main():
    found, shown, wrong = messages(), page(), 0
    if len(shown) != len(TABLES) + 1:
        print(f"the page has {len(shown)} layouts, not {len(TABLES) + 1}")
        wrong += 1
    for name, table in zip(TABLES, shown[1:]):
        wanted = list(rows(name, found[name]))
        for a, b in zip(wanted + ["nothing"] * len(table), table + ["nothing"] * len(wanted)):
            if a != b:
                print(f"{name}: the page has {b!r}, proto/messages.def {a!r}")
                wrong += 1
    return 1 if wrong else 0


sys.exit(main())
