"""Tests of polar factors over shapes, condition numbers and scales, and of the published
operators."""

import math

import pytest
import torch

from pe_attention import InputError
from pe_attention.plasticity import measure_dfi, measure_sfe, newton_schulz, polar
from pe_attention.plasticity._polar import Method, polar_factor

F64, F32 = torch.float64, torch.float32


def random(*shape, seed=0, dtype=F64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def conditioned(m, n, condition, seed=0):
    """Returns a matrix with singular values from 1 to 1 / condition, evenly spaced on a logarithmic
    scale."""
    u, v = torch.linalg.qr(random(m, n, seed=seed))[0], torch.linalg.qr(random(n, n,
                                                                               seed=seed + 1))[0]
    return u * torch.logspace(0, -math.log10(condition), n, dtype=F64) @ v.mT


def by_decomposition(w):
    u, _, vh = torch.linalg.svd(w.double(), full_matrices=False)
    return u @ vh


def distance(x, y):
    return float(torch.linalg.matrix_norm(x.double() - y.double())) / math.sqrt(min(x.shape))


@pytest.mark.parametrize("shape", [(64, 64), (1, 7), (7, 1), (1, 1), (192, 192), (300, 65),
                                   (65, 300), (400, 399)])
@pytest.mark.parametrize("dtype", [F64, F32])
def test_random_matrices(shape, dtype):
    for seed in range(3):
        w = random(*shape, seed=seed, dtype=dtype)
        u = polar(w)
        assert u.dtype == dtype and u.shape == w.shape
        assert measure_dfi(u) <= (1e-20 if dtype == F64 else 1e-12)
        assert distance(u, by_decomposition(w)) < 1e-6


@pytest.mark.parametrize("condition", [1, 10, 1e2, 1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("shape", [(96, 96), (200, 60)])
def test_conditions(condition, shape):
    for seed in range(3):
        w = conditioned(*shape, condition, seed)
        for engine, dfi, error in [("qdwh", 1e-20, 1e-6),
                                   ("quintic", 1e-12, max(1e-5, 1e-9 * condition**1.2))]:
            x = w if engine == "qdwh" else w.float()
            u = polar(x, engine)
            assert measure_dfi(u) <= dfi, engine
            assert distance(u,
                            by_decomposition(x)) < error * (1 if condition < 1e5 else 100), engine


def test_wrong_bounds_only_cost_steps(monkeypatch):
    # Bounds that are far off in either direction must not change the result.
    from pe_attention.plasticity import _qdwh
    w = conditioned(96, 96, 1e4)
    expected = by_decomposition(w)
    extent = _qdwh._extent
    for least in (1e-8, 2e-4, 1e-3):
        for factor in (0.3, 1, 30):
            monkeypatch.setattr(_qdwh, "_extent", lambda g: (factor * extent(g)[0], least))
            u = polar(w)
            assert measure_dfi(u) <= 1e-20 and distance(u, expected) < 1e-6


def test_the_factor_is_the_polar_factor():
    for shape in [(50, 50), (80, 30), (30, 80)]:
        w = random(*shape)
        u = polar(w)
        tall = shape[0] >= shape[1]
        p = u.mT @ w if tall else w @ u.mT
        assert torch.allclose(p, p.mT, atol=1e-9) and torch.linalg.eigvalsh(p)[0] > 0


def test_symmetries():
    w = random(40, 24, dtype=F32)
    u = polar(w)
    assert torch.equal(polar(w.mT), u.mT)
    q = torch.linalg.qr(random(40, 40, seed=3))[0]
    assert distance(polar((q @ w.double())), q @ u.double()) < 1e-6
    for exponent in (-100, -60, 60, 100):
        assert torch.equal(polar(w * 2.0**exponent), u)
    for scale in (1e-30, 1e30):
        assert distance(polar(w * scale), u) < 1e-6


def test_elements_are_rounded_once():
    w = random(48, 32)
    for dtype in (torch.bfloat16, torch.float16):
        narrow = w.to(dtype)
        assert torch.equal(polar(narrow), polar(narrow.double()).to(dtype))


def test_global_settings_do_not_matter():
    w = random(64, 48, dtype=F32)
    for engine in ("qdwh", "quintic"):
        expected = polar(w, engine)
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium")
        try:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert torch.equal(polar(w, engine), expected)
            assert torch.get_float32_matmul_precision() == "medium"
        finally:
            torch.set_float32_matmul_precision(precision)
        parameter = torch.nn.Parameter(w)
        assert not polar(parameter, engine).requires_grad


def test_stacks_equal_single_matrices():
    w = random(2, 3, 20, 12, dtype=F32)
    u = polar(w)
    for i in range(2):
        for j in range(3):
            assert torch.equal(u[i, j], polar(w[i, j]))
    assert measure_dfi(u).shape == (2, 3)


@pytest.mark.parametrize("engine", ["qdwh", "quintic"])
def test_lost_directions_are_completed(engine):
    cases = {
        "rank 1": random(60, 1) @ random(1, 40, seed=1),
        "zero columns": random(60, 40),
        "duplicated": random(60, 40),
        "square": random(40, 30) @ random(30, 40, seed=1),
        "sizes": random(40, 40) * torch.logspace(0, -30, 40, dtype=F64)[:, None]
    }
    cases["zero columns"][:, ::5] = 0
    cases["duplicated"][:, 1] = cases["duplicated"][:, 0]
    for name, w in cases.items():
        w = w.float()
        found = polar_factor(w, Method(engine))
        u = found.factor
        assert found.rank == int(torch.linalg.matrix_rank(w.double(),
                                                          rtol=1e-7)) or name == "sizes", name
        assert found.rank < 40 and measure_dfi(u) < 1e-12, name
        # Every completion has the same distance from w.
        nuclear = float(torch.linalg.svdvals(w.double()).sum())
        least = float(w.double().square().sum()) + 40 - 2 * nuclear
        assert float(measure_sfe(u, w.double())) == pytest.approx(least, rel=1e-5), name
        assert torch.equal(polar(w, engine, seed=0), polar(w, engine, seed=0)), name
    assert not torch.equal(polar(cases["rank 1"].float(), engine, seed=0),
                           polar(cases["rank 1"].float(), engine, seed=1))


def test_zero_matrices_are_unchanged():
    assert torch.equal(polar(torch.zeros(3, 4)), torch.zeros(3, 4))
    assert torch.equal(newton_schulz(torch.zeros(3, 4)), torch.zeros(3, 4))


def test_published_operators():
    w = random(30, 50)
    x = (w / w.norm()).mT
    for _ in range(7):
        x = 1.5 * x - 0.5 * x @ (x.mT @ x)
    assert torch.allclose(newton_schulz(w, iters=7), x.mT, atol=1e-12)
    found = polar_factor(w, Method("cubic", 7)).factor
    assert torch.allclose(found, x.mT, atol=1e-12)
    sigma = torch.linalg.svdvals(w)
    for name, low, high in [("muon", 0.68, 1.14), ("polar-express", 0.85, 1.15)]:
        found = torch.linalg.svdvals(newton_schulz(w, name))
        assert low < found.min() and found.max() < high, name
    # Five steps are far from an isometry, so the result differs.
    assert measure_dfi(newton_schulz(random(128, 128), iters=5)) > 0.1
    expected = sigma / sigma[0]
    for _ in range(3):
        expected = 1.5 * expected - 0.5 * expected**3
    for found in (newton_schulz(w, iters=3,
                                norm="spectral"), polar_factor(w, Method("cubic", 3,
                                                                         "spectral")).factor):
        assert torch.allclose(torch.linalg.svdvals(found), expected, atol=1e-7)
    assert torch.allclose(newton_schulz(w * 1e-300, iters=7), x.mT, atol=1e-12)


def test_measures():
    assert float(measure_dfi(torch.eye(4) * 2)) == 9.0
    assert float(measure_dfi(torch.eye(4) * 2, scale=2)) == 0.0
    assert float(measure_dfi(torch.zeros(5, 3))) == 1.0
    assert float(measure_sfe(torch.ones(2, 3), torch.zeros(2, 3))) == 6.0


@pytest.mark.parametrize("call, message", [
    (lambda w: polar(w, "svd"), "engine: expected one of auto, qdwh, quintic, cubic, found 'svd'"),
    (lambda w: polar(w, "cubic"), "use newton_schulz"),
    (lambda w: polar(w[0]), "w: expected a matrix or a stack of matrices"),
    (lambda w: polar(w[:, :0]), "found shape [3, 0]"),
    (lambda w: polar(w.int()),
     "w: expected float64, float32, bfloat16 or float16, found torch.int32"),
    (lambda w: polar([1.0]), "w: expected a tensor, found [1.0]"),
    (lambda w: polar(w.to("meta")), "meta device"),
    (lambda w: polar(torch.where(w == w[1, 2], math.nan, w)), "found nan at [1, 2]"),
    (lambda w: polar(w / 0), "expected finite values, found"),
    (lambda w: polar(w, seed=0.5), "seed: expected an integer, found 0.5"),
    (lambda w: newton_schulz(w, "cubic", iters=0),
     "iters: expected an integer from 1 to 1000, found 0"),
    (lambda w: newton_schulz(w, "muon", iters=3), "iters: expected steps='cubic'"),
    (lambda w: newton_schulz(w, "taylor"), "steps: expected cubic, muon, polar-express or a list"),
    (lambda w: newton_schulz(w, norm="inf"), "norm: expected one of fro, spectral, found 'inf'"),
    (lambda w: measure_sfe(w, w.mT), "old: expected shape [3, 4] like w, found [4, 3]"),
])
def test_mistakes(call, message):
    with pytest.raises(InputError) as caught:
        call(random(3, 4))
    assert message in str(caught.value) and "\n" not in str(caught.value)
