"""Answers as objects. What the program says is described once, in its own sources: every member of an answer's JSON
(docs/schemas/fit.schema.json for `Fit`, with what it means) is an attribute here. All sizes are bytes."""

from __future__ import annotations

import copy
import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._binary import Answer


class Record(dict):
    """An object of the JSON, whose members are attributes, too: `fit.peak.requested`."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"no member {name!r}; there are {', '.join(self)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def _read(json: Any) -> Any:
    if isinstance(json, dict):
        return Record({name: _read(value) for name, value in json.items()})
    return tuple(_read(one) for one in json) if isinstance(json, list) else json


def _size(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"


class Result:
    """What all answers have, beside the members of their JSON."""

    text: str
    """What the command line prints."""
    json: dict[str, Any]
    """The answer of `--format json`, whole."""
    html: str
    """The page of `--format html`; empty: there is none."""
    code: str
    """What --emit gives: of `plan`, a Python module that applies it; empty where no plan was found."""
    notes: tuple[Record, ...]
    """What vramplan went past and a reader of the numbers must know: code, severity, subject, text, hint."""

    def __init__(self, answer: Answer, more: tuple[str, ...] = (), **members: Any) -> None:
        self.text, self.json, self.html, self.code = answer.text, answer.json, answer.html, answer.code
        exported = [{"code": "export", "severity": "note", "subject": "model", "text": text, "hint": ""} for text in more]
        notes = _read([*exported, *answer.json.get("notes", [])])
        self._members = {**_read(answer.json), **self._named(answer.json), "notes": notes, **members}

    @staticmethod
    def _named(json: dict[str, Any]) -> dict[str, Any]:
        """Members under plainer names than in the JSON."""
        return {}

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__.get("_members", {})
        if name in members:
            return members[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(members)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._members]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<vramplan.{type(self).__name__}: {self.verdict}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (other.json, other.text) == (self.json, self.text)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """The answer of `--format json`: sizes are integers in bytes."""
        return copy.deepcopy(self.json)

    @property
    def verdict(self) -> str:
        """The first line: the answer in a sentence."""
        return self.text.partition("\n")[0]

    def _rows(self) -> list[tuple[str, str]]:
        peak, categories = self._members.get("peak"), self._members.get("categories", {})
        levels = ("requested", "allocated", "reserved", "device") if peak else ()
        rows = [(f"peak, {level}", _size(peak[level])) for level in levels if isinstance(peak[level], int)]
        return rows + [(name.replace("_", " "), _size(count)) for name, count in categories.items() if count > 0]

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


class Estimate(Result):
    """The peak at one batch: batch, peak, device, categories, assumptions, layers ..."""


def _of_card(json: dict[str, Any]) -> dict[str, Any]:
    gpu = json.get("gpu") or {}
    # As the exit code of the command line: what is tight fits, at the likely values.
    judged = {"fits": json["verdict"] != "does-not-fit", "tight": json["verdict"] == "tight"}
    return {**judged, "gpu": gpu.get("name", ""), "usable": gpu.get("usable_bytes", 0)}


class Fit(Result):
    """Whether it fits on a card, and the largest batch that does: fits, tight (it fits at the likely values alone), gpu and
    usable (the card's name and bytes), batch, largest_batch, safe_batch, peak, device, categories, assumptions, ladder ..."""

    _named = staticmethod(_of_card)

    def _rows(self) -> list[tuple[str, str]]:
        return [("largest batch", str(self.largest_batch)), ("safe batch", str(self.safe_batch)), *super()._rows()]


class Plan(Result):
    """What to change so that a batch fits and the least time is lost. The members of the chosen plan are the plan's own:
    batch, accumulate, precision, optimizer_impl, checkpoint, peak, overhead. emit: what `code` is of. modules: the names of
    the model's modules; of a name or a file none."""

    @staticmethod
    def _named(json: dict[str, Any]) -> dict[str, Any]:
        nothing = {"batch": 0, "accumulate": 1, "precision": "", "optimizer_impl": "", "checkpoint": (), "peak": None, "overhead": 0.0}
        return {**_of_card(json), **(_read(json["chosen"]) or nothing)}

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("batch", str(self.batch)), ("accumulate", str(self.accumulate)), ("precision", self.precision)]
        return [*rows, ("checkpointed modules", str(len(self.checkpoint))), *super()._rows()]


class Inspection(Result):
    """What a file says: parameters (numbers), parameter_bytes, trained_parameters, buffer_bytes, inputs (their names) ..."""

    @staticmethod
    def _named(json: dict[str, Any]) -> dict[str, Any]:
        return {"inputs": tuple(one["name"] for one in json["inputs"])}

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("parameters", f"{self.parameters:,}"),
            ("trained", f"{self.trained_parameters:,}"),
            ("bytes of parameters", _size(self.parameter_bytes)),
            ("bytes of buffers", _size(self.buffer_bytes)),
            ("inputs", ", ".join(self.inputs)),
        ]


def peak_of_run(json: dict[str, Any]) -> dict[str, Any]:
    """The peak as `estimate` writes it, and how sure its bytes on the device are."""
    peak = _read(json["peak"])
    return {"peak": Record({**peak, "device": peak.device.likely}), "device": peak.device}


class Run(Result):
    """What a script took on a pretend card: fits, gpu, peak, device, oom; steps, how many it ran; largest: of
    largest="batch=1:512", the largest value with which it runs."""

    @staticmethod
    def _named(json: dict[str, Any]) -> dict[str, Any]:
        fits = json["oom"] is None and json["verdict"] != "does-not-fit"
        largest = (json.get("largest") or {}).get("largest")
        return {**_of_card(json), **peak_of_run(json), "fits": fits, "steps": len(json["steps"]), "largest": largest}


class Explanation(Result):
    """Why memory ran out: cause ("fragmentation", "others", "full", ...: docs/oom.md), message ..."""


class Sweep(Result):
    """Many answers, and how the memory grows: axes, rows, laws."""


def run_of(answer: Answer) -> Result:
    # vary=..., gpus="1,2,4": many runs, which have no one peak.
    return Run(answer) if "peak" in answer.json else Result(answer)
