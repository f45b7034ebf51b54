"""What ends a step of PyTorch: what tensors without values take and the kernels refuse, what both refuse, and what only a
backward shows. Each is told as PyTorch tells it (torch 2.10), whose kernels on the host are asked with zeros of the same
shapes where they can be."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

import torch
from torch.utils import _pytree

from ._errors import StepError, UsageError

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


_MOST_ELEMENTS = 1 << 30  # of all operands of a call that the host is asked about
_SMALL = 1 << 22


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Zeros with its shape, and of a small one its strides."""
    if tensor.numel() > _SMALL:
        return torch.zeros((), dtype=tensor.dtype).expand(tensor.size())
    length = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0
    made = torch.zeros(length, dtype=tensor.dtype).as_strided(tensor.size(), tensor.stride())
    return made.requires_grad_() if tensor.requires_grad and tensor.is_leaf else made


def error_of_host(func: Any, args: Any, kwargs: Any, known: dict[int, torch.Tensor]) -> Exception | None:
    """What PyTorch raises at this call on the host; None: it takes it, or cannot be asked. known: values of tensors, by id."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    total = 0

    def real(leaf: Any) -> Any:
        nonlocal total
        if isinstance(leaf, torch.Tensor):
            total += leaf.numel()
            return known[id(leaf)] if id(leaf) in known else _on_host(leaf) if total <= _MOST_ELEMENTS else None
        return torch.device("cpu") if isinstance(leaf, torch.device) else leaf

    try:
        with unset_fake_temporarily():
            asked = _pytree.tree_map(real, (args, kwargs))
            if total <= _MOST_ELEMENTS:
                func(*asked[0], **asked[1])
    except NotImplementedError:  # a kernel that a card may have
        return None
    except Exception as error:
        return error.with_traceback(None)  # which holds tensors
    return None


def first_of(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# Operands whose meta kernels, which run here, take any type: indices and classes, which are whole numbers, and targets of the
# losses of probabilities, which are not (aten/src/ATen/native/Embedding.cpp, TensorAdvancedIndexing.cpp, LossNLL.cpp, Loss.cpp).
_WHOLE_NUMBERS = {
    "embedding": 1, "index_select": 2, "index_add": 2, "index_copy": 2, "cross_entropy_loss": 1, "nll_loss": 1, "nll_loss_nd": 1,
}  # fmt: skip
_FLOATING = {"binary_cross_entropy": 1, "binary_cross_entropy_with_logits": 1}
_CLASSES = ("cross_entropy_loss", "nll_loss", "nll_loss_nd")


def _is_odd(name: str, args: Any) -> bool:
    """Whether an operand has a type that the kernel may refuse."""
    of = _WHOLE_NUMBERS.get(name, _FLOATING.get(name))
    operand = args[of] if of is not None and len(args) > of else None
    if not isinstance(operand, torch.Tensor):
        return False
    return operand.is_floating_point() != (name in _FLOATING) or operand.dtype not in (torch.int64, *_NAMES)


def _outside(name: str, args: Any, kwargs: Any, known: dict[int, torch.Tensor]) -> str:
    """Which index or class is outside of its table; empty: none that has a value."""
    if not (name == "embedding" or name in _CLASSES) or len(args) < 2 or id(args[1]) not in known:
        return ""
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():
        return _outside_of(name, args[0], known[id(args[1])], args[4] if len(args) > 4 else kwargs.get("ignore_index", -100))


def _outside_of(name: str, of: torch.Tensor, values: torch.Tensor, ignored: Any) -> str:
    if values.is_floating_point() or values.numel() == 0 or of.dim() == 0:
        return ""
    if name == "embedding":
        rows, what = of.shape[0], "the index {} is read in a table of {:,} rows"
    else:
        rows, what = of.shape[1 if of.dim() > 1 else 0], "the target has the class {}, and the output {:,} classes"
        values = values[values != ignored]
    wrong = values[(values < 0) | (values >= rows)]
    return what.format(int(wrong.max()), rows) if wrong.numel() else ""


def check_values(
    func: Any, name: str, args: Any, kwargs: Any, known: dict[int, torch.Tensor], place: Callable[[], tuple[str, str]]
) -> None:  # fmt: skip
    """Raises StepError where a kernel refuses indices, classes or targets that its meta kernel takes. known: values of tensors,
    by id. place: whose code runs the call, and where."""
    if _is_odd(name, args) and (refusal := error_of_host(func, args, kwargs, known)) is not None:
        hint = "give target.float()" if name in _FLOATING else "give target.long()" if name in _CLASSES else "give it whole numbers: ids.long()"
        subject, where = place()
        raise StepError(subject, f"PyTorch stops at {where}: {first_of(refusal)}", hint)
    if outside := _outside(name, args, kwargs, known):
        words = first_of(error_of_host(func, args, kwargs, known) or IndexError("index out of range"))
        subject, where = place()
        hint = "give shorter inputs or smaller indices, or the model a larger table" if name == "embedding" else "give targets of these classes"
        raise StepError(subject, f"PyTorch stops at {where}: {outside} ({words})", hint)


def check_types(name: str, args: Any, kwargs: Any, module: str, strict: bool = True) -> None:
    """Raises UsageError where PyTorch refuses the types of a call's operands. module: the path of what is running. strict:
    nothing casts floating operands, such as autocast; whole numbers are cast by nobody."""
    if name not in _ONE_TYPE:
        return
    types = [t.dtype for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    other = next((kind for kind in types if kind != types[0]), None)
    if other is None or (name == "batch_norm" and other == torch.float32):
        return
    if not strict and all(kind.is_floating_point for kind in types):
        return
    first, second = (_NAMES.get(kind, str(kind).removeprefix("torch.")) for kind in (types[0], other))
    where = f"{module} ({name})" if module else name
    hint = "cast the inputs to the type of the parameters"
    if all(kind.is_floating_point for kind in types):
        hint += '; under autocast both may be: precision="amp-bf16"'
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


def unlike_the_forward(error: Exception, model: torch.nn.Module, args: Any, kwargs: Any) -> UsageError | None:
    """Where the forward has no such arguments, with Python's own words."""
    if not isinstance(error, TypeError):
        return None
    try:
        signature = inspect.signature(model.forward)
    except (TypeError, ValueError):  # not of Python
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        takes = ", ".join(str(one) for one in signature.parameters.values())
        return UsageError("example_inputs", first_of(error), f"the forward takes ({takes})")
    return None
