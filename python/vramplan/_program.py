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
from typing import Any, Callable

import torch
from torch.utils import _pytree

from ._errors import UsageError
from ._calls import CASTS, JOINS, AsksCuda, NotRecorded, Recording, is_channels_last, is_creation
from ._forward import T4, Criterion, Types, record_forward, samples_of, tensors_of


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


_HALVES = ("float16", "bfloat16")


def _alike(a: Recording, b: Recording) -> bool:
    return (
        [c.target for c in a.calls] == [c.target for c in b.calls]
        and [c.results for c in a.calls] == [c.results for c in b.calls]
        and a.stored == b.stored
        and a.modules == b.modules
        and len(a.values) == len(b.values)
        and len(a.backwards) == len(b.backwards)
        and all(_alike(x, y) for x, y in zip(a.backwards, b.backwards))
    )


def _note_precisions(plain: Recording, autocast: Recording) -> None:
    """What only mixed precision shows: x.float() and x.to(y.dtype), which do nothing in fp32, and regions without it."""
    if not _alike(plain, autocast):
        return
    plain.ends = autocast.ends  # casts that do nothing in fp32 share their storage there
    for call, other in zip(plain.calls, autocast.calls):
        if "of" in other.keywords:
            call.keywords["of"] = other.keywords["of"]
        if not other.autocast:
            call.keywords["autocast"] = False
        if "amp" in other.keywords:
            call.keywords["amp"] = other.keywords["amp"]
        name = call.target.split(".")[1]
        if name in JOINS and call.results[0] is not None:
            # An empty cache has the type of the keys, and what is joined to it gets that.
            parts = [int(part[1:]) for part in call.arguments[0] if isinstance(part, str)]
            if parts and autocast.values[call.results[0]][0] == "float32" and all(autocast.values[part][0] in _HALVES for part in parts):
                call.keywords["amp"] = "float"
        if not call.results or call.results[0] is None or not (name in CASTS or is_creation(name)):
            continue
        if name in CASTS and "memory_format" in call.keywords:  # it moves what there is, whatever the type
            continue
        kind = autocast.values[call.results[0]][0]
        reads = [int(a[1:]) for a in call.arguments[:1] if isinstance(a, str) and a.startswith("%")]
        reads_floats = any(plain.values[v][0] == "float32" for v in reads)
        if plain.values[call.results[0]][0] != "float32" or (kind == "float32" and not reads_floats):
            continue
        call.keywords["amp"] = "float" if kind == "float32" else "half"
    for backward, other_backward in zip(plain.backwards, autocast.backwards):
        _note_precisions(backward, other_backward)


def _merged(recordings: list[Recording], batches: list[int], names: list[str]) -> dict[str, Any]:
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
    for number, name in first.stored.items():
        if not name and any(isinstance(length, list) for length in values[number][1]):
            raise NotRecorded("a tensor of the batch that no call was seen to make")
    calls = []
    for a, b in zip(first.calls, second.calls):
        call = [a.target, a.module, _same(a.arguments, b.arguments), a.results]
        keywords = {k: v if k in ("amp", "autocast", "of") else _same(v, b.keywords.get(k)) for k, v in a.keywords.items()}
        calls.append([*call, keywords] if keywords else call)
    merged = {
        "values": values,
        "stored": [[name, number] for number, name in first.stored.items() if name],
        "loose": [number for number, name in first.stored.items() if not name],
        "given": [[name, number] for name, number in zip([*names, *[""] * len(first.given)], first.given)],
        "returned": first.returned,
        "modules": [list(module) for module in first.modules],
        "calls": calls,
        "ends": first.ends,
    }
    if first.loss is not None:
        merged["loss"] = first.loss
    if first.reentrant:
        merged["reentrant"] = first.reentrant
    if first.channels_last:
        merged["channels_last"] = first.channels_last
    if first.backwards:
        merged["backwards"] = [_merged(list(same), batches, []) for same in zip(*(r.backwards for r in recordings))]
    return merged


def _resized(value: Any, batch: int, to: int) -> Any:
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.shape[0] != batch:
        return value
    resized = value[torch.arange(to) % batch]
    if not is_channels_last(value):
        return resized
    return resized.contiguous(memory_format=torch.channels_last if value.dim() == 4 else torch.channels_last_3d)


