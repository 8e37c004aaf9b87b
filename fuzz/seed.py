#!/usr/bin/env python3
"""Fills fuzz/corpus from the committed device ELF files: whole files for the targets `cubin` and `link`, single
sections behind the byte that chooses their codec for `metadata`, containers of them for `fatbin`
and archives of host objects for `archive`. Run it once before fuzzing:

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
    if len(data) < 24000:
        # Behind the byte of options: bit 1 is sm_100.
        save("link", bytes([3 if "sm_100" in path.name else 1]) + data)
    (shoff,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    for i in range(count):
        kind, offset, size = struct.unpack_from("<4xI16xQQ", data, shoff + 64 * i)
        if kind in CODECS:
            save("metadata", bytes([CODECS[kind]]) + data[offset : offset + size])
for kind in range(117):
    save("metadata", bytes([5, kind]) + bytes(11) + bytes(range(16)))


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def plain_entry(data, sm):
    data += bytes(-len(data) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(data), 0, 0, 8, 1, sm, 0, 0, 0x11, 0, 0) + data


def host_object(sections):
    """A host ELF file of nothing but these sections."""
    names, body, table = b"\0", b"", bytes(64)
    for name, data in [*sections, (b".shstrtab", b"")]:
        data = data or names + name + b"\0"
        at = 64 + len(body)
        kind = 3 if name == b".shstrtab" else 1
        table += struct.pack("<IIQQQQIIQQ", len(names), kind, 2, 0, at, len(data), 0, 0, 8, 0)
        names += name + b"\0"
        body += data + bytes(-len(data) % 8)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64,
        len(sections) + 2, len(sections) + 1
    )
    return head + body + table


def archive(*members):
    data = b"!<arch>\n"
    for name, body in members:
        data += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(body):<10}`\n".encode() + body + b"\n" * (len(body) % 2)
    return data


packed = (here / "../crates/warpld/tests/inputs/images.fatbin").read_bytes()
at, entries = 16, []
while at < len(packed):
    head, size = struct.unpack_from("<4xIQ", packed, at)
    entries.append(packed[at : at + head + size])
    at += head + size
plain = [plain_entry(p.read_bytes(), 90) for p in sorted((here / "../tests/fixtures").glob("*.sm_90.cubin"))]
for entry in entries + plain:
    save("fatbin", container(entry))
save("fatbin", container(*entries[:4]) + bytes(8) + container(plain_entry(container(*entries[4:6]), 90)))
for entry in entries[:8]:
    device = [(b"__nv_relfatbin", container(entry)), (b".nvFatBinSegment", bytes(24))]
    names = [(b"__nv_module_id", b"id\0"), (b".nvHRKE", b"_Z1k*\0"), (b".nvHRKI", b"\0")]
    host = host_object(device + names)
    save("archive", host)
    save("archive", archive(("x.o/", host), ("text/", b"hello"), ("y.o/", host_object(device))))
save("archive", b"!<thin>\n" + archive(("//", b"d/x.o/\n\n"), ("/0", b""))[8:])
for target in ("cubin", "link", "metadata", "fatbin", "archive"):
    print(target, len(list((here / "corpus" / target).iterdir())), "seeds")
