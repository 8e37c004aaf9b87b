"""Links and dumps."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from typing import Any, Union

from ._errors import Diagnostic
from ._library import Session

#: bytes, a path, or a name for messages and bytes
Input = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", "tuple[str, bytes | bytearray | memoryview]"]


class Linked:
    """What a link came to."""

    #: the output, for ``cuModuleLoadData`` and its like
    cubin: bytes
    #: warnings and remarks, in order
    warnings: tuple[Diagnostic, ...]
    #: kernels, functions, variables, map and the target's limits; ``None`` if it was not asked for
    report: dict[str, Any] | None

    def __init__(self, session: Session, report: bool):
        self._session = session
        self.cubin = session.cubin()
        self.warnings = session.diagnostics()
        self.report = json.loads(session.text("report")) if report else None

    def __repr__(self) -> str:
        return f"<warpld.Linked: {len(self.cubin)} bytes, {len(self.warnings)} warnings>"

    def map(self) -> str:
        """Which input each part of the output came from."""
        return self._session.text("map")

    def resources(self) -> str:
        """What each kernel needs, and which callee is responsible."""
        return self._session.text("resources")

    def why_live(self, symbol: str) -> str:
        """What keeps a symbol in the output. It is named as in the object or as in the source."""
        return self._session.text("why_live", symbol.encode())

    def why_dead(self, symbol: str) -> str:
        """Why a symbol is not in the output."""
        return self._session.text("why_dead", symbol.encode())


def link(
    inputs: Iterable[Input],
    *,
    arch: str,
    relocatable: bool = False,
    debug: bool = False,
    kernels_used: str | Iterable[str] = (),
    variables_used: str | Iterable[str] = (),
    cuda_release: str | None = None,
    cuda_path: str | os.PathLike[str] | None = None,
    report: bool = True,
    threads: int = 0,
    **settings: bool | int | str,
) -> Linked:
    """Links inputs, in their order, for a target such as ``sm_90``.

    Inputs are cubins, fatbins, host objects with device code, and archives of these. ``settings`` are other options
    of the command with underscores, such as ``ignore_host_info=True`` or ``identity="nvlink"``.

    PTX needs ``cuda_path``: a CUDA toolkit whose ptxas compiles it, or ``"auto"`` for the one that the command would
    find.

    Raises `LinkError` with the diagnostics if the link fails, `SettingError` for settings that there are not, and
    `OSError` for files that cannot be read.
    """
    # The characters of a name, and the bytes of a file, would be taken for inputs.
    if isinstance(inputs, (str, bytes, bytearray, memoryview, os.PathLike)):
        raise TypeError("inputs must be a list, even if there is one only: link([input], ...)")
    session = Session()
    session.set("arch", arch)
    flags = {"relocatable": relocatable, "debug": debug, "report": report, **settings}
    for name, value in flags.items():
        text = ("on" if value else "off") if isinstance(value, bool) else str(value)
        session.set(name.replace("_", "-"), text)
    if cuda_release is not None:
        session.set("cuda-release", cuda_release)
    if cuda_path is not None:
        session.set("cuda-path", os.fspath(cuda_path))
    if threads:
        session.set("threads", str(threads))
    for pattern in _list(kernels_used):
        session.set("kernels-used", pattern)
    for pattern in _list(variables_used):
        session.set("variables-used", pattern)
    for index, given in enumerate(inputs):
        _add(session, index, given)
    session.link()
    return Linked(session, report)


def _list(patterns: str | Iterable[str]) -> Iterable[str]:
    return [patterns] if isinstance(patterns, str) else patterns


def _add(session: Session, index: int, given: Input) -> None:
    if isinstance(given, (bytes, bytearray, memoryview)):
        session.add(f"input {index}", bytes(given))
    elif isinstance(given, tuple):
        name, data = given
        session.add(name, bytes(data))
    else:
        path = os.fspath(given)
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        session.add_file(path)


def dump(data: bytes | bytearray | memoryview | str | os.PathLike[str], name: str | None = None) -> dict[str, Any]:
    """Sections, symbols, relocations, attributes and kernels of a device ELF, as in ``warpld dump --json``.

    It is given as bytes or by its path. Raises `NotACubinError` if it is none.
    """
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        name = name or path
        with open(path, "rb") as file:
            data = file.read()
    data = bytes(data)
    name = name or "cubin"
    described: dict[str, Any] = json.loads(Session().text("dump", name.encode(), data, len(data)))
    return described
