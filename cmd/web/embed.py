#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUTPUT FILE...: the files as arrays of a C header; index.html becomes web_index_html."""
import os
import re
import sys


def array(path):
    with open(path, "rb") as f:
        text = f.read()
    name = "web_" + re.sub(r"\W", "_", os.path.basename(path))
    lines = [", ".join(str(b) for b in text[at:at + 24]) for at in range(0, len(text), 24)]
    return f"static const unsigned char {name}[] = {{\n    " + ",\n    ".join(lines) + "};\n"


def main():
    output, files = sys.argv[1], sys.argv[2:]
    with open(output, "w", encoding="ascii") as f:
        f.write("/* Made by cmd/web/embed.py. */\n" + "".join(array(path) for path in files))


main()
