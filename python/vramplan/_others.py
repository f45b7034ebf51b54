"""`run`, `explain` and `models`: what needs no model of torch."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any, Sequence

from . import _arguments, _ask, _binary, _results
from ._errors import InputError, UsageError


def _words_of(command: str | Sequence[Any]) -> list[str]:
    if not isinstance(command, str):
        return [os.fspath(w) if isinstance(w, os.PathLike) else str(w) for w in command]
    try:
        return shlex.split(command)
    except ValueError as error:  # a quotation that does not end
        raise UsageError("command", str(error).lower(), 'give a list: ["train.py", "--batch", 8]') from None


def _text_of(message: Any) -> str:
    is_log = isinstance(message, os.PathLike) or (isinstance(message, str) and "\n" not in message and os.path.isfile(message))
    if not is_log:
        return str(message)
    try:
        with open(message, errors="replace") as log:
            return log.read()
    except OSError as error:
        raise InputError(os.fspath(message), (error.strerror or str(error)).lower(), "give the path of a log") from error


@_arguments.checked()
def run(command: str | Sequence[Any], *, gpu: str | None = None, **options: Any) -> _results.Result:
    """A PyTorch script on a pretend card: real PyTorch runs it, unmodified, for a few steps (docs/scripts.md).

    command: ["train.py", "--batch", 8], or the line of it. A script runs with this python; another command as it is.
    Gives a `Run`; with `vary` or several `gpus`, which run it often, a `Result`.
    options: those of `vramplan run`, with underscores: `steps=5`, `until_exit=True`, `largest="batch=1:512"`.
    """
    words = _words_of(command)
    if words and words[0].endswith(".py"):
        words.insert(0, sys.executable)
    arguments = _ask.arguments_of(is_model=False, gpu=gpu, options=options)
    return _results.run_of(_binary.answer(["run", *arguments], words))


@_arguments.checked(model=_arguments.PATH_OR_NONE)
def explain(message: Any, *, model: Any = None, gpu: str | None = None, **options: Any) -> _results.Explanation:
    """Why memory ran out (docs/oom.md).

    message: the exception, its text, the text of a log that holds it, or the log's path.
    model: a path or a name of what ran; the answer then names the request of the step that failed.
    """
    if model is not None:
        options["model"] = os.fspath(model)
    arguments = _ask.arguments_of(is_model=False, gpu=gpu, options=options)
    return _results.Explanation(_binary.answer(["explain", "-", *arguments], text=_text_of(message)))


@_arguments.checked()
def models(text: str = "") -> list[_results.Record]:
    """The models that are known by their names, each with name, source, class and parameters; text: a part of them."""
    told = _binary.ask_json(["models", *([text] if text else [])])
    return [_results.Record(row) for row in told["models"]]
