"""Runs one forward of a copy of a model on tensors without values, and records it.

The copy has the model's modules and no weights; the model itself is not touched. Autograd saves nothing meanwhile, so what
dies was held by nothing in the code."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import sys
from typing import Any, Callable, Iterator

import torch
from torch.utils import _pytree

from ._calls import MOST_VALUES, Mode, NotRecorded, Recording, Values, is_channels_last
from ._facts import checkpoints_run_by, without_arguments
from ._functions import recorded_functions
from ._mistakes import check_loss, check_output

@dataclasses.dataclass(frozen=True)
class Types:
    """In which types a forward is recorded."""

    floating: torch.dtype | None = None  # of all parameters, buffers and inputs that are floating, as after model.float()
    strict: bool = False  # whether operands of two types end the recording, as they end a step

    def of(self, tensor: torch.Tensor) -> torch.dtype:
        return self.floating if self.floating is not None and tensor.is_floating_point() else tensor.dtype


T4 = (7, 5)  # the card that vramplan assumes where none is named


def plain(out: Any) -> Any:
    """A dataclass, whose fields PyTorch does not look into, as a mapping."""
    if dataclasses.is_dataclass(out) and not isinstance(out, type) and not hasattr(out, "items"):
        return {field.name: plain(getattr(out, field.name)) for field in dataclasses.fields(out)}
    return out


def samples_of(inputs: Any) -> list[Any] | None:
    """The first argument, if it is a list of tensors, one for each sample, as detectors take images."""
    value = tuple(inputs) if isinstance(inputs, list) else inputs
    while isinstance(value, tuple) or hasattr(value, "items"):
        value = next((v for v in (value if isinstance(value, tuple) else value.values()) if not isinstance(v, (tuple, dict)) or v), None)
    return value if isinstance(value, list) and value and all(isinstance(v, torch.Tensor) for v in value) else None


@contextlib.contextmanager
def _module_calls(model: torch.nn.Module, mode: Any) -> Iterator[None]:
    """The mode learns which module is running."""
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    paths = {id(module): path for path, module in model.named_modules()}

    def enter(module: torch.nn.Module, _: Any) -> None:
        path = paths.get(id(module))
        number = mode.stack[-1]
        if path:
            kind = type(module)
            mode.recording.modules.append((path, f"{kind.__module__}.{kind.__qualname__}", number))
            number = len(mode.recording.modules) - 1
        mode.stack.append(number)

    def leave(module: torch.nn.Module, _: Any, __: Any) -> None:
        mode.stack.pop()

    hooks = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def _checkpointed_calls(model: torch.nn.Module, mode: Mode) -> Iterator[list[str]]:
    """Collects the paths of what runs under torch.utils.checkpoint. A function that is no module of the model becomes one
    of its own, inside of the module that is running. Both kinds run as they are, with gradients."""
    paths = {id(module): path for path, module in model.named_modules()}
    found: list[str] = []
    regions: dict[str, list[tuple[int, bool]]] = {}  # calls of modules, by path; whether they are reentrant

    @contextlib.contextmanager
    def region(function: Any, reentrant: bool = False) -> Iterator[None]:
        function = without_arguments(function)
        of = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        bound = name in ("forward", "__call__", "_call_impl", "_wrapped_call_impl")  # module.__call__ is the last of them
        module = function if isinstance(function, torch.nn.Module) else of if bound else None
        path = paths.get(id(module), "")
        if path:
            regions.setdefault(path, []).append((len(mode.recording.modules), reentrant))  # the call that comes next
            yield
            return
        number = mode.stack[-1]
        outer = mode.recording.modules[number][0] + "." if number >= 0 else ""
        path = base = outer + (name if name.isidentifier() else "checkpoint")
        count = 1
        while path in found:
            count += 1
            path = f"{base}_{count}"
        found.append(path)
        mode.recording.reentrant += [path] if reentrant else []
        mode.recording.modules.append((path, "torch.utils.checkpoint.checkpoint", number))
        mode.stack.append(len(mode.recording.modules) - 1)
        yield
        mode.stack.pop()

    def apply(function: Any, _: bool, *args: Any) -> Any:
        # The reentrant kind has no gradients where no argument has one, whatever its parameters have.
        trains = any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
        with region(function, True), contextlib.nullcontext() if trains else torch.no_grad():
            return function(*args)

    def generator(function: Any, *_: Any, **__: Any) -> Iterator[None]:
        with region(function):
            yield

    with checkpoints_run_by(lambda *_: (apply, generator)):
        yield found
    # A module that is called several times is several checkpoints, or none where the code calls it without one.
    modules = mode.recording.modules
    calls: dict[str, list[int]] = {}
    for number, (path, _, _) in enumerate(modules):
        calls.setdefault(path, []).append(number)
    for path, numbers in regions.items():
        for count, (number, reentrant) in enumerate(numbers, 1):
            name = path if len(calls[path]) == 1 else f"{path}@{count}"
            modules[number] = (name, *modules[number][1:])
            found.append(name)
            mode.recording.reentrant += [name] if reentrant else []


def _lower_type(model: torch.nn.Module, card: str) -> torch.dtype:
    """Of autocast: that of a model which is in halves itself."""
    own = [p.dtype for p in model.parameters() if p.dtype in (torch.bfloat16, torch.float16)]
    return own[0] if own else torch.float16 if card != "cpu" else torch.bfloat16


@contextlib.contextmanager
def _autocast(card: str, lower: torch.dtype) -> Iterator[None]:
    """torch.autocast turns itself off where there is no such card."""
    was = torch.is_autocast_enabled(card), torch.get_autocast_dtype(card), torch.is_autocast_cache_enabled()
    torch.set_autocast_enabled(card, True)
    torch.set_autocast_dtype(card, lower)
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_enabled(card, was[0])
        torch.set_autocast_dtype(card, was[1])
        torch.set_autocast_cache_enabled(was[2])


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """What PyTorch refuses, and not only of tensors without values, is a StepError once it leaves the model's code."""
    try:
        yield
    except Exception as error:
        raise getattr(error, "of_step", error)


