"""Compares pe.reinit with the program `pe reinit`."""

import json
import os
import pathlib
import struct
import subprocess

import pytest
import torch
from torch import nn

import pe_attention as pe

ROOT = pathlib.Path(__file__).resolve().parents[3]


def save(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.contiguous().numpy().tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(raw)]
        }
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    return {
        name:
        torch.frombuffer(bytearray(raw[8 + size + begin:8 + size + end]),
                         dtype=torch.float32).reshape(entry["shape"])
        for name, entry in header.items()
        for begin, end in [entry["data_offsets"]]
    }


def program():
    found = os.environ.get("PE_PROGRAM", str(ROOT / "build" / "bin" / "pe"))
    assert os.access(found,
                     os.X_OK), f"expected the program pe at {found}; build it, or set PE_PROGRAM"
    return found


@pytest.mark.parametrize("options, flags",
                         [({}, []), ({
                             "target": "mlp"
                         }, ["--target=mlp"]), ({
                             "target": "attention"
                         }, ["--target=attention"]), ({
                             "engine": "quintic"
                         }, ["--engine=quintic"]), ({
                             "scale": "mean-sigma"
                         }, ["--scale=mean-sigma"]),
                          ({
                              "engine": "cubic",
                              "iters": 5
                          }, ["--engine=cubic", "--iters=5"]),
                          ({
                              "engine": "cubic",
                              "norm": "spectral",
                              "scale": "fro"
                          }, ["--engine=cubic", "--iters=10", "--norm=spectral", "--scale=fro"]),
                          ({
                              "split": {
                                  "c_attn": 3
                              },
                              "scale": "none"
                          }, ["--split-qkv=c_attn", "--scale=none"])])
def test_the_program_gives_the_same_result(tmp_path, options, flags):
    torch.manual_seed(0)
    model = nn.ModuleDict({
        "wte": nn.Embedding(40, 24),
        "c_attn": nn.Linear(24, 72, bias=False),
        "mlp": nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 24)),
        "square_attn": nn.Linear(24, 24),
        "lm_head": nn.Linear(24, 40)
    })
    save(tmp_path / "in", dict(model.state_dict()))
    subprocess.run([
        program(), "reinit", f"--in={tmp_path / 'in'}", f"--out={tmp_path / 'out'}",
        f"--report={tmp_path / 'report'}", "--threads=1", *flags
    ],
                   check=True,
                   timeout=60,
                   capture_output=True)
    report = pe.reinit(model, **options)
    expected = load(tmp_path / "out")
    for name, p in model.named_parameters():
        assert float(torch.linalg.vector_norm(p.detach() - expected[name])) <= 1e-6 * float(
            torch.linalg.vector_norm(expected[name])), name
    theirs = [entry for entry in json.loads((tmp_path / "report").read_text()) if entry["chosen"]]
    assert len(theirs) == len(report.projected)
    for entry, their in zip(report.projected, theirs):
        assert entry.shape == their["shape"] and entry.rank == their["rank"]
        for key in ("dfi_before", "sfe", "scale"):
            assert getattr(entry, key) == pytest.approx(their[key], rel=1e-4), key
