#!/usr/bin/env python3
"""Fills fuzz/corpus from the committed device ELF files: whole files for the targets `cubin`, `tools`
and `link`, single sections behind the byte that chooses their codec for `metadata` and `tables`,
containers of them for `fatbin`, archives of host objects for `archive`, calls with them for `nvjitlink`. Run it once before fuzzing:

    python3 fuzz/seed.py && cargo +nightly fuzz run cubin
"""
import hashlib
import pathlib
import struct

CODECS = {0x70000000: 0, 0x70000083: 0, 0x70000086: 0, 7: 1, 0x70000001: 2, 0x70000002: 2, 0x7000000B: 3, 0x70000016: 4,
          0x70000011: 7, 0x70000014: 7}
LARGEST = 24000

here = pathlib.Path(__file__).parent


def save(target, data):
    folder = here / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def sections(data):
    """Name, type and bytes of every section."""
    (shoff,) = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<II16xQQ", data, shoff + 64 * i) for i in range(count)]
    strings = headers[names][2]
    for name, kind, offset, size in headers:
        start = strings + name
        yield data[start : data.index(0, start)], kind, data[offset : offset + size]


def tables(found):
    """Code and capsules, line tables and frame tables for `tables`."""
    for name, code in found.items():
        capsule = found.get(b".nv.capmerc" + name)
        count = len(code) // 16
        if name.startswith(b".text.") and count < 256:
            save("tables", bytes([3, 0]) + code)
            if capsule:
                save("tables", bytes([0, count]) + code + capsule)
                save("tables", bytes([4, count]) + code + capsule)
        if b"debug_line" in name:
            at = code.find(b"\0\x09\x02")
            while 0 <= at < 253:
                save("tables", bytes([1, at + 3]) + code)
                at = code.find(b"\0\x09\x02", at + 1)
        if name.endswith(b".debug_frame"):
            save("tables", bytes([2, 4]) + code)
            save("tables", bytes([2, 1]) + code[36:])


for path in sorted((here / "../tests/fixtures").glob("*.cubin")):
    data = path.read_bytes()
    save("cubin", data)
    for tool in range(4):
        save("tools", bytes([tool]) + data)
    # Add it as each type, link, ask for everything.
    for kind in (1, 4, 5, 6, 10):
        save("nvjitlink", bytes([5, kind * 16 + 2, 19, 35, 4, 6]) + data)
    save("tools", bytes([3 + 6 * 11]) + data)
    # Behind the bytes of options and release: bit 0 adds other inputs, bit 1 is sm_100, bit 7 an index.
    # The releases are numbered as in Release::ALL: 13.0, 13.4 and 13.5.
    target = {".sm_90.": 0, ".sm_100.": 2}.get(next((t for t in (".sm_90.", ".sm_100.") if t in path.name), ""))
    if target is not None and len(data) < LARGEST:
        for flags in (0, 1, 4) if "unified" not in path.name else (0x80, 0x81, 4):
            for release in (1, 10, 11):
                save("link", bytes([target | flags, release]) + data)
    found = {}
    for name, kind, content in sections(data):
        if kind in CODECS:
            save("metadata", bytes([CODECS[kind]]) + content)
        found[name] = content
    tables(found)
index = struct.pack("<8sII4Q12Q", b"\x7fUFTINDX", 1, 0, 0x100, 2, 16, 2, 1, 2, 0x80, 3, 4, 0, 11, 12, 8, 13, 14, 0)
save("metadata", bytes([6]) + index)
for name in (b"_Z3fooi", b"_ZN2ns1VIfE3getERKS1_PKcm$53", b"__nv_static_26__35635a9d_5_dm_cu_9c7661fb__Z2skPi",
             b"_RNvC6_123foo3bar", b"_ZN3foo17h05af221e174051e9E"):
    save("tools", bytes([4]) + name)
for words in (b"-arch=sm_90\0a.o\0-o\0x\0", b"-optf\0f\0-arch sm_90 \"a b\".o -g", b"--kernels-used=a,b\0-r\0-Lx\0-ly\0",
              b"-dlto\0-nvvmpath=x\0-Ofc=mid\0-arch\0lto_90\0", b"-ghls=lcs-aug\0-o\0x\0"):
    save("tools", bytes([5]) + words)
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
for target in ("cubin", "metadata", "tables", "tools", "fatbin", "archive", "link"):
    print(target, len(list((here / "corpus" / target).iterdir())), "seeds")
