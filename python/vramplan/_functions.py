"""What a torch.autograd.Function does to memory, while a forward is recorded: its forward's calls, which are recorded as any
others without gradients; what it keeps for its backward; and its backward, which runs here once on gradients without values.

    y = Swish.apply(x)     calls      sigmoid(x), mul(x, ..)                     as its forward makes them
                                      vramplan.function([y], [x], [x]) -> y      results, operands, what is kept
                           backward   given: the gradient of y, x                the program of its backward
                                      returned: the gradient of x
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
from torch._functorch.autograd_function import custom_function_call
from torch.utils import _pytree

from ._calls import Call, Mode, Recording, Values


class _Context:
    """The context of a function, with its saved tensors: PyTorch's own were dropped, since nothing is kept here."""

    def __init__(self, context: Any, saved: tuple[Any, ...]) -> None:
        self.__dict__["_context"] = context
        self.__dict__["saved_tensors"] = saved
        self.__dict__["saved_variables"] = saved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._context, name, value)


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in _pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


@contextlib.contextmanager
def _recording_into(mode: Mode, values: Values) -> Iterator[None]:
    """The mode records there meanwhile; a backward has no gradients of its own."""
    was = mode.at, mode.recording, mode.stack, mode.training
    mode.at, mode.recording, mode.stack, mode.training = values, values.recording, [-1], False
    try:
        yield
    finally:
        mode.at, mode.recording, mode.stack, mode.training = was


def _backward_of(cls: Any, context: Any, saved: tuple[Any, ...], outs: list[torch.Tensor], mode: Mode) -> tuple[Recording, list[int]]:
    """The program of a backward, and the values of the forward that it reads: `given` are the gradients, then these."""
    forward = mode.at
    recording = Recording()
    values = Values(recording, forward.card)
    values.known = dict(forward.known)
    with _recording_into(mode, Values(Recording(), forward.card)):
        grads = [torch.empty(o.shape, dtype=o.dtype, device=o.device) for o in outs]
    for grad in grads:
        recording.given.append(values.new(grad))
    kept: list[int] = []
    for tensor in _tensors(saved):
        if forward.on_card(tensor) and id(tensor) in forward.numbers and id(tensor) not in values.numbers:
            recording.given.append(values.new(tensor))
            kept.append(forward.numbers[id(tensor)])
    own = cls.backward if cls.backward is not torch.autograd.Function.backward else cls.vjp
    # A backward that goes backward itself, on tensors that it detached, keeps what that needs.
    keeping = torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
    with _recording_into(mode, values), torch.no_grad(), keeping:
        made = own(_Context(context, saved), *grads)
    recording.storages.stop()
    # What the function keeps in other ways: attributes of its context, variables that its code sees.
    for tensor_id, number in list(values.numbers.items()):
        if number in recording.stored and tensor_id in forward.numbers:
            del recording.stored[number]
            recording.given.append(number)
            kept.append(forward.numbers[tensor_id])
    made = made if isinstance(made, tuple) else (made,)
    recording.returned = [values.numbers.get(id(t)) if isinstance(t, torch.Tensor) else None for t in made]
    recording.note_ends()
    return recording, kept


@custom_function_call.py_impl(Mode)
def _under_transforms(mode: Mode, cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A function that is applied inside of torch.vmap: PyTorch dispatches it (torch/_ops.py, HigherOrderOperator), and asks each
    mode for a rule before functorch takes it apart. The calls that remain are recorded as they are made."""
    with mode:
        return custom_function_call.dispatch(torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode, cls, *args, **kwargs)


@contextlib.contextmanager
def recorded_functions(mode: Mode) -> Iterator[None]:
    """Functions that are applied inside are recorded, where their gradient is asked for."""
    function = torch.autograd.Function
    context_of = torch.autograd.function.FunctionCtx
    apply, save = function.__dict__["apply"], context_of.save_for_backward
    kept: list[tuple[Any, tuple[Any, ...]]] = []  # of the functions that are running: context, and what it saves

    def save_for_backward(context: Any, *tensors: Any) -> None:
        kept.append((context, tensors))
        save(context, *tensors)

    def applied(cls: Any, *args: Any, **kwargs: Any) -> Any:
        run = lambda: apply.__get__(None, cls)(*args, **kwargs)
        operands = [a for a in args if isinstance(a, torch.Tensor)]
        before = len(kept)
        # Inside of an operator of torch.library a function is the operator's own: it is one call.
        if mode.running or not mode.training or not torch.is_grad_enabled() or not any(t.requires_grad for t in operands):
            out = run()
            del kept[before:]
            return out
        numbers = [mode.at.number_of(t) if mode.at.on_card(t) else None for t in operands]
        out = run()
        several = list(out) if isinstance(out, (tuple, list)) else [out]
        outs = [o for o in several if isinstance(o, torch.Tensor) and mode.at.on_card(o)]
        context = next((o.grad_fn for o in outs if o.grad_fn is not None), None)
        saved = next((tensors for of, tensors in kept[before:] if of is context), ())
        del kept[before:]
        if context is None or len(outs) != len([o for o in several if isinstance(o, torch.Tensor)]):
            return out
        _note(cls, context, saved, args, numbers, outs, mode)
        return out

    function.apply = classmethod(applied)  # type: ignore[assignment]
    context_of.save_for_backward = save_for_backward  # type: ignore[method-assign]
    try:
        yield
    finally:
        function.apply = apply
        context_of.save_for_backward = save  # type: ignore[method-assign]


def _note(
    cls: Any,
    context: Any,
    saved: tuple[Any, ...],
    args: tuple[Any, ...],
    numbers: list[int | None],
    outs: list[torch.Tensor],
    mode: Mode,
) -> None:
    at, recording = mode.at, mode.recording
    inner = [at.number_of(o) for o in outs]
    backward, kept = _backward_of(cls, context, saved, outs, mode)
    # A gradient for each argument of apply; those of tensors count.
    returned = [*backward.returned, *[None] * len(args)]
    backward.returned = [r for a, r in zip(args, returned) if isinstance(a, torch.Tensor)]
    name = lambda number: None if number is None else f"%{number}"
    call = Call(
        "vramplan.function",
        mode.stack[-1],
        [[name(n) for n in inner], [name(n) for n in numbers], [name(n) for n in kept]],
        {"backward": len(recording.backwards), "class": f"{cls.__module__}.{cls.__qualname__}"},
        [],
        torch.is_autocast_enabled(at.card),
    )
    recording.backwards.append(backward)
    call.results = [at.new(o) for o in outs]
    recording.calls.append(call)
