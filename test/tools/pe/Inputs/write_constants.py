"""Writes a safetensors file of constant f32 tensors: FILE NAME=SHAPE:NUMBER..., such as
slopes=4:0.5 or table=32x4:1."""

import json
import math
import struct
import sys

header, data = {}, b""
for argument in sys.argv[2:]:
    name, rest = argument.split("=")
    shape, number = rest.split(":")
    shape = [int(size) for size in shape.split("x")]
    piece = struct.pack("<f", float(number)) * math.prod(shape)
    header[name] = {"dtype": "F32", "shape": shape,
                    "data_offsets": [len(data), len(data) + len(piece)]}
    data += piece
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
