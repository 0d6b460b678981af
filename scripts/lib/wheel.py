#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""wheel.py PACKAGE VERSION TO: packs an installed directory dodo into a wheel, with nothing but the
standard library. Its format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/"""
import base64
import hashlib
import pathlib
import sysconfig
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: dodo
Version: {version}
Summary: Regions of files in local memory and in the idle memory of other hosts
License: MIT
Requires-Python: >=3.11
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed

Needs the libraries libdodo and libmanage, which are not in this wheel.
"""
WHEEL = """Wheel-Version: 1.0
Generator: dodo scripts/wheel
Root-Is-Purelib: false
Tag: {tag}
"""


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main(package, version, to):
    package, to = pathlib.Path(package), pathlib.Path(to)
    tag = "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"dodo-{version}.dist-info"
    files = {f"dodo/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = "\n".join(record).encode()
    to.mkdir(parents=True, exist_ok=True)
    wheel = to / f"dodo-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of no particular time
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel)


main(*sys.argv[1:])