@contextlib.contextmanager
def _encoders(fused: bool) -> Iterator[None]:
    """torch.nn's attention modules run as one operator in inference (torch/nn/modules/activation.py, fast path)."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(fast and fused)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextlib.contextmanager
def _values_may_be_read() -> Iterator[None]:
    """transformers does not look at fake tensors, whose values nobody knows; those of masks are known here."""
    module = sys.modules.get("transformers.utils.import_utils")
    had = getattr(module, "is_fake_tensor", None)
    if module is None or had is None:
        yield
        return
    module.is_fake_tensor = lambda _: False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.is_fake_tensor = had  # type: ignore[attr-defined]


@contextlib.contextmanager
def _assigned_buffers(recording: Recording) -> Iterator[dict[int, int]]:
    """Storages that the code makes a module's buffer (self.mean = ...), and the last call before that: there the old one
    dies, whose stand-in this recording keeps."""
    from torch.nn.modules.module import register_module_buffer_registration_hook

    assigned: dict[int, int] = {}

    def note(module: torch.nn.Module, name: str, new: Any) -> None:
        old = module._buffers.get(name)
        if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old.shape == new.shape:
            assigned[recording.storages.number(new)] = max(len(recording.calls) - 1, 0)

    hook = register_module_buffer_registration_hook(note)  # __setattr__ calls it, too (torch/nn/modules/module.py 2.10)
    try:
        yield assigned
    finally:
        hook.remove()


@contextlib.contextmanager
def _followed(mode: Mode) -> Iterator[None]:
    """What hides its calls runs as Python does: torch.cond takes one branch, and TorchScript its interpreter."""
    cond = torch.cond

    def take(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
        try:
            taken = bool(pred)
        except Exception:  # decided by values that nobody knows here
            taken = True
            mode.recording.notes.append("torch.cond: its first branch is taken, for values decide")
        return (true_fn if taken else false_fn)(*operands)

    torch.cond = take  # type: ignore[assignment]
    try:
        with torch.jit.optimized_execution(False):
            yield
    finally:
        torch.cond = cond


@contextlib.contextmanager
def _capability_is(capability: tuple[int, int]) -> Iterator[None]:
    """What code is told that asks which card it is on: mixtures of experts in transformers choose their products so."""
    asked = torch.cuda.get_device_capability
    torch.cuda.get_device_capability = lambda device=None: capability  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.cuda.get_device_capability = asked


@contextlib.contextmanager
def _stand_in(model: torch.nn.Module, fakes: dict[int, Any], training: bool, copied: bool) -> Iterator[torch.nn.Module]:
    """The model with other tensors: a copy, or itself for a while, where its code holds on to itself (hooks that write
    into what they close over) or cannot be copied (it keeps results of an earlier forward)."""
    was: list[tuple[dict[str, Any], dict[str, Any]]] = []
    contents: list[tuple[Any, Any]] = []
    for module in model.modules():
        was.append((module.__dict__, dict(module.__dict__)))
        contents += [(held, copy.copy(held)) for held in module.__dict__.values() if type(held) in (dict, list, set)]
    try:
        if copied:
            yield copy.deepcopy(model, fakes).train(training)
            return
        for module in model.modules():
            for tensors in (module._parameters, module._buffers):
                tensors.update({name: fakes[id(tensor)] for name, tensor in tensors.items() if tensor is not None})
            module.training = training
        yield model
    finally:
        for held, before in contents:
            held.clear()
            held.extend(before) if isinstance(held, list) else held.update(before)
        for attributes, before in was:
            attributes.clear()
            attributes.update(before)


@dataclasses.dataclass(frozen=True)
class Criterion:
    """The script's loss, called as loss(output, target)."""

    loss: Callable[[Any, Any], Any]
    target: Any  # a tensor, or any tree of them

    def resized(self, to: Callable[[Any], Any]) -> Criterion:
        return Criterion(self.loss, _pytree.tree_map(to, self.target))


