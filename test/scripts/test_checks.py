"""Each check of the tree accepts a good tree and finds the one thing that is wrong in a bad one."""

import unittest

from support import ROOT, TreeTest, load_script


class IncludesTest(TreeTest):
    check = staticmethod(load_script("check-includes").check)

    def setUp(self):
        super().setUp()
        for header in ("runtime/include/pe/Tensor.h", "runtime/plan/Plan.h", "dialect/PE/PE.h",
                       "passes/ToCPU/ToCPU.h", "runtime/device/cpu/Pool.h"):
            self.write(header)

    def test_the_order_is_kept(self):
        self.write("runtime/core/a.cpp", '#include "pe/Tensor.h"\n#include "runtime/plan/Plan.h"\n')
        self.write("passes/ToTile/a.cpp", '#include "dialect/PE/PE.h"\n#include "mlir/IR/X.h"\n')
        self.write("passes/ToTile/b.cpp", '#include "dialect/PE/PE.h.inc"\n#include <vector>\n')
        self.expect_clean(self.check)

    def test_plan_may_not_see_a_device(self):
        self.write("runtime/plan/a.cpp", '\n#include "runtime/device/cpu/Pool.h"\n')
        self.expect_problem(self.check, "runtime/plan/a.cpp:2:", "may not include runtime/device")

    def test_passes_and_devices_never_see_each_other(self):
        self.write("passes/ToCPU/a.cpp", '#include "runtime/device/cpu/Pool.h"\n')
        self.expect_problem(self.check, "passes/ToCPU may not include runtime/device")

    def test_a_device_may_not_see_passes(self):
        self.write("runtime/device/cpu/a.cpp", '#include "passes/ToCPU/ToCPU.h"\n')
        self.expect_problem(self.check, "runtime/device may not include passes/ToCPU")

    def test_a_file_name_relative_to_its_folder_is_resolved(self):
        self.write("runtime/device/cpu/a.cpp", '#include "../../../dialect/PE/PE.h"\n')
        self.expect_problem(self.check, "runtime/device may not include dialect/PE")

    def test_the_runtime_is_free_of_llvm(self):
        self.write("runtime/core/a.cpp", '#include "llvm/ADT/Twine.h"\n')
        self.expect_problem(self.check, "runtime/core may not include LLVM or MLIR")

    def test_the_api_is_free_of_mlir(self):
        self.write("runtime/include/pe/a.h", "#include <mlir-c/IR.h>\n")
        self.expect_problem(self.check, "runtime/include may not include LLVM or MLIR")

    def test_the_api_includes_no_header_that_is_not_installed(self):
        self.write("runtime/include/pe/a.h", '#include "runtime/plan/Plan.h"\n')
        self.expect_problem(self.check, "runtime/include may not include runtime/plan")

    def test_an_unknown_room_is_refused(self):
        self.write("passes/New/a.cpp")
        self.expect_problem(self.check, "expected a room")

    def test_a_file_that_is_not_there_is_refused(self):
        self.write("runtime/core/a.cpp", '#include "runtime/plan/Plam.h"\n')
        self.expect_problem(self.check, "expected a file of pe")


    def test_cycles_of_files_are_refused(self):
        self.write("runtime/core/a.h", '#include "pe/Tensor.h"\n')
        self.write("runtime/core/a.cpp", '#include "runtime/core/a.h"\n#include "runtime/core/b.h"\n')
        self.write("runtime/core/b.cpp", '#include "runtime/core/b.h"\n#include "runtime/core/c.h"\n')
        self.write("runtime/core/b.h")
        self.write("runtime/core/c.h")
        self.write("test/runtime/core/a.cpp", '#include "runtime/core/b.h"\n#include "runtime/core/a.h"\n')
        self.expect_clean(self.check)
        self.write("runtime/core/c.cpp", '#include "runtime/core/c.h"\n#include "a.h"\n')
        self.expect_problem(self.check, "runtime/core/a: expected no cycle of includes, found 3 files: "
                            "runtime/core/a, runtime/core/b, runtime/core/c;")
        self.write("dialect/PE/y.h", '#include "dialect/PE/PE.h"\n')
        self.write("dialect/PE/PE.cpp", '#include "dialect/PE/y.h"\n')
        self.assertEqual(len(self.check(self.root)), 2)


