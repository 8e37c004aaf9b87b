"""pytest plugin: a driver without a GPU ($NO_GPU_DRIVER, made of driver.c), so that tests which only compile and
link run on any machine."""

import ctypes
import os
import sys

import cuda.pathfinder  # noqa: F401
import pytest
from cuda.pathfinder._dynamic_libs.load_dl_common import LoadedDL

# The driver is given to cuda.bindings (13.4 and later) by path. NVRTC looks for libcuda.so.1 by itself, and must
# not find this one.
_loader = sys.modules["cuda.pathfinder._dynamic_libs.load_nvidia_dynamic_lib"]
_load = _loader._load_lib_no_cache


def _load_or_stub(name):
    if name != "cuda":
        return _load(name)
    path = os.environ["NO_GPU_DRIVER"]
    return LoadedDL(path, False, ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)._handle, "stub")


_loader._load_lib_no_cache = _load_or_stub


@pytest.fixture
def init_cuda():
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    yield device
