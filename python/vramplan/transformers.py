"""A callback of transformers' Trainer that says before the first step whether it will fit.

    callback = vramplan.transformers.MemoryVerdict(gpu="t4")
    Trainer(..., callbacks=[callback])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._callbacks import Verdict

# TrainingArguments.optim (transformers 5, training_args.py, OptimizerNames).
_OPTIMIZERS = {
    "adamw_torch": ["adamw", "foreach"],
    "adamw_torch_fused": ["adamw", "fused"],
    "adafactor": ["adafactor-hf", None],
    "sgd": ["sgd", None],
    "adagrad": ["adagrad", None],
    "rmsprop": ["rmsprop", None],
    "adamw_bnb_8bit": ["adamw-8bit", None],
    "adamw_8bit": ["adamw-8bit", None],
    "lion_8bit": ["lion-8bit", None],
}


class MemoryVerdict(TrainerCallback):
    """Prints the verdict when training begins, and behind the last step the peak that was seen, if there is a card.

    The arguments are those of `vramplan.fit`; precision, optimizer and accumulation are those of the Trainer's
    TrainingArguments unless they are given."""

    def __init__(self, gpu: str = "auto", **question: Any) -> None:
        self._verdict = Verdict(gpu, question)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        model, loader = kwargs.get("model"), kwargs.get("train_dataloader")
        if self._verdict.said or model is None or loader is None:
            return
        question = self._verdict.question
        question.setdefault("precision", "amp-fp16" if args.fp16 else "amp-bf16" if args.bf16 else "fp32")
        name = getattr(args.optim, "value", str(args.optim))
        optimizer, impl = _OPTIMIZERS.get(name, ["adamw", None])
        question.setdefault("optimizer", optimizer)
        if impl is not None:
            question.setdefault("optimizer_impl", impl)
        if args.gradient_accumulation_steps > 1:
            question.setdefault("accumulate", args.gradient_accumulation_steps)
        self._verdict.say(model, next(iter(loader)))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._verdict.say_observed()
