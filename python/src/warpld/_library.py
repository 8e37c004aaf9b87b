"""libwarpld.so through ctypes: the functions of warpld.h."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
import weakref
from typing import Any

from ._errors import Diagnostic, LinkError, NotACubinError, SettingError, WarpldError

API_VERSION = 1
SUCCESS, LINK_FAILED, INVALID_ARGUMENT, UNKNOWN_SETTING, INVALID_VALUE, NO_TARGET, NO_RESULT, CANNOT_READ, NOT_A_CUBIN = range(9)

_TEXT = ctypes.c_char_p
_SESSION = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_char_p)

# The arguments of each function that returns a result.
_FUNCTIONS = {
    "warpld_create": [ctypes.POINTER(_SESSION)],
    "warpld_set": [_SESSION, _TEXT, _TEXT],
    "warpld_add": [_SESSION, _TEXT, _TEXT, ctypes.c_size_t],
    "warpld_add_file": [_SESSION, _TEXT],
    "warpld_link": [_SESSION],
    "warpld_cubin": [_SESSION, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)],
    "warpld_diagnostics": [_SESSION, _OUT],
    "warpld_report": [_SESSION, _OUT],
    "warpld_map": [_SESSION, _OUT],
    "warpld_resources": [_SESSION, _OUT],
    "warpld_why_live": [_SESSION, _TEXT, _OUT],
    "warpld_why_dead": [_SESSION, _TEXT, _OUT],
    "warpld_dump": [_SESSION, _TEXT, _TEXT, ctypes.c_size_t, _OUT],
}


def folder() -> pathlib.Path:
    """Where the libraries are: in the package, or where $WARPLD_LIBRARIES says."""
    return pathlib.Path(os.environ.get("WARPLD_LIBRARIES") or pathlib.Path(__file__).parent / "_lib")


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(folder() / "libwarpld.so.0"))
    loaded.warpld_api_version.restype = ctypes.c_uint32
    found = loaded.warpld_api_version()
    if found != API_VERSION:
        raise WarpldError(f"libwarpld has interface {found}, and not {API_VERSION}")
    for name, arguments in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    loaded.warpld_destroy.argtypes, loaded.warpld_destroy.restype = [_SESSION], None
    for name, arguments in {"warpld_error": [_SESSION], "warpld_version": []}.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, ctypes.c_char_p
    return loaded


def version() -> str:
    text: bytes = library().warpld_version()
    return text.decode()


class Session:
    """A session of the library. It is freed with this object."""

    def __init__(self) -> None:
        self._library = library()
        self._handle = _SESSION()
        self._check(self._library.warpld_create(ctypes.byref(self._handle)))
        self.close = weakref.finalize(self, self._library.warpld_destroy, self._handle)

    def set(self, name: str, value: str | None) -> None:
        self._call("warpld_set", name.encode(), None if value is None else value.encode())

    def add(self, name: str, data: bytes) -> None:
        self._call("warpld_add", name.encode(), data, len(data))

    def add_file(self, path: str) -> None:
        self._call("warpld_add_file", os.fsencode(path))

    def link(self) -> None:
        result = self._library.warpld_link(self._handle)
        if result == LINK_FAILED:
            raise LinkError(self._error(), self.diagnostics())
        self._check(result)

    def cubin(self) -> bytes:
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call("warpld_cubin", ctypes.byref(data), ctypes.byref(size))
        return ctypes.string_at(data.value or 0, size.value)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(map(Diagnostic._of, json.loads(self.text("diagnostics"))))

    def text(self, what: str, *arguments: Any) -> str:
        out = ctypes.c_char_p()
        self._call(f"warpld_{what}", *arguments, ctypes.byref(out))
        return (out.value or b"").decode()

    def _call(self, function: str, *arguments: Any) -> None:
        self._check(getattr(self._library, function)(self._handle, *arguments))

    def _check(self, result: int) -> None:
        if result == SUCCESS:
            return
        message = self._error()
        if result in (UNKNOWN_SETTING, INVALID_VALUE, NO_TARGET):
            raise SettingError(message)
        if result == CANNOT_READ:
            raise OSError(message)
        if result == NOT_A_CUBIN:
            raise NotACubinError(message)
        raise WarpldError(message)

    def _error(self) -> str:
        text: bytes = self._library.warpld_error(self._handle)
        return text.decode()