class ImportsTest(TreeTest):
    check = staticmethod(load_script("check-includes").check)

    def setUp(self):
        super().setUp()
        for name in ("__init__", "_errors", "_run", "_module", "nn/__init__", "nn/_fire",
                     "distributed/__init__", "distributed/_ring"):
            self.write_module(name)

    def write_module(self, name, text=""):
        self.write(f"python/pe_attention/{name}.py", text)

    def test_the_order_is_kept(self):
        self.write_module("_module", "import torch\nfrom . import _run\nfrom ._errors import Error\n")
        self.write_module("nn/_fire", "from .._module import Encoding\nfrom . import _words\n")
        self.write_module("nn/_words", "from __future__ import annotations\n")
        self.write_module("_attention", "def f():\n    from .distributed._ring import Ring\n")
        self.expect_clean(self.check)

    def test_an_import_in_a_function_counts(self):
        self.write_module("_run", "def f():\n    from .nn import FIRE\n")
        self.expect_problem(self.check, "_run.py:2: core may not import nn (nn)")

    def test_relative_imports_are_resolved(self):
        self.write_module("nn/_fire", "\nfrom ..distributed import _ring\n")
        self.expect_problem(self.check, "_fire.py:2: nn may not import distributed "
                                        "(distributed._ring)")

    def test_absolute_imports_are_resolved(self):
        for text in ("import pe_attention.nn._fire\n", "from pe_attention.nn._fire import FIRE\n"):
            self.write_module("distributed/_ring", text)
            self.expect_problem(self.check, "distributed may not import nn (nn._fire)")

    def test_types_obey_the_rooms(self):
        self.write_module("_run", "if TYPE_CHECKING:\n    from .nn import FIRE\n")
        self.expect_problem(self.check, "_run.py:2: core may not import nn")

    def test_a_cycle_is_refused(self):
        self.write_module("_module", "from ._run import run\n")
        self.write_module("_run", "from . import _errors\n\ndef f():\n    from . import _module\n")
        self.expect_problem(self.check, "_module.py:1: expected no cycle of imports, found "
                                        "_module -> _run -> _module")

    def test_types_close_no_cycle(self):
        self.write_module("_module", "from ._run import run\n")
        self.write_module("_run", "if TYPE_CHECKING:\n    from ._module import Encoding\n")
        self.expect_clean(self.check)

    def test_a_package_imports_itself_through_its_modules(self):
        self.write_module("nn/__init__", "from ._fire import FIRE\n")
        self.write_module("nn/_fire", "from .. import nn\n")
        self.expect_problem(self.check, "nn -> nn._fire -> nn")

    def test_an_unknown_directory_is_refused(self):
        self.write_module("kernels/_matmul")
        self.expect_problem(self.check, "expected a room of PYTHON_ROOMS")


