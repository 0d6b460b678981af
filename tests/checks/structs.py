#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No struct has more than 30 fields: what belongs together is a struct of its own, with a name."""
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(__file__), "..", ".."))
FIELDS_MAX = 30


def fields(body):
    """How many a struct has that begins at @body, just behind its brace. A struct in it that has
    no name of its own counts as one."""
    braces, parens, count = 1, 0, 0
    for c in body:
        braces += (c == "{") - (c == "}")
        parens += (c == "(") - (c == ")")
        count += braces == 1 and parens == 0 and c in ";,"
        if braces == 0:
            break
    return count


def structs(text):
    """[(name, fields)]"""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return [(m[1] or "a struct without a name", fields(text[m.end():]))
            for m in re.finditer(r"\b(?:struct|union)\s+(\w+\s+)?{", text)]


def files():
    """Those of the source tree; what a build directory has is not its."""
    for top, directories, names in os.walk("."):
        directories[:] = [d for d in directories
                          if d != ".git" and not os.path.isdir(os.path.join(top, d, "meson-private"))]
        yield from (os.path.join(top, n) for n in names if n.endswith((".c", ".h")))


def main():
    planted = "struct Planted {" + "int a, b; void (*c)(int, int);" * 10 + "struct { int d; } e; };"
    if structs(planted) != [("Planted ", 31), ("a struct without a name", 1)]:
        sys.exit("structs: this check cannot count: " + str(structs(planted)))
    found, bad = 0, 0
    for path in files():
        with open(path, encoding="utf-8") as f:
            for name, count in structs(f.read()):
                found += 1
                if count > FIELDS_MAX:
                    bad += 1
                    print(f"{path}: {name.strip()} has {count} fields; {FIELDS_MAX} are the most")
    if not found:
        sys.exit("structs: found none")
    sys.exit(bool(bad))


main()
