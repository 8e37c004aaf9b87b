#!/usr/bin/env python3
"""Makes inputs for pages of --report.

    inputs.py nccl LIBRARY FOLDER      the inputs of NCCL's device link, from libnccl.so.2
    inputs.py hostile EXAMPLES FOLDER  two objects of examples/ under names that try to break a page
"""
import struct
import sys
from pathlib import Path

MAGIC = struct.pack("<I", 0xBA55ED50)
# As long as the names that they replace.
NAMES = {
    b"_Z5saxpyifPKfPf": b"</script><b>\"'&",
    b"_Z5scalef": "<!--\x1b\u202e\n".encode(),
}
FILE = "a\n<script>hacked=1\x07\u2028\u200f'\".cubin"


def section(data, wanted):
    """The bytes of a section of an ELF file."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    header = lambda index: struct.unpack_from("<IIQQQQ", data, table + index * size)
    strings = header(names)[4]
    for index in range(count):
        name, _, _, _, offset, length = header(index)
        start = strings + name
        if data[start : data.index(b"\0", start)] == wanted:
            return data[offset : offset + length]
    sys.exit(f"no section {wanted.decode()}")


def nccl(library, folder):
    data = section(library.read_bytes(), b"__nv_relfatbin")
    at = count = 0
    while data[at : at + 4] == MAGIC:
        (size,) = struct.unpack_from("<Q", data, at + 8)
        (folder / f"c{count:03}.fatbin").write_bytes(data[at : at + size + 16])
        count += 1
        at += size + 16
        while at < len(data) and data[at] == 0:
            at += 1


def hostile(examples, folder):
    for source, target in [("saxpy", FILE), ("scale", "b.cubin")]:
        data = (examples / f"{source}.sm_90.cubin").read_bytes()
        for old, new in NAMES.items():
            assert len(old) == len(new)
            data = data.replace(old, new)
        (folder / target).write_bytes(data)


if __name__ == "__main__":
    kind, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    {"nccl": nccl, "hostile": hostile}[kind](source, folder)
