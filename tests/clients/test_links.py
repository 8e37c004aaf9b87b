"""Links by cuda.bindings and cuda.core of what this repository has: they need the packages, and none of their own
tests. Run with the real library and with ours, the outcomes must be the same."""

import hashlib
import pathlib

import pytest
from cuda.bindings import nvjitlink

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
CUBIN = nvjitlink.InputType.CUBIN
TARGETS = ["sm_80", "sm_90", "sm_100"]


def example(name, arch):
    return (EXAMPLES / f"{name}.{arch}.cubin").read_bytes()


def log(handle, which):
    size = getattr(nvjitlink, f"get_{which}_log_size")(handle)
    text = bytearray(size)
    getattr(nvjitlink, f"get_{which}_log")(handle, text)
    return bytes(text).rstrip(b"\0").decode()


@pytest.fixture
def link():
    handles = []

    def create(*options):
        handle = nvjitlink.create(len(options), list(options))
        handles.append(handle)
        return handle

    yield create
    for handle in handles:
        nvjitlink.destroy(handle)


def output(handle):
    nvjitlink.complete(handle)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, cubin)
    return bytes(cubin)


def add(handle, *inputs):
    for name, data in inputs:
        nvjitlink.add_data(handle, CUBIN, data, len(data), name)


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("options", [(), ("-g",), ("-r",), ("-kernels-used=saxpy",), ("-O3", "-lineinfo")], ids=" ".join)
def test_bytes_of_a_link(link, arch, options, record_property):
    handle = link(f"-arch={arch}", *options)
    add(handle, ("saxpy", example("saxpy", arch)), ("scale", example("scale", arch)))
    cubin = output(handle)
    # The outcome of each test has these properties beside it, and all are compared.
    record_property("sha256", hashlib.sha256(cubin).hexdigest())
    record_property("error log", log(handle, "error"))
    assert cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize("arch", TARGETS)
def test_info_log(link, arch, record_property):
    handle = link(f"-arch={arch}", "-verbose")
    add(handle, ("saxpy", example("saxpy", arch)), ("scale", example("scale", arch)))
    output(handle)
    record_property("info log", log(handle, "info"))


@pytest.mark.parametrize("arch", TARGETS)
def test_undefined_symbol(link, arch, record_property):
    handle = link(f"-arch={arch}")
    add(handle, ("saxpy", example("saxpy", arch)))
    with pytest.raises(nvjitlink.nvJitLinkError) as raised:
        nvjitlink.complete(handle)
    # Not the rest of the line: the real library reads the name of the input after it was freed.
    record_property("result", str(raised.value))
    assert "Undefined reference to '_Z5scalef'" in log(handle, "error")


@pytest.mark.parametrize("data", [b"text", b"\0" * 64, b"\x7fELF", b""], ids=["text", "zeros", "magic", "nothing"])
def test_input_that_is_no_cubin(link, data, record_property):
    handle = link("-arch=sm_90")
    with pytest.raises(nvjitlink.nvJitLinkError) as raised:
        add(handle, ("input", data))
    record_property("result", str(raised.value))


def test_from_file(link, record_property):
    handle = link("-arch=sm_90")
    for name in ("saxpy", "scale"):
        nvjitlink.add_file(handle, nvjitlink.InputType.ANY, str(EXAMPLES / f"{name}.sm_90.cubin"))
    record_property("sha256", hashlib.sha256(output(handle)).hexdigest())


def test_linker_of_cuda_core(init_cuda, record_property):
    from cuda.core import Linker, LinkerOptions
    from cuda.core._module import ObjectCode

    inputs = [ObjectCode.from_cubin(example(name, "sm_90"), name=name) for name in ("saxpy", "scale")]
    linker = Linker(*inputs, options=LinkerOptions(arch="sm_90"))
    cubin = linker.link("cubin")
    record_property("sha256", hashlib.sha256(bytes(cubin.code)).hexdigest())
    assert linker.get_error_log() == ""


def test_nvrtc_to_linker(init_cuda, record_property):
    from cuda.core import Linker, LinkerOptions, Program, ProgramOptions

    options = ProgramOptions(arch="sm_90", relocatable_device_code=True)
    callee = Program("__device__ float f(float x) { return x * 2; }", "c++", options).compile("cubin")
    caller = "extern __device__ float f(float); __global__ void k(float *x) { *x = f(*x); }"
    kernel = Program(caller, "c++", options).compile("cubin")
    linker = Linker(kernel, callee, options=LinkerOptions(arch="sm_90"))
    record_property("sha256", hashlib.sha256(bytes(linker.link("cubin").code)).hexdigest())
