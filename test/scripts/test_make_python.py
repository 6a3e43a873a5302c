"""scripts/make-python: the wheel's files and hashes, and what it says when it cannot go on."""

import base64
import contextlib
import csv
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

from support import ROOT, load_script

make_python = load_script("make-python")


class MakePythonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name).resolve()

    def no_install(self, value):
        changed = unittest.mock.patch.dict("os.environ", {"PE_NO_INSTALL": value})
        changed.start()
        self.addCleanup(changed.stop)

    def make(self, *arguments):
        command = ["make-python", str(self.build), f"--results={self.build}", *arguments]
        with unittest.mock.patch.object(sys, "argv", command), \
                contextlib.redirect_stderr(io.StringIO()) as errors:
            return make_python.main(), errors.getvalue()

    def test_wheel(self):
        stage = self.build / "stage"
        (stage / "pe_attention" / "bin").mkdir(parents=True)
        program = stage / "pe_attention" / "bin" / "pe"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        wheel = make_python.write_wheel(stage, self.build)
        self.assertRegex(wheel.name, r"^pe_attention-[\d.]+-py3-none-manylinux_2_34_x86_64\.whl$")
        with zipfile.ZipFile(wheel) as archive:
            mode = archive.getinfo("pe_attention/bin/pe").external_attr >> 16
            self.assertEqual(mode & 0o777, 0o755)
            info = wheel.name.split("-py3")[0] + ".dist-info/"
            rows = list(csv.reader(io.StringIO(archive.read(info + "RECORD").decode())))
            self.assertEqual({row[0] for row in rows}, set(archive.namelist()))
            for name, digest, size in rows[:-1]:
                data = archive.read(name)
                found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                self.assertEqual((digest, size), (f"sha256={found}", str(len(data))))
            metadata = archive.read(info + "METADATA").decode()
        self.assertIn("\nRequires-Dist: torch>=2.10; extra == 'torch'\n", metadata)
        self.assertTrue(metadata.endswith((ROOT / "python" / "README.md").read_text()))

    def test_nothing_is_installed_where_it_may_not_be(self):
        self.no_install("1")
        with self.assertRaises(make_python.Stop) as stopped:
            make_python.environment(self.build)
        self.assertEqual(stopped.exception.status, 77)
        self.assertIn(f"PE_NO_INSTALL=1, and {self.build}/venv has no torch==",
                      str(stopped.exception))

    def test_what_pip_cannot_install_is_named(self):
        self.no_install("")
        wrong = subprocess.CalledProcessError(1, ["pip"])
        with unittest.mock.patch.object(make_python.venv, "create", side_effect=wrong), \
                contextlib.redirect_stdout(io.StringIO()), \
                self.assertRaisesRegex(make_python.Stop,
                                       "pytest.* could not be installed into") as stopped:
            make_python.environment(self.build)
        self.assertEqual(stopped.exception.status, 77)

    def test_another_version_is_missing(self):
        packages = ["no-such-package", "pip==0.0.1", "pip"]
        with unittest.mock.patch.object(make_python, "PACKAGES", packages):
            missing = make_python.missing_packages(pathlib.Path(sys.executable))
        self.assertEqual(missing, packages[:2])

    def test_why_it_stopped_is_left_for_the_summary(self):
        status, errors = self.make()
        self.assertEqual(status, 1)
        self.assertIn("expected a configured build tree", errors)
        self.assertIn("expected a configured build tree", (self.build / "python.txt").read_text())

    def test_a_build_that_fails_is_told_in_one_line(self):
        (self.build / "CMakeCache.txt").write_text("")
        wrong = subprocess.CalledProcessError(2, ["cmake", "--build", "x"])
        with unittest.mock.patch.object(make_python, "run", side_effect=wrong):
            status, errors = self.make()
        self.assertEqual((status, errors),
                         (1, "make-python: error: `cmake --build x` ended with status 2\n"))


if __name__ == "__main__":
    unittest.main()
