"""Writes a safetensors file of float vectors x = 0, 1, ... and y = 0.5 (`write FILE N`), or checks
that z = x + y in a file (`check FILE`)."""
import json
import struct
import sys

action, path = sys.argv[1:3]
if action == "write":
    count = int(sys.argv[3])
    tensors = {"x": [float(i) for i in range(count)], "y": [0.5] * count}
    header, data = {}, b""
    for name, values in tensors.items():
        packed = struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": [count],
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
else:
    content = open(path, "rb").read()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    begin, end = header["z"]["data_offsets"]
    found = struct.unpack(f"<{(end - begin) // 4}f", content[8 + size + begin:8 + size + end])
    assert list(found) == [i + 0.5 for i in range(len(found))], found[:8]
    print("z is x + y")
