#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""package.py BUILD [OPTIONAL...]: the Debian packages agree with what meson installs: each file is in
one of them, nothing is asked for that is not installed (OPTIONAL names may be missing in this build),
the symbols files say what the libraries' maps say, and the packages of the libraries are named after
their SONAMEs. The packages are built with what scripts/setup installs."""
import fnmatch
import json
import pathlib
import re
import sys

top = pathlib.Path(__file__).resolve().parents[2]
debian = top / "packaging" / "debian"
build, optional = sys.argv[1], sys.argv[2:]
failures = []


def complain(text):
    failures.append(text)
    print(text)


def installed():
    """Where meson installs, as it would be with the prefix /usr."""
    info = pathlib.Path(build) / "meson-info"
    listed = json.loads((info / "intro-installed.json").read_text())
    options = json.loads((info / "intro-buildoptions.json").read_text())
    prefix, libdir = (next(o["value"] for o in options if o["name"] == n) for n in ("prefix", "libdir"))
    files = set()
    for path in listed.values():
        path = str(pathlib.PurePath(path).relative_to(prefix))
        if path.startswith(libdir + "/lib") or path.startswith(libdir + "/pkgconfig/"):
            path = "lib/MACHINE" + path.removeprefix(libdir)
        path = "usr/" + re.sub(r"^lib/python3\.\d+/", "lib/python3/", path)
        files.add(path)
        if re.search(r"\.so\.\d+\.\d+\.\d+$", path):  # with its links
            files.update({re.sub(r"\.\d+\.\d+$", "", path), re.sub(r"\.\d+\.\d+\.\d+$", "", path)})
    return files


def wanted():
    """(pattern, package) of what the packages take from the installation."""
    for file in sorted(debian.iterdir()):
        package, _, kind = file.name.rpartition(".")
        if kind not in ("install", "manpages", "examples"):
            continue
        for line in file.read_text().splitlines():
            pattern = line.split()[0]
            if pattern.startswith("debian/tmp/") or kind == "install" and pattern.startswith("usr/"):
                yield pattern.removeprefix("debian/tmp/"), package


def matches(path, pattern):
    """As dh_install: a pattern's * stops at no slash only where the pattern has one there."""
    parts, wants = path.split("/"), pattern.split("/")
    return len(parts) >= len(wants) and all(map(fnmatch.fnmatchcase, parts, wants))


def compare_files(packages):
    files, taken = installed(), {}
    for pattern, package in wanted():
        if package not in packages:
            complain(f"packaging/debian: {package} is no package of control.in")
        hits = [f for f in files if matches(f, pattern)]
        if not hits and pathlib.PurePath(pattern).name not in optional:
            complain(f"{package}: {pattern} is not installed")
        for f in hits:
            taken.setdefault(f, []).append(package)
    for f in sorted(files):
        if len(taken.get(f, [])) != 1:
            complain(f"{f} is in {' and '.join(taken.get(f, ['no package']))}")


def compare_symbols(library, package, symbol_map):
    node, of_map = "", set()
    for line in (top / symbol_map).read_text().splitlines():
        if m := re.match(r"(\w+(?:\.\d+)*) \{", line):
            node = m[1]
            of_map.add((node, node))
        elif m := re.match(r" +(dodo_\w+);", line):
            of_map.add((m[1], node))
    first, *rest = (debian / f"{package}.symbols").read_text().splitlines()
    if first.split()[:2] != [f"{library}.so.0", package]:
        complain(f"{package}.symbols is not of {library}.so.0")
    of_package = {tuple(line.split()[0].split("@")) for line in rest if line.startswith(" ")}
    for symbol, of in sorted(of_map ^ of_package):
        complain(f"{symbol}@{of} is in only one of {symbol_map} and {package}.symbols")


def compare_needs(control):
    needs = set(re.findall(r"[\w.+-]+", re.search(r"^Build-Depends:(.*?)^\S", control, re.M | re.S)[1]))
    common = (top / "scripts" / "lib" / "common.sh").read_text()
    setup = set(re.search(r"packages_build=\((.*?)\)", common, re.S)[1].split())
    # What every package is built with is not named; meson brings ninja, pkgconf is pkg-config.
    for package in sorted(setup - {"gcc", "libc6-dev", "ninja-build", "pkg-config"} - needs):
        complain(f"{package} is in packages_build of scripts/lib/common.sh, not in Build-Depends")


control_in = (debian / "control.in").read_text()
names = re.findall(r"^Package: (.*)$", control_in, re.M)
compare_files(names)
compare_symbols("libdodo", "libdodo0", "libdodo/libdodo.map")
compare_symbols("libmanage", "libmanage0", "libmanage/manage.map")
compare_symbols("libusocket", "libusocket0", "usocket/public/usocket.map")
compare_needs(control_in)
print(f"{len(failures)} found" if failures else "")
sys.exit(bool(failures))
