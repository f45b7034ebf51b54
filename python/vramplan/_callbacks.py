"""What both callbacks do: the verdict before the first step, the observed peak behind the last."""

from __future__ import annotations

import sys
from typing import Any

from . import _ask
from ._errors import VramplanError


class Verdict:
    """Says it once, to stderr. An error is said too, and stops nothing: a callback never ends a training."""

    def __init__(self, gpu: str, question: dict[str, Any]) -> None:
        self.gpu, self.question = gpu, dict(question)
        self.said = False
        self.predicted: int | None = None

    def say(self, model: Any, inputs: Any) -> None:
        from ._exporting import batch_of

        self.said = True
        try:
            fit = _ask.fit(model, inputs, gpu=self.gpu, batch=batch_of(inputs), **self.question)
        except VramplanError as error:
            self._print(str(error))
            return
        self.predicted = fit.peak.allocated
        self._print(fit.verdict)

    def say_observed(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available() or self.predicted is None:
            return
        seen = torch.cuda.max_memory_allocated()
        self._print(f"{seen} bytes were allocated at the peak, {self.predicted} were predicted")

    @staticmethod
    def _print(line: str) -> None:
        print(f"vramplan: {line}", file=sys.stderr)
