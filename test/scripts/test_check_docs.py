"""check-docs finds an example that does not parse, a command that fails and output that differs;
check-tree finds a tree that is not true."""

import unittest

from support import TreeTest, load_script

MODULE = "```mlir\nfunc.func @f() {{ {0} }}\n```\n"
COMMAND = "<!-- checked -->\n```sh\n{0}\n```\n"


class DocsTest(TreeTest):
    check_docs = load_script("check-docs")

    def setUp(self):
        super().setUp()
        # Replaces pe-opt: accepts what says `good`.
        script = '#!/bin/sh\ngrep -q good || { echo "1:1: error: bad" >&2; exit 1; }\n'
        self.write("build/bin/pe-opt", script)
        (self.root / "build/bin/pe-opt").chmod(0o755)
        (self.root / "examples").mkdir()

    def check(self, root):
        return self.check_docs.check(root, root / "build")[0]

    def test_modules_and_commands_are_counted(self):
        self.write("docs/a.md", MODULE.format("good") + "```mlir\n%0 = pe.x\n```\n" +
                   COMMAND.format("true") + "```sh\nfalse\n```\n")
        self.write("dialect/A.td", "  let description = [{\n    " +
                   MODULE.format("good").replace("\n", "\n    ") + "}];\n")
        self.assertEqual(self.check_docs.check(self.root, self.root / "build"), ([], 2, 1))

    def test_a_module_that_does_not_parse_is_found(self):
        self.write("docs/a.md", "Text\n" + MODULE.format("wrong"))
        self.expect_problem(self.check, "docs/a.md:2:", "1:1: error: bad")

    def test_both_halves_of_before_and_after_are_parsed(self):
        halves = "```mlir\nfunc.func @f() { good }\n==>\nfunc.func @g() { GOOD }\n```\n"
        self.write("docs/a.md", halves.replace("GOOD", "good"))
        self.expect_clean(self.check)
        self.write("docs/a.md", halves)
        self.expect_problem(self.check, "docs/a.md:1:", "bad")

    def test_an_abbreviated_module_is_skipped(self):
        self.write("docs/a.md", MODULE.format("wrong ..."))
        self.expect_clean(self.check)

    def test_a_dead_link_is_found(self):
        self.write("docs/a.md", "[a](a.md#x), [b](https://x.example/y), [root](../README.md)\n")
        self.expect_problem(self.check, "docs/a.md:1:", "../README.md")

    def test_a_description_that_does_not_parse_is_found(self):
        self.write("dialect/A.td", MODULE.format("wrong"))
        self.expect_problem(self.check, "dialect/A.td:1:", "bad")

    def test_a_command_that_fails_is_found(self):
        self.write("README.md", COMMAND.format("echo oops >&2; false; true"))
        self.expect_problem(self.check, "README.md:2:", "exit status 0, found 1: oops")

    def test_files_of_the_page_are_there(self):
        self.write("README.md", "```mlir\n// mine.mlir\ngood\n```\n" +
                   COMMAND.format("grep good mine.mlir && test -d examples -a -d build/bin"))
        self.expect_clean(self.check)

    def test_output_is_compared(self):
        page = COMMAND.format("echo one; echo noise; echo two 2.5 s") + "```text\none\n{0}\n```\n"
        self.write("README.md", page.format("two … s"))
        self.expect_clean(self.check)
        self.write("README.md", page.format("three"))
        self.expect_problem(self.check, "README.md:5:", "three")


class RepositoryTreeTest(TreeTest):
    check = staticmethod(load_script("check-tree").check)
    good = ["cmake/ scripts/  build helpers", "runtime/plan/  plain data"]

    def setUp(self):
        super().setUp()
        for path in ("cmake/a.cmake", "scripts/a", "runtime/plan/README.md"):
            self.write(path)

    def page(self, tree_lines):
        self.write("CONTRIBUTING.md", "\n".join(["<!-- tree -->", "```", *tree_lines, "```", ""]))

    def test_a_true_tree_is_accepted(self):
        self.page(self.good)
        self.expect_clean(self.check)

    def test_a_repeated_file_name_is_found(self):
        self.page(self.good)
        self.write("cmake/Passes.td")
        self.write("scripts/Passes.td")
        for path in ("cmake/Near.cpp", "scripts/Near.cpp", "cmake/One.h"):
            self.write(path)
        self.expect_clean(self.check)
        self.write("scripts/One.h")
        self.expect_problem(self.check, "scripts/One.h:", "differs from cmake/One.h")

    def test_a_path_that_is_not_there_is_found(self):
        self.page(self.good + ["runtime/gone/  nothing"])
        self.expect_problem(self.check, "CONTRIBUTING.md:5:", "runtime/gone/ is not in the tree")

    def test_a_line_without_description_is_found(self):
        self.page([self.good[0], "runtime/plan/"])
        self.expect_problem(self.check, "expected a description")

    def test_an_entry_of_the_root_that_is_left_out_is_found(self):
        self.page(self.good[1:] + ["cmake/  helpers"])
        self.expect_problem(self.check, "expected a line for scripts")

    def test_a_room_that_is_left_out_is_found(self):
        self.write("runtime/core/README.md")
        self.page(self.good)
        self.expect_problem(self.check, "expected a line for the room runtime/core/")

    def test_a_room_without_readme_is_found(self):
        self.write("runtime/core/a.h")
        self.page(self.good + ["runtime/core/  tensors"])
        self.expect_problem(self.check, "runtime/core: expected a README.md")

    def test_a_readme_without_tree_is_found(self):
        self.write("CONTRIBUTING.md", "nothing\n")
        self.expect_problem(self.check, "expected a fenced block")


if __name__ == "__main__":
    unittest.main()
