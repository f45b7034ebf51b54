"""`vramplan.export`: a model becomes an ONNX file that carries the facts about it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import io
import json
import logging
import os
import warnings
from typing import Any, Callable, Iterator

import torch
from torch.utils import _pytree

from . import _facts, _lives
from ._errors import ExportError, MissingError, StepError, UsageError
from ._forward import Types, plain, samples_of

_MAX_BATCH = 65536


@dataclasses.dataclass(frozen=True)
class Exported:
    """What `export` wrote, and how."""

    path: str
    exporter: str  # "dynamo" or "torchscript"
    notes: tuple[str, ...]


def split_inputs(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments and keyword arguments of a forward: a tensor, a sequence of arguments, or a dict of keywords."""
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    if isinstance(example_inputs, (list, tuple)):
        return tuple(example_inputs), {}
    if hasattr(example_inputs, "items"):  # a dict, and what tokenizers return
        return (), dict(example_inputs.items())
    raise UsageError(
        "example_inputs", f"they are of type {type(example_inputs).__name__}", "give a tensor, a tuple of arguments, or a dict of keyword arguments"
    )


def batch_of(inputs: Any) -> int | None:
    """The length of the first axis of the first tensor; of a list of samples its own."""
    samples = samples_of(inputs)
    if samples is not None:
        return len(samples)
    for leaf in _pytree.tree_leaves(inputs):
        if isinstance(leaf, torch.Tensor) and leaf.dim() > 0:
            return int(leaf.shape[0])
    return None


def _without_meta(value: Any) -> Any:
    return torch.zeros_like(value, device="cpu") if isinstance(value, torch.Tensor) and value.is_meta else value


def _doubled(value: Any) -> Any:
    return torch.cat([value, value]) if isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape[0] == 1 else value


def _with_two(inputs: Any) -> Any:
    """An exporter bakes lengths of 1 in, so an example of one becomes one of two."""
    return _pytree.tree_map(_doubled, inputs) if batch_of(inputs) == 1 else inputs


def _shapes(inputs: Any, batch: Any) -> Any:
    length = batch_of(inputs)
    return _pytree.tree_map(
        lambda t: ({0: batch} if t.dim() > 0 and t.shape[0] == length else {}) if isinstance(t, torch.Tensor) else None,
        inputs,
    )


def unwrapped(model: torch.nn.Module) -> tuple[torch.nn.Module, list[str]]:
    """The model inside of what other code put around it, and what that changes."""
    notes: list[str] = []
    while True:
        kind = f"{type(model).__module__}.{type(model).__qualname__}"
        if kind == "torch._dynamo.eval_frame.OptimizedModule":
            model = model._orig_mod  # type: ignore[assignment]
            notes.append("the model is compiled (torch.compile); the answer is for the model without it")
        elif kind == "torch.nn.parallel.data_parallel.DataParallel":
            model = model.module
            notes.append("the model is in DataParallel; the answer is for one card with the whole batch")
        elif kind == "torch.nn.parallel.distributed.DistributedDataParallel":
            model = model.module
            notes.append("the model is in DistributedDataParallel; its buckets of gradients are not in the answer")
        else:
            return model, notes


def main_output(out: Any) -> Any:
    """Of what a forward returns, what a loss is made of: a tensor, a tuple of tensors, or of a mapping (as transformers
    returns it) the loss if it has one, else the logits, else its first tensor."""
    if isinstance(out, torch.Tensor):
        return out
    out = plain(out)
    if hasattr(out, "items"):
        named = dict(out.items())
        for name in ("loss", "logits", "out"):
            if isinstance(named.get(name), torch.Tensor):
                return named[name]
    tensors = [leaf for leaf in _pytree.tree_leaves(out) if isinstance(leaf, torch.Tensor)]
    if not tensors:
        raise ExportError("model", "its forward returns no tensor")
    if isinstance(out, (list, tuple)) and all(isinstance(o, torch.Tensor) for o in out):
        return tuple(out)
    return tensors[0]


@contextlib.contextmanager
def _returning_main_output(model: torch.nn.Module) -> Iterator[None]:
    """The model's forward returns only what main_output takes, so that exporters need not flatten caches."""
    forward = model.forward
    had = "forward" in model.__dict__

    @functools.wraps(forward)
    def short(*args: Any, **kwargs: Any) -> Any:
        return main_output(forward(*args, **kwargs))

    model.forward = short  # type: ignore[method-assign]
    try:
        yield
    finally:
        if had:
            model.forward = forward  # type: ignore[method-assign]
        else:
            del model.forward


