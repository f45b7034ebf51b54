"""The calls of one forward as PyTorch ran them, recorded without weights, values or a card.

The forward runs on fake tensors of a card that need not be there, and a mode in front of autograd sees every call as the
code made it: linear, layer_norm, scaled_dot_product_attention, views, copies, writes in place, what an export folds or
drops. It runs twice, with two batches: a length that differs between them is that of the batch, and what it is made of.

    y = relu(conv(x)); return fc(y)      calls  conv2d  relu  linear      conv2d's result dies after relu

Finalizers on storages tell after which call each of them died: autograd saves nothing meanwhile, so then nothing in the
code held it any more. Tensors of integers that are small have values too, so that code may look at them: masks, positions,
lengths. docs/facts.md has the form in which a file carries this.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
import weakref
from typing import Any, Callable, Iterator

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

_MOST_VALUES = 1 << 20  # elements of a tensor whose values are kept
_RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "dropout", "multinomial", "normal", "uniform", "exponential")


class NotRecorded(Exception):
    """The code does what this way of recording cannot follow; other ways remain."""


def _base_mode() -> type:
    # The only kind of mode that PyTorch takes in front of autograd alone (torch/_ops.py, _set_mode_pre_dispatch).
    from torch._subclasses.schema_check_mode import SchemaCheckMode

    return SchemaCheckMode


@dataclasses.dataclass
class _Call:
    target: str
    module: int
    arguments: list[Any]
    keywords: dict[str, Any]
    results: list[int | None]
    autocast: bool = False  # whether it ran under autocast


class _Recording:
    """What one forward did: values, calls, module calls, and the order in which storages died."""

    def __init__(self) -> None:
        self.values: list[tuple[str, tuple[int, ...]]] = []
        self.calls: list[_Call] = []
        self.modules: list[tuple[str, str, int]] = []
        self.deaths: list[tuple[int, int]] = []  # storage, and the call after which it died
        self.inside: dict[int, list[int]] = {}  # by storage: the values that lie in it
        self.stored: dict[int, str] = {}  # values of parameters and buffers
        self.given: list[int] = []  # values of inputs
        self.returned: list[int] = []
        self.checkpointed: list[str] = []
        self.ends: list[list[int]] = []  # value, and the call after which nothing holds it; -1: the caller does


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class _Values:
    """Numbers for tensors, the storages they lie in, and the values of small ones."""

    def __init__(self, recording: _Recording, card: str) -> None:
        self.recording = recording
        self.card = card
        self.numbers: dict[int, int] = {}  # by id of the tensor
        self.storages: dict[int, int] = {}  # by key of the storage
        self.owners: dict[int, int] = {}  # by storage: the value that it was made for
        self.known: dict[int, torch.Tensor] = {}  # values of tensors, by id
        self.count = 0
        self.off = False

    def on_card(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type == self.card

    def storage_of(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.storages:
            number = self.storages[key] = self.count
            self.count += 1
            weakref.finalize(storage, self._died, key, number).atexit = False
        return self.storages[key]

    def _died(self, key: int, number: int) -> None:
        if self.storages.get(key) == number:
            del self.storages[key]
        if not self.off:
            self.recording.deaths.append((number, len(self.recording.calls) - 1))

    def new(self, tensor: torch.Tensor) -> int:
        """A number for what this tensor is from now on."""
        recording = self.recording
        number = len(recording.values)
        recording.values.append((_dtype(tensor.dtype), tuple(int(n) for n in tensor.shape)))
        if id(tensor) not in self.numbers:
            weakref.finalize(tensor, self._forget, id(tensor)).atexit = False
        self.numbers[id(tensor)] = number
        storage = self.storage_of(tensor)
        recording.inside.setdefault(storage, []).append(number)
        self.owners.setdefault(storage, number)
        return number

    def _forget(self, key: int) -> None:
        self.numbers.pop(key, None)
        self.known.pop(key, None)

    def number_of(self, tensor: torch.Tensor) -> int:
        found = self.numbers.get(id(tensor))
        if found is not None:
            return found
        owner = self.owners.get(self.storage_of(tensor))
        if owner is not None and self.recording.values[owner] == (_dtype(tensor.dtype), tuple(tensor.shape)):
            return owner
        number = self.new(tensor)  # nobody saw it being made: it was there before
        self.recording.stored[number] = ""
        return number


def _is_real(tensor: torch.Tensor) -> bool:
    """A small tensor of the host, such as torch.tensor(0.5)."""
    from torch._subclasses.fake_tensor import FakeTensor

    return not isinstance(tensor, FakeTensor) and tensor.device.type == "cpu" and tensor.numel() <= _MOST_VALUES


def _packet(func: Any) -> str:
    return func._schema.name.split("::")[-1]


class _Mode(_base_mode()):  # type: ignore[misc]
    def __init__(self, values: _Values, training: bool) -> None:
        TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
        self.at = values
        self.recording = values.recording
        self.stack: list[int] = [-1]
        self.training = training

    # ------------------------------------------------------------------ values of small tensors

    def _values_for(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the call gives on real tensors on the host, if all it reads has values; None: it has none."""
        from torch._subclasses.fake_tensor import unset_fake_temporarily

        name = _packet(func)
        if any(word in name for word in _RANDOM):
            # A chance for the whole batch, as LayerDrop draws it: nothing is left out.
            shape = args[0] if args and isinstance(args[0], (list, tuple)) else None
            small = name == "rand" and shape is not None and all(isinstance(n, int) and n == 1 for n in shape)
            with unset_fake_temporarily():
                return torch.full(tuple(shape), 0.999) if small and shape is not None else None
        known = self.at.known
        count = 0

        def real(leaf: Any) -> Any:
            nonlocal count
            if isinstance(leaf, torch.Tensor):
                count += 1
                if id(leaf) in known:
                    return known[id(leaf)]
                if _is_real(leaf):
                    return leaf
                raise NotRecorded
            if isinstance(leaf, torch.device):
                return torch.device("cpu")
            return leaf

        try:
            real_args, real_kwargs = _pytree.tree_map(real, (args, kwargs))
        except NotRecorded:
            return None
        if count == 0:
            sizes = [n for n in _pytree.tree_leaves(args) if isinstance(n, int) and not isinstance(n, bool)]
            total = 1
            for n in sizes if isinstance(args[0] if args else 0, (list, tuple)) else []:
                total *= max(n, 1)
            if total > _MOST_VALUES:
                return None
        try:
            with unset_fake_temporarily(), torch.no_grad():
                return func(*real_args, **real_kwargs)
        except Exception:
            return None

    def _keep(self, out: Any, real: Any) -> None:
        for made, value in zip(_pytree.tree_leaves(out), _pytree.tree_leaves(real)):
            if isinstance(made, torch.Tensor) and isinstance(value, torch.Tensor) and value.numel() <= _MOST_VALUES:
                if value.is_floating_point() and value.numel() > 4096:
                    continue
                if tuple(made.shape) == tuple(value.shape):
                    if id(made) not in self.at.numbers and id(made) not in self.at.known:
                        weakref.finalize(made, self.at._forget, id(made)).atexit = False
                    self.at.known[id(made)] = value

    # ------------------------------------------------------------------ calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = _packet(func)
        before = [t for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if name in ("item", "_local_scalar_dense", "is_nonzero", "equal"):
            real = self._values_for(func, args, kwargs)
            if real is not None:
                return real
            return func(*args, **kwargs)
        real = self._values_for(func, args, kwargs) if all(id(t) in self.at.known or _is_real(t) for t in before) else None
        numbers = {id(t): self.at.number_of(t) for t in before if self.at.on_card(t)}
        writes = bool(before) and func._schema.is_mutable and isinstance(args[0] if args else None, torch.Tensor)
        # Under no_grad, in a forward that has gradients: what it reads has none here.
        hidden = self.training and not torch.is_grad_enabled() and any(t.requires_grad for t in before)
        if name in _TAKEN_APART:
            with self:
                return func.decompose(*args, **kwargs)
        try:
            out = _run_recurrent(func, args) if name in ("lstm", "gru", "rnn_tanh", "rnn_relu") else func(*args, **kwargs)
        except Exception:
            if real is None:
                raise
            device = next((t.device for t in before), torch.device("cpu"))
            out = _pytree.tree_map(
                lambda t: torch.empty(t.shape, dtype=t.dtype, device=device) if isinstance(t, torch.Tensor) else t, real
            )
        if real is not None:
            self._keep(out, real)
        elif writes:
            self.at.known.pop(id(args[0]), None)
        self._note(func, name, args, kwargs, out, numbers, writes, hidden)
        return out

    def _note(
        self, func: Any, name: str, args: Any, kwargs: Any, out: Any, numbers: dict[int, int], writes: bool, hidden: bool
    ) -> None:
        at = self.at
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        made = [o for o in outs if isinstance(o, torch.Tensor) and at.on_card(o)]
        if not made or name in _UNSEEN:
            return

        def literal(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                if id(value) in numbers:
                    return f"%{numbers[id(value)]}"
                return 1.0 if value.dim() == 0 else None  # a number of the host
            if isinstance(value, (list, tuple)):
                return [literal(item) for item in value]
            if isinstance(value, float) and not math.isfinite(value):
                return 1e300  # a number; which one does not matter
            return value if isinstance(value, (bool, int, float, str)) else None

        call = _Call(str(func), self.stack[-1], [literal(a) for a in args], {k: literal(v) for k, v in kwargs.items()}, [])
        call.keywords = {k: v for k, v in call.keywords.items() if v is not None}
        if hidden:
            call.keywords["no_grad"] = True
        call.autocast = torch.is_autocast_enabled(at.card)
        if writes:
            self._note_write(call, name, args[0], numbers)
            return
        if name in _CASTS and len(made) == 1 and numbers and isinstance(args[0], torch.Tensor) and id(args[0]) in numbers:
            call.results = [at.new(made[0])]  # also where it is the same tensor again: in another precision it is not
            self.recording.calls.append(call)
            return
        fresh = [o for o in made if id(o) not in at.numbers]
        if not fresh:
            return  # what came in went out: contiguous() of what is, dropout in evaluation
        if not numbers and not _is_creation(name):
            call.target, call.arguments = "aten.empty.memory_format", []  # from the host to the card
        for o in outs:
            on_card = isinstance(o, torch.Tensor) and at.on_card(o)
            call.results.append((at.numbers[id(o)] if id(o) in at.numbers else at.new(o)) if on_card else None)
        self.recording.calls.append(call)

    def _note_write(self, call: _Call, name: str, target: torch.Tensor, numbers: dict[int, int]) -> None:
        at = self.at
        if not at.on_card(target):
            return
        number = numbers[id(target)]
        if number in self.recording.stored and not target.requires_grad:
            return  # statistics and counters of modules
        part = target._base if target._is_view() and name in _PARTS else None
        if part is not None and at.on_card(part):
            call.keywords["of"] = f"%{at.number_of(part)}"
            call.results = [at.new(part)]
        elif name in _FILLS:
            return
        else:
            call.results = [at.new(target)]
        self.recording.calls.append(call)


# Calls that make no tensor of the model.
_UNSEEN = {"lift_fresh", "_assert_tensor_metadata", "is_same_size", "set_", "resize_", "requires_grad_", "retain_grad"}
# Calls that change the type, if it is another.
_CASTS = {"to", "type_as"}
# Calls that are what they call, and have no rule of their own.
_TAKEN_APART = {"reshape_as", "meshgrid", "outer", "ger", "rnn_tanh_cell", "rnn_relu_cell", "view_as"}
# Writes that read nothing: whatever was there is noise or a number now.
_FILLS = {"fill_", "zero_", "bernoulli_", "uniform_", "normal_", "exponential_", "random_", "cauchy_", "geometric_", "log_normal_"}
# Writes into a part of a tensor that are one call on the whole.
_PARTS = {"copy_", "fill_", "zero_", "add_", "sub_", "mul_", "div_"}


def _is_creation(name: str) -> bool:
    return name in {
        "arange", "zeros", "ones", "full", "empty", "eye", "linspace", "rand", "randn", "scalar_tensor", "zeros_like",
        "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty", "tril_indices",
        "triu_indices", "randint", "randperm",
    }  # fmt: skip


def _run_recurrent(func: Any, args: Any) -> Any:
    """What torch.lstm and its kin return; fake tensors of a card without CUDA do not get as far."""
    x, state, parameters = args[0], args[1], args[2]
    if not isinstance(parameters, (list, tuple)):
        return func(*args)  # packed sequences
    first = state[0] if isinstance(state, (list, tuple)) else state
    bidirectional = bool(args[7])
    width = int(first.shape[-1]) * (2 if bidirectional else 1)
    grad = torch.is_grad_enabled() and any(t.requires_grad for t in _pytree.tree_leaves((x, state, parameters)))
    made = [x.new_empty((*x.shape[:-1], width))] + [s.new_empty(s.shape) for s in _pytree.tree_leaves(state)]
    return tuple(t.requires_grad_(grad) for t in made)


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
def _autocast(card: str) -> Iterator[None]:
    """torch.autocast turns itself off where there is no such card."""
    was = torch.is_autocast_enabled(card), torch.get_autocast_dtype(card), torch.is_autocast_cache_enabled()
    torch.set_autocast_enabled(card, True)
    torch.set_autocast_dtype(card, torch.float16 if card != "cpu" else torch.bfloat16)
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_enabled(card, was[0])
        torch.set_autocast_dtype(card, was[1])
        torch.set_autocast_cache_enabled(was[2])


@contextlib.contextmanager
def _plain_encoders() -> Iterator[None]:
    """torch.nn's encoder layers fuse in evaluation; vramplan knows when, and reads them call by call."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
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


def _resized(value: Any, batch: int, to: int) -> Any:
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.shape[0] != batch:
        return value
    return value[torch.arange(to) % batch]


def _record(
    model: torch.nn.Module,
    args: Any,
    kwargs: Any,
    card: str,
    training: bool,
    main_output: Callable[[Any], Any],
    autocast: bool = False,
) -> _Recording:
    import copy

    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.fake_tensor import FakeTensorMode

    recording = _Recording()
    values = _Values(recording, card)
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake_of(tensor: torch.Tensor) -> torch.Tensor:
        with fake_mode:
            made = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=card)
        if isinstance(tensor, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        return made

    memo: dict[int, Any] = {}
    named = [*model.named_parameters(), *model.named_buffers()]
    for _, tensor in named:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            raise NotRecorded(f"a parameter of the class {type(tensor).__name__}")
        memo[id(tensor)] = fake_of(tensor)
    mine = copy.deepcopy(model, memo)
    mine.train(training)
    for name, tensor in named:
        fake = memo[id(tensor)]
        recording.stored[values.new(fake)] = name
        if not tensor.is_meta and not tensor.is_floating_point() and tensor.numel() <= _MOST_VALUES:
            values.known[id(fake)] = tensor.detach().cpu()

    def given(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return tensor
        fake = fake_of(tensor)
        recording.given.append(values.new(fake))
        if not tensor.is_floating_point() and not tensor.is_meta and tensor.numel() <= _MOST_VALUES:
            values.known[id(fake)] = tensor.detach().cpu().clone()
        return fake

    fake_args, fake_kwargs = _pytree.tree_map(given, (args, kwargs))

    def dropped(_: torch.Tensor) -> None:
        return None

    def never(_: None) -> torch.Tensor:
        raise NotRecorded("the forward goes backward itself")

    from . import _facts

    mode = _Mode(values, training)
    grad = contextlib.nullcontext() if training else torch.no_grad()
    with fake_mode, grad, torch.autograd.graph.saved_tensors_hooks(dropped, never), _values_may_be_read():
        with _facts.checkpointed_modules(mine) as checkpointed, _facts.called_functions() as functions:
            around = _autocast(card) if autocast else contextlib.nullcontext()
            with around, _plain_encoders(), enable_python_dispatcher(), _module_calls(mine, mode), mode:
                out = mine(*fake_args, **fake_kwargs)
    values.off = True
    if functions and training:
        raise NotRecorded(f"its gradient is that of {functions[0]}")
    recording.checkpointed = checkpointed
    if checkpointed:  # the reentrant kind runs its modules without gradients at first
        for call in recording.calls:
            call.keywords.pop("no_grad", None)
    main = main_output(out)
    first = list(main) if isinstance(main, tuple) else [main]
    seen: list[int] = []
    for tensor in [*first, *_pytree.tree_leaves(out)]:
        if isinstance(tensor, torch.Tensor) and values.on_card(tensor) and id(tensor) in values.numbers:
            if values.numbers[id(tensor)] not in seen:
                seen.append(values.numbers[id(tensor)])
    recording.returned = seen
    recording.ends = _ends(recording)
    del out, main, first, tensor
    return recording


def _ends(recording: _Recording) -> list[list[int]]:
    ends: list[list[int]] = []
    ended = set()
    for storage, call in recording.deaths:
        ended.add(storage)
        ends += [[value, max(call, 0)] for value in recording.inside.get(storage, [])]
    for storage, numbers in recording.inside.items():
        if storage not in ended:
            ends += [[value, -1] for value in numbers]
    before = {*recording.stored, *recording.given}
    there = {value for numbers in recording.inside.values() if before & set(numbers) for value in numbers}
    return [end for end in ends if end[0] not in there]


# ---------------------------------------------------------------------- of two batches


def _length(lengths: list[int], batches: list[int]) -> Any:
    """A length as a polynomial in the batch: a number, [c0, c1] or [c0, c1, c2]."""
    if len(set(lengths)) == 1:
        return lengths[0]
    slope, rest = divmod(lengths[1] - lengths[0], batches[1] - batches[0])
    if rest == 0 and lengths[0] == slope * batches[0]:
        return [0, slope]
    if len(lengths) < 3:
        raise _Third
    if rest == 0 and all(n - lengths[0] == slope * (b - batches[0]) for n, b in zip(lengths, batches)):
        return [lengths[0] - slope * batches[0], slope]
    # Batches are b, 2b, 3b: second differences.
    b = batches[0]
    twice, rest = divmod(lengths[2] - 2 * lengths[1] + lengths[0], b * b)
    square, odd = divmod(twice, 2)
    linear, left = divmod(lengths[1] - lengths[0] - square * 3 * b * b, b)
    if rest or odd or left:
        raise NotRecorded("a length that is no polynomial of the batch")
    return [lengths[0] - square * b * b - linear * b, linear, square]


class _Third(Exception):
    pass


def _same(a: Any, b: Any) -> Any:
    """An argument, where both recordings have it alike."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [_same(x, y) for x, y in zip(a, b)]
    return a if type(a) is type(b) and a == b else None


def _alike(a: _Recording, b: _Recording) -> bool:
    return (
        [c.target for c in a.calls] == [c.target for c in b.calls]
        and [c.results for c in a.calls] == [c.results for c in b.calls]
        and a.stored == b.stored
        and a.modules == b.modules
        and len(a.values) == len(b.values)
    )


def _note_precisions(plain: _Recording, autocast: _Recording) -> None:
    """What only mixed precision shows: x.float() and x.to(y.dtype), which do nothing in fp32, and regions without it."""
    if not _alike(plain, autocast):
        return
    for call, other in zip(plain.calls, autocast.calls):
        if not other.autocast:
            call.keywords["autocast"] = False
        if call.target.split(".")[1] not in _CASTS or not call.results or call.results[0] is None:
            continue
        kind = autocast.values[call.results[0]][0]
        if plain.values[call.results[0]][0] == "float32" and plain.values[int(call.arguments[0][1:])][0] == "float32":
            call.keywords["amp"] = "float" if kind == "float32" else "half"


def _merged(recordings: list[_Recording], batches: list[int], names: list[str]) -> dict[str, Any]:
    first, second = recordings[0], recordings[1]
    for other in recordings[1:]:
        if not _alike(first, other):
            raise NotRecorded("the code does something else with another batch")
    values = []
    for several in zip(*(r.values for r in recordings)):
        shapes = [shape for _, shape in several]
        if len({len(shape) for shape in shapes}) > 1:
            raise NotRecorded("the code does something else with another batch")
        values.append([several[0][0], [_length(list(lengths), batches) for lengths in zip(*shapes)]])
    calls = []
    for a, b in zip(first.calls, second.calls):
        call = [a.target, a.module, _same(a.arguments, b.arguments), a.results]
        keywords = {k: v if k in ("amp", "autocast") else _same(v, b.keywords.get(k)) for k, v in a.keywords.items()}
        calls.append([*call, keywords] if keywords else call)
    return {
        "values": values,
        "stored": [[name, number] for number, name in first.stored.items() if name],
        "loose": [number for number, name in first.stored.items() if not name],
        "given": [[name, number] for name, number in zip(names, first.given)],
        "returned": first.returned,
        "modules": [list(module) for module in first.modules],
        "calls": calls,
        "ends": first.ends,
    }


def input_names(args: Any, kwargs: Any) -> list[str]:
    """Of the tensors that a forward is given: those of keywords, else input_0, input_1, ..."""
    names: list[str] = []
    for name, value in [*((f"input_{i}", a) for i, a in enumerate(args)), *kwargs.items()]:
        count = sum(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves(value))
        names += [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
    return names


def record_program(
    model: torch.nn.Module, args: Any, kwargs: Any, batch: int, training: bool, main_output: Callable[[Any], Any]
) -> tuple[dict[str, Any], list[str]]:
    """A program of docs/facts.md, and the paths of checkpointed modules. Raises NotRecorded, or what the code raises."""
    error: Exception | None = None
    names = input_names(args, kwargs)
    for card in ("cuda", "cpu"):
        try:
            recordings: list[_Recording] = []
            batches = [batch, 2 * batch, 3 * batch]

            def more() -> None:
                to = batches[len(recordings)]
                resized = _pytree.tree_map(lambda t: _resized(t, batch, to), (args, kwargs))
                recordings.append(_record(model, *resized, card, training, main_output))

            more()
            more()
            with contextlib.suppress(Exception):  # code that does not run under autocast has no such facts
                under = _record(model, args, kwargs, card, training, main_output, autocast=True)
                _note_precisions(recordings[0], under)
            try:
                return _merged(recordings, batches, names), recordings[0].checkpointed
            except _Third:
                more()
                return _merged(recordings, batches, names), recordings[0].checkpointed
        except Exception as raised:
            error = error or raised
    assert error is not None
    raise error
