#!/usr/bin/env python3
"""Fills fuzz/corpus from the committed device ELF files: whole files for the target `cubin`, single
sections behind the byte that chooses their codec for `metadata`. Run it once before fuzzing:

    python3 fuzz/seed.py && cargo +nightly fuzz run cubin
"""
import hashlib
import pathlib
import struct

CODECS = {0x70000000: 0, 0x70000083: 0, 0x70000086: 0, 7: 1, 0x70000001: 2, 0x70000002: 2, 0x7000000B: 3, 0x70000016: 4}

here = pathlib.Path(__file__).parent


def save(target, data):
    folder = here / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


for path in sorted((here / "../tests/fixtures").glob("*.cubin")):
    data = path.read_bytes()
    save("cubin", data)
    (shoff,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    for i in range(count):
        kind, offset, size = struct.unpack_from("<4xI16xQQ", data, shoff + 64 * i)
        if kind in CODECS:
            save("metadata", bytes([CODECS[kind]]) + data[offset : offset + size])
for kind in range(117):
    save("metadata", bytes([5, kind]) + bytes(11) + bytes(range(16)))
for target in ("cubin", "metadata"):
    print(target, len(list((here / "corpus" / target).iterdir())), "seeds")
