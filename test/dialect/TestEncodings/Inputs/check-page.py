"""Checks that the dialect's sources contain every TableGen and C++ block of a page verbatim.

    check-page.py PAGE DIRECTORY
"""

import pathlib
import re
import sys

FILES = {"tablegen": "TestEncodings.td", "cpp": "TestEncodings.cpp"}


def main(page, folder):
    blocks = re.findall(r"^```(tablegen|cpp)\n(.*?)^```$", pathlib.Path(page).read_text(),
                        re.DOTALL | re.MULTILINE)
    differ = 0
    for language, block in blocks:
        if block not in (pathlib.Path(folder) / FILES[language]).read_text():
            differ += 1
            print(f"expected this {language} block in {FILES[language]}:\n{block}")
    print(f"{len(blocks)} blocks, {differ} differ")
    return 1 if differ or not blocks else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
