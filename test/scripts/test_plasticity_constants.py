"""The constants of the polar factors and of DASH are the same in C++ and in Python.

Both sides implement the same iterations for different tensors. A shared file would need a generated
header, an entry in the wheel and a reader in Python for these few numbers, whose comments belong
next to the code; so each side states them, and this test fails if they differ.
"""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP, PYTHON = ROOT / "runtime/train", ROOT / "python/pe_attention/plasticity"
# (C++ file, Python file): pairs of names. A dot selects the default of a function's parameter or of
# a field.
PAIRS = {
    ("reinit/QuinticPolar.cpp", "_quintic.py"): {
        "kLanczosSteps": "LANCZOS_STEPS", "kFirstMargin": "FIRST_MARGIN", "kMargin": "MARGIN",
        "kLowerMargin": "LOWER_MARGIN", "kCushion": "CUSHION", "kConverged": "CONVERGED",
        "kNear": "NEAR", "kFlat": "FLAT", "kMaxIterations": "MOST_STEPS", "kTaylor": "TAYLOR"},
    ("reinit/Qdwh.cpp", "_qdwh.py"): {
        "kLowerBound": "LOWER_BOUND", "kSecondPass": "SECOND_PASS", "kSteps": "INVERSE_STEPS"},
    ("reinit/CubicPolar.cpp", "_polar.py"): {"kLanczosSteps": "LANCZOS_STEPS"},
    ("reinit/Polar.cpp", "_polar.py"): {
        "kConverged": "CONVERGED", "kJitter": "JITTER", "kMaxAttempts": "ATTEMPTS"},
    ("reinit/NewtonSchulz.cpp", "_polar.py"): {
        "kMuonSteps": "MUON", "kPolarExpressSteps": "POLAR_EXPRESS"},
    ("../include/pe/reinit.h", "_polar.py"): {"iterations": "Method.iters"},
    ("trainer/Plasticity.h", "_dash.py"): {
        "kDashShare": "dash_.alpha", "kDashLeast": "dash_.least"},
}


def number(expression):
    """Evaluates an expression of literals, tuples and + - * /."""
    tree = ast.parse(expression.strip(), mode="eval")
    allowed = (ast.Expression, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator,
               ast.unaryop, ast.Load)
    assert all(isinstance(node, allowed) for node in ast.walk(tree)), expression
    return eval(compile(tree, "constant", "eval"))


def cpp_constant(text, name):
    """Returns the initial value of a variable or field; braces become tuples."""
    found = re.search(rf"\b{name} = ([^;]*?)(?:;|, k[A-Z]\w* = )", text)
    assert found, f"expected a definition of {name}"
    value = found[1].replace("{", "(").replace("}", ")")
    value = re.sub(r"\bk[A-Z]\w*", lambda other: repr(cpp_constant(text, other[0])), value)
    return number(value)


def python_constants(text):
    """Returns the constants of a module, defaults of fields and of keyword parameters by name."""
    found = {}

    def assign(target, value, prefix=""):
        if isinstance(target, ast.Tuple):
            for one, part in zip(target.elts, value.elts):
                assign(one, part, prefix)
        elif isinstance(target, ast.Name) and value is not None:
            found[prefix + target.id] = ast.unparse(value)

    def visit(body, prefix=""):
        for node in body:
            if isinstance(node, ast.Assign):
                assign(node.targets[0], node.value, prefix)
            elif isinstance(node, ast.AnnAssign):
                assign(node.target, node.value, prefix)
            elif isinstance(node, ast.ClassDef):
                visit(node.body, node.name + ".")
            elif isinstance(node, ast.FunctionDef):
                for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults):
                    assign(ast.Name(argument.arg), value, node.name + ".")

    visit(ast.parse(text).body)
    return found


class PlasticityConstants(unittest.TestCase):

    def test_both_languages_have_the_same_constants(self):
        for (cpp, python), names in PAIRS.items():
            text = (CPP / cpp).read_text(encoding="utf-8")
            constants = python_constants((PYTHON / python).read_text(encoding="utf-8"))
            for ours, theirs in names.items():
                with self.subTest(file=cpp, name=ours):
                    self.assertEqual(cpp_constant(text, ours), number(constants[theirs]))

    def test_a_difference_is_found(self):
        cpp = "constexpr double kMargin = 1.005, kNear = 0.25;\nconstexpr S kS = {kNear, -2.0 / 8};"
        self.assertEqual(cpp_constant(cpp, "kMargin"), 1.005)
        self.assertEqual(cpp_constant(cpp, "kS"), (0.25, -0.25))
        self.assertEqual(number(python_constants("MARGIN, NEAR = 1.004, 0.25")["MARGIN"]), 1.004)


if __name__ == "__main__":
    unittest.main()
