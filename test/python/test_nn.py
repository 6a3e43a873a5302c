"""Tests of pe.nn: each class has the program of its example file, and values and gradients of
PyTorch."""

import copy
import os
import pickle
import re
import subprocess

import pytest
import torch

import pe_attention as pe
from pe_attention import nn

from dense_attention import compare, inputs, softmax_attention
from every_encoding import CASES, ELSEWHERE, EMBEDDINGS, EXAMPLES, FILES


def test_every_file_has_a_class():
    names = {path.stem for path in EXAMPLES.glob("*.mlir")}
    assert names == set(FILES) | set(ELSEWHERE) | set(EMBEDDINGS)


def test_every_class_is_in_the_list():
    """`every_encoding.py` must have a case for every class of pe.nn."""
    made = [make() for make, _ in CASES.values()] + [make() for make, _ in EMBEDDINGS.values()]
    found = {type(part).__name__ for module in made
             for part in (module.parts() if hasattr(module, "parts") else (module,))}
    found.discard("FormulaRotation")  # made by pe.rotation
    assert found == set(nn.__all__), sorted(found ^ set(nn.__all__))
    public = {name for name, value in vars(nn).items()
              if isinstance(value, type) and issubclass(value, torch.nn.Module)}
    assert public == set(nn.__all__)


def _opt() -> str:
    """Returns the path of pe-opt, which is not part of the package; `make python` sets it."""
    from pe_attention import _library

    beside = os.path.join(os.path.dirname(_library.program()), "pe-opt")
    found = os.environ.get("PE_OPT", beside)
    return found if os.path.exists(found) else ""


def _canonical(printed: str) -> list[str]:
    """Returns a module in pe-opt's syntax, with values numbered in the order of the attention's
    operands and their definitions. Monitors, which only log, and the default base of rotations,
    which some files write out, are removed."""
    printed = re.sub(r", pe\.monitor = \{[^}]*\}", "", printed)
    printed = re.sub(r"base = 1\.000000e\+04 : f64(, )?", "", printed).replace(" {}", "")
    head = re.search(r"func\.func @attention\((.*)\) -> \((.*)\) \{", printed)
    inside = re.compile(r"\s+(%|\^bb|pe\.yield|\})")
    lines = [line.strip() for line in printed.splitlines() if inside.match(line)]
    attribute = re.compile(r'pe\.\w+ = (?:"[^"]*"|\[[^\]]*\]|[^,}]+)')
    names: dict[str, str] = {}
    for argument in re.finditer(r'(%\w+): (\S+) (\{pe\.[^%]*\}|\{[^%]*\})', head[1]):
        # By default, weight decay applies to arguments with two axes or more.
        usual = "true" if argument[2].count("x") > 1 else "false"
        attributes = ", ".join(sorted(set(attribute.findall(argument[3])) -
                                      {f"pe.decay = {usual}"}))
        names[argument[1]] = f"<{argument[2]} {attributes}>"
    text = "\n".join(lines)
    for value in sorted(set(re.findall(r"%\w+", text)) - set(names), key=text.index):
        names[value] = ""
    return sorted(re.sub(r"%\w+", lambda m: names.get(m[0], ""), line) for line in lines) + \
        sorted(n for n in names.values() if n)


