"""The command `warpld`."""

import os
import pathlib
import sys
from typing import NoReturn

PROGRAM = pathlib.Path(__file__).parent / "_bin" / "warpld"


def main() -> NoReturn:
    """Becomes the command."""
    try:
        os.execv(PROGRAM, ["warpld", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"warpld: cannot run {PROGRAM}: {error.strerror}")
