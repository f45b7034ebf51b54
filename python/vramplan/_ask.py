"""`fit`, `estimate`, `plan`, `sweep` and `inspect`: of a path, of a name or of a model."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence, Union

from . import _arguments, _binary, _results
from ._arguments import is_path
from ._errors import ExportError, MissingError, UsageError, VramplanError

if TYPE_CHECKING:
    import torch

    Model = Union[str, os.PathLike[str], torch.nn.Module]

# Losses by their class in torch.nn.modules.loss, with the names of --loss.
_LOSSES = {
    "CrossEntropyLoss": "cross-entropy",
    "MSELoss": "mse",
    "L1Loss": "l1",
    "SmoothL1Loss": "smooth-l1",
    "HuberLoss": "huber",
    "BCELoss": "bce",
    "BCEWithLogitsLoss": "bce-logits",
    "NLLLoss": "nll",
    "KLDivLoss": "kl-div",
    "SoftMarginLoss": "soft-margin",
    "CosineEmbeddingLoss": "cosine-embedding",
    "TripletMarginLoss": "triplet-margin",
}
# Functions of torch.nn.functional.
_LOSS_FUNCTIONS = {
    "cross_entropy": "cross-entropy",
    "mse_loss": "mse",
    "l1_loss": "l1",
    "smooth_l1_loss": "smooth-l1",
    "huber_loss": "huber",
    "binary_cross_entropy": "bce",
    "binary_cross_entropy_with_logits": "bce-logits",
    "nll_loss": "nll",
    "kl_div": "kl-div",
    "soft_margin_loss": "soft-margin",
    "cosine_embedding_loss": "cosine-embedding",
    "triplet_margin_loss": "triplet-margin",
}
_NEWEST = (2, 15)  # that the model of the allocator knows


def _check_inputs(example_inputs: Any) -> None:
    from ._exporting import split_inputs

    if example_inputs is None:
        raise UsageError("example_inputs", "a model needs some", "give a tensor, a tuple of arguments, or a dict")
    arguments, keywords = split_inputs(example_inputs)
    if not all(isinstance(name, str) for name in keywords):
        raise UsageError("example_inputs", "their keys are not names", "give a dict of the forward's keyword arguments")
    if arguments and all(type(one) is int for one in arguments):
        shape = ", ".join(map(str, arguments))
        raise UsageError("example_inputs", "they are numbers, which may be a shape", f"give torch.zeros({shape})")


def _loss_name(loss: Any) -> str:
    if isinstance(loss, str):
        return loss
    name = _LOSSES.get(loss.__name__ if isinstance(loss, type) else type(loss).__name__) or _LOSS_FUNCTIONS.get(getattr(loss, "__name__", ""))
    if name == "cross-entropy" and getattr(loss, "label_smoothing", 0) > 0:
        name = "cross-entropy-smoothed"
    if name == "kl-div" and getattr(loss, "log_target", False):
        name = "kl-div-log-target"
    if name is None:
        raise UsageError("loss", f"{loss!r} is not a loss of torch.nn that vramplan knows", "give its target, too, or the name that --loss takes")
    return name


def _optimizer_arguments(optimizer: Any) -> list[str]:
    if isinstance(optimizer, str):
        return ["--optimizer", optimizer]
    from ._facts import optimizer_facts

    told = optimizer_facts(optimizer)
    if told is None:
        raise UsageError(
            "optimizer", f"{optimizer!r} is not one that vramplan knows", "give the name that --optimizer takes"
        )
    arguments = ["--optimizer", told["name"]]
    for name, flag in (("weight_decay", "--weight-decay"), ("momentum", "--momentum"), ("impl", "--optimizer-impl")):
        if name in told:
            arguments += [flag, str(told[name])]
    return arguments


def _framework() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    return f"pytorch@{major}.{min(minor, _NEWEST[1])}" if major == _NEWEST[0] else None


def cards_of(gpu: str | Sequence[str] | None) -> str | None:
    """As --gpu takes them."""
    return gpu if gpu is None or isinstance(gpu, str) else ",".join(gpu)


def arguments_of(
    *,
    is_model: bool,
    gpu: str | Sequence[str] | None = None,
    batch: int | None = None,
    mode: str | None = None,
    precision: str | None = None,
    optimizer: Any = None,
    loss: Any = None,
    checkpoint: Sequence[str] = (),
    options: dict[str, Any] | None = None,
) -> list[str]:
    """The command line behind the file."""
    arguments: list[str] = []
    cards = cards_of(gpu)
    for flag, value in (("--gpu", cards), ("--batch", batch), ("--mode", mode), ("--precision", precision)):
        if value is not None:
            arguments += [flag, str(value).removeprefix("torch.")]
    if optimizer is not None and mode in (None, "train"):
        arguments += _optimizer_arguments(optimizer)
    if loss is not None:
        arguments += ["--loss", _loss_name(loss)]
        asked = mode or (options or {}).get("mode")
        if getattr(loss, "reduction", "mean") == "none" and asked in (None, "train"):
            stops = "grad can be implicitly created only for scalar outputs"
            hint = "leave reduction out; or give its target, too: loss=lambda output, target: ..., which makes one number of it"
            raise UsageError("loss", f'with reduction="none" it gives a number for each item, and PyTorch stops: {stops}', hint)
    for module in [checkpoint] if isinstance(checkpoint, str) else checkpoint or ():
        arguments += ["--checkpoint", module]
    given = dict(options or {})
    if is_model and "framework" not in given and (framework := _framework()) is not None:
        given["framework"] = framework
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif isinstance(value, dict):  # dim={"sequence": 512}
            for one, of in value.items():
                arguments += [flag, f"{one}={of}"]
        elif isinstance(value, _arguments.LISTS):
            for one in value:
                arguments += [flag, str(one)]
        elif value is not False and value is not None:
            arguments += [flag, str(value)]
    return arguments


def _capability_of(gpu: str | None) -> tuple[int, int] | None:
    """Of a card of the catalogue; None: no single one is named."""
    if not isinstance(gpu, str) or gpu in ("all", "auto") or "," in gpu:
        return None
    cards = _binary.ask_json(["gpus", str(gpu)])["cards"]
    alike = [card["id"] for card in cards if gpu.lower() in card["aliases"]]
    if len(alike) > 1:  # told before the model is recorded, which may take seconds
        raise UsageError("gpu", f'"{gpu}" is ambiguous: it can be {", ".join(alike[:-1])} or {alike[-1]}', f'give gpu="{alike[0]}"')
    major, _, minor = str(cards[0]["capability"]).partition(".")
    return int(major), int(minor)


def _may_ask_autocast(model: Any, precision: Any, options: dict[str, Any]) -> bool:
    """False of a model in halves that is asked about as it is: no other precision is compared then."""
    from ._program import type_in_halves

    own = str(type_in_halves(model)).removeprefix("torch.")
    as_it_is = own in ("bfloat16", "float16") and precision in (None, {"bfloat16": "bf16", "float16": "fp16"}[own])
    return not as_it_is or "precision" in str(options.get("over", "")) or "framework" in options


def _types_for(model: Any, precision: Any, options: dict[str, Any]) -> Any:
    from ._program import Types, types_for

    several = "precision" in str(options.get("over", ""))
    return Types() if several or "framework" in options else types_for(model, precision)


def _by_no_way(recording: ExportError, exporting: ExportError) -> ExportError:
    """Why there is no answer: the model is neither recorded nor exported."""
    hint = "see whether the model runs on these inputs; vramplan run measures a script that does"
    if not isinstance(exporting, MissingError):
        return ExportError("model", f"{recording.text}, and no exporter takes it", hint)
    hint = f"see whether the model runs on these inputs; if it does, {exporting.hint}, or vramplan run"
    return ExportError("model", f"{recording.text}; and {exporting.subject} is not installed, so nothing exports it", hint)


@contextlib.contextmanager
def _file(
    model: Any,
    example_inputs: Any,
    optimizer: Any,
    mode: str | None,
    gpu: str | Sequence[str] | None = None,
    exported: bool = False,
    recorded: bool = False,
    criterion: Any = None,
    guesses: bool = False,
    precision: Any = None,
    options: dict[str, Any] | None = None,
) -> Iterator[tuple[Callable[..., _binary.Answer], tuple[str, ...]]]:
    """What answers a command line about a model (verb, options), and what its export had to say. exported: operators of
    ONNX are wanted. recorded: nothing but its calls is."""

    def about(path: str, verb: str, arguments: Sequence[str], private: str = "") -> _binary.Answer:
        return _binary.answer([verb, path, *arguments], private=private)

    if is_path(model):
        if example_inputs is not None:
            raise UsageError("example_inputs", "a name or a file needs none", "leave it out")
        yield functools.partial(about, os.fspath(model)), ()
        return
    _check_inputs(example_inputs)
    from ._calls import NotRecorded, ValuesDecide, place_of
    from ._exporting import export, first_line, record, split_inputs, unwrapped
    from ._mistakes import unlike_the_forward

    model, around = unwrapped(model)
    with tempfile.TemporaryDirectory(prefix="vramplan") as folder:
        path = os.path.join(folder, type(model).__name__)  # what the verdict calls it
        known = optimizer if optimizer is not None and not isinstance(optimizer, str) else None
        asked = "infer" if mode in ("infer", "eval") else "train"
        card = None if exported else _capability_of(gpu)
        try:
            if exported:
                raise ExportError("model", "its operators are asked about")
            autocast = _may_ask_autocast(model, precision, options or {})
            types = _types_for(model, precision, options or {})
            if types.floating is not None:
                around.append(f"asked about in {precision}: the answer is for the model and its inputs cast to that type")
            of_model = functools.partial(
                record, model, example_inputs, path, optimizer=known, mode=asked, capability=card, autocast=autocast, types=types
            )
            try:
                notes = of_model(criterion=criterion, guesses=guesses).notes
            except ValuesDecide:
                if recorded:
                    raise
                notes = of_model(criterion=criterion, guesses=True).notes
        except UsageError:
            raise
        except Exception as error:  # whatever the code does that tensors without values cannot follow
            if (wrong := unlike_the_forward(error, model, *split_inputs(example_inputs))) is not None:
                raise wrong from error
            why = str(error) if isinstance(error, NotRecorded) else first_line(error)
            if place := place_of(error):
                why += f", at {place}"
            refused = ExportError("model", f"its calls cannot be recorded: {why}")
            if recorded:
                raise refused from error
            try:
                notes = export(model, example_inputs, path, optimizer=known, mode=asked).notes
            except ExportError as last:
                if exported:
                    raise
                raise _by_no_way(refused, last) from error
        yield functools.partial(about, path, private=folder), (*around, *notes)


def _of_script(
    verb: str, model: Any, example_inputs: Any, question: dict[str, Any], batch: int | None, more: bool, refused: VramplanError
) -> Any:
    """What a script that runs the model answers. Raises `refused` where there can be none."""
    if more or is_path(model):  # options that a script would have to be told in its own way
        raise refused
    from . import _script
    from ._exporting import batch_of, split_inputs, unwrapped

    model, _ = unwrapped(model)
    with tempfile.TemporaryDirectory(prefix="vramplan") as folder:
        length = batch_of(example_inputs) or 1
        command = _script.command_of(folder, model, split_inputs(example_inputs), length, question, refused)
        return getattr(_script, verb)(command, batch or length, question, refused)


def _check_target(example_inputs: Any, target: Any) -> None:
    """Whether something of it grows with the batch: a label for each sample, or for each of its tokens."""
    from torch.utils import _pytree

    from ._exporting import batch_of
    from ._forward import samples_of

    batch = batch_of(example_inputs)
    lengths = [leaf.shape[0] for leaf in _pytree.tree_leaves(target) if getattr(leaf, "shape", ())]
    if not batch or not lengths or samples_of(example_inputs) is not None:
        return
    of_samples = isinstance(target, (list, tuple)) and len(target) == batch
    if not of_samples and all(length % batch for length in lengths):
        told = " and ".join(map(str, sorted(set(lengths))))
        raise UsageError("target", f"its first axis is {told} long, and the batch of example_inputs is {batch}", "give both the same batch")


def _criterion(model: Any, loss: Any, target: Any, example_inputs: Any) -> Any:
    if is_path(model):
        raise UsageError("target", "a file's loss is known by its name alone", "leave it out")
    if loss is None or isinstance(loss, (str, type)) or not callable(loss):
        raise UsageError("target", "it is what a loss is called with", "give loss=torch.nn.functional.cross_entropy")
    from ._forward import Criterion

    _check_target(example_inputs, target)
    return Criterion(loss, target)


def _of_step(
    verb: str,
    model: Model,
    example_inputs: Any,
    question: dict[str, Any],
    batch: int | None,
    checkpoint: Sequence[str],
    options: dict[str, Any],
    target: Any = None,
) -> Any:
    """What "fit" or "estimate" answers: of the recorded calls; where they cannot be recorded, of a script that runs the
    model; where that cannot be, of calls with guesses for the values that the code looks at, and of an exported file. question: gpu, mode, precision, optimizer and loss, as the caller gave them."""
    criterion = None if target is None else _criterion(model, question["loss"], target, example_inputs)
    known = functools.partial(
        arguments_of, is_model=not is_path(model), batch=batch, checkpoint=checkpoint, options=options
    )
    script = functools.partial(_of_script, verb, model, example_inputs, {**question, "target": target}, batch)
    try:
        arguments = known(**question if criterion is None else {**question, "loss": "none"})
    except UsageError as unknown:
        if isinstance(question["optimizer"], str) or unknown.subject != "optimizer":
            raise
        with contextlib.suppress(VramplanError):
            return script(bool(checkpoint or options), unknown)  # PyTorch knows it
        raise
    read = {"fit": _results.Fit, "estimate": _results.Estimate}[verb]
    file = functools.partial(
        _file, model, example_inputs, question["optimizer"], question["mode"], question["gpu"],
        precision=question["precision"], options=options,
    )  # fmt: skip
    try:
        with file(recorded=True, criterion=criterion) as (about, notes):
            return read(about(verb, arguments), notes)
    except ExportError as error:
        refused = error
        # The model itself knows more than what an exporter makes of it.
        with contextlib.suppress(VramplanError):
            return script(bool(checkpoint or options), refused)
        with contextlib.suppress(ExportError), file(recorded=True, criterion=criterion, guesses=True) as (about, notes):
            return read(about(verb, arguments), notes)
        try:
            arguments = known(**question)  # nobody recorded the loss
        except UsageError as unknown:
            why = f"{refused.text}, so the loss, which is not one of torch.nn, cannot be recorded either"
            raise ExportError("model", why, "give the name that --loss takes") from unknown
    try:
        with file(exported=True) as (about, notes):
            told = f"{refused.text}; so the answer is for the operators of an exported file"
            return read(about(verb, arguments), (told, *notes))
    except ExportError as error:
        raise _by_no_way(refused, error) from error


@_arguments.checked()
def fit(
    model: Model,
    example_inputs: Any = None,
    *,
    gpu: str | Sequence[str] | None = None,
    batch: int | None = None,
    mode: str | None = None,
    precision: str | None = None,
    optimizer: Any = None,
    loss: Any = None,
    target: Any = None,
    checkpoint: Sequence[str] = (),
    **options: Any,
) -> _results.Fit:
    """Whether a model trains (or infers) on a card, and with which largest batch.

    model: a name ("llama-3.1-8b", `vramplan.models()`), the path of a file, or a `torch.nn.Module` on any device, meta too.
    example_inputs: of a module: a tensor, a tuple of arguments, or a dict of keyword arguments. The first axis of the
        first tensor is the batch; its length does not matter.
    gpu: a card of `vramplan gpus`, such as "t4", several, or "all"; else gpu_memory="14.56GiB".
    batch: samples in a micro-batch; None: 1, and the largest is searched in any case.
    mode: "train", "infer", or "eval" (evaluation without no_grad). None: "train".
    precision: "fp32", "amp-fp16", "amp-bf16", "bf16" ...
    optimizer: its name, its class, or an optimizer.
    loss: its name, a loss of torch.nn, or a function of torch.nn.functional; with `target`, anything that can be
        called as loss(output, target).
    target: what the loss is given beside the output, as long as the batch of example_inputs: a tensor, or a tree of them.
        The loss is then recorded as the model is.
    checkpoint: paths of checkpointed modules.
    options: any other option of `vramplan fit`, with underscores: `accumulate=4`, `lora=16`, `dim={"sequence": 512}`.
    """
    question = {"gpu": gpu, "mode": mode, "precision": precision, "optimizer": optimizer, "loss": loss}
    return _of_step("fit", model, example_inputs, question, batch, checkpoint, options, target)


@_arguments.checked()
def estimate(
    model: Model,
    example_inputs: Any = None,
    *,
    gpu: str | Sequence[str] | None = None,
    batch: int | None = None,
    mode: str | None = None,
    precision: str | None = None,
    optimizer: Any = None,
    loss: Any = None,
    target: Any = None,
    checkpoint: Sequence[str] = (),
    **options: Any,
) -> _results.Estimate:
    """The peak of a step at one batch, in bytes at four levels. The arguments are those of `fit`; `batch` is that of
    `example_inputs` unless it is given, and 1 of a file."""
    if batch is None and example_inputs is not None and not is_path(model):
        from ._exporting import batch_of

        batch = batch_of(example_inputs)
    question = {"gpu": gpu, "mode": mode, "precision": precision, "optimizer": optimizer, "loss": loss}
    return _of_step("estimate", model, example_inputs, question, batch, checkpoint, options, target)


def _modules_of(model: Any) -> tuple[str, ...]:
    """Their names, without what other code put around the model; of a name or a file none."""
    if is_path(model):
        return ()
    from ._exporting import unwrapped

    return tuple(name for name, _ in unwrapped(model)[0].named_modules() if name)


@_arguments.checked()
def plan(
    model: Model,
    example_inputs: Any = None,
    *,
    gpu: str | Sequence[str] | None = None,
    batch: int | None = None,
    optimizer: Any = None,
    loss: Any = None,
    emit: str = "pytorch",
    **options: Any,
) -> _results.Plan:
    """What to change so that `batch` fits on a card: precision, accumulation, checkpointed modules. `apply` does it.
    The arguments are those of `fit`. emit: what `Plan.code` is, as of --emit: "hf", "sft", "deepspeed", ..."""
    arguments = arguments_of(
        is_model=not is_path(model), gpu=gpu, batch=batch, optimizer=optimizer, loss=loss, options=options
    )
    precision = options.get("precision")
    with _file(model, example_inputs, optimizer, "train", gpu, precision=precision, options=options) as (about, notes):
        return _results.Plan(about("plan", [*arguments, "--emit", emit]), notes, emit=emit, modules=_modules_of(model))


def _axes_of(over: str | dict[str, Any] | Sequence[str]) -> list[str]:
    """As --over takes them. {"batch": "1:64:x2"} is as it is typed, and {"batch": 4} one value."""
    if not isinstance(over, dict):
        return [over] if isinstance(over, str) else list(over)
    typed = lambda one: str(one).removeprefix("torch.")
    of = lambda values: typed(values) if not isinstance(values, _arguments.LISTS) else ",".join(map(typed, values))
    return [f"{name}={of(values)}" for name, values in over.items()]


@_arguments.checked()
def sweep(
    model: Model,
    example_inputs: Any = None,
    *,
    over: str | dict[str, Any] | Sequence[str],
    gpu: str | Sequence[str] | None = None,
    optimizer: Any = None,
    loss: Any = None,
    **options: Any,
) -> _results.Sweep:
    """How the memory grows. over: what changes: {"batch": [1, 2, 4], "precision": ["fp32", "amp-bf16"]}, or as it is typed,
    "batch=1:64:x2". The other arguments are those of `fit`."""
    told = {"over": _axes_of(over), **options}
    arguments = arguments_of(is_model=not is_path(model), gpu=gpu, optimizer=optimizer, loss=loss, options=told)
    asked = functools.partial(_file, precision=options.get("precision"), options=told)
    with asked(model, example_inputs, optimizer, options.get("mode"), gpu) as (about, notes):
        return _results.Sweep(about("sweep", arguments), notes)


@_arguments.checked()
def inspect(model: Model, example_inputs: Any = None, **options: Any) -> _results.Inspection:
    """What the file of a model says: inputs, parameters, operators."""
    with _file(model, example_inputs, None, None, exported=True) as (about, notes):
        return _results.Inspection(about("inspect", arguments_of(is_model=False, options=options)), notes)
