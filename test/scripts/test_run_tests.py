"""scripts/run-tests counts every runner's results and cannot report success without tests."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

from support import load_script

run_tests = load_script("run-tests")

CTEST = """<testsuite>
<testcase name="plain" status="run"/>
<testcase name="broken" status="fail"><failure/></testcase>
<testcase name="unit" status="run"/>
<testcase name="unit-bad" status="fail"><failure/></testcase>
<testcase name="crashed" status="fail"><failure/></testcase>
<testcase name="missing" status="notrun"><skipped/></testcase>
<testcase name="away" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="off" status="disabled"/>
</testsuite>"""


def gtest_case(name, **extra):
    return {"name": name, "status": "RUN", "result": "COMPLETED", **extra}


def gtest_file(*cases):
    return json.dumps({"testsuites": [{"name": "Suite", "testsuite": list(cases)}]})


class RunTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.build / name
        path.write_text(text)
        return path

    def summary(self, tallies):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = run_tests.report(self.build, tallies)
        return status, output.getvalue().splitlines()[-1]

    def test_lit_codes(self):
        codes = ["PASS", "FAIL", "XFAIL", "XPASS", "UNRESOLVED", "UNSUPPORTED", "TIMEOUT"]
        tests = [{"name": code, "code": code} for code in codes]
        tally = run_tests.lit_tally(self.write("lit", json.dumps({"tests": tests})))
        self.assertEqual(tally.passed, 2)
        self.assertEqual(tally.failed, ["FAIL", "XPASS", "UNRESOLVED", "TIMEOUT"])
        self.assertEqual(tally.skipped, ["UNSUPPORTED (unsupported)"])

    def test_ctest_and_gtest(self):
        failing = gtest_case("b", failures=[{"failure": "x"}])
        skipped = gtest_case("c", result="SKIPPED")
        self.write("unit.json", gtest_file(gtest_case("a"), gtest_case("b"), skipped))
        self.write("unit-bad.json", gtest_file(gtest_case("a"), failing))
        tally = run_tests.ctest_tally(self.write("ctest.xml", CTEST), self.build)
        self.assertEqual(tally.passed, 4)
        self.assertEqual(tally.failed, ["broken", "unit-bad: Suite.b", "crashed", "missing"])
        self.assertEqual(tally.skipped, ["unit: Suite.c", "away", "off"])

    def test_a_program_that_crashes_after_its_cases_fails(self):
        self.write("crashed.json", gtest_file(gtest_case("a")))
        tally = run_tests.ctest_tally(self.write("ctest.xml", CTEST), self.build)
        self.assertIn("crashed", tally.failed)

    def test_summary(self):
        good = run_tests.Tally()
        good.passed = 3
        self.assertEqual(self.summary({"lit": good, "ctest": good}), (0, "6 passed, 0 failed"))
        self.assertEqual((self.build / "test-summary").read_text(), "6 passed, 0 failed\n")
        bad = run_tests.Tally()
        bad.failed = ["x"]
        self.assertEqual(self.summary({"lit": good, "ctest": bad}), (1, "3 passed, 1 failed"))

    def test_a_runner_without_tests_fails(self):
        good = run_tests.Tally()
        good.passed = 3
        for nothing in (None, run_tests.Tally()):
            status, line = self.summary({"lit": good, "ctest": nothing})
            self.assertEqual((status, line), (1, "3 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
