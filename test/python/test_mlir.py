"""Tests of pe.from_mlir: encodings from programs in the pe dialect."""

import json
import re
from pathlib import Path

import pytest
import torch

import pe_attention as pe
from pe_attention._function import get_function

from dense_attention import compare, inputs, softmax_attention

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "encodings"
CAUSAL = torch.arange(23)[None] <= torch.arange(4, 23)[:, None]

TEXT = """
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = "normal(1)"},  // per head
                     %0: tensor<f32> {pe.name = "rate", pe.init = 0.25, pe.min = 0.1})
    -> (!qkv {pe.name = "o"}) {
  %d = pe.bias_fn(%amp, %0 : tensor<?xf32>, tensor<f32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %a: tensor<?xf32>, %r: tensor<f32>):
    %x = pe.read %a[%h] : tensor<?xf32>
    %y = pe.read %r[] : tensor<f32>
    %z = arith.mulf %x, %y : f32
    %s = arith.subi %i, %j : index
    %w = arith.index_cast %s : index to i64
    %f = arith.sitofp %w : i64 to f32
    %result = arith.mulf %z, %f : f32
    pe.yield %result : f32
  }
  %window = pe.sliding_window {left = 9}
  %o = pe.attention %q, %k, %v bias(%d) mask(%window) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
"""


def test_program_text():
    """Parameters by their attributes; the mask of the text is combined with that of a call."""
    encoding = pe.from_mlir(TEXT, heads=3)
    assert encoding.amp.shape == (3,) and torch.equal(encoding.rate, torch.tensor([0.25]))
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    difference = torch.arange(4, 23)[:, None] - torch.arange(23)[None]
    for mask, allowed in ((None, difference < 9), (pe.causal, (difference < 9) & CAUSAL)):
        bias = (encoding.amp.double() * encoding.rate.double()).reshape(3, 1, 1) * difference
        o = pe.attention(q, k, v, encoding, mask=mask)
        compare(o, softmax_attention(q, k, v, bias, allowed),
                [q, k, v, encoding.amp, encoding.rate], d_o, 2e-5)
    with torch.no_grad():
        encoding.rate.fill_(-1.0)
    encoding.clamp_()
    assert torch.equal(encoding.rate, torch.tensor([0.1]))
    assert encoding.program().text == TEXT  # keeps the line numbers of errors


def test_files_and_sums():
    """A file with a formula whose captures are renamed, joined with another encoding."""
    table = pe.from_mlir(EXAMPLES / "relative_table.mlir", heads=3)
    both = table + pe.nn.ALiBi(3, learned=True)
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    difference = torch.arange(4, 23)[:, None] - torch.arange(23)[None]
    bias = table.table.double()[difference.clamp(-128, 128) + 128].permute(2, 0, 1) + \
        both.terms[1].dense(19, 23, dtype=torch.float64)
    o = pe.attention(q, k, v, both)
    compare(o, softmax_attention(q, k, v, bias, CAUSAL),
            [q, k, v, table.table, both.terms[1].slopes], d_o, 2e-5)


GENERIC = """
"builtin.module"() ({
  "func.func"() <{sym_name = "slope", sym_visibility = "private",
      function_type = (tensor<?xf32>) -> !pe.bias}> ({
  ^bb0(%s: tensor<?xf32>):
    %d = "pe.distance"() : () -> !pe.coordinate
    %b = "pe.linear"(%d, %s) <{factor = -1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 0>}>
        : (!pe.coordinate, tensor<?xf32>) -> !pe.bias
    "func.return"(%b) : (!pe.bias) -> ()
  }) : () -> ()
  "func.func"() <{sym_name = "attention",
      function_type = (!x, !x, !x, tensor<?xf32>, tensor<?xf32>) -> !x,
      arg_attrs = [{pe.name = "q"}, {pe.name = "k"}, {pe.name = "v"},
                   {pe.name = "slopes", pe.init = "slopes(geometric)"},
                   {pe.name = "sink", pe.init = 0.5 : f64}], res_attrs = [{pe.name = "o"}]}> ({
  ^bb0(%q: !x, %k: !x, %v: !x, %slopes: tensor<?xf32>, %sink: tensor<?xf32>):
    %b = "func.call"(%slopes) <{callee = @slope}> : (tensor<?xf32>) -> !pe.bias
    %m = "pe.causal"() : () -> !pe.mask
    %o = "pe.attention"(%q, %k, %v, %b, %sink, %m) <{
        operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0>}>
        : (!x, !x, !x, !pe.bias, tensor<?xf32>, !pe.mask) -> !x
    "func.return"(%o) : (!x) -> ()
  }) : () -> ()
}) : () -> ()
""".replace("!x", "tensor<?x?x?x?xf32>")


