"""Writes attentions whose formulas use every value twice, 60 times in turn, and a long one."""

import sys

DEPTH, LENGTH = 60, 100_000


def chain(first, operator, result):
    """Returns a formula of the last of DEPTH values, each the sum or product of the one before."""
    steps = "".join(f"let x{n + 1} = x{n} {operator} x{n} in " for n in range(DEPTH))
    return f"let x0 = {first} in {steps}{result.format(f'x{DEPTH}')}"


def attention(clause, formula):
    return (f"  %{clause} = pe.{clause}_fn expr \"{formula}\"\n"
            f"  %o = pe.attention %q, %k, %v {clause}(%{clause}) : (!t, !t, !t) -> !t\n"
            "  return %o : !t\n}\n")


PROGRAMS = (("score", chain("0.5 * log(1 + i)", "+", "s * {}")),
            ("score", chain("s", "+", "{} * j")),
            ("factor", chain("cos(i - j)", "*", "{}")))
text = "!t = tensor<?x?x?x?xf32>\n"
for number, (clause, formula) in enumerate(PROGRAMS):
    text += f"func.func @f{number}(%q: !t, %k: !t, %v: !t) -> !t {{\n" + attention(clause, formula)
text += """\
func.func @long(%q: !t, %k: !t, %v: !t) -> !t {
  %f = pe.factor_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %whole = arith.index_cast %i : index to i32
    %x0 = arith.sitofp %whole : i32 to f32
    %half = arith.constant 0.5 : f32
"""
text += "".join(f"    %x{n + 1} = arith.addf %x{n}, %half : f32\n" for n in range(LENGTH))
text += f"""\
    pe.yield %x{LENGTH} : f32
  }}
  %o = pe.attention %q, %k, %v factor(%f) : (!t, !t, !t) -> !t
  return %o : !t
}}
"""
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(text)