class EncodingNamesTest(TreeTest):
    script = load_script("check-encoding-names")
    check = staticmethod(script.check)

    def test_words_are_split(self):
        for text, names in (("lowerKerpleTerm(x)", ["kerple"]), ("FIREBias", ["fire"]),
                            ("rope_angle", ["rope"]), ("T5", ["t5"]), ("a t5-like bias", ["t5"]),
                            ("MusicTransformerOp", ["music transformer"]), ("NtkScaling", ["ntk"]),
                            ("fires property reverse europe foxes t55", [])):
            self.assertEqual(self.script.names_in(text), names, text)

    def test_neutral_text_is_accepted(self):
        self.write("passes/ToCPU/a.cpp", "// fires once per distance; a property of reverse mode\n")
        self.write("runtime/reference/a.cpp", "// alibi\n")
        self.write("passes/Transforms/a.cpp", "// alibi\n")
        self.expect_clean(self.check)

    def test_a_name_in_a_lowering_is_found(self):
        self.write("passes/ToTile/a.cpp", "\nvoid lowerAlibi();\n")
        self.expect_problem(self.check, "passes/ToTile/a.cpp:2:", "'alibi'")

    def test_a_name_in_the_runtime_is_found(self):
        self.write("runtime/train/a.cpp", "// like RSE\n")
        self.expect_problem(self.check, "runtime/train/a.cpp:1:", "'rse'")

    def test_a_file_name_is_found(self):
        self.write("passes/Schedule/ChooseRope.cpp")
        self.expect_problem(self.check, "passes/Schedule/ChooseRope.cpp:", "'rope'")

    OPS = ('def PE_DistanceOp : PE_CoordinateOp<"distance"> {\n'
           'def PE_MaskAndOp : PE_MaskOp<"mask_and", ["buildKeyInterval"]> {\n'
           'def PE_RotationTableOp\n    : PE_RotationOp<"rotation_table"> {\n')

    def test_ops_of_encodings_are_those_of_families(self):
        self.write("dialect/PE/PEMasks.td", self.OPS)
        self.write("dialect/PE/PEScalars.td", 'def PE_ReadOp : PE_Op<"read", [Pure]> {\n')
        self.assertEqual(self.script.encoding_ops(self.root),
                         {"distance": "DistanceOp", "rotation_table": "RotationTableOp"})

    def test_what_programs_are_made_of_may_be_named(self):
        self.write("dialect/PE/PEMasks.td", self.OPS)
        self.write("passes/Transforms/a.cpp", "isa<MaskAndOp>(op); // pe.distance, a LogDistanceOp\n")
        self.write("runtime/reference/a.cpp", 'if (name == "pe.distance")\n')
        self.expect_clean(self.check)

    def test_an_op_of_an_encoding_in_a_pass_is_found(self):
        self.write("dialect/PE/PEMasks.td", self.OPS)
        self.write("passes/Transforms/a.cpp", "\nif (isa<RotationTableOp>(op))\n")
        self.expect_problem(self.check, "passes/Transforms/a.cpp:2:", "RotationTableOp")

    def test_its_name_in_quotes_is_found(self):
        self.write("dialect/PE/PEMasks.td", self.OPS)
        self.write("tools/pe/a.cpp", 'op.name == "pe.distance"\n')
        self.expect_problem(self.check, "tools/pe/a.cpp:1:", '"pe.distance"')


class SizesTest(TreeTest):
    check = staticmethod(load_script("check-sizes").check)

    def test_sizes(self):
        self.write("passes/a.cpp", "//\n" * 700)
        self.expect_clean(self.check)
        self.write("passes/b.cpp", "//\n" * 701)
        self.expect_problem(self.check, "passes/b.cpp:1:", "found 701")

    def test_functions(self):
        body = "  f('{', \"{\"); // {\n" * 59
        long = body + "  g([&] {\n  });\n"
        self.write("passes/a.cpp", "namespace a {\nint f(A a = {}) {\n" + body + "}\n" * 2)
        self.expect_clean(self.check)
        for head in ("int f(A a = {}) {", "struct S {\nS() : a{1}, b(2) {", "TEST(A, B) {",
                     "int h() { return 1; }\nbool S::operator()(int x) const {"):
            self.write("passes/a.cpp", f"namespace a {{\n{head}\n{long}}}\n")
            line = 2 + head.count("\n")
            self.expect_problem(self.check, f"passes/a.cpp:{line}:", "at most 60 lines, found 62")
        for head in ("class C {", "int h() { return 1; }\nclass C {", "int table[] = {"):
            self.write("passes/a.cpp", head + "\n" + "  int x;\n" * 80 + "};\n")
            self.expect_clean(self.check)


