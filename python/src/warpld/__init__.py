"""Links CUDA device code: relocatable objects in, a loadable cubin out.

>>> linked = warpld.link(["saxpy.cubin", ("scale", data)], arch="sm_90")
>>> linked.cubin, linked.warnings, linked.report["kernels"]
"""

from ._errors import Diagnostic, LinkError, NotACubinError, SettingError, WarpldError
from ._link import Input, Linked, dump, link
from ._library import version as _version
from ._nvjitlink import nvjitlink_path, use_as_nvjitlink

__all__ = [
    "Diagnostic",
    "Input",
    "LinkError",
    "Linked",
    "NotACubinError",
    "SettingError",
    "WarpldError",
    "dump",
    "link",
    "nvjitlink_path",
    "use_as_nvjitlink",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'warpld' has no attribute '{name}'")
