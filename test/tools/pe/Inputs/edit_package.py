"""Edits a section of a package and updates the package's checksum.

usage: edit_package.py IN OUT SECTION EDIT, where EDIT is Python on `json`, "delete" or
"copy=SECTION".
"""

import json
import struct
import sys

HEADER = 24


def read(data):
    sections, at = {}, HEADER
    for _ in range(struct.unpack_from("<I", data, 12)[0]):
        name_bytes, content_bytes = struct.unpack_from("<IQ", data, at)
        at += 12
        name = data[at:at + name_bytes].decode()
        at += name_bytes
        sections[name] = data[at:at + content_bytes]
        at += content_bytes
    return sections


def write(magic_and_version, sections):
    body = b"".join(
        struct.pack("<IQ", len(name.encode()), len(content)) + name.encode() + content
        for name, content in sorted(sections.items()))
    checksum = 0xCBF29CE484222325
    for byte in body:
        checksum = (checksum ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return magic_and_version + struct.pack("<IQ", len(sections), checksum) + body


def main():
    source, target, name, edit = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    sections = read(data)
    if edit == "delete":
        del sections[name]
    elif edit.startswith("copy="):
        sections[name] = sections[edit[len("copy="):]]
    else:
        content = json.loads(sections[name])
        exec(edit, {"json": content})
        sections[name] = json.dumps(content).encode()
    with open(target, "wb") as file:
        file.write(write(data[:12], sections))


main()
