"""Calls that are recorded as they are, though PyTorch makes them of others (CompositeImplicitAutograd): vramplan has a rule for
each (graph/programs/aten.cc). What has none is taken apart into the calls that it makes: hstack, tensordot, swapaxes."""

from __future__ import annotations

from typing import Any

import torch

WHOLE = frozenset(
    """
    _convolution _fused_rms_norm _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d _weight_norm absolute adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adjoint all any avg_pool1d batch_norm bilinear
    broadcast_to cat cdist chunk clip concat concatenate contiguous conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity cross_entropy_loss cumprod cumsum diagonal divide dropout
    einsum embedding_bag empty expand_as feature_dropout flatten gather grid_sampler group_norm gru gru_cell
    index_add index_copy index_fill index_select instance_norm isfinite kl_div kthvalue l1_loss layer_norm linear
    log_sigmoid log_softmax logcumsumexp logsumexp lstm lstm_cell mH mT matmul matrix_H max max_pool1d max_pool2d
    max_pool3d mean median min mode movedim multiply narrow negative nll_loss nll_loss_nd norm numpy_T one_hot pad
    positive prelu prod rand randn relu6 repeat_interleave reshape reshape_as rms_norm rnn_relu rnn_tanh rrelu
    scaled_dot_product_attention scatter scatter_add select selu softmax sort split square squeeze std subtract
    sum tensor_split tile to transpose true_divide type_as unbind unflatten upsample_bicubic2d upsample_bilinear2d
    upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d var view_as
    where
    """.split()
)
# What makes no tensor, or changes one that is there.
_NO_CALLS = frozenset("requires_grad_ retain_grad set_ set_data data item size stride pin_memory rename rename_".split())

_known: dict[Any, bool] = {}


def is_composite(func: Any) -> bool:
    """Whether this call is others' sum, and no rule knows it."""
    if func not in _known:
        library, name = func._schema.name.split("::")
        of_others = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        plain = name.removesuffix("_")
        left = plain in WHOLE or name in _NO_CALLS or name.startswith(("__", "is_", "sym_", "_cast_", "_autocast_"))
        _known[func] = library == "aten" and of_others and not left
    return _known[func]
