"""What the checks of the source tree share: which files there are, and how a problem is reported.

The checks read the tree itself rather than git's index, so that they work in an archive too.
"""

import argparse
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IGNORED = re.compile(
    r"^(\.git|\.cache|\.vscode|\.idea|\.mypy_cache|\.pytest_cache|build.*|dist|__pycache__|"
    r"compile_commands\.json)$")
CODE = (".h", ".cpp", ".td", ".py", ".cmake", ".txt", ".mlir", ".test", ".md", ".json", ".sh")


def files(root, under=""):
    """Paths below root/under, relative to root, in order; build trees and caches left out."""
    found = []
    for folder, folders, names in os.walk(root / under):
        folders[:] = sorted(name for name in folders if not IGNORED.match(name))
        found += [pathlib.Path(folder, name).relative_to(root) for name in names
                  if not IGNORED.match(name)]
    return sorted(found)


def lines(root, path):
    """(line number, text) of a file; a file that is not text has no lines."""
    try:
        return list(enumerate((root / path).read_text(encoding="utf-8").splitlines(), start=1))
    except UnicodeDecodeError:
        return []


def is_code(path):
    return path.suffix in CODE or path.parts[0] in ("scripts", ".ci") or path.name == "Makefile"


def run(check, description):
    """The main of a check: `check(root)` returns problems, each "PATH:LINE: what to change"."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--root", default=ROOT, type=pathlib.Path, help="the source tree")
    problems = check(parser.parse_args().root.resolve())
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)
