"""What can go wrong, and what a link says."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A message of a link."""

    #: ``info``, ``warning``, ``error`` or ``fatal``
    severity: str
    #: stable, such as ``undefined-symbol``; the guide lists them
    code: str
    message: str
    #: the symbol that it is about, as in the object
    symbol: str | None = None
    #: and as in the source
    demangled: str | None = None
    #: the kernel that is concerned
    kernel: str | None = None
    #: where, and what to do
    notes: tuple[str, ...] = ()

    @classmethod
    def _of(cls, entry: dict[str, Any]) -> Diagnostic:
        known = {field.name: entry[field.name] for field in dataclasses.fields(cls) if field.name in entry}
        known["notes"] = tuple(known.get("notes", ()))
        return cls(**known)

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.message} [{self.code}]", *self.notes]
        return "\n    = ".join(lines)


class WarpldError(Exception):
    """Base of all errors of this module."""


class LinkError(WarpldError):
    """A link failed."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...]):
        super().__init__(message)
        #: all messages of the link, in order, warnings included
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics)) or super().__str__()

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.args[0], self.diagnostics))


class SettingError(WarpldError, ValueError):
    """There is no such setting, target or value."""


class NotACubinError(WarpldError, ValueError):
    """Bytes that should be a device ELF are not."""
