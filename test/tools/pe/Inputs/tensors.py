"""Reads and writes f32 tensors by name, (shape, numbers), in safetensors files."""

import array
import json
import pathlib
import struct


def save(path, tensors):
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        piece = array.array("f", numbers).tobytes()
        header[name] = {"dtype": "F32", "shape": shape,
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
