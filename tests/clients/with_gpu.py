"""pytest plugin: the fixtures that cuda.core's and numba-cuda's tests expect of their own conftest.py, so that a test
file runs without the rest of its repository."""

import gc

import numpy
import pytest

# numba takes these from numpy when it compiles its first kernel, and numpy 2.4 no longer has all of them.
for old, new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(numpy, old):
        setattr(numpy, old, getattr(numpy, new))


@pytest.fixture
def init_cuda():
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    yield device
    gc.collect()
    device.sync()


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
