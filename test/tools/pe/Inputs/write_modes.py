"""Writes the safetensors files of bad-modes.test: DIR/NAME for every rejected call."""

import json
import pathlib
import struct
import sys


CODES = {"F32": "f", "I32": "i", "I64": "q"}


def save(path, tensors):
    """tensors: name -> (shape, dtype, numbers); a single number fills the tensor."""
    header, data = {}, b""
    for name, (shape, dtype, numbers) in tensors.items():
        count = 1
        for size in shape:
            count *= size
        numbers = numbers if isinstance(numbers, list) else [numbers] * count
        piece = struct.pack(f"<{count}{CODES[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    base = {name: ([1, 2, 6, 8], "F32", 0.5) for name in "qkv"}
    ids = {"q_doc": ([1, 6], "I32", 0), "k_doc": ([1, 6], "I32", 0)}
    positions = {"slope": ([2], "F32", 0.1), "q_pos": ([1, 6], "I32", 0),
                 "k_pos": ([1, 6], "I32", 0)}
    parts = {"o1": ([1, 2, 6, 8], "F32", 0.5), "lse1": ([1, 2, 6], "F32", 0.0),
             "o2": ([1, 2, 6, 8], "F32", 0.5), "lse2": ([1, 2, 6], "F32", 0.0)}
    files = {
        "ids_shape": {**base, **ids, "k_doc": ([1, 5], "I32", 0)},
        "ids_type": {**base, **ids, "q_doc": ([1, 6], "F32", 0.0)},
        "prefix_shape": {**base, "prefix": ([2], "I32", 3)},
        "prefix_type": {**base, "prefix": ([1], "I64", 3)},
        "lengths_shape": {**base, "kv_len": ([1, 1], "I32", 3)},
        "positions_shape": {**base, **positions, "q_pos": ([1, 5], "I32", 0)},
        "positions_type": {**base, **positions, "k_pos": ([1, 6], "F32", 0.0)},
        "positions_far": {**base, **positions, "q_pos": ([1, 6], "I32", 1 << 30)},
        "seed_type": {**base, "seed": ([], "I32", 3)},
        "sink_heads": {**base, "sink": ([3], "F32", 0.0)},
        "merge_heads": {**parts, "o2": ([1, 3, 6, 8], "F32", 0.5), "lse2": ([1, 3, 6], "F32", 0.0)},
        "merge_rows": {**parts, "lse2": ([1, 2, 5], "F32", 0.0)},
    }
    for name, tensors in files.items():
        save(folder / name, tensors)


main(sys.argv[1])
