"""Will this model train on that card, with which batch, and if not, what to change?

    import torch, torchvision, vramplan

    fit = vramplan.fit(torchvision.models.resnet50(), torch.zeros(2, 3, 224, 224), gpu="t4", precision="amp-fp16",
                       optimizer=torch.optim.AdamW, loss=torch.nn.CrossEntropyLoss())
    print(fit)                  # what the command line prints
    fit.largest_batch, fit.peak.requested
    vramplan.fit("llama-3.1-8b", lora=16, gpu="rtx-4090")
    vramplan.run(["train.py"], gpu="t4")

The numbers come from the program `vramplan`, which this module calls; nothing is modelled in Python. torch is imported
only when a model is given.
"""

from __future__ import annotations

from typing import Any

from . import _arguments
from ._apply import Applied, apply, suggest_batch_size
from ._ask import estimate, fit, inspect, plan, sweep
from ._errors import ExportError, InputError, NoCardError, UsageError, VramplanError
from ._others import explain, models, run
from ._results import Estimate, Explanation, Fit, Inspection, Plan, Record, Result, Run, Sweep
from ._version import __version__

__all__ = [
    "Applied", "Estimate", "Explanation", "ExportError", "Fit", "InputError", "Inspection",
    "NoCardError", "Plan", "Record", "Result", "Run", "Sweep", "UsageError", "VramplanError",
    "__version__", "apply", "estimate", "explain", "export", "fit", "inspect", "models", "plan", "run",
    "suggest_batch_size", "sweep",
]  # fmt: skip


@_arguments.checked(model=_arguments.MODULE, mode=_arguments.TRAIN_OR_INFER)
def export(model: Any, example_inputs: Any, path: Any, *, optimizer: Any = None, mode: str | None = None,
           weights: bool = False) -> Any:  # fmt: skip
    """Writes an ONNX file of a model that carries what ONNX has no place for (docs/facts.md).

    model: a `torch.nn.Module`; its `training` flag decides what is exported, unless `mode` ("train", "infer") does.
    example_inputs: a tensor, a tuple of arguments, or a dict of keyword arguments.
    path: where the file goes.
    optimizer: an optimizer or its class; the file then says which it is.
    weights: whether the weights' bytes are written too. vramplan does not read them.
    """
    from ._exporting import export as write

    return write(model, example_inputs, path, optimizer=optimizer, mode=mode, weights=weights)
