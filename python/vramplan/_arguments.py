"""What a caller may give each parameter of the public functions: the one place that says so.

    @checked(model=PATH_ONLY)
    def explain(message, *, model=None, ...):     a name in the table below is checked before the function runs

A wrong one ends in one line: the parameter, what it was given, and what to give. torch is not imported for it."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import Any, Callable, Dict, Optional, TypeVar, cast

from ._errors import UsageError

# Gives the line's text and its hint where the value is wrong; None: it is right.
Check = Callable[[Any], Optional["tuple[str, str]"]]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _of_torch(value: Any, *names: str) -> bool:
    """Whether it is an instance of this class of torch; nothing is where torch was not imported."""
    kind: Any = sys.modules.get("torch")
    for name in names:
        kind = getattr(kind, name, None)
    return kind is not None and isinstance(value, kind)


def is_module(value: Any) -> bool:
    return _of_torch(value, "nn", "Module")


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def said(value: Any) -> str:
    """What was given, in a few words."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value) if len(repr(value)) < 60 else f"text of {len(str(value))} characters"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(type(value), "__index__") and not _of_torch(value, "Tensor")


def _is_scalar(value: Any) -> bool:
    """What is typed as one word."""
    if isinstance(value, (bool, int, float, str, os.PathLike)):
        return True
    return _of_torch(value, "dtype") or _is_whole(value)


LISTS = (list, tuple, range, set, frozenset)


def _is_a_list(value: Any) -> bool:
    return isinstance(value, LISTS)


def _refused(value: Any, hint: str) -> tuple[str, str]:
    return f"it is {said(value)}", hint


def _begins_as_an_option(value: Any) -> bool:
    return str(value).startswith("-") and str(value) not in ("-", "/dev/stdin")


def _model(value: Any) -> tuple[str, str] | None:
    if is_module(value):
        return None
    if is_path(value):
        return _path(value)
    if isinstance(value, type):
        return f"{value.__name__} is a class, and not a model that was made of it", f"give {value.__name__}(...)"
    return f"it is {said(value)}, not a model", "give a name, the path of a file, or a torch.nn.Module"


def _path(value: Any) -> tuple[str, str] | None:
    if not is_path(value):
        what = f"it is {said(value)}"
        return what, "give a name or the path of a file" + ("; vramplan.fit takes a torch.nn.Module" if is_module(value) else "")
    if not os.fspath(value):
        return "it is empty", "give a name, or the path of a file"
    if _begins_as_an_option(os.fspath(value)):
        return f"{os.fspath(value)!r} begins with -", f"give ./{os.fspath(value)} of a file"
    return None


def _module(value: Any) -> tuple[str, str] | None:
    if is_module(value):
        return None
    if is_path(value):
        return f"it is {os.fspath(value)!r}, a name or a path", "give the torch.nn.Module itself"
    return _model(value) or _refused(value, "give a torch.nn.Module")


def _gpu(value: Any) -> tuple[str, str] | None:
    several = _is_a_list(value) and len(value) > 0 and all(isinstance(one, str) for one in value)
    if value is None or isinstance(value, str) and value or several:
        return None
    return f"{value!r} is no card's name", 'give gpu="t4", a list of such names, or "auto" for this machine\'s card'


def _batch(value: Any) -> tuple[str, str] | None:
    if value is None or _is_whole(value) or (isinstance(value, str) and value.isdigit()):
        return None
    return _refused(value, "give a whole number, such as batch=8")


def _words(*choices: str, example: str) -> Check:
    def check(value: Any) -> tuple[str, str] | None:
        if value is None or (isinstance(value, str) and (not choices or value in choices)):
            return None
        return _refused(value, f"give {example}")

    return check


def _precision(value: Any) -> tuple[str, str] | None:
    if value is None or isinstance(value, str) or _of_torch(value, "dtype"):
        return None
    return _refused(value, 'give precision="fp32", "amp-fp16", "amp-bf16", "bf16" ...')


def _is_optimizer(value: Any) -> bool:
    groups = None if isinstance(value, type) else getattr(value, "param_groups", None)
    return isinstance(groups, list) and len(groups) > 0


def _optimizer(value: Any) -> tuple[str, str] | None:
    torch = sys.modules.get("torch")
    of_class = isinstance(value, type) and torch is not None and issubclass(value, torch.optim.Optimizer)
    if value is None or isinstance(value, str) or _is_optimizer(value) or of_class:
        return None
    return _refused(value, 'give "adamw", torch.optim.AdamW, or an optimizer')


def _live_optimizer(value: Any) -> tuple[str, str] | None:
    if value is None or _is_optimizer(value):
        return None
    return _refused(value, "give the optimizer itself, made of model.parameters()")


def _loss(value: Any) -> tuple[str, str] | None:
    if value is None or isinstance(value, (str, type)) or callable(value):
        return None
    return _refused(value, 'give "cross-entropy", torch.nn.CrossEntropyLoss(), or a function with its target')


def _checkpoint(value: Any) -> tuple[str, str] | None:
    if value is None or isinstance(value, str) or (_is_a_list(value) and all(isinstance(one, str) for one in value)):
        return None
    if isinstance(value, bool):
        return f"{value} names no module", 'give paths of modules, or "all" of a model that is named'
    return _refused(value, 'give paths of modules, such as checkpoint=["layers.0"], or "all" of a model that is named')


