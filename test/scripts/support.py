"""Utilities of the tests of scripts/: loading a script as a module, and a small tree to check."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))


def load_script(name):
    """The program scripts/NAME as a module: it has no .py ending, being a command first."""
    path = ROOT / "scripts" / name
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class TreeTest(unittest.TestCase):
    """A test with a separate source tree in self.root."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def expect_problem(self, check, *parts):
        """`check` finds exactly one problem in the tree, and it says all of `parts`."""
        problems = check(self.root)
        self.assertEqual(len(problems), 1, problems)
        for part in parts:
            self.assertIn(part, problems[0])

    def expect_clean(self, check):
        self.assertEqual(check(self.root), [])