@contextlib.contextmanager
def _in_mode(model: torch.nn.Module, training: bool) -> Iterator[None]:
    """model.train() or model.eval() unless it is so already; afterwards every module is as it was."""
    was = {module: module.training for module in model.modules()}
    if model.training != training:
        model.train(training)
    try:
        yield
    finally:
        for module, mode in was.items():
            module.training = mode


@contextlib.contextmanager
def _off_meta(model: torch.nn.Module) -> Iterator[None]:
    """Tensors on the meta device become tensors of the host meanwhile, which exporters can handle. Nobody writes into
    parameters, so that the system gives them addresses and no memory."""
    made: dict[int, torch.Tensor] = {}
    was: list[tuple[dict[str, Any], str, torch.Tensor]] = []

    def on_host(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in made:
            if isinstance(tensor, torch.nn.Parameter):
                empty = torch.empty_like(tensor, device="cpu", requires_grad=False)
                made[id(tensor)] = torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
            else:
                made[id(tensor)] = torch.zeros_like(tensor, device="cpu")
        return made[id(tensor)]

    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None and tensor.is_meta:
                    was.append((tensors, name, tensor))
                    tensors[name] = on_host(tensor)
    try:
        yield
    finally:
        for tensors, name, tensor in was:
            tensors[name] = tensor


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # errors are raised, and told in one line
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


@contextlib.contextmanager
def _without_graphs() -> Iterator[None]:
    """The TorchScript exporter prints the graph that it did not take (torch/onnx/_internal/torchscript_exporter/utils.py,
    "Torch IR graph at exception"), to where PyTorch's C++ prints."""
    log = getattr(torch._C, "_jit_onnx_log", None)
    if log is not None:
        torch._C._jit_onnx_log = lambda *_: None  # type: ignore[assignment]
    try:
        yield
    finally:
        if log is not None:
            torch._C._jit_onnx_log = log


def _graph_inputs(program: Any, inputs: Any) -> list[Any]:
    kinds = torch.export.graph_signature.InputKind
    leaves = iter(_pytree.tree_leaves(inputs))
    values: list[Any] = []
    for spec in program.graph_signature.input_specs:
        if spec.kind == kinds.USER_INPUT:
            values.append(next(leaves))
        elif spec.target in program.state_dict:
            values.append(program.state_dict[spec.target])
        else:
            values.append(program.constants[spec.target])
    return values


def record_forward(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], program: Any
) -> dict[str, Any]:
    """What only a forward shows: lives in the names of `program`'s graph, checkpointed modules, custom functions."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    fake = functools.partial(
        _pytree.tree_map,
        lambda t: mode.from_tensor(t, static_shapes=True) if isinstance(t, torch.Tensor) else t,
    )
    with mode:
        fake_args, fake_kwargs = fake(args), fake(kwargs)
        with _facts.checkpointed_modules(model) as checkpointed, _facts.called_functions() as functions:
            code = _lives.record(lambda: model(*fake_args, **fake_kwargs))
        graph = _lives.record_graph(program.graph_module, fake(_graph_inputs(program, (fake_args, fake_kwargs))))
        lives = {"train" if model.training else "infer": _lives.lives(code, graph, program.graph_module)}
        if model.training:  # the same graph, as inference runs it
            with _in_mode(model, training=False):
                code = _lives.record(lambda: model(*fake_args, **fake_kwargs))
            lives["infer"] = _lives.lives(code, graph, program.graph_module)
    return {"lives": lives, "checkpointed": checkpointed, "functions": functions}


def _dynamo(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[str]]:
    """The exported program, with a batch that is free if that works."""
    batch = torch.export.Dim("batch", min=1, max=_MAX_BATCH)
    shapes = _shapes((args, kwargs), batch)
    tries: list[tuple[Any, str]] = [
        (shapes, ""),
        (None, "the model fixes its batch, so the batch of the example is baked in; vramplan scales it"),
    ]
    error: Exception | None = None
    for dynamic, note in tries:
        given = None
        if dynamic is not None:
            given = dynamic[0] if not kwargs else dynamic[1] if not args else None
            if given is None:
                continue
        try:
            with _quiet(), torch.no_grad() if not model.training else contextlib.nullcontext():
                program = torch.onnx.export(
                    model, args, kwargs=kwargs or None, dynamo=True, dynamic_shapes=given, verbose=False
                )
            return program, [note] if note else []
        except Exception as raised:  # whatever an exporter trips over; the last one is told
            error = raised
    raise ExportError("torch.onnx.export", first_line(error))


def first_line(error: BaseException | None) -> str:
    while error is not None and error.__cause__ is not None:  # the exporter's own errors are pages about how to use it
        error = error.__cause__
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"[:300]


def _drop_weights(model: Any) -> None:
    """Names, types and shapes stay; the bytes are not written, since vramplan never reads them."""
    from onnxscript import ir

    offset = 0
    for name, value in list(model.graph.initializers.items()):
        tensor = value.const_value
        if tensor is None or tensor.size <= 256:
            continue
        value.const_value = ir.ExternalTensor(
            "weights.bin", offset, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=name, base_dir=""
        )
        offset += tensor.nbytes


def _take_programs(
    model: torch.nn.Module,
    args: Any,
    kwargs: dict[str, Any],
    modes: tuple[str, ...],
    facts: dict[str, Any],
    capability: tuple[int, int] | None = None,
    criterion: Any = None,
    guesses: bool = False,
    autocast: bool = True,
    types: Types = Types(),
) -> list[str]:
    """Adds every call of the forward to the facts; what is to be told about that. Raises where the code does what no
    recording follows."""
    from . import _program

    told: list[str] = []
    paths: list[str] = []  # of checkpoints: code that trains has more of them
    facts["functions"] = []
    for mode in modes:
        with _quiet():
            programs, checkpointed, notes = _program.record_program(
                model, args, kwargs, batch_of((args, kwargs)) or 2, mode == "train", main_output,
                capability or _program.T4, criterion, guesses, autocast, types,
            )  # fmt: skip
        facts.setdefault("programs", {}).update({mode + ending: program for ending, program in programs.items()})
        paths += [path for path in checkpointed if path not in paths]
        facts["checkpointed"] = paths
        told += [note for note in notes if note not in told]
    return told


def record(
    model: torch.nn.Module,
    example_inputs: Any,
    path: str | os.PathLike[str],
    *,
    optimizer: Any = None,
    mode: str = "train",
    capability: tuple[int, int] | None = None,
    criterion: Any = None,
    guesses: bool = False,
    autocast: bool = True,
    types: Types = Types(),
) -> Exported:
    """Writes a file of the model's calls alone: no exporter runs, no weight is read, nothing is traced or folded. Takes
    about a second, and three of a transformer with 7 B parameters. capability: of the card, for code that asks; None: that
    of a T4. criterion: a `_forward.Criterion`, which is recorded behind the model. guesses: code may look at flags and
    numbers that only the data knows. autocast: somebody may ask about it (`_program.record_program`). types: of what is
    recorded (`_program.types_for`). Raises whatever the code raises on tensors without values; `export` remains then."""
    from . import _carrier

    inputs = split_inputs(example_inputs)
    single = batch_of(inputs) == 1
    facts = _facts.model_facts(model, optimizer, types.of)
    facts["mode"] = "train" if mode == "train" else "eval"

    def take(of: Any, loss: Any) -> list[str]:
        return _take_programs(model, *of, (mode,), facts, capability, loss, guesses, autocast, types)

    try:
        notes = take(_with_two(inputs), criterion.resized(_doubled) if single and criterion is not None else criterion)
    except StepError:
        if not single:
            raise
        notes = take(inputs, criterion)  # it may run with a batch of 1 alone, and the words are those of the caller's inputs
    _carrier.write(path, facts)
    return Exported(os.fspath(path), "program", tuple(notes))


def export(
    model: torch.nn.Module,
    example_inputs: Any,
    path: str | os.PathLike[str],
    *,
    optimizer: Any = None,
    mode: str | None = None,
    weights: bool = False,
) -> Exported:
    """Writes an ONNX file of `model` with the facts that ONNX has no place for (docs/facts.md).

    model: its `training` flag decides what is exported, unless `mode` ("train" or "infer") does.
    example_inputs: a tensor, a tuple of arguments, or a dict of keyword arguments of its forward. The first axis of
        the first tensor is the batch.
    optimizer: an optimizer or its class; the file then says which it is.
    weights: whether the weights' bytes are written too. vramplan does not read them.

    Raises ExportError when no exporter takes the model.
    """
    model, around = unwrapped(model)
    args, kwargs = split_inputs(example_inputs)
    args, kwargs = _with_two(_pytree.tree_map(_without_meta, (args, kwargs)))
    if importlib.util.find_spec("onnx") is None:  # onnxscript, which the dynamo exporter needs, brings it along
        raise MissingError("onnx", "PyTorch's exporters need it, and it is not installed", "pip install onnxscript")
    with _off_meta(model), _in_mode(model, training=model.training if mode is None else mode == "train"):
        try:
            exported = _export(model, args, kwargs, os.fspath(path), optimizer, weights)
        except (ExportError, OSError):
            raise
        except Exception as error:  # whatever an exporter trips over
            raise ExportError("model", f"no exporter takes it: {first_line(error)}") from error
    return dataclasses.replace(exported, notes=(*around, *exported.notes))


def _add_programs(model: Any, args: Any, kwargs: Any, facts: dict[str, Any], notes: list[str]) -> None:
    checkpointed = facts.get("checkpointed")
    functions = facts.get("functions")
    try:
        notes += _take_programs(model, args, kwargs, ("train", "infer") if model.training else ("infer",), facts)
    except Exception as error:
        notes.append(f"its calls were not recorded ({first_line(error)}), so the file's own operators count")
        facts.pop("programs", None)
        for name, was in (("checkpointed", checkpointed), ("functions", functions)):
            facts.pop(name, None)
            if was is not None:
                facts[name] = was


def _export(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], path: str, optimizer: Any, weights: bool
) -> Exported:
    facts = _facts.model_facts(model, optimizer)
    notes: list[str] = []
    try:
        with _returning_main_output(model):
            program, notes = _dynamo(model, args, kwargs)
    except ExportError as refused:
        notes.append(f"the dynamo exporter refused the model ({refused.text}), so the TorchScript exporter wrote the file")
        _add_programs(model, args, kwargs, facts, notes)
        _torchscript(model, args, kwargs, path, facts, weights, refused)
        return Exported(path, "torchscript", tuple(notes))
    try:
        with _quiet():
            facts.update(record_forward(model, args, kwargs, program.exported_program))
    except Exception as error:
        notes.append(f"how long tensors live was not recorded ({first_line(error)})")
    _add_programs(model, args, kwargs, facts, notes)
    if not weights:
        _drop_weights(program.model)
    program.model.metadata_props[_facts.KEY] = json.dumps(facts, separators=(",", ":"))
    _save(program, path, weights)
    return Exported(path, "dynamo", tuple(notes))


def _save(program: Any, path: str, weights: bool) -> None:
    if weights:
        program.save(path, external_data=True)
        return
    from onnxscript import ir

    ir.save(program.model, path)


def _torchscript(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    path: str,
    facts: dict[str, Any],
    weights: bool,
    refused: ExportError,
) -> None:
    import onnx

    mode = torch.onnx.TrainingMode.TRAINING if model.training else torch.onnx.TrainingMode.EVAL
    given: Any = (*args, kwargs) if kwargs else args
    try:
        with _quiet(), _without_graphs(), _returning_main_output(model):
            names = list(kwargs) if kwargs and not args else [f"input_{i}" for i in range(len(args))]
            axes = {name: {0: "batch"} for name in names}
            torch.onnx.export(
                model, given, path, dynamo=False, training=mode, do_constant_folding=False, opset_version=17,
                input_names=names, dynamic_axes=axes, verbose=False,
            )  # fmt: skip
    except Exception as error:
        raise ExportError("model", f"no exporter takes it: {refused.text}; {first_line(error)}") from error
    proto = onnx.load(path, load_external_data=False)
    if not weights:
        for tensor in proto.graph.initializer:
            if len(tensor.raw_data) > 1024:
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
                place = tensor.external_data.add()
                place.key, place.value = "location", "weights.bin"
    entry = proto.metadata_props.add()
    entry.key, entry.value = _facts.KEY, json.dumps(facts, separators=(",", ":"))
    onnx.save(proto, path)
