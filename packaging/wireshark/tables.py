#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tables.py PROTO FRAME: the dissector FRAME with the tables that it lacks, made of the lists that the
encoders and decoders are made of: messages.def, status.def, events.def and the enumerations of wire.h."""
import re
import sys

TABLES = "-- the tables\n"


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def enumerations(proto):
    """[{name: number}] of each enum whose values are plain, and all such constants"""
    found, constants = [], {}
    for body in re.findall(r"\benum\b[^{};()]*\{([^{}]*)\}", text_of(f"{proto}/wire.h")):
        value, names = -1, {}
        for part in body.split(","):
            m = re.fullmatch(r"\s*(\w+)\s*(?:=\s*(\w+))?\s*", part)
            if not m:
                value = None
                continue
            if m[2]:
                value = int(m[2], 0) if re.fullmatch(r"0x\w+|\d+", m[2]) else None
            elif value is not None:
                value += 1
            if value is not None:
                names[m[1]] = value
        found.append(names)
        constants.update(names)
    events = numbers(f"{proto}/events.def")
    found.append({f"EVENT_{n}": v for v, n in events.items()} | {"EVENT_KIND_MAX": len(events)})
    return found, constants


def numbers(path):
    """{number: name} of a list of X(name, number, ...)"""
    return {int(v): n for n, v in re.findall(r"\bX\((\w+), (\d+),", text_of(path))}


def words(names):
    """{number: word}: without what all names have in common"""
    common = 0
    while len({n[:common + 1] for n in names}) == 1:
        common += 1
    common = max((n[:common].rfind("_") + 1 for n in names), default=0)
    return {v: n[common:].lower() for n, v in names.items()}


def lua(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{lua(k)}] = {lua(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(lua(v) for v in value) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def field(kind, a, enums, constants):
    """{kind, name, what the kind needs}"""
    name = a[-1].removesuffix(".bytes").split(".")[-1]
    if kind == "F":
        return "F", name, a[0]
    if kind == "BELOW":
        named = next((e for e in enums if a[1] in e), {})
        return "BELOW", a[0], words({n: v for n, v in named.items() if n != a[1]}) if named else {}
    if kind == "FLAGS":
        return "FLAGS", a[0]
    if kind == "RESERVED":
        return "RESERVED", "reserved", int(a[0])
    if kind == "BYTES":
        return "BYTES", name, constants.get(a[0]) or int(a[0])
    if kind == "COUNT":
        return "COUNT", a[0]
    return "MANY", a[1], a[0], a[2]


def messages(proto, enums, constants):
    found = {}
    for name, body in re.findall(r"\nBEGIN\((\w+), \w+\)(.*?)\nEND\(", text_of(f"{proto}/messages.def"), re.S):
        found[name] = [field(kind, [x.strip() for x in arguments.split(",")], enums, constants) if kind else (end,)
                       for end, kind, arguments in re.findall(r"\b(?:(MAY_END)\b|([A-Z]+)\(([^)]*)\))", body) if kind != "THEN"]
    return found


def main():
    proto, frame = sys.argv[1:]
    enums, constants = enumerations(proto)

    def named(start):
        return {v: n[len(start):] for e in enums if any(n == start + "HELLO" or n == start + "OPEN" for n in e)
                for n, v in e.items() if n.startswith(start)}
    statuses = numbers(f"{proto}/status.def")
    with open(frame, encoding="utf-8") as f:
        before, after = f.read().split(TABLES)
    print(before, end="")
    for name in "MAGIC", "VERSION", "INDEX_NONE":
        print(f"local {name} = {constants['WIRE_' + name]}")
    for name, table in ("types", named("WIRE_")), ("ops", named("OP_")), ("statuses", statuses):
        if not table:
            sys.exit(f"tables.py: no {name} are found")
        print(f"local {name} = {lua(table)}")
    print("local messages = {")
    for name, fields in messages(proto, enums, constants).items():
        print(f"    {name} = {lua(fields)},")
    print("}\n" + after.lstrip("\n"), end="")


if __name__ == "__main__":
    main()
