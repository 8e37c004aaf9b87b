"""Links by the libnvJitLink that this process finds by name, which LD_PRELOAD has decided: preload.py NAME INPUT...

Checks that it is warpld's, that results are repeatable, and that memory does not grow over 1,500 links.
"""
import ctypes
import sys

LINKS = 500
# What the allocator may keep, in kilobytes.
ROOM = 1024


def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def link(library, inputs):
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 1)(b"-arch=sm_90")
    assert library.nvJitLinkCreate(ctypes.byref(handle), 1, options) == 0
    for data in inputs:
        assert library.nvJitLinkAddData(handle, 1, data, ctypes.c_size_t(len(data)), b"input") == 0
    assert library.nvJitLinkComplete(handle) == 0
    size = ctypes.c_size_t()
    assert library.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size)) == 0
    cubin = ctypes.create_string_buffer(size.value)
    assert library.nvJitLinkGetLinkedCubin(handle, cubin) == 0
    assert library.nvJitLinkDestroy(ctypes.byref(handle)) == 0 and not handle.value
    return cubin.raw


def main(name, paths):
    library = ctypes.CDLL(name)
    assert hasattr(library, "warpld_nvjitlink_version"), f"{name} is not warpld's"
    inputs = [open(path, "rb").read() for path in paths]
    first = link(library, inputs)
    for _ in range(LINKS):
        assert link(library, inputs) == first
    before = resident()
    for _ in range(2 * LINKS):
        assert link(library, inputs) == first
    growth = resident() - before
    assert growth < ROOM, f"{growth} KB more after {2 * LINKS} links"
    print(f"preloaded: {3 * LINKS} links, {growth} KB more resident after the last {2 * LINKS}")


main(sys.argv[1], sys.argv[2:])
