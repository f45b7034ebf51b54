"""One forward as a mode in front of autograd sees it: calls, values, writes, and when storages die.

    x[:, 0] += y      select(x) -> part; add_(part, y), which is a write into x; what the code calls the part is a part of
                      the new x from then on
    x.float()         in fp32 the same tensor again; it gets a name of its own, since under autocast it is another
    mask.all()        small integers have their values beside them, so that code may look
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import sys
import weakref
from typing import Any, Iterator

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ._composites import is_composite
from ._errors import StepError
from ._mistakes import check_types, check_values, error_of_host, first_of
from ._storages import Storages

MOST_VALUES = 1 << 20  # elements of a tensor whose values are kept
_RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "dropout", "multinomial", "normal", "uniform", "exponential")


class NotRecorded(Exception):
    """The code does what this way of recording cannot follow; other ways remain."""


def _base_mode() -> type:
    # The only kind of mode that PyTorch takes in front of autograd alone (torch/_ops.py, _set_mode_pre_dispatch).
    from torch._subclasses.schema_check_mode import SchemaCheckMode

    return SchemaCheckMode


class AsksCuda(Exception):
    """A call asked CUDA itself for a card; the next recording knows."""


class ValuesDecide(NotRecorded):
    """The code looks at a flag or a number that only the data knows: it may be guessed."""


@dataclasses.dataclass
class Call:
    target: str
    module: int
    arguments: list[Any]
    keywords: dict[str, Any]
    results: list[int | None]
    autocast: bool = False  # whether it ran under autocast


class Recording:
    """What one forward did: values, calls, module calls, and the order in which storages died."""

    def __init__(self) -> None:
        self.values: list[tuple[str, tuple[int, ...]]] = []
        self.calls: list[Call] = []
        self.modules: list[tuple[str, str, int]] = []
        self.storages = Storages(self.calls)
        self.inside: dict[int, list[int]] = {}  # by storage: the values that lie in it
        self.stored: dict[int, str] = {}  # values of parameters and buffers
        self.given: list[int] = []  # values of inputs
        self.channels_last: list[int] = []  # of both, those that lie so in memory
        self.returned: list[int | None] = []  # None: no tensor on the card
        self.checkpointed: list[str] = []
        self.loss: int | None = None  # the first call of the script's loss
        self.reentrant: list[str] = []  # of these, those with use_reentrant=True
        self.notes: list[str] = []
        self.ends: list[list[int]] = []  # value, and the call after which nothing holds it; -1: the caller does, -2: a module
        self.backwards: list[Recording] = []  # of its calls of vramplan.function, that of their gradients
        self.operands: list[list[int]] = []  # values that a call brought to the card for itself, and the call

    def note_ends(
        self,
        kept: set[int] = frozenset(),  # type: ignore[assignment]
        replaced: dict[int, int] | None = None,
        assigned: dict[int, int] | None = None,
    ) -> None:
        """kept: storages that attributes of modules hold when the forward is over, and its caller does not. replaced: by
        storage that a parameter or buffer has now, the one that it had (w.data = ...): the new one stands in for the old
        one from when that died. assigned: storages that became a buffer, and when (self.mean = ...): they stand in so, too."""
        died = dict(self.storages.deaths)
        instead = {new: died[old] for new, old in (replaced or {}).items() if old in died} | (assigned or {})
        ended = set()
        for storage, call in self.storages.deaths:
            if storage in instead:
                continue
            ended.add(storage)
            self.ends += [[value, max(call, 0)] for value in self.inside.get(storage, [])]
        for storage, numbers in self.inside.items():
            if storage in instead:
                self.ends += [[value, max(instead[storage], 0)] for value in numbers]
            elif storage not in ended:
                self.ends += [[value, -2 if storage in kept else -1] for value in numbers]
        before = {*self.stored, *self.given}
        there = {value for numbers in self.inside.values() if before & set(numbers) for value in numbers}
        brought = [[value, min(call, len(self.calls) - 1)] for value, call in self.operands]
        self.ends = [end for end in self.ends if end[0] not in there] + brought
        self.ends.sort(key=lambda end: end[1] if end[1] >= 0 else len(self.calls) - end[1])


def is_channels_last(tensor: torch.Tensor) -> bool:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.dim() in formats and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=formats[tensor.dim()])


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Values:
    """Numbers for tensors, the storages they lie in, and the values of small ones."""

    def __init__(self, recording: Recording, card: str) -> None:
        self.recording = recording
        self.card = card
        self.numbers: dict[int, int] = {}  # by id of the tensor
        self.owners: dict[int, int] = {}  # by storage: the value that it was made for
        self.known: dict[int, torch.Tensor] = {}  # values of tensors, by id
        self.wholes: dict[int, weakref.ref[torch.Tensor]] = {}  # by id of a view: the tensor of the code that it looks at
        self.leaves: set[int] = set()  # ids of tensors that the code made and that require a gradient
        self.twins: set[int] = set()  # ids of tensors that stand for what a cast gave back as it was

    def on_card(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type == self.card

    def new(self, tensor: torch.Tensor) -> int:
        """A number for what this tensor is from now on."""
        recording = self.recording
        number = len(recording.values)
        recording.values.append((_dtype(tensor.dtype), tuple(int(n) for n in tensor.shape)))
        self.watch(tensor)
        self.numbers[id(tensor)] = number
        storage = recording.storages.number(tensor)
        recording.inside.setdefault(storage, []).append(number)
        self.owners.setdefault(storage, number)
        return number

    def watch(self, tensor: torch.Tensor) -> None:
        """Forgets the tensor when it dies, since another may get its id."""
        if id(tensor) not in self.numbers and id(tensor) not in self.known and id(tensor) not in self.twins:
            weakref.finalize(tensor, self._forget, id(tensor)).atexit = False

    def _forget(self, key: int) -> None:
        self.numbers.pop(key, None)
        self.known.pop(key, None)
        self.twins.discard(key)
        self.leaves.discard(key)
        self.wholes.pop(key, None)

    def number_of(self, tensor: torch.Tensor) -> int:
        found = self.numbers.get(id(tensor))
        if found is not None:
            return found
        owner = self.owners.get(self.recording.storages.number(tensor))
        if owner is not None and self.recording.values[owner] == (_dtype(tensor.dtype), tuple(tensor.shape)):
            return owner
        number = self.new(tensor)  # nobody saw it being made: it was there before
        self.recording.stored[number] = ""
        return number


def _is_real(tensor: torch.Tensor) -> bool:
    """A small tensor of the host, such as torch.tensor(0.5)."""
    from torch._subclasses.fake_tensor import FakeTensor

    return not isinstance(tensor, FakeTensor) and tensor.device.type == "cpu" and tensor.numel() <= MOST_VALUES


_NOT_OF_THE_MODEL = (os.path.dirname(__file__), os.path.dirname(torch.__file__), contextlib.__file__)


def _place_of_code() -> str:
    """File and line of the model's or the loss's code that is running; empty: they are PyTorch's own."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_OF_THE_MODEL):
        if frame.f_code.co_name == "record_forward":  # behind it is who asks about the model
            return ""
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def place_of(error: BaseException) -> str:
    """File and line of the model's code at which it was raised; empty: it was none of it."""
    place, inside, trace = "", False, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        inside = inside or code.co_name == "record_forward"
        if inside and not code.co_filename.startswith(_NOT_OF_THE_MODEL):
            place = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _packet(func: Any) -> str:
    return func._schema.name.split("::")[-1]


