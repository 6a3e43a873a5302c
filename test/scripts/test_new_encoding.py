"""scripts/new-encoding in a copy of the tree: its files pass their checks; bad names are refused.

    test_new_encoding.py BUILD
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import ROOT

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PE = BUILD / "bin/pe"
NAME = "square_root"


class NewEncodingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.root = pathlib.Path(directory.name, "copy")
        shutil.copytree(ROOT, cls.root, ignore=shutil.ignore_patterns(
            ".git", ".*cache", "build*", "dist", "__pycache__"))
        cls.before = cls.texts()
        cls.done = cls.script("new-encoding", NAME, f"--pe={PE}")

    @classmethod
    def texts(cls):
        paths = {path.relative_to(cls.root): path for path in cls.root.rglob("*") if path.is_file()}
        return {str(name): path.read_bytes() for name, path in paths.items()
                if name.parts[0] != "build"}

    @classmethod
    def run_in_copy(cls, *command):
        return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              cwd=cls.root)

    @classmethod
    def script(cls, name, *arguments):
        return cls.run_in_copy(sys.executable, "-B", f"scripts/{name}", *arguments)

    def expect_success(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_names_every_file_that_it_wrote(self):
        self.expect_success(self.done)
        self.assertIn("Next:", self.done.stdout)
        after = self.texts()
        changed = {path for path in after if after[path] != self.before.get(path)}
        printed = self.done.stdout.split("Next:")[0].split()[1:]
        self.assertEqual(changed, set(printed))
        self.assertEqual(len(printed), 9, printed)

    def test_results_and_gradients_are_those_of_the_reference(self):
        self.expect_success(self.run_in_copy(
            PE, "run", f"examples/encodings/{NAME}.mlir", "--random=1", "--shape=h=2,sq=37",
            "--grad", "--check"))

    def test_the_checks_accept_it(self):
        self.expect_success(self.run_in_copy(sys.executable, "test/examples/check_contract.py",
                                             "docs/contract.md", "examples/encodings"))
        self.expect_success(self.script("make-gallery", "--check"))
        for check in ("check-text", "check-sizes"):
            self.assertNotIn(NAME, self.script(check).stdout)
        self.expect_success(self.run_in_copy("clang-format-22", "--dry-run", "--Werror",
                                             "test/conformance/Cases.cpp"))

    def test_its_class_is_that_of_the_table(self):
        table = (self.root / "test/examples/structure.txt").read_text().splitlines()
        names = [line for line in table if not line.startswith("#")]
        self.assertIn(f"{NAME}: softmax distance", names)
        self.assertEqual(names, sorted(names))

    def test_the_conformance_suite_and_the_site_find_it(self):
        cases = (self.root / "test/conformance/Cases.cpp").read_text()
        row = f'{{"{NAME}", "examples/encodings/{NAME}.mlir"}},'
        self.assertEqual(cases.count(row), 1)
        self.expect_success(self.run_in_copy(
            sys.executable, "-B", "test/scripts/test_make_site.py",
            "SiteTest.test_every_file_has_a_page_with_a_line_of_python"))

    def expect_refused(self, *arguments, message):
        before = self.texts()
        done = self.script("new-encoding", *arguments)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"new-encoding: error: {message}", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(self.texts(), before)

    def test_bad_names_are_refused(self):
        for name in ("Fire2", "my-encoding", "2d", "a/b", "a__b", "tail_", "x" * 31, ""):
            with self.subTest(name=name):
                self.expect_refused(name, f"--pe={PE}",
                                    message="expected a name of at most 30 lower-case")

    def test_existing_names_are_refused(self):
        expected = "expected a name that is not used yet, found "
        self.expect_refused("fire", f"--pe={PE}", message=expected + "examples/encodings/fire.mlir")
        self.expect_refused("contents", f"--pe={PE}",
                            message=expected + "test/conformance/encodings/contents.mlir")

    def test_a_program_that_is_not_built_is_reported(self):
        self.expect_refused("another", "--pe=build/none", message="expected the program")


if __name__ == "__main__":
    unittest.main()
