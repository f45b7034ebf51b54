"""`run`, `explain` and `models`: what needs no model of torch."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any, Sequence

from . import _ask, _binary, _results


def run(command: str | Sequence[Any], *, gpu: str | None = None, **options: Any) -> _results.Result:
    """A PyTorch script on a card that is not there: real PyTorch runs it, unmodified, for a few steps (docs/scripts.md).

    command: ["train.py", "--batch", 8], or the line of it. A script runs with this python; another command as it is.
    Gives a `Run`; with `vary` or several `gpus`, which run it often, a `Result`.
    options: those of `vramplan run`, with underscores: `steps=5`, `until_exit=True`, `largest="batch=1:512"`.
    """
    words = shlex.split(command) if isinstance(command, str) else [os.fspath(w) if isinstance(w, os.PathLike) else str(w) for w in command]
    if words and words[0].endswith(".py"):
        words.insert(0, sys.executable)
    arguments = _ask.arguments_of(is_model=False, gpu=gpu, options=options)
    return _results.run_of(_binary.answer(["run", *arguments], words))


def explain(message: Any, *, model: Any = None, gpu: str | None = None, **options: Any) -> _results.Explanation:
    """Why memory ran out (docs/oom.md).

    message: the exception, its text, the text of a log that holds it, or the log's path.
    model: a path or a name of what ran; the answer then names the request of the step that failed.
    """
    if isinstance(message, os.PathLike) or (isinstance(message, str) and "\n" not in message and os.path.isfile(message)):
        with open(message, errors="replace") as log:
            message = log.read()
    if model is not None:
        options["model"] = os.fspath(model)
    arguments = _ask.arguments_of(is_model=False, gpu=gpu, options=options)
    return _results.Explanation(_binary.answer(["explain", "-", *arguments], text=str(message)))


def models(text: str = "") -> list[_results.Record]:
    """The models that are known by their names, each with name, source, class and parameters; text: a part of them."""
    told = _binary.ask_json(["models", *([text] if text else [])])
    return [_results.Record(row) for row in told["models"]]