class TextTest(TreeTest):
    check = staticmethod(load_script("check-text").check)

    def test_clean_files_are_accepted(self):
        self.write("passes/a.cpp", "// A pass.\nint exitCode(int aborts);\n")
        self.write("docs/a.md", "Text with/home/inside, `<tmp>/x`, a long line" + "." * 100 + "\n")
        self.expect_clean(self.check)

    def test_each_refused_thing_is_found(self):
        cases = {
            "passes/a.cpp": ["// A pass. TODO later", "// See /home/someone/x", "// A pass. ",
                             "// A\tpass.", "// " + "x" * 100, "int x;", "// A\nstd::abort();",
                             "// A\nstd::cerr << 1;", "// from deb.debian.org"],
            "passes/a.h": ["// A header.\nusing namespace mlir;"],
            "test/a.mlir": ["// XFAIL: *"],
            "test/a.cpp": ["// A test.\nTEST(A, DISABLED_b) {}", "// A test.\nGTEST_SKIP();"],
            "scripts/a": ["import os"],
            ".github/workflows/a.yml": ["run: curl deb.debian.org"],
        }
        for path, texts in cases.items():
            for text in texts:
                self.write(path, text + "\n")
                with self.subTest(path=path, text=text):
                    self.expect_problem(self.check, path + ":")
            (self.root / path).unlink()

    def test_plain_prose_is_accepted(self):
        self.write("passes/a.cpp", "// A pass.\n/// Returns true if a row is empty. What follows?\n"
                                   "// There is none.\nint behind; // after `behind`\n")
        self.write("docs/a.md", "# Where the time goes\n\n```text\nbehind the last\n```\n")
        self.write("test/a.mlir", "// RUN: pe-opt %s\n// CHECK: behind\n// A comment.\n")
        self.write("tools/a.py", '"""A tool."""\n\nFOLDER = "a"\n')
        self.expect_clean(self.check)

    def test_idioms_are_found_at_their_line(self):
        cases = {
            "passes/a.cpp": ["// A pass.\n/// Whether a row is empty.", "// A pass.\n// What is last.",
                             "// A pass.\n// The one\n// behind.", '// A.\nauto s = "is no\"\n"file";',
                             "// A pass.\nint x; ///< What it costs."],
            "dialect/a.td": ['// Ops.\ndef A { let summary = "a number of its own"; }',
                             "// Ops.\ndef A {\n  let description = [{\n    What it does.\n  }];\n}"],
            "tools/a.py": ['"""Whether it is a tool."""', '"""A tool."""\n\nX = "no such folder"',
                           '"""A tool."""\n\n# It stands\n# for a row.'],
            "docs/a.md": ["One line.\n\nA sum in\nplace of a product.", "| a | of its own |"],
            "test/a.mlir": ["// A name that is told.", "// expected-error@+1 {{it is no tensor}}"],
            "scripts/a.sh": ["# Draws of chance."],
        }
        for path, texts in cases.items():
            for text in texts:
                self.write(path, text + "\n")
                with self.subTest(path=path, text=text):
                    self.expect_problem(self.check, path + ":", "found ")
            (self.root / path).unlink()

    def test_the_line_is_that_of_the_idiom(self):
        self.write("passes/a.cpp", "// A pass.\n\n// One\n// row of\n// its own.\n")
        self.expect_problem(self.check, "passes/a.cpp:5:", "'of its own'")

    def test_files_that_later_work_replaces_are_left(self):
        self.write("passes/ToTile/PEToTile.cpp", "// What is behind.\n")
        self.expect_clean(self.check)


