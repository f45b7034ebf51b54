"""What an exported file cannot carry about a model, as the `vramplan.facts` entry of its metadata.

docs/facts.md has the format. This module collects it from a live `torch.nn.Module`; `vramplan` itself reads it without
Python.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import torch

KEY = "vramplan.facts"
SCHEMA = "vramplan.facts/1"

# Optimizers by their class: the name of the command line. `sgd`, `rmsprop` and others depend on their settings.
_OPTIMIZERS = {
    "torch.optim.adam.Adam": "adam",
    "torch.optim.adamw.AdamW": "adamw",
    "torch.optim.adagrad.Adagrad": "adagrad",
    "torch.optim.adadelta.Adadelta": "adadelta",
    "torch.optim.nadam.NAdam": "nadam",
    "torch.optim.radam.RAdam": "radam",
    "torch.optim.adamax.Adamax": "adamax",
    "torch.optim.Adafactor": "adafactor",
    "torch.optim._adafactor.Adafactor": "adafactor",
    "transformers.optimization.Adafactor": "adafactor-hf",
    "torch.optim.Muon": "muon",
    "torch.optim._muon.Muon": "muon",
    "bitsandbytes.optim.adam.Adam8bit": "adam-8bit",
    "bitsandbytes.optim.adamw.AdamW8bit": "adamw-8bit",
    "bitsandbytes.optim.lion.Lion8bit": "lion-8bit",
    "timm.optim.lion.Lion": "lion",
    "timm.optim.lamb.Lamb": "lamb",
}


def _qualified(of: Any) -> str:
    kind = of if isinstance(of, type) else type(of)
    return f"{kind.__module__}.{kind.__qualname__}"


def optimizer_facts(optimizer: Any) -> dict[str, Any] | None:
    """Name, weight decay, momentum and implementation of an optimizer, or of a class that was not built yet."""
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    name = _qualified(kind)
    if isinstance(optimizer, type):
        # Its defaults, from an optimizer of one number.
        try:
            optimizer = kind([torch.nn.Parameter(torch.zeros(1))], **({"lr": 0.1} if name.endswith("sgd.SGD") else {}))
        except Exception:  # one that needs more than parameters
            return None
    settings = optimizer.param_groups[0]
    short = _OPTIMIZERS.get(name)
    if name == "torch.optim.sgd.SGD":
        short = "sgd" if not settings["momentum"] else "sgd-nesterov" if settings["nesterov"] else "sgd-momentum"
    elif name == "torch.optim.rmsprop.RMSprop":
        short = "rmsprop" + ("-centered" if settings["centered"] else "") + ("-momentum" if settings["momentum"] else "")
    elif short in ("adam", "adamw") and settings.get("amsgrad"):
        short += "-amsgrad"
    if short is None:
        return None
    facts: dict[str, Any] = {"name": short}
    if "weight_decay" in settings:
        facts["weight_decay"] = float(settings["weight_decay"])
    if short.startswith("sgd") and settings["momentum"]:
        facts["momentum"] = float(settings["momentum"])
    for impl in ("fused", "foreach"):
        if settings.get(impl):
            facts["impl"] = impl
    if settings.get("foreach") is False and not settings.get("fused"):
        facts["impl"] = "for-loop"
    return facts


def _tensors(named: Any, first: dict[int, str], trained: bool, type_of: Callable[[torch.Tensor], torch.dtype]) -> list[dict[str, Any]]:
    tensors: list[dict[str, Any]] = []
    for name, tensor in named:
        if id(tensor) in first:
            tensors.append({"name": name, "same_as": first[id(tensor)]})
            continue
        first[id(tensor)] = name
        told: dict[str, Any] = {"name": name, "type": str(type_of(tensor)).removeprefix("torch."), "shape": list(tensor.shape)}
        if trained and not tensor.requires_grad:
            told["trained"] = False
        tensors.append(told)
    return tensors


def model_facts(
    model: torch.nn.Module, optimizer: Any = None, type_of: Callable[[torch.Tensor], torch.dtype] = lambda tensor: tensor.dtype
) -> dict[str, Any]:
    """All but the lives: what can be read off the module tree. type_of: what its tensors are said to be."""
    facts: dict[str, Any] = {"schema": SCHEMA, "mode": "train" if model.training else "eval"}
    first: dict[int, str] = {}
    facts["parameters"] = _tensors(model.named_parameters(remove_duplicate=False), first, True, type_of)
    facts["buffers"] = _tensors(model.named_buffers(remove_duplicate=False), first, False, type_of)
    if optimizer is not None:
        told = optimizer_facts(optimizer)
        if told is not None:
            facts["optimizer"] = told
    return facts


@contextlib.contextmanager
def called_functions() -> Iterator[list[str]]:
    """Collects the classes of torch.autograd.Function that the forward inside calls, but for those of PyTorch."""
    found: list[str] = []
    function = torch.autograd.Function
    apply = function.__dict__["apply"]

    def noting(cls: Any, *args: Any, **kwargs: Any) -> Any:
        name = _qualified(cls)
        if not name.startswith("torch.") and name not in found:
            found.append(name)
        return apply.__get__(None, cls)(*args, **kwargs)

    function.apply = classmethod(noting)  # type: ignore[assignment]
    try:
        yield found
    finally:
        function.apply = apply


@contextlib.contextmanager
def checkpoints_run_by(runs: Callable[[Any, Any], tuple[Any, Any]]) -> Iterator[None]:
    """torch.utils.checkpoint runs what `runs` makes of its two ways, the reentrant one and the other."""
    import torch.utils.checkpoint as checkpoint

    # checkpoint() calls one or the other (torch/utils/checkpoint.py, 2.10); both names are looked up when it runs.
    reentrant, other = checkpoint.CheckpointFunction.apply, checkpoint._checkpoint_without_reentrant_generator
    apply, generator = runs(reentrant, other)
    checkpoint.CheckpointFunction.apply = apply  # type: ignore[method-assign]
    checkpoint._checkpoint_without_reentrant_generator = generator
    try:
        yield
    finally:
        checkpoint.CheckpointFunction.apply = reentrant  # type: ignore[method-assign]
        checkpoint._checkpoint_without_reentrant_generator = other


def without_arguments(function: Any) -> Any:
    """What a functools.partial calls in the end."""
    while hasattr(function, "func"):
        function = function.func
    return function


@contextlib.contextmanager
def checkpointed_modules(model: torch.nn.Module) -> Iterator[list[str]]:
    """Collects the paths of the modules that the forward inside runs under torch.utils.checkpoint."""
    paths = {id(module): path for path, module in model.named_modules()}
    found: list[str] = []

    def note(function: Any) -> None:
        function = without_arguments(function)
        module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        path = paths.get(id(module))
        if path and path not in found:
            found.append(path)

    def noting(run: Any) -> Any:
        def noted(function: Any, *args: Any, **kwargs: Any) -> Any:
            note(function)
            return run(function, *args, **kwargs)

        return noted

    with checkpoints_run_by(lambda reentrant, other: (noting(reentrant), noting(other))):
        yield found