def _over(value: Any) -> tuple[str, str] | None:
    hint = 'give {"batch": [1, 2, 4]}, or "batch=1:64:x2"'
    if isinstance(value, dict):
        for name, values in value.items():
            all_are = all(map(_is_scalar, values)) and len(values) > 0 if _is_a_list(values) else _is_scalar(values)
            if not isinstance(name, str) or not all_are:
                return f"the values of {name} are {said(values)}", hint
    elif not isinstance(value, str) and not (_is_a_list(value) and all(isinstance(one, str) for one in value)):
        return _refused(value, hint)
    return ("it is empty", hint) if not value else None


def _flag(value: Any) -> tuple[str, str] | None:
    return None if isinstance(value, bool) else _refused(value, "give True or False")


def _weights(value: Any) -> tuple[str, str] | None:
    """Whether export writes them, or the type that a named model is loaded in."""
    if isinstance(value, bool) or value is None or value in ("bf16", "fp16", "fp32"):
        return None
    return _refused(value, 'give True or False to export, and weights="bf16", "fp16" or "fp32" to the others')


def _message(value: Any) -> tuple[str, str] | None:
    if isinstance(value, (str, os.PathLike, BaseException)):
        return None
    return _refused(value, "give the exception, its text, or the path of a log")


def _command(value: Any) -> tuple[str, str] | None:
    hint = 'give ["train.py", "--batch", 8], or the line of it'
    if not isinstance(value, str) and not (isinstance(value, (list, tuple)) and all(map(_is_scalar, value))):
        return _refused(value, hint)
    return ("it is empty", hint) if not value or (isinstance(value, str) and not value.strip()) else None


def _text(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return _refused(value, 'give a part of a name, such as "qwen3"')
    return (f"{value!r} begins with -", "give a part of a name") if _begins_as_an_option(value) else None


def _place(value: Any) -> tuple[str, str] | None:
    if not is_path(value):
        return _refused(value, 'give where the file goes, such as "model.onnx"')
    folder = os.path.dirname(os.fspath(value)) or "."
    if not os.path.isdir(folder):
        return f"there is no folder {folder}", "make it"
    return (f"{os.fspath(value)} is a folder", "give the path of a file") if os.path.isdir(value) else None


def _plan(value: Any) -> tuple[str, str] | None:
    from ._results import Plan

    if isinstance(value, Plan):
        return None
    return _refused(value, "give the Plan that vramplan.plan(model, inputs, ...) returned")


_TABLE: Dict[str, Check] = {
    "batch": _batch,
    "checkpoint": _checkpoint,
    "command": _command,
    "emit": lambda value: None if isinstance(value, str) else _refused(value, 'give emit="pytorch", "hf", "deepspeed" ...'),
    "gpu": _gpu,
    "loss": _loss,
    "message": _message,
    "mode": _words(example='mode="train", "infer" or "eval"'),
    "model": _model,
    "optimizer": _optimizer,
    "over": _over,
    "path": _place,
    "plan": _plan,
    "power_of_two": _flag,
    "precision": _precision,
    "safe": _flag,
    "text": _text,
    "weights": _weights,
}
# Of functions that take less than the others.
LIVE_OPTIMIZER: Check = _live_optimizer
MODULE: Check = _module
PATH_OR_NONE: Check = lambda value: None if value is None else _path(value)
TRAIN_OR_INFER: Check = _words("train", "infer", example='mode="train" or "infer"')

# What an answer in Python has no use for.
_NOT_HERE = {
    "out": ("an answer is an object in Python", "write answer.text, answer.html or answer.json where you like"),
    "format": ("an answer is an object in Python", "write answer.text, answer.html or answer.json where you like"),
    "help": ("it is of the command line", "type vramplan fit --help all"),
    "version": ("it is of the command line", "see vramplan.__version__"),
}


def _check_option(name: str, value: Any) -> tuple[str, str] | None:
    if name in _NOT_HERE:
        return _NOT_HERE[name]
    if isinstance(value, dict):
        right = all(isinstance(key, str) and _is_scalar(one) for key, one in value.items())
    else:
        right = value is None or (all(map(_is_scalar, value)) if _is_a_list(value) else _is_scalar(value))
    return None if right else _refused(value, "give text, a number, True, or a list or dict of those")


def checked(**own: Check) -> Callable[[_Function], _Function]:
    """own: checks of this function's parameters, in the place of the table's."""

    def of(function: _Function) -> _Function:
        signature = inspect.signature(function)
        more = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), "")

        def check(name: str, value: Any) -> None:
            rule = own.get(name) or _TABLE.get(name)
            wrong = rule(value) if rule is not None else _check_option(name, value) if name not in signature.parameters else None
            if wrong is not None:
                raise UsageError(name, *wrong)

        @functools.wraps(function)
        def asked(*args: Any, **kwargs: Any) -> Any:
            try:
                given = dict(signature.bind(*args, **kwargs).arguments)
            except TypeError:
                return function(*args, **kwargs)  # which says in Python's words what is missing
            for name, value in {**given.pop(more, {}), **given}.items():
                check(name, value)
            return function(*args, **kwargs)

        return cast(_Function, asked)

    return of
