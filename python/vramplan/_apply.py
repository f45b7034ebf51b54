"""A plan applied to a live model, and batch sizes without a single out-of-memory error."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Any, Callable, ContextManager

from . import _arguments, _ask, _results
from ._errors import UsageError

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass(frozen=True)
class Applied:
    """A model that runs as the plan says, and what the training loop needs for it."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer | None
    batch: int
    accumulate: int
    autocast: Callable[[], ContextManager[Any]]
    """Around the forward and the loss."""
    scaler: bool
    """Whether `torch.amp.GradScaler` is needed."""


def _check_model(plan: _results.Plan, model: torch.nn.Module) -> None:
    """Raises UsageError where the model lacks a module of the one that was planned. What was wrapped since has more in front of
    its names."""
    there = set()
    for name, _ in model.named_modules():
        parts = name.split(".")
        there.update(".".join(parts[first:]) for first in range(len(parts)))
    missing = next((name for name in plan.modules if name not in there), None)
    if missing is not None:
        raise UsageError("model", f"it is not the one that was planned: the model has no module {missing}", "give the model that plan was given")


@_arguments.checked(model=_arguments.MODULE, optimizer=_arguments.LIVE_OPTIMIZER)
def apply(plan: _results.Plan, model: torch.nn.Module, optimizer: Any = None) -> Applied:
    """Applies a plan in place: checkpoints its modules and chooses the optimizer's implementation.

    optimizer: an optimizer that has not stepped yet; its groups get the plan's implementation (fused or foreach).
        None: `Applied.optimizer` is None.

    Raises UsageError, a ValueError, where no plan was found, the model has not the modules of the one that was planned, or the
    optimizer has state already.
    """
    if not plan.code:
        raise UsageError("plan", "no plan fits, so there is nothing to apply", plan.verdict)
    if plan.emit not in ("pytorch", "pytorch-sac"):
        raise UsageError("plan", f"its code is that of emit={plan.emit!r}, which no model is given", "leave emit out")
    if optimizer is not None and optimizer.state:
        raise UsageError("optimizer", "it has already stepped, so its state has a fixed form", "apply the plan before the first step")
    _check_model(plan, model)
    module = types.ModuleType("vramplan_plan")
    exec(compile(plan.code, "<vramplan plan>", "exec"), module.__dict__)
    try:
        made = module.prepare(model)
    except KeyError as error:  # its modules have other names
        raise UsageError("model", f"it is not the one that was planned: {error.args[0]}", "give the model that plan was given") from error
    if optimizer is not None:
        for group in optimizer.param_groups:
            for name in ("fused", "foreach"):
                if name in group:
                    group[name] = plan.optimizer_impl == name
        optimizer.defaults.update({n: plan.optimizer_impl == n for n in ("fused", "foreach") if n in optimizer.defaults})
    return Applied(made, optimizer, module.BATCH, module.ACCUMULATE, module.autocast, module.SCALER)


@_arguments.checked()
def suggest_batch_size(
    model: _ask.Model, example_inputs: Any = None, *, gpu: str | None = None, power_of_two: bool = False,
    safe: bool = True, **question: Any,
) -> int:  # fmt: skip
    """The largest batch that trains on a card, without trying one.

    model, example_inputs: as of `fit`.
    gpu: a card of `vramplan gpus`; "auto", and without gpu_memory None, too: the card of this machine, less what others
        hold of it now.
    power_of_two: the largest power of two that fits, as Lightning's and accelerate's finders give.
    safe: the batch that fits even at the high end of the band; else the likely one.
    question: the arguments of `fit`: precision, optimizer, loss ...

    Raises UsageError where not even a batch of 1 fits.
    """
    cards = _ask.cards_of(gpu)
    if cards is not None and (cards == "all" or "," in cards):
        raise UsageError("gpu", f"{cards!r} names several cards, and a batch is suggested for one", f'give gpu="t4"; vramplan.fit(..., gpu="{cards}") answers for each')
    if gpu is None and not {"gpu_memory", "profile"} & question.keys():
        gpu = "auto"
    fit = _ask.fit(model, example_inputs, gpu=gpu, **question)
    batch = fit.safe_batch if safe else fit.largest_batch
    if not batch:
        raise UsageError("gpu", fit.verdict, "vramplan.plan says what to change")
    return 1 << (batch.bit_length() - 1) if power_of_two else batch
