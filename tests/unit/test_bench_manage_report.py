#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the report of scripts/bench-manage says of the mixes."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))

# pylint: disable=wrong-import-position
import bench_manage_report as manage


def run(mix, backend, wrong=0, **means):
    """One run of manage-two; means: of each file [us]."""
    files = {file: {"reads": 10, "mean_us": us, "p50_us": us / 2, "p999_us": us * 9} for file, us in means.items()}
    return {"mix": mix, "round": 1, "backend": backend, "run": {"wrong_bytes": wrong, **files}}


MIXES = [
    run("two", "disk", file=1200, cheap=3), run("two", "manage", file=30, cheap=4),
    run("two", "manage", file=20, cheap=4), run("two", "disk", file=1000, cheap=3),
    run("two", "disk", file=1100, cheap=3), run("two", "manage", file=40, cheap=4),
    run("held-50", "disk", file=2400), run("held-50", "manage", file=2500),
]


class Mixes(unittest.TestCase):
    def test_each_file_has_the_spread_of_its_own_rounds(self):
        two, cheap, held = manage.mixes(MIXES)
        self.assertEqual([(m["mix"], m["file"]) for m in (two, cheap, held)],
                         [("two", "file"), ("two", "cheap"), ("held-50", "file")])
        self.assertEqual(two["disk"]["mean_us"], {"median": 1100, "lowest": 1000, "highest": 1200})
        self.assertEqual(two["manage"]["mean_us"], {"median": 30, "lowest": 20, "highest": 40})
        self.assertEqual(cheap["manage"]["p999_us"]["median"], 36)
        self.assertEqual(held["manage"]["p50_us"]["median"], 1250)

    def test_the_table_names_the_files_of_a_mix(self):
        rows = [line.split(" | ") for line in manage.mix_table(list(manage.mixes(MIXES)))][2:]
        self.assertEqual([r[:2] for r in rows], [["| two", "expensive"], ["| two", "cheap"], ["| held-50", "all"]])
        self.assertEqual(rows[0][2:4], ["1,100 (1,000 to 1,200)", "30.0 (20.0 to 40.0)"])
        self.assertEqual(list(manage.mix_table([])), [])

    def main(self, mixes):
        with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()) as out:
            for name, lines in (("results", []), ("mixes", [json.dumps(m) for m in mixes]), ("notes", ["a note"])):
                with open(os.path.join(work, name), "w", encoding="utf-8") as f:
                    f.writelines(line + "\n" for line in lines)
            status = manage.main(work, os.path.join(work, "json"), os.path.join(work, "markdown"))
            with open(os.path.join(work, "json"), encoding="utf-8") as f:
                written = json.load(f)
        self.assertIn("expensive", out.getvalue())
        return status, written

    def test_mixes_alone_are_a_report(self):
        status, written = self.main(MIXES)
        self.assertFalse(status)
        self.assertEqual((written["notes"], written["cells"], len(written["mixes"])), (["a note"], [], 3))

    def test_a_wrong_byte_in_any_round_fails(self):
        self.assertTrue(self.main([*MIXES, run("two", "manage", wrong=1, file=30, cheap=4)])[0])


unittest.main()
