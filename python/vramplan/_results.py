"""Answers as plain objects. All sizes are bytes."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._binary import Answer


def _size(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"


@dataclasses.dataclass(frozen=True)
class Peak:
    """The highest moment of a step, in bytes."""

    requested: int
    """What tensors and library workspaces asked for: `memory_stats()["requested_bytes.all.peak"]`."""
    allocated: int
    """The blocks that they were given: `torch.cuda.max_memory_allocated()`."""
    reserved: int
    """The segments taken from the driver: `torch.cuda.max_memory_reserved()`."""
    device: int
    """What nvidia-smi shows: reserved, CUDA context and loaded kernels."""
    phase: str = ""
    """"forward", "recompute", "backward" or "update"."""
    node: str = ""
    """The layer whose allocation reaches the peak."""


@dataclasses.dataclass(frozen=True)
class Band:
    """Bytes on the device: at least, likely and at most."""

    low: int
    likely: int
    high: int


@dataclasses.dataclass(frozen=True)
class Note:
    """Something that vramplan went past and that a reader of the numbers must know."""

    code: str
    severity: str
    """"note" or "warning"."""
    subject: str
    text: str
    hint: str


@dataclasses.dataclass(frozen=True)
class Assumption:
    """What the input does not say, and the requested bytes of the peak if it is otherwise."""

    code: str
    text: str
    settle: str
    """What to type, or to do, so that nothing is assumed."""
    low: int
    likely: int
    high: int
    matters: bool


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """What all answers have."""

    text: str
    """What the command line prints."""
    json: dict[str, Any]
    """The answer of `--format json`, whole."""
    html: str
    """The page of `--format html`; empty: there is none."""
    notes: tuple[Note, ...]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<vramplan.{type(self).__name__}: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """The answer of `--format json`: sizes are integers in bytes."""
        return self.json

    @property
    def verdict(self) -> str:
        """The first line: the answer in a sentence."""
        return self.text.partition("\n")[0]

    def _rows(self) -> list[tuple[str, str]]:
        return []

    def _repr_html_(self) -> str:
        if self.html:  # in a frame of its own: its styles and its script are not the notebook's
            return (
                f"<p><b>{html.escape(self.verdict)}</b></p>"
                f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.verdict)}" sandbox="allow-scripts" '
                'style="width: 100%; height: 640px; resize: vertical; border: 1px solid #8884"></iframe>'
            )
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{html.escape(value)}</td></tr>"
            for name, value in self._rows()
        )
        table = f"<table>{rows}</table>" if rows else f"<pre>{html.escape(self.text)}</pre>"
        return f"<div><p><b>{html.escape(self.verdict)}</b></p>{table}</div>"


@dataclasses.dataclass(frozen=True, repr=False)
class Estimate(Result):
    """The peak at one batch."""

    batch: int
    peak: Peak
    device: Band
    categories: dict[str, int]
    """Bytes at the peak by what they are: parameters, activations, gradients ..."""
    assumptions: tuple[Assumption, ...]

    def _rows(self) -> list[tuple[str, str]]:
        return _peak_rows(self.peak, self.categories)


@dataclasses.dataclass(frozen=True, repr=False)
class Fit(Result):
    """Whether it fits on a card, and the largest batch that does."""

    fits: bool
    gpu: str
    usable: int
    """Bytes of the card that a program can get."""
    batch: int
    largest_batch: int | None
    """The largest batch that fits at the likely values; None where none does."""
    safe_batch: int | None
    """The largest batch that fits even at the high end of the band."""
    peak: Peak
    device: Band
    categories: dict[str, int]
    assumptions: tuple[Assumption, ...]

    def _rows(self) -> list[tuple[str, str]]:
        batches = [("largest batch", str(self.largest_batch)), ("safe batch", str(self.safe_batch))]
        return batches + _peak_rows(self.peak, self.categories)


@dataclasses.dataclass(frozen=True, repr=False)
class Plan(Result):
    """What to change so that a batch fits and the least time is lost."""

    fits: bool
    gpu: str
    batch: int
    """The micro-batch of the plan."""
    accumulate: int
    precision: str
    optimizer_impl: str
    checkpoint: tuple[str, ...]
    """Paths of the modules that the plan checkpoints."""
    peak: Peak | None
    overhead: float
    """The share of a step's time that recomputing takes."""
    code: str
    """A Python module that applies the plan; empty where none was found."""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("batch", str(self.batch)), ("accumulate", str(self.accumulate)), ("precision", self.precision)]
        rows.append(("checkpointed modules", str(len(self.checkpoint))))
        return rows + (_peak_rows(self.peak, {}) if self.peak else [])


@dataclasses.dataclass(frozen=True, repr=False)
class Inspection(Result):
    """What a file says."""

    parameters: int
    """Numbers, not bytes."""
    parameter_bytes: int
    trained_parameters: int
    buffer_bytes: int
    inputs: tuple[str, ...]
    producer: str

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("parameters", f"{self.parameters:,}"),
            ("trained", f"{self.trained_parameters:,}"),
            ("bytes of parameters", _size(self.parameter_bytes)),
            ("bytes of buffers", _size(self.buffer_bytes)),
            ("inputs", ", ".join(self.inputs)),
        ]


