"""warpld in place of NVIDIA's libnvJitLink."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import pathlib
import sys

from . import _library
from ._errors import WarpldError

# Where the wheels of NVIDIA's library put it.
_WHEELS = {13: "nvidia/cu13/lib", 12: "nvidia/nvjitlink/lib"}


def nvjitlink_path(major: int = 13) -> pathlib.Path:
    """The path of our libnvJitLink, for ``LD_PRELOAD`` and its like."""
    path = _library.folder() / f"libnvJitLink.so.{major}"
    if not path.exists():
        raise WarpldError(f"there is no libnvJitLink.so.{major} of warpld")
    return path


def use_as_nvjitlink(major: int | None = None, *, real: str | os.PathLike[str] | None = None) -> pathlib.Path:
    """Lets cuda.core, cuda.bindings and numba-cuda in this process link through warpld, and returns the path of the
    library that they will use.

    Call it before their first link: what is loaded already cannot be replaced, and is a `WarpldError`. It may be
    called twice. Processes that this one starts need it, too; ``LD_PRELOAD`` does it for all of them.

    ``major`` is the major release of CUDA; that of the installed cuda-bindings unless given. PTX and LTO-IR are
    compiled by NVIDIA's library, which is loaded when there is some: ``real`` names it, or ``$WARPLD_NVJITLINK``, and
    else one that is installed in this environment is found.
    """
    if major is None:
        major = _installed_major()
    ours = nvjitlink_path(major).resolve()
    name = f"libnvJitLink.so.{major}"
    others = [path for path in _mapped(name) if path.resolve() != ours]
    if others and ours not in _mapped(name):
        raise WarpldError(f"{others[0]} is loaded already; call warpld.use_as_nvjitlink() before the first link")
    if real is not None:
        os.environ["WARPLD_NVJITLINK"] = os.fspath(real)
    elif not os.environ.get("WARPLD_NVJITLINK"):
        found = _installed(major, ours)
        if found:
            os.environ["WARPLD_NVJITLINK"] = str(found)
    # Global, so that its symbols are found without a look for files; and its name is that of NVIDIA's, so that
    # loading that name gives ours.
    ctypes.CDLL(str(ours), mode=ctypes.RTLD_GLOBAL)
    return ours


def _installed_major() -> int:
    try:
        return int(importlib.metadata.version("cuda-bindings").split(".")[0])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return 13


def _mapped(name: str) -> list[pathlib.Path]:
    """The files of this name that are loaded."""
    try:
        lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if line.endswith(f"/{name}")}
    return sorted(map(pathlib.Path, paths))


def _installed(major: int, ours: pathlib.Path) -> pathlib.Path | None:
    """NVIDIA's library in this environment."""
    for place in sys.path:
        path = pathlib.Path(place) / _WHEELS.get(major, "") / f"libnvJitLink.so.{major}"
        if path.exists() and path.resolve() != ours:
            return path
    return None
