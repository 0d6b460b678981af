#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Fortran module has the calls, structures and numbers of the public headers, argument by argument."""
import pathlib
import re
import sys

top = pathlib.Path(__file__).resolve().parents[2]
# Those that take a function of the program's, and two that give text, which a function of the module's own turns
# into Fortran's.
LEFT_OUT = {"dodo_set_log", "dodo_manage_register_policy", "dodo_last_error", "dodo_version"}
RESULTS = {"int": "integer(c_int)", "ssize_t": "integer(dodo_ssize)", "DodoQueue *": "type(c_ptr)"}
ARGUMENTS = {
    "int": "integer(c_int), value", "unsigned": "integer(c_int), value", "size_t": "integer(c_size_t), value",
    "off_t": "integer(dodo_off), value", "uint64_t": "integer(c_int64_t), value",
    "const struct iovec *": "type(dodo_iovec), intent(in)", "DodoStat *": "type(DodoStat), intent(out)",
    "DodoManageStats *": "type(DodoManageStats), intent(out)", "DodoDone *": "type(DodoDone), intent(inout)",
    "DodoQueue *": "type(c_ptr), value", "const DodoQueue *": "type(c_ptr), value",
}
FIELDS = {"uint64_t": "integer(c_int64_t)", "uint32_t": "integer(c_int32_t)", "int": "integer(c_int)",
          "ssize_t": "integer(dodo_ssize)", "void *": "type(c_ptr)", "char": "character(kind=c_char)"}
failures = []


def complain(text):
    failures.append(text)
    print(text)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def declared(c):
    """('type', 'name') of an argument in C."""
    kind, star, name = re.fullmatch(r"\s*(.*?)\s*(\*?)\s*(\w+)\s*", " ".join(c.split())).groups()
    return f"{kind} {star}".strip(), name


def wanted_argument(kind, name, queue):
    if kind in ("void *", "const void *"):
        if queue or name == "tag":
            return "type(c_ptr), value"
        return "type(*), intent(in)" if kind.startswith("const") else "type(*)"
    return ARGUMENTS.get(kind, f"(no rule for {kind})")


def c_calls(header):
    """name -> (result, [(declaration, name)]) as they should be in Fortran."""
    calls = {}
    for result, name, args in re.findall(r"DODO_API (?:DODO_CHECK )?(\w+(?: \*)?) ?(dodo_\w+)\(([^)]*)\);", header):
        if name in LEFT_OUT:
            continue
        args = [] if args.strip() == "void" else [declared(a) for a in args.split(",")]
        queue = name.startswith("dodo_queue_")
        calls[name] = (RESULTS.get(result, result), [(wanted_argument(k, n, queue), n) for k, n in args])
    return calls


def declarations(body):
    """name -> declaration, of the lines of a function or a type."""
    found = {}
    for line in body.splitlines():
        if m := re.fullmatch(r"\s*(\S.*?) :: (\w.*?)(\s*!.*)?", line):
            for name in re.findall(r"\w+(?:\(\S+?\))?", m[2]):
                found[name.removesuffix("(*)")] = m[1]
    return found


def fortran_calls(module):
    calls = {}
    interface = module[module.index("  interface\n"):module.index("  end interface\n")]
    for result, name, args, body in re.findall(
            r"^    (\S+) function (\w+)\((.*?)\) bind\(C.*?\)\n(.*?)    end function", interface, re.M | re.S):
        told = declarations(body.replace("import ::", "import"))
        calls[name] = (result, [(told.get(a, "nothing"), a) for a in args.replace(" ", "").split(",") if a])
    return calls


def c_fields(header, name):
    body = re.search(r"typedef struct (?:DODO_TAG_\()?%s\b[^{]*\{(.*?)\}" % name, header, re.S)[1]
    for field in filter(str.strip, body.split(";")):
        kind, names = re.fullmatch(r"(\w+(?: \*)?) ?(.*)", " ".join(field.split())).groups()
        for one in names.split(", "):
            yield one.replace("[", "(").replace("]", ")"), FIELDS.get(kind, f"(no rule for {kind})")


def main():
    header = without_comments("\n".join((top / "include/dodo" / name).read_text() for name in ("dodo.h", "manage.h")))
    module = (top / "adapters/fortran/dodo.f90").read_text()
    wanted, found = c_calls(header), fortran_calls(module)
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            complain(f"{name}: the headers want {wanted.get(name)}, the module has {found.get(name)}")
    for name in ("DodoDone", "DodoStat", "DodoManageStats"):
        body = re.search(r"type, bind\(C\) :: %s\n(.*?)  end type" % name, module, re.S)[1]
        if list(c_fields(header, name)) != list(declarations(body).items()):
            complain(f"{name}: {list(c_fields(header, name))} in C, {list(declarations(body).items())} in Fortran")
    numbers = dict(re.findall(r"\b(DODO_\w+) = (\d+)", header))
    told = dict(re.findall(r"\b(DODO_\w+) = (\d+)", module))
    for name in sorted(told.keys() | {n for n in numbers if "ENTRY" not in n and "POLICY" not in n and "_LOG_" not in n}):
        if numbers.get(name) != told.get(name):
            complain(f"{name}: {numbers.get(name)} in C, {told.get(name)} in Fortran")
    if len(wanted) < 25 or len(told) < 13:
        complain("the headers or the module were not understood")
    return bool(failures)


sys.exit(main())
