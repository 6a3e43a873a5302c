"""The report of the tree: lines per room, repeated names, the slowest steps and tests."""

import json
import pathlib
import subprocess
import sys
import unittest

from support import ROOT, TreeTest, load_script

report = load_script("tree-report")


class TreeReportTest(TreeTest):
    def test_lines_are_counted_by_room(self):
        self.write("passes/ToTile/A.cpp", "// A\n" * 7)
        self.write("passes/ToTile/A.h", "// A\n" * 3)
        self.write("passes/ToCPU/A.h", "// A\n")
        self.write("scripts/check", "# A\n" * 2)
        self.write("docs/a.md", "A\n" * 50)
        self.write("build/A.cpp", "// A\n" * 50)
        counts = report.line_counts(self.root)
        self.assertEqual(report.lines_per_room(counts),
                         [(10, 2, "passes/ToTile"), (2, 1, "scripts"), (1, 1, "passes/ToCPU")])
        self.assertEqual(report.repeated_names(counts),
                         [("A.h", ["passes/ToCPU/A.h", "passes/ToTile/A.h"])])

    def test_the_newest_entry_of_a_step_counts(self):
        log = self.write("build/.ninja_log", "# ninja log v5\n0\t9000\t1\ta.o\tx\n"
                         "0\t500\t1\tb.o\tx\n0\t2000\t2\ta.o\tx\n")
        self.assertEqual(report.steps(log), [(2.0, "a.o"), (0.5, "b.o")])

    def test_results_of_all_runners_are_read(self):
        self.write("lit-results", json.dumps({"tests": [{"name": "pe :: a", "elapsed": 2.5}]}))
        case = '<testsuite><testcase classname="{}" name="b" time="{}"/></testsuite>'
        self.write("ctest.xml", case.format("b", 3))
        self.write("python.xml", case.format("test.python.test_a", 1))
        self.assertEqual(report.tests(self.root), [
            (3.0, "ctest: b"), (2.5, "pe :: a"), (1.0, "test.python.test_a::b")])

    def test_a_tree_without_a_build_is_reported(self):
        self.write("passes/ToTile/A.cpp", "// A\n")
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "scripts/tree-report", pathlib.Path(self.root, "build"),
             f"--root={self.root}"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("1 in    1 files  passes/ToTile", "every name is unique",
                     "found none; run make test"):
            self.assertIn(part, done.stdout)


if __name__ == "__main__":
    unittest.main()