class TreeOfContributingTest(TreeTest):
    check = staticmethod(load_script("check-tree").check)

    def setUp(self):
        super().setUp()
        self.write("CONTRIBUTING.md", "<!-- tree -->\n```text\ntest  tests\n```\n")
        self.write("test/README.md")

    def test_a_lit_file_at_the_limits_is_accepted(self):
        self.write("test/README.md", "x" * 121 + "\n")
        self.write("test/a.mlir", ("x" * 120 + "\n") * 250)
        self.write("test/b.mlir", '  expr "' + "i + " * 40 + 'j"\n')
        self.expect_clean(self.check)

    def test_a_long_lit_file_is_found(self):
        for path in ("test/a.mlir", "test/passes/Inputs/a.mlir", "test/a.test"):
            file = self.write(path, "x\n" * 251)
            self.expect_problem(self.check, f"{path}:1:", "at most 250 lines", "found 251")
            file.unlink()

    def test_a_long_line_of_a_lit_file_is_found(self):
        for path in ("test/a.mlir", "test/passes/Inputs/a.mlir", "test/a.test"):
            file = self.write(path, "x\n" + "x" * 121 + "\n")
            self.expect_problem(self.check, f"{path}:2:", "at most 120 characters", "found 121")
            file.unlink()


class LinksTest(unittest.TestCase):
    check = staticmethod(load_script("check-links").check)

    def problems(self, *entries):
        names = ("target", "folder", "links")
        return self.check([dict(zip(names, entry)) for entry in entries])

    def test_the_order_is_kept(self):
        self.assertEqual(self.problems(
            ("PEMlirHeaders", "", [""]), ("PEDialect", "dialect/PE", ["MLIR"]),
            ("pe-core", "runtime/core", ["pe-plan", "Threads::Threads"]),
            ("pe-plan", "runtime/plan", [])), [])

    def test_an_example_links_the_api_and_nothing_else(self):
        embed = ("embed", "examples/embed", ["pe"])
        self.assertEqual(self.problems(embed, ("pe", "runtime/api", [])), [])
        embed = ("embed", "examples/embed", ["pe_core"])
        self.assertEqual(self.problems(embed, ("pe_core", "runtime/core", [])),
                         ["embed: examples may not link pe_core of runtime/core"])

    def test_the_runtime_may_not_link_mlir(self):
        problems = self.problems(("pe-core", "runtime/core", ["MLIR"]))
        self.assertEqual(problems, ["pe-core: runtime/core may not link MLIR"])

    def test_passes_may_not_link_a_device(self):
        problems = self.problems(("PEToCPU", "passes/ToCPU", ["$<LINK_ONLY:pe-cpu>"]),
                                 ("pe-cpu", "runtime/device/cpu", []))
        self.assertEqual(problems, ["PEToCPU: passes/ToCPU may not link pe-cpu of runtime/device"])

    def test_the_reference_reaches_no_compiler(self):
        problems = self.problems(("pe-reference", "runtime/reference", ["pe-core"]),
                                 ("pe-core", "runtime/core", ["PEMath"]),
                                 ("PEMath", "dialect/Math", []))
        self.assertEqual(len(problems), 2)
        self.assertIn("share nothing with the compiler", problems[1])

    def test_an_unknown_room_is_refused(self):
        self.assertIn("expected a room", self.problems(("x", "passes/New", []))[0])


class RepositoryTest(unittest.TestCase):
    def test_the_rooms_of_the_table_are_the_rooms_of_the_tree(self):
        from checklib import rooms
        for room in rooms.ROOMS:
            self.assertTrue((ROOT / room).exists(), f"{room} is in rooms.py and not in the tree")

    def test_the_python_rooms_of_the_table_are_in_the_package(self):
        from checklib import rooms
        for members, _ in rooms.PYTHON_ROOMS.values():
            for name in members:
                path = ROOT / rooms.PACKAGE / name
                self.assertTrue(path.is_dir() or path.with_suffix(".py").exists(),
                                f"{name} is in rooms.py and not in the package")


if __name__ == "__main__":
    unittest.main()
