"""The version: that of the installed package, which is the program's (project() in CMakeLists.txt)."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path


def _version() -> str:
    cmake = Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    if cmake.is_file():  # a checkout
        found = re.search(r"project\(vramplan VERSION ([0-9.]+)", cmake.read_text())
        if found:
            return found[1]
    return metadata.version("vramplan")


__version__ = _version()
