"""Programs on a GPU whose links go through libnvJitLink: directly (cuda.core), or as the library behind cuSPARSE (CuPy,
PyTorch, JAX). Run with NVIDIA's library and with ours, outcomes and what is recorded must be the same."""

import hashlib
import shutil
import subprocess

import pytest

CALLEE = """
__device__ int counter = 7;
__device__ int twice(int x) { return 2 * x + counter; }
"""
CALLER = """
extern __device__ int twice(int);
extern "C" __global__ void kernel(int *out) { out[threadIdx.x] = twice(threadIdx.x); }
"""


def program(text, kind, arch):
    from cuda.core import Program, ProgramOptions

    return Program(text, "c++", ProgramOptions(arch=arch, relocatable_device_code=True)).compile(kind)


def run(cubin, stream):
    """Launches the kernel and returns what it wrote."""
    import numpy
    from cuda.core import LaunchConfig, LegacyPinnedMemoryResource, launch

    buffer = LegacyPinnedMemoryResource().allocate(32 * 4)
    values = numpy.from_dlpack(buffer).view(numpy.int32)
    values[:] = 0
    launch(stream, LaunchConfig(grid=1, block=32), cubin.get_kernel("kernel"), values.ctypes.data)
    stream.sync()
    return values.tolist()


def link(*inputs, arch, **options):
    from cuda.core import Linker, LinkerOptions

    return Linker(*inputs, options=LinkerOptions(arch=arch, **options)).link("cubin")


@pytest.fixture
def arch(init_cuda):
    return "sm_{}{}".format(*init_cuda.compute_capability)


@pytest.fixture
def check(init_cuda, record_property):
    stream = init_cuda.create_stream()

    def check(cubin):
        record_property("sha256", hashlib.sha256(bytes(cubin.code)).hexdigest())
        assert run(cubin, stream) == [2 * i + 7 for i in range(32)]

    return check


@pytest.mark.parametrize("kinds", ["cubin cubin", "ptx cubin", "cubin ptx", "ptx ptx"])
def test_nvrtc(kinds, arch, check):
    caller, callee = kinds.split()
    check(link(program(CALLER, caller, arch), program(CALLEE, callee, arch), arch=arch))


def test_nvrtc_lto(arch, init_cuda):
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
    inputs = [Program(text, "c++", options).compile("ltoir") for text in (CALLER, CALLEE)]
    cubin = link(*inputs, arch=arch, link_time_optimization=True)
    # No hash: which of two runs of libnvvm wins is not always the same.
    assert run(cubin, init_cuda.create_stream()) == [2 * i + 7 for i in range(32)]


@pytest.mark.parametrize("kind", ["cubin", "fatbin", "object", "library"])
def test_nvcc(kind, arch, check, tmp_path):
    from cuda.core import ObjectCode

    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        pytest.skip("no nvcc")
    source = tmp_path / "callee.cu"
    source.write_text(CALLEE)
    suffix, option = {"cubin": (".cubin", "-cubin"), "fatbin": (".fatbin", "-fatbin"), "object": (".o", "-c"), "library": (".a", "-lib")}[kind]
    out = tmp_path / f"callee{suffix}"
    # The name of the source is in the object: the same in every run.
    subprocess.run([nvcc, "-rdc=true", f"-arch={arch}", option, "callee.cu", "-o", out.name], check=True, cwd=tmp_path)
    callee = getattr(ObjectCode, f"from_{kind}")(str(out))
    check(link(program(CALLER, "cubin", arch), callee, arch=arch))


def test_in_two_steps(arch, check):
    """A relocatable link of one input, and the link of what came out."""
    from cuda.bindings import nvjitlink
    from cuda.core import ObjectCode

    data = bytes(program(CALLEE, "cubin", arch).code)
    handle = nvjitlink.create(2, [f"-arch={arch}", "-r"])
    nvjitlink.add_data(handle, nvjitlink.InputType.CUBIN, data, len(data), "callee")
    nvjitlink.complete(handle)
    partial = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, partial)
    nvjitlink.destroy(handle)
    check(link(program(CALLER, "cubin", arch), ObjectCode.from_cubin(bytes(partial)), arch=arch))


def test_cupy_sparse_product(record_property):
    cupy = pytest.importorskip("cupy")
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    dense = cupy.arange(64 * 64, dtype=cupy.float32).reshape(64, 64) % 7
    dense[dense < 4] = 0
    matrix = sparse.csr_matrix(dense)
    assert cupy.allclose((matrix @ matrix).toarray(), dense @ dense)
    assert cupy.allclose(matrix @ dense, dense @ dense)
    record_property("sum", float((matrix @ dense).sum()))


def test_torch_sparse_product(record_property):
    torch = pytest.importorskip("torch")
    dense = torch.arange(64 * 64, dtype=torch.float32, device="cuda").reshape(64, 64) % 7
    dense[dense < 4] = 0
    for matrix in (dense.to_sparse_csr(), dense.to_sparse_coo()):
        assert torch.allclose(torch.sparse.mm(matrix, dense), dense @ dense)
        assert torch.allclose((matrix @ matrix).to_dense(), dense @ dense)
    record_property("sum", float(torch.sparse.mm(matrix, dense).sum()))


def test_jax_matmul(record_property):
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no GPU here")
    numbers = jax.numpy

    @jax.jit
    def product(a, b):
        return numbers.tanh(a @ b).sum() + (a @ b).max()

    a = numbers.arange(256 * 256, dtype=numbers.float32).reshape(256, 256) % 5
    record_property("value", float(product(a, a.T)))


def test_jax_sparse_product(record_property):
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no GPU here")
    from jax.experimental import sparse

    dense = jax.numpy.arange(64 * 64, dtype=jax.numpy.float32).reshape(64, 64) % 7
    dense = jax.numpy.where(dense < 4, 0, dense)
    product = jax.jit(lambda a, b: a @ b)(sparse.BCSR.fromdense(dense), dense)
    assert jax.numpy.allclose(product, dense @ dense)
    record_property("sum", float(product.sum()))
