"""What ends a step of PyTorch and no recording: tensors without values take what the kernels refuse, and nobody goes
backward. Each is told as PyTorch tells it (torch 2.10, tried on the host)."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch.utils import _pytree

from ._errors import UsageError

# Calls whose kernels want one type of all operands, and what PyTorch says then: products (aten/src/ATen/native/Linear.cpp,
# LinearAlgebra.cpp, cuda/Blas.cpp), whose meta kernels, which run here, do not look (torch/_meta_registrations.py);
# convolutions (Convolution.cpp); norms (cuda/layer_norm_kernel.cu, cuda/group_norm_kernel.cu). Batch norm of halves may have
# its parameters in fp32 (cuda/Normalization.cuh, mixed types).
_OF_PRODUCT = "mat1 and mat2 must have the same dtype, but got {} and {}"
_OF_CONVOLUTION = "Input type ({}) and weight type ({}) should be the same"
_OF_NORM = "expected scalar type {} but found {}"
_ONE_TYPE = {
    **dict.fromkeys(("linear", "matmul", "mm", "bmm", "addmm", "addmv", "mv", "dot", "addbmm"), _OF_PRODUCT),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), _OF_CONVOLUTION),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _OF_CONVOLUTION),
    **dict.fromkeys(("layer_norm", "group_norm", "batch_norm"), _OF_NORM),
}
_NAMES = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16"}


def check_types(name: str, args: Any, kwargs: Any, module: str) -> None:
    """Raises UsageError where PyTorch refuses the types of a call's operands. module: the path of what is running."""
    if name not in _ONE_TYPE:
        return
    types = [t.dtype for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    other = next((kind for kind in types if kind != types[0]), None)
    if other is None or (name == "batch_norm" and other == torch.float32):
        return
    first, second = (_NAMES.get(kind, str(kind).removeprefix("torch.")) for kind in (types[0], other))
    where = f"{module} ({name})" if module else name
    hint = 'cast the inputs to the type of the parameters; under autocast both may be: precision="amp-bf16"'
    raise UsageError("example_inputs", f"PyTorch stops at {where}: {_ONE_TYPE[name].format(first, second)}", hint)


_NO_GRAD = "element 0 of tensors does not require grad and does not have a grad_fn"


def check_loss(loss: Any) -> None:
    """Raises UsageError where loss.backward() would raise."""
    if not isinstance(loss, torch.Tensor):
        raise UsageError("loss", f"it gives a {type(loss).__name__}, and no tensor", "give a function that returns a tensor of one number")
    if loss.numel() != 1:
        shape = ", ".join(map(str, loss.shape))
        text = f"it gives [{shape}] numbers, and PyTorch stops: grad can be implicitly created only for scalar outputs"
        raise UsageError("loss", text, "take its mean: loss=lambda output, target: function(output, target).mean()")
    if not loss.requires_grad:
        raise UsageError("loss", f"PyTorch stops: {_NO_GRAD}", "leave torch.no_grad(), detach() and integers out of it")


def check_output(leaves: Sequence[Any], model: torch.nn.Module) -> None:
    """Raises UsageError where parameters require a gradient, and nothing that the forward returns does."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors or any(t.requires_grad for t in tensors) or not any(p.requires_grad for p in model.parameters()):
        return
    text = f"its forward gives nothing with a gradient, as under torch.no_grad(), and PyTorch stops: {_NO_GRAD}"
    raise UsageError("model", text, 'give mode="infer", or leave torch.no_grad() and detach() out of the forward')
