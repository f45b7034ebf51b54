"""The program behind this module: found, called, and its errors turned into exceptions."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Sequence

from ._errors import InputError, NoCardError, UsageError, VramplanError

# 0: done or fits; 3: does not fit, which is an answer too.
_ANSWERS = (0, 3)
_ERRORS = {1: InputError, 2: UsageError, 4: NoCardError}


def binary() -> str:
    """The path of the program: VRAMPLAN_BINARY, the one in this package, the build of a checkout, or that on PATH."""
    here = Path(__file__).resolve().parent
    given = os.environ.get("VRAMPLAN_BINARY")
    if given:
        return given
    for place in (here / "bin" / "vramplan", here.parents[1] / "build" / "release" / "vramplan"):
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("vramplan")
    if found:
        return found
    raise VramplanError("vramplan", "the program is missing", "pip install vramplan, or set VRAMPLAN_BINARY")


def ask(arguments: Sequence[str], text: str = "", private: str = "") -> str:
    """What the program prints to stdout. text: what it reads from stdin. private: a folder that the caller never sees, so
    that files in it have no more than their names. Raises what its exit code means, with its one line."""
    program = binary()
    try:
        run = subprocess.run([program, *arguments], capture_output=True, text=True, input=text)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise VramplanError("vramplan", f"{program} cannot be started: {why}", "see VRAMPLAN_BINARY, or pip install vramplan") from error
    except ValueError as error:  # text that no command line holds
        raise UsageError("vramplan", f"an argument cannot be passed on: {error}", "leave it out") from error
    out, err = (said.replace(private + os.sep, "") if private else said for said in (run.stdout, run.stderr))
    if run.returncode in _ANSWERS:
        return out
    lines = [line for line in err.splitlines() if line.startswith("vramplan: ")] or err.splitlines()
    line = lines[-1] if lines else f"it ended with exit code {run.returncode}"
    raise _error(run.returncode, line.removeprefix("vramplan: "))


def _error(code: int, line: str) -> VramplanError:
    kind = _ERRORS.get(code, VramplanError)
    subject, separator, rest = line.partition(": ")
    if not separator:
        subject, rest = "vramplan", line
    text, separator, hint = rest.partition(" (hint: ")
    return kind(subject, text, hint[:-1] if separator else "")


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer in all its forms."""

    json: dict[str, Any]
    text: str
    html: str
    code: str
    """What --emit gives."""


def answer(arguments: Sequence[str], command: Sequence[str] = (), text: str = "", private: str = "") -> Answer:
    """The answer of `--format all`: the program runs once. command: what stands behind --. text, private: as of `ask`."""
    behind = ["--", *command] if command else []
    return Answer(**json.loads(ask([*arguments, "--format", "all", *behind], text, private)))


def ask_json(arguments: Sequence[str]) -> dict[str, Any]:
    """The answer of `--format json`."""
    return json.loads(ask([*arguments, "--format", "json"]))
