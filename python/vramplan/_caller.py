"""The environment in which `vramplan run` starts a command: that of the caller, not that of the tool.

`uvx vramplan run -- python train.py` puts the environment that holds vramplan alone first into PATH, and activates it; the
python that the caller means is the one behind it, which has torch.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import Mapping, Sequence


def _is_same(folder: str, other: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(other)


def callers_path(environment: Mapping[str, str], own: str) -> str:
    """PATH without the folder of programs of the environment `own`, and with that of the caller's virtual environment."""
    own_bin = os.path.join(own, "bin")
    folders = [f for f in environment.get("PATH", os.defpath).split(os.pathsep) if f and not _is_same(f, own_bin)]
    active = environment.get("VIRTUAL_ENV", "")
    if active and not _is_same(active, own):
        active_bin = os.path.join(active, "bin")
        if os.path.isdir(active_bin) and not any(_is_same(f, active_bin) for f in folders):
            folders.insert(0, active_bin)
    return os.pathsep.join(folders)


def for_command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    own: str = sys.prefix,
    base: str = sys.base_prefix,
    has_torch: bool | None = None,
) -> tuple[dict[str, str], str]:
    """The environment for the program's command line, and the line that says which program the command is ("": nothing is
    to be said, since vramplan and torch share an environment or the command is named by its path)."""
    changed = dict(environment)
    command = list(arguments[arguments.index("--") + 1 :]) if "--" in arguments else []
    if list(arguments[:1]) != ["run"] or not command or os.sep in command[0] or _is_same(own, base):
        return changed, ""
    if importlib.util.find_spec("torch") is not None if has_torch is None else has_torch:
        return changed, ""
    changed["PATH"] = callers_path(environment, own)
    if _is_same(changed.get("VIRTUAL_ENV", os.devnull), own):
        del changed["VIRTUAL_ENV"]
    found = shutil.which(command[0], path=changed["PATH"])
    return changed, f"{command[0]} is {found}" if found else ""