class Mode(_base_mode()):  # type: ignore[misc]
    def __init__(
        self, values: Values, training: bool, guesses: bool = False, strict: bool = False, as_given: bool = False
    ) -> None:  # fmt: skip
        TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
        self.at = values
        self.recording = values.recording
        self.stack: list[int] = [-1]
        self.training = training
        self.guesses = guesses  # of values that only the data knows
        self.strict = strict  # about types that PyTorch refuses and tensors without values take
        self.as_given = as_given  # the batch is the caller's own, so that what fails here fails there
        self.running = False  # an operator, whose inner calls are its own

    def _where(self, name: str) -> tuple[str, str]:
        """What runs a call, the model or the loss, and where."""
        module, place = self._module(), _place_of_code()
        where = f"{module} ({name})" if module else name
        return "loss" if self.recording.loss is not None else "model", f"{where}, {place}" if place else where

    def _refused(self, func: Any, name: str, args: Any, kwargs: Any) -> Exception | None:
        """What PyTorch raises, too, of tensors with values: the code may catch it. None: it takes the call."""
        error = error_of_host(func, args, kwargs, self.at.known)
        if error is not None and self.as_given:
            subject, where = self._where(name)
            hint = "see whether the model runs on these inputs: model(*example_inputs)"
            error.of_step = StepError(subject, f"PyTorch stops at {where}: {first_of(error)}", hint)  # type: ignore[attr-defined]
        return error

    def _module(self) -> str:
        """The path of the module that is running."""
        return self.recording.modules[self.stack[-1]][0] if self.stack[-1] >= 0 else ""

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
            if total > MOST_VALUES:
                return None
        try:
            with unset_fake_temporarily(), torch.no_grad():
                return func(*real_args, **real_kwargs)
        except Exception:
            return None

    def _keep(self, out: Any, real: Any) -> None:
        for made, value in zip(_pytree.tree_leaves(out), _pytree.tree_leaves(real)):
            if isinstance(made, torch.Tensor) and isinstance(value, torch.Tensor) and value.numel() <= MOST_VALUES:
                if tuple(made.shape) == tuple(value.shape):
                    self.at.watch(made)
                    self.at.known[id(made)] = value

    # ------------------------------------------------------------------ calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = _packet(func)
        before = [t for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(torch._C._functorch.is_functorch_wrapped_tensor(t) for t in before):
            with _Below(self):
                return func(*args, **kwargs)
        if name in ("item", "_local_scalar_dense", "is_nonzero", "equal"):
            real = self._values_for(func, args, kwargs)
            if real is not None:
                return real
            return self._guessed(name, before) if before else func(*args, **kwargs)
        check_types(name, args, kwargs, self._module(), self.strict and not torch.is_autocast_enabled(self.at.card))
        if self.as_given:
            check_values(func, name, args, kwargs, self.at.known, lambda: self._where(name))
        real = self._values_for(func, args, kwargs) if all(id(t) in self.at.known or _is_real(t) for t in before) else None
        self._note_leaves(before)
        numbers = {id(t): self.at.number_of(t) for t in before if self.at.on_card(t)}
        writes = bool(before) and func._schema.is_mutable and isinstance(args[0] if args else None, torch.Tensor)
        writes = writes and "out" not in kwargs
        # Under no_grad, in a forward that has gradients: what it reads has none here.
        hidden = self.training and not torch.is_grad_enabled() and any(t.requires_grad for t in before)
        if name == "_use_cudnn_ctc_loss":  # of targets on the card, cuDNN's is not taken
            return False
        if name == "_nested_tensor_from_mask_left_aligned":
            self.recording.notes.append("nn.TransformerEncoder may leave the padding out in inference; here it is computed, too")
            return False
        if name == "ctc_loss" and (lengths := self._lengths_on_host(args)) is not None:
            with self:
                return _ctc_loss(args, lengths)
        if name in _TAKEN_APART or is_composite(func):
            if name in _PROMOTED:
                with self, _without_autocast(self.at.card):
                    return func.decompose(*_promoted(args), **kwargs)
            with self:
                return func.decompose(*(_as_autocast_does(args) if name in IN_FP32 else args), **kwargs)
        self.running, was = True, self.running
        try:
            if name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
                out = _of_the_tape(_run_recurrent(func, args), before)
            elif name == "_ctc_loss":
                out = _of_the_tape(self._run_ctc(args), before)
            elif name in _FUSED:
                out = _run_fused(name, args)
            elif name in _ask_cuda and self.at.card != "cpu":
                out = _of_the_tape(self._without_driver(func, name, args, kwargs), before)
            else:
                out = func(*args, **kwargs)
        except Exception as error:
            if real is None and "NVIDIA driver" in str(error) and name not in _ask_cuda:
                _ask_cuda.add(name)
                raise AsksCuda from None  # what this error holds would live on
            if real is None:
                raise self._refused(func, name, args, kwargs) or error
            device = next((t.device for t in before), torch.device("cpu"))
            out = _pytree.tree_map(
                lambda t: torch.empty(t.shape, dtype=t.dtype, device=device) if isinstance(t, torch.Tensor) else t, real
            )
        finally:
            self.running = was
        if name in CASTS and args and out is args[0] and id(out) in numbers:
            out = torch.ops.aten.alias.default(out)  # in another precision it is another tensor, so it has its own name
            self.at.watch(out)
            self.at.twins.add(id(out))
        if real is not None:
            self._keep(out, real)
        elif writes:
            self.at.known.pop(id(args[0]), None)
        self._note(func, name, args, kwargs, out, numbers, writes, hidden)
        return out

    def below(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A call behind autograd, of a function that torch.vmap runs on whole tensors: what it made of the code's call."""
        name = _packet(func)
        before = [t for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        numbers = {id(t): self.at.number_of(t) for t in before if self.at.on_card(t)}
        writes = bool(before) and func._schema.is_mutable and isinstance(args[0] if args else None, torch.Tensor)
        out = func(*args, **kwargs)
        self._note(func, name, args, kwargs, out, numbers, writes and "out" not in kwargs, False)
        return out

    def _note_leaves(self, read: list[torch.Tensor]) -> None:
        """What the code made a leaf that requires a gradient, which is accumulated for it."""
        at = self.at
        for t in read if self.training else ():
            if not t.requires_grad or not t.is_leaf or not at.on_card(t) or id(t) in at.leaves:
                continue
            number = at.numbers.get(id(t))
            if number is None or number in self.recording.stored:
                continue
            at.leaves.add(id(t))
            call = Call("vramplan.leaf", self.stack[-1], [f"%{number}"], {}, [at.new(t)])
            call.autocast = torch.is_autocast_enabled(at.card)
            self.recording.calls.append(call)

    def _guessed(self, name: str, read: list[torch.Tensor]) -> Any:
        """What code is told that looks at a value which only the data knows: False of a flag (a check that finds nothing),
        1.0 of a number. A whole number may be a length, so there is no program then."""
        flag = name in ("equal", "is_nonzero") or read[0].dtype == torch.bool
        told = f"{_place_of_code() or name} looks at a value that only the data knows"
        if not flag and not read[0].is_floating_point():
            raise NotRecorded(told)
        if not self.guesses:
            raise ValuesDecide(told)
        self.recording.notes.append(f"{told}; it is assumed to be {False if flag else 1.0}")
        return False if flag else 1.0

    def _lengths_on_host(self, args: Any) -> list[Any] | None:
        """Those of the inputs and the targets of a CTC loss, if the host knows them."""
        lengths = [self.at.known.get(id(t), t) for t in args[2:4]]
        if all(isinstance(t, torch.Tensor) and t.device.type == "cpu" and _is_real(t) for t in lengths):
            return [t.tolist() for t in lengths]
        return lengths if all(isinstance(t, (list, tuple)) for t in lengths) else None

    def _without_driver(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """What a call makes that asks CUDA itself for a card, and would make on one: its shapes are those of any device."""
        card = torch.device(self.at.card)
        moved = lambda t: torch.empty(t.shape, dtype=t.dtype, device="cpu") if isinstance(t, torch.Tensor) else t
        with torch.no_grad():
            made = func(*_pytree.tree_map(moved, args), **_pytree.tree_map(moved, kwargs))
        lower = torch.get_autocast_dtype(card.type) if name in _IN_HALVES and torch.is_autocast_enabled(card.type) else None
        type_of = lambda t: lower if lower is not None and t.is_floating_point() else t.dtype
        return _pytree.tree_map(
            lambda t: torch.empty(t.shape, dtype=type_of(t), device=card) if isinstance(t, torch.Tensor) else t, made
        )

    def _run_ctc(self, args: Any) -> Any:
        """The loss of each sample, and log_alpha, which has two places for each of a target's and one more."""
        log_probs, targets, lengths = args[0], args[1], args[3]
        if isinstance(lengths, torch.Tensor):
            known = self.at.known.get(id(lengths), lengths if _is_real(lengths) else None)
            lengths = known.tolist() if known is not None else [targets.shape[-1]]
        samples, longest = log_probs.shape[1:2], max(lengths, default=0)
        return log_probs.new_empty(samples), log_probs.new_empty((*samples, log_probs.shape[0], 2 * int(longest) + 1))

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
                if value.dim() > 0 and name in _INDEXING:
                    return f"%{self._brought(value)}"
                return 1.0 if value.dim() == 0 else None  # a number of the host
            if isinstance(value, (list, tuple)):
                return [literal(item) for item in value]
            if isinstance(value, float) and not math.isfinite(value):
                return 1e300  # a number; which one does not matter
            return value if isinstance(value, (bool, int, float, str)) else None

        call = Call(str(func), self.stack[-1], [literal(a) for a in args], {k: literal(v) for k, v in kwargs.items()}, [])
        call.keywords = {k: v for k, v in call.keywords.items() if v is not None}
        if hidden:
            call.keywords["no_grad"] = True
        call.autocast = torch.is_autocast_enabled(at.card)
        if name.endswith("_like") and kwargs.get("memory_format") not in (None, torch.preserve_format):
            call.keywords["memory_format"] = str(kwargs["memory_format"]).removeprefix("torch.")
        if name == "clone" and kwargs.get("memory_format") in (None, torch.preserve_format):
            call.keywords["memory_format"] = "preserve"
        if kwargs.get("memory_format") in (torch.channels_last, torch.channels_last_3d):
            call.keywords["memory_format"] = "channels_last"
        if call.autocast and name in TYPED and made[0].dtype == torch.get_autocast_dtype(at.card):
            call.keywords["amp"] = "half"
        if writes:
            self._note_write(call, name, args[0], numbers)
            return
        if name in JOINS:  # torch.cat skips tensors without elements
            call.arguments[0] = [literal(t) for t in args[0] if t.numel() > 0 or t.dim() > 1]
        fresh = [o for o in made if id(o) not in at.numbers]
        if not fresh:
            return  # what came in went out: contiguous() of what is, dropout in evaluation
        if not numbers and not is_creation(name):
            call.target, call.arguments = "aten.empty.memory_format", []  # from the host to the card
        for o in outs:
            on_card = isinstance(o, torch.Tensor) and at.on_card(o)
            call.results.append((at.numbers[id(o)] if id(o) in at.numbers else at.new(o)) if on_card else None)
            if on_card:
                self._note_view(o, args)
        self.recording.calls.append(call)

    def _note_view(self, view: torch.Tensor, args: Any) -> None:
        """A matrix product is a view to tensors without values, and not to the code: what is sliced of it is a part of it."""
        at = self.at
        source = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if source is None or source is view or not view._is_view() or id(view) in at.twins or id(source) not in at.numbers:
            return
        if source.untyped_storage()._cdata == view.untyped_storage()._cdata:
            at.wholes[id(view)] = at.wholes.get(id(source)) or weakref.ref(source)

    def _whole_of(self, view: torch.Tensor) -> torch.Tensor | None:
        base = view._base
        whole = self.at.wholes[id(view)]() if id(view) in self.at.wholes else None
        return whole if whole is not None and (id(base) not in self.at.numbers or id(whole) in self.at.twins) else base

    def _brought(self, tensor: torch.Tensor) -> int:
        """An index on the host, which the call copies to the card (aten/src/ATen/native/TensorAdvancedIndexing.cpp)."""
        recording = self.recording
        recording.values.append((_dtype(tensor.dtype), tuple(int(n) for n in tensor.shape)))
        recording.calls.append(Call("aten.empty.memory_format", self.stack[-1], [], {}, [len(recording.values) - 1]))
        recording.operands.append([len(recording.values) - 1, len(recording.calls)])
        return len(recording.values) - 1

    def _note_write(self, call: Call, name: str, target: torch.Tensor, numbers: dict[int, int]) -> None:
        at = self.at
        if not at.on_card(target):
            return
        number = numbers[id(target)]
        if number in self.recording.stored and not target.requires_grad:
            return  # statistics and counters of modules
        part = self._whole_of(target) if target._is_view() and name in _PARTS and id(target) not in at.twins else None
        if part is not None and id(part) in at.numbers:
            call.keywords["of"] = f"%{at.numbers[id(part)]}"
            call.results = [at.new(part)]
            self.recording.calls.append(call)
            # What the code calls the part is a part of the new whole now (torch/csrc/autograd/variable.cpp, grad_fn).
            whole = call.results[0]
            like = {"like": f"%{number}"}
            call = Call("aten.as_strided.default", call.module, [f"%{whole}"], like, [at.new(target)], call.autocast)
        elif name in _FILLS:
            return
        else:
            call.results = [at.new(target)]
        self.recording.calls.append(call)


class _Below(TorchDispatchMode):
    """Sees the calls behind autograd and hands them to a mode in front of it."""

    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self.mode = mode

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.mode.below(func, args, kwargs or {})


# Calls that make no tensor of the model.
_UNSEEN = {"lift_fresh", "_assert_tensor_metadata", "is_same_size", "set_", "resize_", "requires_grad_", "retain_grad"}
# Calls that change the type, if it is another.
CASTS = {"to", "type_as"}
JOINS = ("cat", "concat", "concatenate")
# Calls that are taken apart, and of which autocast makes all operands fp32 (fp32 in AT_FORALL_FP32, ATen/autocast_mode.h).
IN_FP32 = {
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss",
    "frobenius_norm", "nuclear_norm", "multilabel_margin_loss",
}  # fmt: skip


def _as_autocast_does(args: Any) -> Any:
    """In fp32 these casts give back what there is; their calls tell what they are under autocast."""
    to = lambda t: t.to(torch.float32) if isinstance(t, torch.Tensor) and t.is_floating_point() else t
    return tuple(to(arg) for arg in args)


# Calls that are taken apart, whose operands autocast makes the widest of their types; what they call runs without it
# (AT_FORALL_PROMOTE).
_PROMOTED = {"cross", "tensordot"}


def _promoted(args: Any) -> Any:
    floats = [t for t in args if isinstance(t, torch.Tensor) and t.is_floating_point()]
    widest = torch.float32 if any(t.dtype == torch.float32 for t in floats) else None
    return tuple(
        t.to(widest) if widest and isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in args
    )


@contextlib.contextmanager
def _without_autocast(card: str) -> Iterator[None]:
    was = torch.is_autocast_enabled(card)
    torch.set_autocast_enabled(card, False)
    try:
        yield
    finally:
        torch.set_autocast_enabled(card, was)


# Calls that take indices on the host, too.
_INDEXING = {"index", "index_put_", "index_put"}
# Calls that autocast runs in fp32, unless the code names a type (fp32_set_opt_dtype of ATen/autocast_mode.h).
TYPED = {"softmax", "log_softmax"}
# Calls that are what they call, and have no rule of their own.
_TAKEN_APART = {"reshape_as", "meshgrid", "outer", "ger", "rnn_tanh_cell", "rnn_relu_cell", "view_as"}
# Writes that read nothing: whatever was there is noise or a number now.
_FILLS = {"fill_", "zero_", "bernoulli_", "uniform_", "normal_", "exponential_", "random_", "cauchy_", "geometric_", "log_normal_"}
# Writes into a part of a tensor that are one call on the whole.
_PARTS = {"copy_", "fill_", "zero_", "add_", "sub_", "mul_", "div_"}


def is_creation(name: str) -> bool:
    return name in {
        "arange", "zeros", "ones", "full", "empty", "eye", "linspace", "rand", "randn", "scalar_tensor", "zeros_like",
        "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty", "tril_indices",
        "triu_indices", "randint", "randperm", "rand_like", "randn_like",
    }  # fmt: skip


class _Entry(torch.autograd.Function):
    """An entry of the tape that keeps nothing."""

    @staticmethod
    def forward(ctx: Any, made: Any, *operands: Any) -> Any:
        return made()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotRecorded("the forward goes backward itself")


def _of_the_tape(out: Any, operands: list[torch.Tensor]) -> Any:
    """What was made here in the place of an operator has an entry as its result would: it is no leaf of the code."""
    tracked = [t for t in operands if t.requires_grad]
    if not tracked or not torch.is_grad_enabled():
        return out
    entered = lambda t: _Entry.apply(lambda: t, *tracked) if isinstance(t, torch.Tensor) and t.is_floating_point() else t
    return _pytree.tree_map(entered, out)


_ask_cuda: set[str] = set()  # names of operators that ask CUDA itself for a card, as far as one was seen to do so
# Cells of recurrent networks, which autocast runs in halves (AT_FORALL_LOWER_PRECISION_FP).
_IN_HALVES = {"gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell"}
# What torch.nn's attention modules call in inference (torch/nn/modules/activation.py and transformer.py 2.10, fast path);
# there is none for tensors without values.
_FUSED = {"_native_multi_head_attention", "_transformer_encoder_layer_fwd"}


def _run_fused(name: str, args: Any) -> Any:
    x = args[0]
    if name == "_transformer_encoder_layer_fwd":
        return x.new_empty(x.shape)
    need_weights, averaged = (*args[10:12], True, True)[:2]  # true where they are left out
    heads = args[4]
    each = (x.shape[0], x.shape[1], x.shape[1]) if averaged else (x.shape[0], heads, x.shape[1], x.shape[1])
    return x.new_empty(x.shape), x.new_empty(each) if need_weights else None


def _ctc_loss(args: Any, lengths: list[Any]) -> Any:
    """What ctc_loss calls where lengths are on the host (LossCTC.cpp 2.10, ctc_loss_impl); for tensors without values it is
    written so that it does something else."""
    blank, reduction, zero_infinity = (*args[4:], *(0, 1, False)[len(args) - 4 :])
    losses = torch.ops.aten._ctc_loss(args[0], args[1], *lengths, blank, zero_infinity)[0]
    if zero_infinity:
        losses = torch.where(losses == math.inf, torch.zeros((), dtype=losses.dtype, device=losses.device), losses)
    if reduction == 1:
        return (losses / torch.full((len(lengths[1]),), 1.0, dtype=losses.dtype, device=losses.device).clamp_min(1)).mean()
    return losses.sum() if reduction == 2 else losses


def _run_recurrent(func: Any, args: Any) -> Any:
    """What torch.lstm and its kin return; fake tensors of a card without CUDA do not get as far."""
    x, state, parameters = args[0], args[1], args[2]
    if not isinstance(parameters, (list, tuple)):
        return func(*args)  # packed sequences
    first = state[0] if isinstance(state, (list, tuple)) else state
    bidirectional = bool(args[7])
    width = int(first.shape[-1]) * (2 if bidirectional else 1)
    return (x.new_empty((*x.shape[:-1], width)), *(s.new_empty(s.shape) for s in _pytree.tree_leaves(state)))
