"""check-ideas finds a block that fails, a missing file, and a page that lists too few ideas."""

import unittest

from support import TreeTest, load_script

BLOCK = """**{name}**, an idea:

```mlir
%a: tensor<?xf32> {{pe.name = "a", pe.init = 1.0}}
%b = pe.bias_fn(%a : tensor<?xf32>) expr "{formula}"
%o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
```
"""


class IdeasTest(TreeTest):
    check_ideas = load_script("check-ideas")

    def setUp(self):
        super().setUp()
        # Replaces pe: accepts programs that have all arguments and say `good`.
        script = ('#!/bin/sh\ngrep -q "%a: tensor" "$2" && grep -q good "$2" || '
                  '{ echo "$2:1:1: error: bad" >&2; exit 1; }\n')
        self.write("build/bin/pe", script).chmod(0o755)
        self.write("examples/encodings/known.mlir")

    def page(self, file="known", formula="good", rows=60):
        self.write("docs/can-and-cannot.md", "# Title\n## 1. Files\n"
                   f"[x](../examples/encodings/{file}.mlir)\n## 2. Blocks\n" +
                   BLOCK.format(name="An idea", formula=formula) +
                   "## 3. Not\n| idea | why |\n|---|---|\n" + "| idea | reason |\n" * rows)

    def check(self, root):
        return self.check_ideas.check(root, root / "build")[0]

    def test_a_good_page_is_counted(self):
        self.page()
        self.assertEqual(self.check_ideas.check(self.root, self.root / "build"), ([], (1, 1, 60)))

    def test_a_block_that_fails_is_found(self):
        self.page(formula="wrong")
        self.expect_problem(self.check, "An idea: ", "1:1: error: bad")

    def test_a_missing_file_is_found(self):
        self.page(file="unknown")
        self.expect_problem(self.check, "expected examples/encodings/unknown.mlir to exist")

    def test_a_short_page_is_found(self):
        self.page(rows=20)
        self.expect_problem(self.check, "expected at least 60 ideas, found 22")


if __name__ == "__main__":
    unittest.main()
