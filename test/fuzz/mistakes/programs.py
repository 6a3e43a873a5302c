"""Correct programs with formulas, and classes of mistakes to insert into them."""

import dataclasses
import re


@dataclasses.dataclass
class Capture:
    """An argument that the formula reads. `axes` is the list of `pe.axes`, or empty."""

    name: str
    type: str
    axes: str = ""
    low: float = -1.0
    high: float = 1.0


@dataclasses.dataclass
class Program:
    formula: str
    captures: list[Capture] = dataclasses.field(default_factory=list)
    op: str = "pe.bias_fn"
    clause: str = "bias"
    mask: str = "pe.causal"
    axis_key: str = "pe.axes"
    name_key: str = "pe.name"
    left_out: str = ""  # an argument that the op does not capture

    def text(self):
        arguments = [f'%{n}: !qkv {{pe.name = "{n}"}}' for n in "qkv"]
        for c in self.captures:
            axes = f', {self.axis_key} = [{c.axes}]' if c.axes else ""
            arguments.append(f'%{c.name}: {c.type} {{{self.name_key} = "{c.name}"{axes}}}')
        read = [c for c in self.captures if c.name != self.left_out]
        head = (f'({", ".join("%" + c.name for c in read)} : {", ".join(c.type for c in read)})'
                if read else "")
        is_masked = self.mask and self.clause != "mask"
        clauses = f"{self.clause}(%f)" + (" mask(%m)" if is_masked else "")
        mask = f"  %m = {self.mask}\n" if self.mask else ""
        return ("!qkv = tensor<?x?x?x?xf32>\n"
                f"func.func @attention({', '.join(arguments)}) -> (!qkv {{pe.name = \"o\"}}) {{\n"
                f"{mask}  %f = {self.op}{head} expr \"{self.formula}\"\n"
                f"  %o = pe.attention %q, %k, %v {clauses} : (!qkv, !qkv, !qkv) -> !qkv\n"
                "  return %o : !qkv\n}\n")


F1, F2 = "tensor<?xf32>", "tensor<?x?xf32>"
AMP, TAU = Capture("amp", F1), Capture("tau", F1, low=1.0, high=4.0)
PROGRAMS = [
    Program("amp[h] * exp(-abs(i - j) / tau[h])", [AMP, TAU]),
    Program("-amp[h] * abs(i - j)", [AMP], mask=""),
    Program("table[h, min(i - j, 7)]", [Capture("table", "tensor<?x8xf32>")]),
    Program("table[clamp(i - j, -4, 4) + 4, h]", [Capture("table", "tensor<9x?xf32>")], mask=""),
    Program("f[b, h, i] - f[b, h, j]",
            [Capture("f", "tensor<?x?x?xf32>", '"batch", "head", "key"')]),
    Program("kinds[ids[b, i], ids[b, j]] * amp[h]",
            [Capture("ids", "tensor<?x?xi32>", '"batch", "key"', 0, 3),
             Capture("kinds", "tensor<3x3xf32>"), AMP], mask=""),
    Program("sum(n < size(w, 0), u[n, h] * cos(w[n] * (i - j)))",
            [Capture("w", F1, '"waves"'), Capture("u", F2, '"waves", "head"')]),
    Program("let d = i - j in select(d < 4, amp[h] * d, amp[h] * (4 + log(1 + d - 3)))", [AMP]),
    Program("c[0] + c[1] * tanh((i - j) / 3)", [Capture("c", "tensor<2xf32>")]),
    Program("cap[h] * tanh(s / cap[h])", [Capture("cap", F1, low=1.0, high=3.0)],
            "pe.score_fn", "score"),
    Program("s * log(2 + i) * g[h]", [Capture("g", F1)], "pe.score_fn", "score"),
    Program("j <= i and (j < 2 or i - j < 5)", [], "pe.mask_fn", "mask"),
    Program("j <= i and doc[b, i] == doc[b, j]",
            [Capture("doc", "tensor<?x?xi32>", '"batch", "key"', 0, 2)], "pe.mask_fn", "mask"),
    Program("j <= i or j < n[b]", [Capture("n", "tensor<?xi32>", '"batch"', 1, 5)],
            "pe.mask_fn", "mask"),
    Program("sigmoid(amp[h] * (i - j))", [AMP], "pe.factor_fn", "factor"),
    Program("amp[h] * ((i // 3 - j // 3) ^ 2 + (i % 3 - j % 3) ^ 2)", [AMP],
            mask="pe.sliding_window {left = 6}"),
]
SPELLING = re.compile(r"[A-Za-z_]\w*")
READ = re.compile(r"([A-Za-z_]\w*)\[([^\[\]]*)\]")


