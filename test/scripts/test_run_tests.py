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
<testcase name="no-gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=3"/><system-out>
found 0 GPUs
expected a GPU
</system-out></testcase>
<testcase name="off" status="disabled"/>
</testsuite>"""

PYTEST = """<testsuites><testsuite>
<testcase classname="test.python.test_nn" name="test_dense[t5]"/>
<testcase classname="test.python.test_nn" name="test_wrong"><failure/></testcase>
<testcase classname="" name="test.python.test_bad"><error/></testcase>
<testcase classname="test.python.test_gpu" name="test_a"><skipped message="no GPU"/></testcase>
<testcase classname="test.python.test_nn" name="test_b"><skipped type="pytest.xfail"/></testcase>
</testsuite></testsuites>"""


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
        self.assertEqual(tally.skipped, ["unit: Suite.c", "away", "no-gpu (expected a GPU)", "off"])

    def test_a_program_that_crashes_after_its_cases_fails(self):
        self.write("crashed.json", gtest_file(gtest_case("a")))
        tally = run_tests.ctest_tally(self.write("ctest.xml", CTEST), self.build)
        self.assertIn("crashed", tally.failed)

    def test_pytest(self):
        self.write("python.xml", PYTEST)
        tally = run_tests.python_tally(self.build, 1)
        self.assertEqual(tally.passed, 2)
        self.assertEqual(tally.failed,
                         ["python: test_nn::test_wrong", "python: test.python.test_bad"])
        self.assertEqual(tally.skipped, ["python: test_gpu::test_a (no GPU)"])

    def test_python_that_could_not_run_is_a_failure(self):
        self.assertEqual(run_tests.python_tally(self.build, 3).failed,
                         ["python (make-python ended with status 3)"])
        self.write("python.txt", "torch could not be installed\n")
        self.assertEqual(run_tests.python_tally(self.build, 1).failed,
                         ["python (torch could not be installed)"])

    def test_python_that_may_not_be_installed_is_told(self):
        good = run_tests.Tally()
        good.passed = 3
        self.write("python.txt", "PE_NO_INSTALL=1, and no torch\n")
        nothing = run_tests.python_tally(self.build, 77)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = run_tests.report(self.build, {"lit": good, "python": nothing})
        self.assertEqual(status, 0)
        self.assertEqual(output.getvalue().splitlines()[-2:],
                         ["not run: python: PE_NO_INSTALL=1, and no torch", "3 passed, 0 failed"])

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
