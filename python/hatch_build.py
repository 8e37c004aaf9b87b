"""Puts the command and the libraries that scripts/build-wheel.sh has built into the wheel, and names its platform."""

import os
import pathlib

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Files(BuildHookInterface):
    def initialize(self, version, build_data):
        folder = os.environ.get("WARPLD_WHEEL_FILES")
        platform = os.environ.get("WARPLD_WHEEL_PLATFORM")
        if not folder or not platform:
            raise RuntimeError("scripts/build-wheel.sh builds the wheel: command and libraries are built first")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                build_data["force_include"][str(path)] = f"warpld/{path.relative_to(folder)}"