def test_structures():
    """The program of a class equals that of its file: ops, attributes, arguments and their
    attributes."""
    opt = _opt()
    if not opt:
        pytest.fail("there is no pe-opt, which prints programs to compare; `make python` builds it")
    texts = []
    for name, (make, mask) in FILES.items():
        texts += [make().program(mask).text, (EXAMPLES / f"{name}.mlir").read_text()]
    run = subprocess.run([opt, "--split-input-file", "-"], input="\n// -----\n".join(texts),
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    printed = run.stdout.split("// -----")
    assert len(printed) == len(texts)
    pairs = {name: tuple(map(_canonical, printed[2 * n:2 * n + 2])) for n, name in enumerate(FILES)}
    different = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    assert not different, "\n".join(f"{name}:\n  {set(ours) - set(theirs)}\n  "
                                    f"{set(theirs) - set(ours)}"
                                    for name, (ours, theirs) in different.items())


# Encodings with a dense bias, their masks and tolerances.
DENSE = [name for name in FILES if name.startswith(("alibi", "fire", "kerple", "t5", "sandwich",
                                                    "relative_table"))]


def _spread(encoding: pe.Encoding) -> None:
    """Changes parameters from their initial values, so that all of them affect the result."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in encoding.parameters():
            noise = torch.rand(parameter.shape, generator=generator)
            parameter.mul_(1 + 0.3 * noise).add_(0.2 * noise)


@pytest.mark.parametrize("name", DENSE)
def test_dense(name):
    """Output and all gradients against float64 softmax with the dense bias."""
    make, mask = FILES[name]
    encoding = make()
    _spread(encoding)
    q, k, v, d_o = inputs(2, 2, 19, 23, 16)
    allowed = torch.ones(19, 23, dtype=torch.bool)
    if mask is not None:
        allowed = torch.arange(23)[None] <= torch.arange(4, 23)[:, None]
    parameters = list(encoding.parameters())
    # Smooth activations are cubics within 1e-5 logits; the sum of 64 cosines cancels in d_r1.
    bound = {"fire_gelu": 2e-3, "fire_tanh": 2e-3, "sandwich": 64 * 2e-5}.get(name, 2e-5)
    o = pe.attention(q, k, v, encoding, mask=mask)
    bias = encoding.dense(19, 23, dtype=torch.float64)
    assert bias.shape == (1, 2, 19, 23) and bias.dtype == torch.float64
    expected = softmax_attention(q, k, v, bias, allowed)
    compare(o, expected, [q, k, v, *parameters], d_o, bound)


@pytest.mark.parametrize("name", FILES)
def test_runs(name):
    """Every class runs forward and backward, with finite gradients of all parameters."""
    make, mask = FILES[name]
    encoding = make()
    q, k, v, d_o = inputs(1, 2, 24, 24, 16)
    data = {"forgetting": lambda: {"f": torch.randn(1, 2, 24).cumsum(-1)},
            "key_bias": lambda: {"key_bias": torch.randn(1, 24)},
            **{name: lambda: {"r": torch.randn(1, 2, 24, 16)}
               for name in ("inkling", "inkling_global", "inkling_window")},
            "inkling2": lambda: {"r": torch.randn(1, 2, 24, 16), "sink": torch.randn(1, 2, 24)},
            "rope_table": lambda: {"cos": torch.randn(24, 8), "sin": torch.randn(24, 8)}}
    axes = {"mrope": 3, "mrope_interleaved": 3, "rope_2d": 2}
    given = {n: t.requires_grad_() for n, t in data[name]().items()} if name in data else {}
    wanted = [q, k, v, *encoding.parameters(), *given.values()]
    if name in axes:
        given = {"positions": torch.randint(0, 60, (axes[name], 1, 24))}
    o = pe.attention(q, k, v, encoding(**given) if given else encoding, mask=mask)
    for gradient in torch.autograd.grad(o, wanted, d_o):
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["fire", "alibi", "rse", "t5"])
def test_copies(name):
    """Pickle, deepcopy and state_dict keep the program and the parameters."""
    encoding = FILES[name][0]()
    _spread(encoding)
    other = FILES[name][0]()
    other.load_state_dict(encoding.state_dict())
    for same in (pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding), other):
        assert same.program(pe.causal).text == encoding.program(pe.causal).text
        for a, b in zip(same.parameters(), encoding.parameters(), strict=True):
            assert torch.equal(a, b) and a is not b


def test_shared():
    """One object in two layers receives the sum of both gradients."""
    encoding = nn.FIRE(2)
    q, k, v, d_o = inputs(1, 2, 24, 24, 16)

    def gradient(layers):
        encoding.zero_grad()
        for first, second in layers:
            pe.attention(first, second, v, encoding, mask=pe.causal).backward(d_o)
        return encoding.w2.grad.clone()

    together = gradient([(q, k), (k, q)])
    assert torch.allclose(together, gradient([(q, k)]) + gradient([(k, q)]), atol=1e-6)


def test_sum():
    """Biases add, a rotation can be added to them, and two rotations are an error."""
    both = nn.ALiBi(2, learned=True) + nn.T5(2)
    q, k, v, d_o = inputs(1, 2, 13, 21, 16)
    allowed = torch.arange(21)[None] <= torch.arange(8, 21)[:, None]
    expected = softmax_attention(q, k, v, both.dense(13, 21, dtype=torch.float64), allowed)
    compare(pe.attention(q, k, v, both, mask=pe.causal), expected,
            [q, k, v, *both.parameters()], d_o, 2e-5)
    assert "rotate(" in (both + nn.RoPE()).program().text
    with pytest.raises(pe.CompileError, match="expected one rotate"):
        (nn.RoPE() + nn.RoPE()).program()
    with pytest.raises(pe.InputError, match="same number of heads, found 2 and 3"):
        nn.ALiBi(2) + nn.ALiBi(3)


def test_sum_of_an_encoding_with_itself():
    """An encoding added to itself counts twice, in values and gradients."""
    encoding = nn.ALiBi(2, learned=True)
    q, k, v, d_o = inputs(1, 2, 13, 13, 16)
    allowed = torch.ones(13, 13).tril().bool()
    expected = softmax_attention(q, k, v, 2 * encoding.dense(13, 13, dtype=torch.float64), allowed)
    compare(pe.attention(q, k, v, encoding + encoding, mask=pe.causal), expected,
            [q, k, v, encoding.slopes], d_o, 2e-5)


def test_forgetting_with_own_queries():
    """f_q provides the sums of queries; values and gradients of both."""
    q, k, v, d_o = inputs(2, 2, 5, 9, 16)
    f = torch.randn(2, 2, 9).cumsum(-1).requires_grad_()
    f_q = torch.randn(2, 2, 5).requires_grad_()
    allowed = torch.arange(9)[None] <= torch.arange(4, 9)[:, None]
    for data in ({"f": f}, {"f": f, "f_q": f_q}):
        bound = nn.Forgetting()(**data)
        bias = bound.dense(5, 9, batch=2, dtype=torch.float64)
        expected = softmax_attention(q, k, v, bias, allowed)
        compare(pe.attention(q, k, v, bound, mask=pe.causal), expected,
                [q, k, v, *data.values()], d_o, 2e-5)
    with pytest.raises(pe.InputError, match="Forgetting: expected the tensors"):
        pe.attention(q, k, v, nn.Forgetting(), mask=pe.causal)


def test_positions():
    """Explicit positions replace consecutive ones in biases and masks."""
    encoding = nn.ALiBi(2, learned=True) + nn.Positions()
    q, k, v, d_o = inputs(1, 2, 7, 7, 16)
    position = torch.tensor([[0, 2, 3, 7, 11, 12, 40]], dtype=torch.int32)
    slopes = encoding.terms[0].slopes
    difference = (position[0][:, None] - position[0][None]).double()
    expected = softmax_attention(q, k, v, -slopes.double()[:, None, None] * difference.abs(),
                                 difference >= 0)
    o = pe.attention(q, k, v, encoding(q_pos=position, k_pos=position), mask=pe.causal)
    compare(o, expected, [q, k, v, slopes], d_o, 2e-5)


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_embeddings(name):
    """The addend of tokens equals that of the example file."""
    make, parameters = EMBEDDINGS[name]
    module = make()
    x = torch.randn(2, 12, 16)
    arguments = {argument: getattr(module, own).detach() for argument, own in parameters.items()}
    if "alpha" in arguments:
        arguments["alpha"] = arguments["alpha"].reshape(())
    expected = pe.compile(EXAMPLES / f"{name}.mlir")(x=x, **arguments)["y"]
    assert torch.allclose(module(x), torch.as_tensor(expected), atol=2e-5)


def decayed_of(encoding):
    """Returns the names of the parameters of an encoding that decay."""
    decayed = {id(p) for group in pe.param_groups(encoding) if "weight_decay" not in group
               for p in group["params"]}
    return {name for name, p in encoding.named_parameters() if id(p) in decayed}


@pytest.mark.parametrize("name", FILES)
def test_decay_by_rank(name):
    """In pe.nn, tables and matrices decay; numbers and rows do not."""
    make, mask = FILES[name]
    encoding = make()
    assert decayed_of(encoding) == {n for n, p in encoding.named_parameters() if p.dim() > 1}
    again = pe.from_mlir(encoding.program(mask).text, heads=2, head_dim=16)
    assert {n for n, d in again.declarations.items() if d.decay} == decayed_of(encoding)


def test_explicit_decay():
    """`decay=True` applies to any rank; captured tensors decay by their rank."""
    rows, table = (torch.nn.Parameter(torch.ones(shape)) for shape in ((2,), (2, 4)))
    encoding = pe.bias(a=pe.per_head(1.0, decay=True), c=pe.scalar(1.0))(
        lambda b, h, i, j, a, c: a[h] * c * rows[h] * table[h, i % 4])(2)
    assert decayed_of(encoding) == {"a", "table"}
    assert "pe.decay = true" in encoding.program().text


def test_param_groups():
    """Weight decay skips parameters declared without it; bounds hold after a step."""
    model = torch.nn.ModuleList([torch.nn.Linear(4, 4), nn.KerpleLog(2), nn.T5(2)])
    groups = pe.param_groups(model, lr=100.0)
    decayed = {id(p) for p in groups[0]["params"]}
    assert decayed == {id(p) for p in [*model[0].parameters(), model[2].table]}
    assert groups[1]["weight_decay"] == 0.0 and groups[1]["params"] == [model[1].r1, model[1].r2]
    optimizer = groups.keep(torch.optim.SGD(groups))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert torch.equal(model[1].r1, torch.full((2,), 0.01))
