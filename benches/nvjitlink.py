#!/usr/bin/env python3
"""Compares two libraries with libnvJitLink's functions: time to load, memory, time of links.

    benches/nvjitlink.py REAL OURS        e.g. NVIDIA's libnvJitLink.so.13 and warpld's

Each library runs in processes of its own, in turn; the best of the rounds counts. Inputs are the cubins of examples
and of tests/fixtures for sm_90. Prints a table with ratios; fails if a small link takes longer through OURS, loading takes
5 ms or more, or loading and a first link 10 MB or more.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS = 5
LINKS = 400
SETS = {
    "2 cubins": ["examples/saxpy.sm_90.cubin", "examples/scale.sm_90.cubin"],
    "8 cubins": [f"tests/fixtures/{name}.sm_90.cubin" for name in
                 ("object", "scale", "vec", "sync", "lines_a", "lines_b", "weak", "switch_a")],
}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def link(library, inputs):
    handle = ctypes.c_void_p()
    library.nvJitLinkCreate(ctypes.byref(handle), 1, (ctypes.c_char_p * 1)(b"-arch=sm_90"))
    for data in inputs:
        if library.nvJitLinkAddData(handle, 1, data, ctypes.c_size_t(len(data)), b"input"):
            sys.exit("an input was refused")
    library.nvJitLinkComplete(handle)
    size = ctypes.c_size_t()
    if library.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size)) == 0:
        library.nvJitLinkGetLinkedCubin(handle, ctypes.create_string_buffer(size.value))
    library.nvJitLinkDestroy(ctypes.byref(handle))


def child(path):
    inputs = {name: [open(os.path.join(ROOT, file), "rb").read() for file in files] for name, files in SETS.items()}
    before, start = resident(), time.perf_counter()
    library = ctypes.CDLL(path)
    found = {"load": time.perf_counter() - start}
    for name, data in inputs.items():
        start = time.perf_counter()
        link(library, data)
        found.setdefault("first link", time.perf_counter() - start)
        found.setdefault("memory", resident() - before)
        times = []
        for _ in range(LINKS):
            start = time.perf_counter()
            link(library, data)
            times.append(time.perf_counter() - start)
        found[name] = sorted(times)[LINKS // 2]
    print(json.dumps(found))


def measure(path, best):
    output = subprocess.run([sys.executable, __file__, "--child", path], check=True, capture_output=True, text=True)
    for key, value in json.loads(output.stdout).items():
        best[key] = min(value, best.get(key, value))


def main(real, ours):
    theirs, mine = {}, {}
    for _ in range(ROUNDS):
        measure(real, theirs)
        measure(ours, mine)
    print(f"{'':<12}{'theirs':>12}{'ours':>12}{'ratio':>8}")
    for key in theirs:
        unit, scale = ("MB", 1e6) if key == "memory" else ("ms", 1e-3)
        a, b = theirs[key] / scale, mine[key] / scale
        print(f"{key:<12}{a:>9.3f} {unit}{b:>9.3f} {unit}{b / a:>8.2f}")
    good = mine["2 cubins"] <= theirs["2 cubins"] and mine["load"] < 5e-3 and mine["memory"] < 10e6
    sys.exit(0 if good else "a goal is missed")


if sys.argv[1] == "--child":
    child(sys.argv[2])
else:
    main(*sys.argv[1:3])
