"""Reads and writes tensors by name, (shape, numbers), in safetensors files: f32, or i32 arrays."""

import array
import json
import pathlib
import struct


def save(path, tensors):
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        code = numbers.typecode if isinstance(numbers, array.array) else "f"
        piece = array.array(code, numbers).tobytes()
        header[name] = {"dtype": {"f": "F32", "i": "I32"}[code], "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = (entry["shape"], array.array("f", data[begin:end]))
    return tensors
