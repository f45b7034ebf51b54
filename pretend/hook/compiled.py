"""torch.compile: progress on a terminal, because the first step takes long; and what stood between that of PyTorch 2.0 to
2.3 and a pretend card, or the hook."""

import itertools
import os
import sys


def install(torch, when_imported, wrap, guarded, step_aside):
    # Not when torch.compile is called: libraries decorate functions that nobody calls. When the first of them is compiled.
    def watch(frames):
        if hasattr(frames, "_compile"):
            wrap(frames, "_compile", step_aside)
        else:
            wrap(torch, "compile", step_aside)
    when_imported("torch._dynamo.convert_frame", watch)
    if sys.stderr.isatty():
        numbers = itertools.count(1)
        when_imported("torch._inductor.compile_fx", lambda inductor: wrap(inductor, "compile_fx", lambda: print(
            "vramplan: torch.compile: graph %d" % next(numbers), file=sys.stderr, flush=True)))
    # Triton of torch 2.1 to 2.3 finds the library to link against only by ldconfig; later ones read this themselves.
    libraries = os.environ.get("TRITON_LIBCUDA_PATH")
    if libraries:
        when_imported("triton.common.build", lambda build: setattr(build, "libcuda_dirs", lambda: [libraries]))
    # TorchPatcher.patch of torch 2.0 to 2.2 takes the hooks of optimizers away, by which steps are counted.
    when_imported("torch._dynamo.eval_frame", lambda frames: wrap(
        frames.TorchPatcher, "patch", then=guarded(lambda: hook_optimizers(torch.optim))))


def hook_optimizers(optim):
    for kind in vars(optim).values():
        if not (isinstance(kind, type) and issubclass(kind, optim.Optimizer) and getattr(kind.step, "hooked", False)):
            continue
        step, hooked = kind.step, False
        while step is not None and not hooked:
            code = getattr(step, "__code__", None)  # of profile_hook_step, torch/optim/optimizer.py
            hooked = code is not None and code.co_filename.endswith("optimizer.py") and code.co_name == "wrapper"
            step = getattr(step, "__wrapped__", None)
        if not hooked:
            kind.step = optim.Optimizer.profile_hook_step(kind.step)
            kind.step.hooked = True


def is_traced(outputs):
    """Whether a compiler traces a backward of these, which have no memory (torch/_functorch/aot_autograd.py)."""
    tensors = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
    return any(type(tensor).__name__ in ("FakeTensor", "FunctionalTensor") for tensor in tensors)