def test_generic_form_and_private_functions():
    """The compiler splits the program, whatever its syntax is; parts are joined with others."""
    encoding = pe.from_mlir(GENERIC, heads=3)
    assert [name for name, _ in encoding.named_parameters()] == ["slopes", "sink"]
    q, k, v, _ = inputs(2, 3, 19, 23, 16)
    same = pe.nn.ALiBi(3, learned=True) + pe.nn.RoPE()
    expected = pe.attention(q, k, v, same, mask=pe.causal, sink=torch.full((3,), 0.5))
    torch.testing.assert_close(pe.attention(q, k, v, encoding + pe.nn.RoPE()), expected)


def _pieces(text):
    """Returns the description of a program's pieces, with all names of values equal."""
    info = get_function(text, "reference", 64, 64, "f32", False).info
    pieces = [info["pieces"]["encoding"], info["pieces"]["mask"] or {}]
    for piece in pieces:
        for argument in piece.get("arguments", ()):
            del argument["key"]
    return re.sub(r"%{\w+}", "%", json.dumps(pieces)), info["attentions"]


@pytest.mark.parametrize("name", [path.stem for path in sorted(EXAMPLES.glob("*.mlir")) if
                                  path.read_text().count("= pe.attention ") == 1])
def test_every_example_survives_joining(name):
    """The program that is joined from the pieces of a file has the same pieces."""
    text = (EXAMPLES / f"{name}.mlir").read_text()
    names = ("rows", "columns", "features", "hidden", "offset", "bins")
    axes = " ".join(re.findall(r"pe\.axes = \[([^\]]*)\]", text))
    sizes = dict.fromkeys([axis for axis in names if f'"{axis}"' in axes], 4)
    encoding = pe.from_mlir(text, 4, head_dim=16, sizes=sizes)
    assert encoding.program().text == text
    joined = (encoding + pe.nn.NoPE()).program().text
    assert "= pe.attention " in joined and joined != text
    assert _pieces(joined) == _pieces(text)


@pytest.mark.parametrize("sizes, message", [
    ({"row": 4}, r"sizes: expected names of axes of the program \(it has none\), found 'row'"),
    ({"batch": 4}, "found 'batch'"),
])
def test_sizes_name_axes(sizes, message):
    with pytest.raises(pe.InputError, match=message):
        pe.from_mlir(EXAMPLES / "alibi.mlir", 4, sizes=sizes)


def test_tensors_of_a_call():
    """Every call provides the arguments without an initial value, including those of masks."""
    padding = pe.from_mlir(EXAMPLES / "key_padding.mlir")
    length = torch.tensor([11, 23], dtype=torch.int32)
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    allowed = CAUSAL & (torch.arange(23) < length.reshape(2, 1, 1, 1))
    compare(pe.attention(q, k, v, padding(kv_len=length)), softmax_attention(q, k, v, 0, allowed),
            [q, k, v], d_o, 2e-5)
    with pytest.raises(pe.InputError, match="expected the tensors kv_len of this call"):
        pe.attention(q, k, v, padding)
    with pytest.raises(pe.InputError, match="expected the tensors kv_len, found f"):
        padding(f=length)


def test_refused_programs():
    with pytest.raises(pe.CompileError, match="missing.mlir: from_mlir: cannot read the file"):
        pe.from_mlir("missing.mlir")
    with pytest.raises(pe.CompileError, match="a program with one pe.attention, found 2"):
        pe.from_mlir(EXAMPLES / "fire_shared.mlir")
    with pytest.raises(pe.InputError, match="amp: heads: expected a number"):
        pe.from_mlir(TEXT)
    with pytest.raises(pe.CompileError, match="expected left to be at least 1, found 0") as caught:
        pe.from_mlir(TEXT.replace("left = 9", "left = 0"), heads=3)
    assert caught.value.line == 1 + TEXT[:TEXT.index("pe.sliding_window")].count("\n")