def _replace(program, **changes):
    return dataclasses.replace(program, **changes)


def _edit(random, program, pattern, change):
    """Returns the program with one match of `pattern` in its formula changed, or None."""
    found = list(re.finditer(pattern, program.formula))
    if not found:
        return None
    match = random.choice(found)
    text = change(match)
    if text is None or text == match.group(0):
        return None
    return _replace(program, formula=program.formula[:match.start()] + text
                    + program.formula[match.end():])


def swapped_indices(random, program):
    """Swaps two indices of a read, or replaces its only index."""
    def swap(match):
        parts = match.group(2).split(", ")
        if len(parts) < 2:
            return f"{match.group(1)}[{random.choice('bhij')}]"
        a, b = random.sample(range(len(parts)), 2)
        parts[a], parts[b] = parts[b], parts[a]
        return f"{match.group(1)}[{', '.join(parts)}]"
    return _edit(random, program, READ, swap)


def other_variable(random, program):
    return _edit(random, program, r"\b[bhij]\b", lambda m: random.choice("bhij"))


def dropped_axes(random, program):
    """Removes or adds an index of a read or a dimension of a type."""
    def drop(match):
        parts = match.group(2).split(", ")
        if random.random() < 0.3:
            parts.append(random.choice("bhij"))
        else:
            parts.pop(random.randrange(len(parts)))
        return f"{match.group(1)}[{', '.join(parts)}]" if parts else match.group(1)
    if random.random() < 0.6 or not program.captures:
        return _edit(random, program, READ, drop)
    return _with_capture(random, program, lambda c: _replace(
        c, type=random.choice([c.type.replace("tensor<?x", "tensor<", 1),
                               c.type.replace("tensor<", "tensor<?x", 1)])))


def _with_capture(random, program, change):
    if not program.captures:
        return None
    n = random.randrange(len(program.captures))
    changed = change(program.captures[n])
    if changed == program.captures[n]:
        return None
    captures = list(program.captures)
    captures[n] = changed
    return _replace(program, captures=captures)


def wrong_types(random, program):
    def change(capture):
        old = re.search(r"[fi]\d+>", capture.type).group(0)[:-1]
        new = random.choice(["f64", "f16", "bf16", "i32", "i64", "i8", "f32", "index"])
        return _replace(capture, type=capture.type.replace(old + ">", new + ">"))
    return _with_capture(random, program, change)


def misspelt_names(random, program):
    def misspell(word):
        at = random.randrange(len(word))
        return random.choice([word[:at] + word[at + 1:], word[:at] + "x" + word[at:],
                              word[:at] + word[at:][:2][::-1] + word[at + 2:], word + "s"])
    which = random.randrange(5)
    if which == 0:
        return _replace(program, op="pe." + misspell(program.op[3:]))
    if which == 1:
        return _replace(program, clause=misspell(program.clause))
    if which == 2 and program.captures:
        return _replace(program, **{random.choice(["name_key", "axis_key"]):
                                    "pe." + misspell("name")})
    if which == 3 and program.mask:
        return _replace(program, mask=misspell(program.mask))
    return _edit(random, program, SPELLING, lambda m: misspell(m.group(0)))