def input_names(args: Any, kwargs: Any) -> list[str]:
    """Of the tensors that a forward is given: those of keywords, else input_0, input_1, ..."""
    names: list[str] = []
    for name, value in [*((f"input_{i}", a) for i, a in enumerate(args)), *kwargs.items()]:
        count = sum(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves(value))
        names += [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
    return names


def type_in_halves(model: torch.nn.Module) -> torch.dtype | None:
    """That of a model which was made or cast so, which vramplan answers in it (planner/answers/spec_of_file.cc)."""
    types = {parameter.dtype for parameter in model.parameters()}
    return next((half for half in (torch.bfloat16, torch.float16) if half in types), None)


_NAMES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float64: "fp64"}


def types_for(model: torch.nn.Module, precision: Any) -> Types:
    """The types in which a model is recorded for a question about a precision; None: its own.

    The program makes halves of what is recorded in fp32, and leaves other types as they are. So a model in other types than
    those that are asked about is recorded as it is after model.float(), with inputs in fp32."""
    floating = {parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()}
    double = torch.float64 if floating == {torch.float64} else None
    own = _NAMES.get(type_in_halves(model) or double, "fp32")
    asked = own if precision is None else str(precision).removeprefix("torch.").replace("tf32", "fp32")
    if asked == own:
        return Types(strict=True)
    pure = asked in (*_NAMES.values(), "fp32")
    return Types(torch.float32, asked == "fp32") if pure and own != "fp32" else Types()


def _cards() -> tuple[str, ...]:
    """Where tensors without values are said to be: on a card, as code that asks should see, and where that does not work
    on the host. PyTorch 2.6 with CUDA and without a driver ends the process at the first such operator; 2.10 and 2.15 do
    not (tried)."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    return ("cuda", "cpu") if version >= (2, 10) or torch.cuda.is_available() else ("cpu",)


def record_program(
    model: torch.nn.Module,
    args: Any,
    kwargs: Any,
    batch: int,
    training: bool,
    main_output: Callable[[Any], Any],
    capability: tuple[int, int] = T4,
    criterion: Criterion | None = None,
    guesses: bool = False,
    autocast: bool = True,
    types: Types = Types(),
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Programs of docs/facts.md by what their names end with, "" and "-amp", which is there where the code does something
    else under autocast; the paths of checkpointed modules; and what is to be told. guesses: values that only the data knows
    are guessed, and told. autocast: somebody may ask about it; a model in halves that is asked about in them does not run
    under it. Raises NotRecorded, or what the code raises."""
    error: Exception | None = None
    names = input_names(args, kwargs)
    if criterion is not None:
        names += input_names((), {"target": criterion.target})
        names += [f"loss_{i}" for i, _ in enumerate(tensors_of(criterion.loss))]
    batches = [batch, 2 * batch, 3 * batch]
    # A copy first, which leaves the model alone.
    for card, copied in ((card, copied) for card in _cards() for copied in (True, False)):
        if not copied and isinstance(error, NotRecorded):
            continue

        def record(to: int, in_amp: bool) -> Recording:
            if samples_of((args, kwargs)) is not None and to != batch:
                raise NotRecorded("a list with an item for each sample")
            resized = _pytree.tree_map(lambda t: _resized(t, batch, to), (args, kwargs))
            loss = None if criterion is None else criterion.resized(lambda t: _resized(t, batch, to))
            while True:
                with contextlib.suppress(AsksCuda):
                    return record_forward(
                        model, *resized, card, training, main_output, in_amp, capability, copied, loss, guesses, types,
                        to == batch,
                    )  # fmt: skip

        def of_batches(recordings: list[Recording], in_amp: bool) -> dict[str, Any]:
            for to in batches[len(recordings) : 2]:
                recordings.append(record(to, in_amp))
            try:
                return _merged(recordings, batches, names)
            except _Third:
                return _merged([*recordings, record(batches[2], in_amp)], batches, names)

        try:
            first = record(batch, False)
            programs: dict[str, Any] = {}
            # The calls of a model in halves have its own types, and under autocast other ones.
            halves = type_in_halves(model) is not None and types.floating is None
            with contextlib.suppress(Exception):  # code that does not run under autocast has no such facts
                under = record(batch, True) if autocast or not halves else None
                if under is not None and _alike(first, under) and not halves:
                    _note_precisions(first, under)
                elif under is not None:
                    for call in under.calls:
                        if not call.autocast:
                            call.keywords["autocast"] = False
                    programs["-amp"] = of_batches([under], True)
            programs[""] = of_batches([first], False)
            return programs, first.checkpointed, sorted({*first.notes})
        except UsageError:  # what ends a step of PyTorch, too
            raise
        except Exception as raised:
            error = error or raised
    assert error is not None
    raise error