@dataclasses.dataclass(frozen=True, repr=False)
class Run(Result):
    """What a script took on a card that is not there."""

    fits: bool
    gpu: str
    steps: int
    peak: Peak
    device: Band
    largest: int | None
    """Of largest="batch=1:512": the largest value with which the script runs."""

    def _rows(self) -> list[tuple[str, str]]:
        return _peak_rows(self.peak, {})


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation(Result):
    """Why memory ran out."""

    cause: str
    """"fragmentation", "others", "too-large", ...: docs/oom.md."""
    message: dict[str, Any]
    """What the message says, in bytes."""


@dataclasses.dataclass(frozen=True, repr=False)
class Sweep(Result):
    """Many answers, and how the memory grows."""

    axes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    """Each with its values and its bytes at four levels."""
    laws: tuple[dict[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class Named:
    """A model that is known by its name."""

    name: str
    source: str
    of_class: str
    parameters: int


def _peak_rows(peak: Peak, categories: dict[str, int]) -> list[tuple[str, str]]:
    rows = [(f"peak, {level}", _size(getattr(peak, level))) for level in ("requested", "allocated", "reserved", "device")]
    return rows + [(name.replace("_", " "), _size(count)) for name, count in categories.items() if count > 0]


def _peak(json: dict[str, Any]) -> Peak:
    return Peak(**{f.name: json[f.name] for f in dataclasses.fields(Peak) if f.name in json})


def _band(json: dict[str, Any]) -> Band:
    return Band(json["low"], json["likely"], json["high"])


def _notes(json: dict[str, Any], more: tuple[str, ...]) -> tuple[Note, ...]:
    notes = [Note(**{f.name: note.get(f.name, "") for f in dataclasses.fields(Note)}) for note in json.get("notes", [])]
    return (*(Note("export", "note", "model", text, "") for text in more), *notes)


def _assumptions(json: dict[str, Any]) -> tuple[Assumption, ...]:
    return tuple(
        Assumption(a["code"], a["text"], a["settle"], **a["requested"], matters=a["matters"])
        for a in json.get("assumptions", [])
    )


def _common(answer: Answer, more: tuple[str, ...]) -> dict[str, Any]:
    return {"text": answer.text, "json": answer.json, "html": answer.html, "notes": _notes(answer.json, more)}


def peak_of_run(json: dict[str, Any]) -> Peak:
    peak = json["peak"]
    return Peak(peak["requested"], peak["allocated"], peak["reserved"], peak["device"]["likely"], peak["phase"])


def estimate_of(answer: Answer, more: tuple[str, ...] = ()) -> Estimate:
    json = answer.json
    return Estimate(
        **_common(answer, more), batch=json["batch"], peak=_peak(json["peak"]), device=_band(json["device"]),
        categories=dict(json["categories"]), assumptions=_assumptions(json),
    )  # fmt: skip


def fit_of(answer: Answer, more: tuple[str, ...] = ()) -> Fit:
    json = answer.json
    return Fit(
        **_common(answer, more), fits=json["verdict"] == "fits", gpu=json["gpu"]["name"],
        usable=json["gpu"]["usable_bytes"], batch=json["batch"], largest_batch=json["largest_batch"],
        safe_batch=json["safe_batch"], peak=_peak(json["peak"]), device=_band(json["device"]),
        categories=dict(json["categories"]), assumptions=_assumptions(json),
    )  # fmt: skip


def plan_of(answer: Answer, more: tuple[str, ...] = ()) -> Plan:
    json = answer.json
    chosen = json["chosen"] or {}
    return Plan(
        **_common(answer, more), fits=json["verdict"] == "fits", gpu=json["gpu"]["name"],
        batch=chosen.get("batch", 0), accumulate=chosen.get("accumulate", 1), precision=chosen.get("precision", ""),
        optimizer_impl=chosen.get("optimizer_impl", ""), checkpoint=tuple(chosen.get("checkpoint", ())),
        peak=_peak(chosen["peak"]) if chosen else None, overhead=chosen.get("overhead", 0.0), code=answer.code,
    )  # fmt: skip


def inspection_of(answer: Answer, more: tuple[str, ...] = ()) -> Inspection:
    json = answer.json
    return Inspection(
        **_common(answer, more), parameters=json["parameters"], parameter_bytes=json["parameter_bytes"],
        trained_parameters=json["trained_parameters"], buffer_bytes=json["buffer_bytes"],
        inputs=tuple(one["name"] for one in json["inputs"]), producer=json["producer"],
    )  # fmt: skip


def run_of(answer: Answer) -> Result:
    json = answer.json
    if "peak" not in json:  # vary=..., gpus="1,2,4": many runs
        return Result(**_common(answer, ()))
    peak = json["peak"]
    search = json.get("largest") or {}
    return Run(
        **_common(answer, ()), fits=json["oom"] is None and json["verdict"] != "does not fit",
        gpu=(json["gpu"] or {}).get("name", ""), steps=len(json["steps"]), peak=peak_of_run(json),
        device=_band(peak["device"]), largest=search.get("largest"),
    )  # fmt: skip


def explanation_of(answer: Answer) -> Explanation:
    return Explanation(**_common(answer, ()), cause=answer.json["cause"], message=answer.json["message"])


def sweep_of(answer: Answer, more: tuple[str, ...] = ()) -> Sweep:
    json = answer.json
    return Sweep(**_common(answer, more), axes=tuple(json["axes"]), rows=tuple(json["rows"]), laws=tuple(json["laws"]))