def tensors_of(loss: Any) -> list[torch.Tensor]:
    """What a loss holds, such as weights of classes."""
    return [*loss.parameters(), *loss.buffers()] if isinstance(loss, torch.nn.Module) else []


def record_forward(
    model: torch.nn.Module,
    args: Any,
    kwargs: Any,
    card: str,
    training: bool,
    main_output: Callable[[Any], Any],
    autocast: bool = False,
    capability: tuple[int, int] = T4,
    copied: bool = True,
    criterion: Criterion | None = None,
    guesses: bool = False,
    types: Types = Types(),
    as_given: bool = False,
) -> Recording:
    """types: what the parameters and inputs are said to be, and whether types that PyTorch refuses are. as_given: the inputs
    are the caller's own, so that what PyTorch refuses of them is a StepError."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.fake_tensor import FakeTensorMode

    recording = Recording()
    values = Values(recording, card)
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake_of(tensor: torch.Tensor) -> torch.Tensor:
        with fake_mode:
            made = torch.empty_strided(tensor.size(), tensor.stride(), dtype=types.of(tensor), device=card)
        if isinstance(tensor, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        return made

    memo: dict[int, Any] = {}
    named = [*model.named_parameters(), *model.named_buffers()]
    if any(isinstance(module, torch.jit.ScriptModule) and any(True for _ in module.parameters()) for module in model.modules()):
        raise NotRecorded("weights in a module of TorchScript (give the module that it was made of)")
    for _, tensor in named:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            raise NotRecorded(f"a parameter of the class {type(tensor).__name__}")
        memo[id(tensor)] = fake_of(tensor)
    for name, tensor in named:
        fake = memo[id(tensor)]
        recording.stored[values.new(fake)] = name
        if is_channels_last(fake):
            recording.channels_last.append(values.numbers[id(fake)])
        if not tensor.is_meta and not tensor.is_floating_point() and tensor.numel() <= MOST_VALUES:
            values.known[id(fake)] = tensor.detach().cpu()

    owned = [(fake, recording.storages.number(fake)) for fake in memo.values()]

    def given(tensor: Any, floats: bool = False) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return tensor
        fake = fake_of(tensor)
        recording.given.append(values.new(fake))
        if is_channels_last(fake):
            recording.channels_last.append(recording.given[-1])
        if (floats or not tensor.is_floating_point()) and not tensor.is_meta and tensor.numel() <= MOST_VALUES:
            values.known[id(fake)] = tensor.detach().cpu().clone()
        return fake

    fake_args, fake_kwargs = _pytree.tree_map(given, (args, kwargs))
    # Labels may be numbers of any type (MONAI's are floats), and losses look which classes are among them.
    target = None if criterion is None else _pytree.tree_map(functools.partial(given, floats=True), criterion.target)
    ask_loss = None if criterion is None else criterion.loss
    if isinstance(ask_loss, torch.nn.Module):  # weights of classes
        of_loss = {id(tensor): fake_of(tensor) for tensor in tensors_of(ask_loss)}
        recording.given += [values.new(fake) for fake in of_loss.values()]
        ask_loss = copy.deepcopy(ask_loss, of_loss)
    ask_loss = ask_loss if training else None
    loss = None

    def dropped(_: torch.Tensor) -> None:
        return None

    def never(_: None) -> torch.Tensor:
        raise NotRecorded("the forward goes backward itself")

    mode = Mode(values, training, guesses, types.strict and not autocast, as_given)
    grad = contextlib.nullcontext() if training else torch.no_grad()
    with _stand_in(model, memo, training, copied) as mine:
        with fake_mode, grad, torch.autograd.graph.saved_tensors_hooks(dropped, never), _values_may_be_read():
            with _checkpointed_calls(mine, mode) as checkpointed, recorded_functions(mode):
                around = _autocast(card, _lower_type(model, card)) if autocast else contextlib.nullcontext()
                with around, _encoders(not training), _capability_is(capability), _followed(mode), enable_python_dispatcher():
                    with _module_calls(mine, mode), _assigned_buffers(recording) as assigned, _refusals(), mode:
                        out = mine(*fake_args, **fake_kwargs)
                        if ask_loss is not None:
                            recording.loss = len(recording.calls)
                            loss = ask_loss(out, target)
                            check_loss(loss)
                            recording.loss = recording.loss if recording.loss < len(recording.calls) else None
                        elif training:
                            check_output(_pytree.tree_leaves(plain(out)), mine)
        recording.storages.stop()

        def storages_in(tree: Any) -> set[int]:
            tensors = [leaf for leaf in _pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
            return {recording.storages.number(tensor) for tensor in tensors if values.on_card(tensor)}

        attributes = [held for module in mine.modules() for held in vars(module).values()]
        now = [(recording.storages.number(fake), old) for fake, old in owned]
        replaced = {new: old for new, old in now if new != old}
        recording.note_ends(storages_in(attributes) - storages_in(plain(out)), replaced, assigned)
    recording.checkpointed = checkpointed
    main = main_output(out)
    first = [loss] if loss is not None else list(main) if isinstance(main, tuple) else [main]
    seen: list[int] = []
    for tensor in [*first, *_pytree.tree_leaves(plain(out))]:
        if isinstance(tensor, torch.Tensor) and values.on_card(tensor) and id(tensor) in values.numbers:
            if values.numbers[id(tensor)] not in seen:
                seen.append(values.numbers[id(tensor)])
    recording.returned = seen
    del out, main, first, tensor, loss
    return recording

