#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tables of scripts/bench-copies."""
import contextlib
import io
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import bench_copies_report as report  # noqa: E402

MIB = 1 << 20


def told(mirrored=8, remote=0, file=0, seconds=1.0):
    return {"seconds": seconds, "reads": 128, "wrong": 0, "failed": 0, "filled": 8 * MIB, "mirrored": mirrored * MIB,
            "remote_bytes": remote * MIB, "file_bytes": file * MIB}


def second(kill, number, **words):
    return {"size": "8M", "rate": "any", "back": "3", "writes": "no", "kill": kill, "second": number, "told": told(**words)}


def printed(table, lines):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        table(lines)
    return text.getvalue().splitlines()[3].split()


class Tables(unittest.TestCase):
    def test_a_kill_is_over_when_all_is_there_twice(self):
        row = printed(report.kills, [second(0, 0), second(1, 1), second(1, 2, mirrored=5), second(1, 3, mirrored=7), second(1, 4)])
        self.assertEqual(row[:7], ["8M", "any", "no", "3", "1", "1.0", "0"])
        self.assertEqual(row[10:], ["4", "(4-4)", "2.0", "(2.0-2.0)", "3", "(3-3)"])

    def test_a_kill_that_is_not_over_in_time_is_not_called_over(self):
        row = printed(report.kills, [second(0, 0), second(1, 1), second(1, 2, mirrored=5, file=1)])
        self.assertIn("inf", row)
        self.assertEqual(row[6:8], ["1024", "KiB"])

    def test_the_share_is_of_bytes(self):
        line = {"form": "all", "round": 1}
        row = printed(report.owners, [dict(line, phase="without", told=told(remote=10)),
                                      dict(line, phase="return 1", told=told(remote=3, file=1)),
                                      dict(line, phase="return 2", told=told(remote=3, file=1))])
        self.assertEqual(row[:7], ["all", "100.00", "(100.00-100.00)", "75.00", "(75.00-75.00)", "25.00", "(25.00-25.00)"])


    def test_two_copies_are_beside_one_of_their_round(self):
        def line(number, mirror, rate, wrong=0):
            run = {"call": "write", "size_bytes": 8192, "mb_per_s": rate, "wrong_bytes": wrong}
            return {"part": "mirror", "round": number, "line": "100mbit", "threads": 4, "mirror": mirror, "told": {"runs": [run]}}
        row = printed(report.mirrors, [line(1, "no", 10.0), line(1, "yes", 5.0), line(2, "yes", 9.0), line(2, "no", 12.0)])
        self.assertEqual(row, ["100mbit", "4", "write", "8K", "11.0", "(10.0-12.0)", "7.0", "(5.0-9.0)", "0.62", "(0.50-0.75)"])
        self.assertFalse(report.bad(line(1, "no", 10.0)))
        self.assertTrue(report.bad(line(1, "no", 10.0, wrong=1)))


if __name__ == "__main__":
    unittest.main()
