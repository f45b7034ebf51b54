"""A callback of Lightning that says before the first step whether it will fit.

    trainer = Trainer(callbacks=[vramplan.lightning.MemoryVerdict(gpu="t4", loss="cross-entropy")])
"""

from __future__ import annotations

from typing import Any

from ._callbacks import Verdict

try:
    from lightning.pytorch import Callback
except ImportError:  # the package's name before 2.0
    from pytorch_lightning import Callback  # type: ignore[no-redef]

_PRECISIONS = {
    "16-mixed": "amp-fp16",
    "bf16-mixed": "amp-bf16",
    "16-true": "fp16",
    "bf16-true": "bf16",
    "32-true": "fp32",
    "64-true": "fp64",
}


class MemoryVerdict(Callback):
    """Prints the verdict when the first batch is there, and behind the last step the peak that was seen, if there is a
    card. The arguments are those of `vramplan.fit`; precision and optimizer are the trainer's unless they are given."""

    def __init__(self, gpu: str = "auto", **question: Any) -> None:
        self._verdict = Verdict(gpu, question)

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        if self._verdict.said:
            return
        self._verdict.question.setdefault("precision", _PRECISIONS.get(str(trainer.precision), "fp32"))
        if trainer.optimizers:
            self._verdict.question.setdefault("optimizer", trainer.optimizers[0])
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        self._verdict.say(module, inputs)

    def on_train_end(self, trainer: Any, module: Any) -> None:
        self._verdict.say_observed()
