"""net.onnx at batch 96 on Tesla T4, by vramplan.

    model = prepare(model.cuda())
    step = optimizer(model.parameters(), lr=...)
    scaler = torch.amp.GradScaler("cuda", enabled=SCALER)
    for ACCUMULATE batches of BATCH samples:
        with autocast():
            loss = criterion(model(x), y) / ACCUMULATE
        scaler.scale(loss).backward()
    scaler.step(step), scaler.update(), step.zero_grad()
"""
import contextlib
import functools

import torch
import torch.utils.checkpoint

BATCH = 96
ACCUMULATE = 4
PRECISION = "amp-fp16"
SCALER = True
CHECKPOINT = [
    "m.h.0",
    "m.h.1",
]
# Bytes at the peak of a step: the first three as torch.cuda.memory_stats() counts them.
PREDICTED = {"requested": 1000, "allocated": 2000, "reserved": 3000, "device": 4000}


def autocast():
    """Around the forward and the loss."""
    return torch.autocast("cuda", dtype=torch.float16)


def optimizer(parameters, **options):
    """The optimizer of the plan; give the learning rate as lr=..."""
    return torch.optim.AdamW(parameters, **{**dict(fused=True, weight_decay=0.01), **options})


def _find(modules, path):
    # The file may name modules with the path of a wrapper in front.
    names = path.split(".")
    for first in range(len(names)):
        name = ".".join(names[first:])
        if name in modules:
            return modules[name]
    return None


@contextlib.contextmanager
def _statistics_held(norms):
    # The first forward has updated the running statistics; the second must not.
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum


def _checkpointed(run, norms, *args, **kwargs):
    # A list is copied: DenseNet adds to it later, and the second forward must see what the first one saw.
    args = [list(a) if isinstance(a, list) else a for a in args]
    return torch.utils.checkpoint.checkpoint(
        run, *args, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), _statistics_held(norms)), **kwargs)


def _wrap(module):
    norms = [m for m in module.modules()
             if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.momentum is not None]
    module.forward = functools.partial(_checkpointed, module.forward, norms)


def prepare(model):
    """Checkpoints the modules of the plan in place and returns the model."""
    modules = dict(model.named_modules())
    found = [_find(modules, path) for path in CHECKPOINT]
    missing = [path for path, module in zip(CHECKPOINT, found) if module is None]
    if missing:
        raise KeyError("the model has no module " + ", ".join(missing))
    if len({id(module) for module in found}) != len(found):
        raise KeyError("the model is not the one of the plan: its modules do not have these names: " + ", ".join(CHECKPOINT))
    for module in model.modules():
        if getattr(getattr(module, "config", None), "use_cache", False):
            module.config.use_cache = False  # what runs again would add to the key/value cache again
    for module in found:
        _wrap(module)
    return model
