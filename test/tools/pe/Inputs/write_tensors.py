"""Writes the safetensors files of inputs.test: PREFIX.good and one file per error."""

import json
import random
import struct
import sys

CODES = {"F32": "f", "F64": "d", "F16": "e"}


def save(path, tensors):
    """tensors: name -> (shape, dtype); values are the same on every run."""
    header, data = {}, b""
    for name, (shape, dtype) in tensors.items():
        count = 1
        for size in shape:
            count *= size
        generator = random.Random(name)
        values = [generator.gauss(0, 1) for _ in range(count)]
        piece = struct.pack(f"<{count}{CODES[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main(prefix):
    q, k, v = ([1, 4, 10, 16], "F32"), ([1, 2, 12, 16], "F32"), ([1, 2, 12, 8], "F32")
    good = {"q": q, "k": k, "v": v}
    files = {
        "good": good,
        "missing": {"q": q, "k": k},
        "extra": {**good, "z": v},
        "heads": {**good, "k": ([1, 3, 12, 16], "F32")},
        "rank": {**good, "q": ([4, 10, 16], "F32")},
        "f64": {**good, "q": (q[0], "F64")},
        "f16": {name: (shape, "F16") for name, (shape, _) in good.items()},
        "cotangent": {**good, "d_o": ([1, 4, 10, 9], "F32")},
        # [B, S, H, D]: 4 heads of length 32, read as 32 heads of length 4.
        "swapped": {name: ([1, 32, 4, 16], "F32") for name in "qkv"},
        "swapped_slopes": {**{name: ([1, 32, 4, 16], "F32") for name in "qkv"},
                           "slopes": ([4], "F32")},
        "nokeys": {"q": q, "k": ([1, 2, 0, 16], "F32"), "v": ([1, 2, 0, 8], "F32"),
                   "d_o": ([1, 4, 10, 8], "F32")},
    }
    for name, tensors in files.items():
        save(f"{prefix}.{name}", tensors)


main(sys.argv[1])
