"""Prints f32 tensors of a safetensors file: FILE NAME...; shape, then the first numbers."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
for name in sys.argv[2:]:
    begin, end = header[name]["data_offsets"]
    values = struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
    print(name, header[name]["shape"])
    print(*[f"{value:.7f}" for value in values[:9]])