def python_syntax(random, program):
    f = program.formula
    return _replace(program, formula=random.choice([
        f"lambda b, h, i, j: {f}", f"return {f}", f"torch.exp({f})", f"math.sqrt(abs({f}))",
        f"({f}) ** 2", f"({f}) if i > j else 0", f"where(i > j, {f}, 0)",
        f"np.where(i > j, {f}, 0)",
        f"({f}) && i > j", f"!({f})", "0 <= i - j < 10", f"max({f}, 1, 2)", f"({f}).abs()",
        f.replace("and", "&&").replace("or", "||") + ";", f.replace("[", "(").replace("]", ")"),
        f.replace(", ", "]["), f"{f} # a comment", f"{f} and True", f"float({f})", f"abs {f}",
        f"not {f} is None", f"x = {f}", f"[{f}]", f"{f}, 0", f.replace("^", "**"),
        f.replace("i - j", "i-j:"), f"-float('inf') if j > i else {f}",
        f"{f} or 0",
        f.replace("select", "where"), f"e ^ ({f})", f"({f}) >> 1",
        f"sum(({f}) for n in range(3))"]))


def sign_flips(random, program):
    return _edit(random, program, r" - | \+ |-(?=[a-z(])|<=|>=|<(?!=)|>(?!=)|i - j",
                 lambda m: {" - ": " + ", " + ": " - ", "-": "", "<=": ">=", ">=": "<=",
                            "<": ">", ">": "<", "i - j": "j - i"}[m.group(0)])


def wrong_clause(random, program):
    kinds = [("pe.bias_fn", "bias"), ("pe.score_fn", "score"), ("pe.mask_fn", "mask"),
             ("pe.factor_fn", "factor"), ("pe.sink_fn", "sink"), ("pe.content_fn", "content")]
    op, clause = random.choice(kinds)
    which = random.randrange(3)
    return _replace(program, op=op if which != 1 else program.op,
                    clause=clause if which != 0 else program.clause)


def missing_capture(random, program):
    return _replace(program, left_out=random.choice(program.captures).name) \
        if program.captures else None


def wrong_axes(random, program):
    words = ["batch", "head", "kv_head", "query", "key", "depth", "rows", "keys", "Head", "h"]
    def change(capture):
        rank = capture.type.count("x")
        rank = random.choice([rank, rank, rank, rank + 1])
        return _replace(capture, axes=", ".join(f'"{random.choice(words)}"' for _ in range(rank)))
    return _with_capture(random, program, change)


def literal_off_by_one(random, program):
    return _edit(random, program, r"\b\d+\b",
                 lambda m: str(int(m.group(0)) + random.choice([-2, -1, 1, 2, 9])))


def index_off_by_one(random, program):
    def shift(match):
        parts = match.group(2).split(", ")
        n = random.randrange(len(parts))
        parts[n] = random.choice([f"{parts[n]} + 1", f"{parts[n]} - 1", "-1", "99", f"-{parts[n]}",
                                  f"{parts[n]} / 2", f"2 * ({parts[n]})"])
        return f"{match.group(1)}[{', '.join(parts)}]"
    return _edit(random, program, READ, shift)


def wrong_mask(random, program):
    return _replace(program, mask=random.choice(
        ["pe.causal()", "pe.causal {left = 4}", "pe.sliding_window 4", "pe.sliding_window(4)",
         "pe.sliding_window {left = 4.0}", "pe.sliding_window {left = -4}", "causal", "pe.window",
         "pe.sliding_window {window = 4}", "pe.sliding_window", "pe.strict_causal", "pe.mask_fn",
         "pe.sliding_window {left = 3, right = 2}", "pe.mask_fn expr \"i > j\""]))


CLASSES = [swapped_indices, other_variable, dropped_axes, wrong_types, misspelt_names,
           python_syntax, sign_flips, wrong_clause, missing_capture, wrong_axes,
           literal_off_by_one, index_off_by_one, wrong_mask]


def mistake(random, number):
    """Returns the name of a class and a program with a mistake of that class."""
    change = CLASSES[number % len(CLASSES)]
    for _ in range(100):
        changed = change(random, random.choice(PROGRAMS))
        if changed is not None:
            return change.__name__, changed
    raise AssertionError(f"no program has {change.__name__}")
