#include "graph/programs/aten.h"

#include <unordered_map>

#include "graph/base/text.h"
#include "graph/programs/aten_shaping.h"

namespace vramplan {
namespace {

// Schemas: PyTorch 2.10, aten/src/ATen/native/native_functions.yaml. A row is of one target or of several; "=": the
// operator is called as its target.
constexpr AtenRule kRules[] = {
    // convolution
    {"conv1d conv2d conv3d", "=", "input! weight! bias! stride padding dilation groups", ShapeConvolution},
    {"conv_transpose1d conv_transpose2d conv_transpose3d", "=",
     "input! weight! bias! stride padding output_padding groups dilation", ShapeConvolution},
    {"convolution _convolution", "convolution",
     "input! weight! bias! stride padding dilation transposed output_padding groups", ShapeConvolution},
    // blas
    {"linear", "=", "input! weight! bias!"},
    {"addmm", "=", "bias! a! b! beta- alpha-"},
    {"baddbmm", "=", "bias! a! b! beta alpha"},
    {"mm bmm matmul", "=", "a! b!"},
    {"mm.dtype bmm.dtype", "mm_of_type", "a! b! out_dtype-"},
    {"mv dot vdot", "matmul", "a! b!"},
    {"_grouped_mm", "grouped_mm", "a! b! offs!"},
    {"transformers.grouped_mm_fallback", "grouped_mm_fallback", "a! b! offs!"},
    {"bitsandbytes.linear_4bit", "linear_4bit", "input! weight! bias! out in stored computed nested"},
    {"bitsandbytes.linear_8bit", "linear_8bit", "input! weight! bias! out in outliers"},
    {"peft.dora_linear", "dora_linear",
     "input! base! weight! a! b! magnitude! bias! transposed packed out in stored nested"},
    {"liger.rms_norm", "liger_rms_norm", "input! weight! over"},
    {"liger.glu", "liger_glu", "gate! up!"},
    {"liger.rope", "liger_rope", "queries! keys! cos! sin!", nullptr, true},
    {"liger.linear_cross_entropy", "liger_linear_cross_entropy", "input! weight! target!"},
    {"einsum", "einsum", "equation operands*"},
    {"cdist", "=", "a! b! p compute_mode"},
    {"linalg_cross", "=", "a! b! dim-"},
    {"cosine_similarity", "cosine_similarity", "a! b! dim eps-", ShapeDims},
    {"bilinear", "bilinear", "a! b! weight! bias!"},
    // norm
    {"_native_batch_norm_legit_functional _native_batch_norm_legit native_batch_norm batch_norm", "batch_norm",
     "input! weight! bias! running_mean! running_var! training momentum- eps-"},
    {"_native_batch_norm_legit.no_stats", "batch_norm", "input! weight! bias! training momentum- eps-",
     ShapeBatchNormWithoutStatistics},
    {"_native_batch_norm_legit_no_training", "batch_norm",
     "input! weight! bias! running_mean! running_var! momentum- eps-", ShapeBatchNormInference},
    {"instance_norm", "instance_norm",
     "input! weight! bias! running_mean! running_var! use_input_stats momentum- eps- cudnn-"},
    {"group_norm", "group_norm", "input! num_groups weight! bias! eps- cudnn-"},
    {"native_group_norm", "group_norm", "input! weight! bias! N- C- HxW- num_groups eps-"},
    {"layer_norm native_layer_norm", "layer_norm", "input! normalized_shape weight! bias! eps-", ShapeLayerNorm},
    {"rms_norm _fused_rms_norm", "rms_norm", "input! normalized_shape- weight! eps-"},
    {"_weight_norm _weight_norm_interface", "weight_norm", "v! g! dim-"},
    // activation
    {"relu selu silu mish hardswish hardsigmoid sigmoid tanh log_sigmoid softsign", "=", "input!"},
    {"leaky_relu", "leaky_relu", "input! negative_slope"},
    {"elu", "elu", "input! alpha scale- input_scale-"},
    {"celu", "celu", "input! alpha"},
    {"gelu", "gelu", "input! approximate"},
    {"hardtanh", "hardtanh", "input! min_val max_val"},
    {"relu6", "hardtanh", "input!"},
    {"softplus", "softplus", "input! beta threshold"},
    {"log_sigmoid_forward", "log_sigmoid", "input!"},
    {"threshold", "threshold", "input! threshold value"},
    {"glu", "glu", "input! dim"},
    {"prelu _prelu_kernel", "prelu", "input! weight!"},
    {"rrelu", "rrelu", "input! lower- upper- training-"},
    {"hardshrink softshrink", "=", "input! lambd-"},
    // pooling
    {"max_pool1d max_pool2d max_pool3d", "=", "input! kernel_size stride padding dilation ceil_mode", ShapePool},
    {"max_pool2d_with_indices", "max_pool2d", "input! kernel_size stride padding dilation ceil_mode", ShapePool, true},
    {"max_pool3d_with_indices", "max_pool3d", "input! kernel_size stride padding dilation ceil_mode", ShapePool, true},
    {"fractional_max_pool2d fractional_max_pool3d", "=", "input! kernel_size- output_size- random_samples!", nullptr,
     true},
    {"max_unpool2d max_unpool3d", "=", "input! indices! output_size-"},
    {"avg_pool1d", "avg_pool1d", "input! kernel_size stride padding ceil_mode count_include_pad", ShapePool},
    {"avg_pool2d avg_pool3d", "=", "input! kernel_size stride padding ceil_mode count_include_pad divisor_override-",
     ShapePool},
    {"adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
     "adaptive_max_pool3d",
     "=", "input! output_size-"},
    {"_adaptive_avg_pool2d", "adaptive_avg_pool2d", "input! output_size-"},
    {"_adaptive_avg_pool3d", "adaptive_avg_pool3d", "input! output_size-"},
    // reduction
    {"mean sum max min prod", "=", "input!"},
    {"mean.dim sum.dim_IntList prod.dim_int amax amin any all logsumexp argmax argmin", "=", "input! dim keepdim",
     ShapeDims},
    {"max.dim min.dim median.dim mode", "=", "input! dim keepdim", ShapeDims, true},
    {"kthvalue", "=", "input! k- dim keepdim", ShapeDims, true},
    {"max.other", "maximum", "a! b!"},
    {"min.other", "minimum", "a! b!"},
    {"linalg_vector_norm norm", "norm", "input! ord dim keepdim", ShapeDims},
    {"var std", "=", "input! dim correction- keepdim", ShapeDims},
    {"var_mean std_mean", "=", "input! dim correction- keepdim", ShapeDims, true},
    {"aminmax", "=", "input! dim keepdim", ShapeDims, true},
    {"prims.var", "var", "input! dim correction-", ShapeDims},
    // view
    {"view _unsafe_view _reshape_copy reshape reshape_as view_as flatten", "reshape", "input! size- end-"},
    {"_reshape_alias", "view", "input! size- stride-"},
    {"as_strided", "as_strided", "input! size- stride- offset-"},
    {"unflatten", "view", "input! dim- sizes-"},
    {"permute", "permute", "input! dims", ShapeDims},
    {"movedim", "permute", "input! source- destination-"},
    {"transpose", "transpose", "input! dim0 dim1", ShapeDims},
    {"t numpy_T mT mH matrix_H adjoint", "transpose", "input!", ShapeTranspose},
    {"expand expand_as broadcast_to", "expand", "input! size- implicit-"},
    {"slice", "slice", "input! dim start end- step", ShapeSlice},
    {"narrow", "slice", "input! dim start length-", ShapeSlice},
    {"select", "select", "input! dim index", ShapeDims},
    {"unsqueeze squeeze", "=", "input! dim"},
    {"diagonal", "diagonal", "input! offset dim1 dim2", ShapeDiagonal},
    {"diagonal_copy", "=", "input! offset- dim1- dim2-"},
    {"diag_embed", "=", "input! offset- dim1- dim2-"},
    {"unfold", "unfold", "input! dimension size- step", ShapeUnfold},
    {"contiguous", "contiguous", "input! memory_format-"},
    {"unbind", "unbind", "input! dim", ShapeDims, true},
    {"split split_with_sizes chunk tensor_split", "split", "input! sizes- dim", ShapeDims, true},
    // no work of their own
    {"alias lift_fresh_copy lift positive _assert_tensor_metadata embedding_renorm", "", "input!", ShapeAlias},
    {"detach detach_", "detach", "input!"},
    {"vramplan.leaf", "leaf", "input!"},  // of the recorder: from here on it requires a gradient
    // copy
    {"cat concat concatenate", "cat", "tensors* dim", ShapeDims},
    {"stack", "stack", "tensors* dim"},
    {"pad", "pad", "input! pad mode value-", ShapePad},
    {"constant_pad_nd", "pad", "input! pad value-", ShapePad},
    {"reflection_pad1d reflection_pad2d reflection_pad3d", "pad", "input! pad", ShapeReflect},
    {"replication_pad1d replication_pad2d replication_pad3d", "pad", "input! pad", ShapeReplicate},
    {"roll", "roll", "input! shifts dims"},
    {"flip", "flip", "input! dims"},
    {"repeat tile", "repeat", "input! repeats-"},
    {"repeat_interleave.self_int", "repeat_interleave", "input! repeats- dim", ShapeDims},
    {"clone", "clone", "input! memory_format", ShapeClone},
    {"_to_copy to type_as", "to", "input! dtype-", ShapeTo},
    {"prims.convert_element_type", "to", "input! dtype-", ShapePromotion},
    {"prims.sum", "sum", "input! dim", ShapeDims},
    {"prims.div", "div", "a! b!"},
    {"prims.broadcast_in_dim", "expand", "input! size- axes-", ShapeBroadcast},
    {"pixel_shuffle", "pixel_shuffle", "input! upscale_factor"},
    {"pixel_unshuffle", "pixel_unshuffle", "input! downscale_factor"},
    {"channel_shuffle", "channel_shuffle", "input! groups-"},
    {"im2col", "im2col", "input! kernel_size- dilation- padding- stride-"},
    {"col2im", "col2im", "input! output_size- kernel_size- dilation- padding- stride-"},
    {"tril triu", "=", "input! diagonal"},
    // pointwise
    {"add sub", "=", "a! b! alpha"},
    {"rsub", "rsub", "a! b! alpha-"},
    {"mul floor_divide maximum minimum remainder fmod fmax fmin atan2 hypot logaddexp xlogy eq ne lt le gt ge "
     "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor",
     "=", "a! b!"},
    {"div divide true_divide", "div", "a! b! rounding_mode"},
    {"multiply", "mul", "a! b!"},
    {"subtract", "sub", "a! b! alpha"},
    {"pow", "pow", "a! b!", ShapePow},
    {"pow.Scalar", "rpow", "a! b!"},
    {"lerp.Scalar", "lerp", "a! b! weight-"},
    {"lerp.Tensor", "lerp", "a! b! weight!"},
    {"addcmul addcdiv", "=", "input! a! b! value-"},
    {"neg abs exp log sqrt rsqrt reciprocal sin cos erf floor ceil sign square log1p expm1 isnan isinf isfinite exp2 "
     "log2 log10 tan asin acos atan sinh cosh asinh acosh atanh erfc deg2rad rad2deg erfinv lgamma digamma sinc trunc "
     "frac "
     "logical_not bitwise_not",
     "=", "a!"},
    {"negative", "neg", "a!"},
    {"absolute", "abs", "a!"},
    {"round", "round", "a! decimals-"},
    {"nan_to_num", "nan_to_num", "a! nan- posinf- neginf-"},
    {"logit", "logit", "a! eps-"},
    {"where", "where", "condition! a! b!"},
    {"masked_fill", "masked_fill", "input! mask! value-"},
    {"masked_scatter", "=", "input! mask! source!"},
    {"clamp clip", "clamp", "input! min max"},
    {"clamp.Tensor", "clamp", "input! min! max!"},
    {"clamp_min", "clamp", "input! min"},
    {"clamp_max", "clamp", "input! max"},
    {"cumsum cumprod logcumsumexp", "=", "input! dim", ShapeDims},
    {"cummax cummin", "=", "input! dim", ShapeDims, true},
    // index
    {"embedding", "embedding", "weight! indices! padding_idx- scale_grad_by_freq sparse"},
    {"embedding_bag _embedding_bag_forward_only", "embedding_bag",
     "weight! indices! offsets! scale- mode sparse- per_sample_weights!"},
    {"gather index_select", "=", "input! dim index!", ShapeDims},
    {"index", "index", "input! indices*"},
    {"_unsafe_index", "index", "input! indices*", ShapeUncheckedIndex},
    {"scatter scatter_add index_copy", "=", "input! dim index! src!", ShapeDims},
    {"scatter_reduce", "scatter_reduce", "input! dim index! src! reduce include_self", ShapeDims},
    {"index_add", "index_add", "input! dim index! src! alpha-", ShapeDims},
    {"index_fill", "index_fill", "input! dim index! value-", ShapeDims},
    {"bucketize", "bucketize", "input! boundaries!"},
    {"searchsorted", "bucketize", "boundaries! input!"},
    {"index_put _unsafe_index_put", "index_put", "input! indices* values! accumulate"},
    {"topk", "topk", "input! k dim largest- sorted-", ShapeDims, true},
    {"sort", "sort", "input! dim descending-", ShapeDims, true},
    {"slice_scatter", "slice_scatter", "input! src! dim start end- step", ShapeWriteInPlace},
    {"select_scatter", "slice_scatter", "input! src! dim index", ShapeWriteInPlace},
    {"one_hot", "one_hot", "input! classes-"},
    // random
    {"native_dropout", "dropout", "input! p train", ShapeDropout},
    {"dropout feature_dropout", "=", "input! p train", ShapeDropout},
    {"bernoulli", "bernoulli", "input- p"},
    {"multinomial", "=", "input! num_samples replacement"},
    {"rand_like randn_like", "bernoulli", "input-"},
    {"rand randn", "bernoulli", "size-"},
    {"randint randperm", "arange", "size-"},
    // creation
    {"arange", "arange", "start- end- step-"},
    {"zeros ones empty", "=", "size-"},
    {"zeros_like new_zeros", "zeros", "input! size-"},
    {"ones_like new_ones", "ones", "input! size-"},
    {"empty_like new_empty", "empty", "input! size-"},
    {"full", "full", "size- value-"},
    {"full_like fill new_full", "full", "input! value- size-"},
    {"scalar_tensor", "full", "value-"},
    {"tril_indices triu_indices", "arange", "rows- columns-"},
    {"histc", "zeros", "input-"},
    {"nonzero", "arange", "input-"},  // cub counts and selects in a scratch of a few bytes, which is not modelled
    {"eye", "zeros", "n- m-"},
    {"linspace", "arange", "start- end- steps-"},
    // quantisation
    {"fake_quantize_per_tensor_affine_cachemask _fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
     "fake_quantize", "input! scale- zero_point- quant_min- quant_max-", nullptr, true},
    {"fake_quantize_per_channel_affine_cachemask", "fake_quantize_channels",
     "input! scale- zero_point- axis- quant_min- quant_max-", nullptr, true},
    // attention
    {"scaled_dot_product_attention", "scaled_dot_product_attention",
     "query! key! value! attn_mask! dropout_p is_causal scale enable_gqa"},
    {"_scaled_dot_product_flash_attention", "scaled_dot_product_attention",
     "query! key! value! dropout_p is_causal debug- scale"},
    {"_scaled_dot_product_efficient_attention", "scaled_dot_product_attention",
     "query! key! value! attn_mask! lse- dropout_p is_causal scale"},
    {"_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention",
     "query! key! value! dropout_p is_causal attn_mask! scale"},
    {"_native_multi_head_attention", "native_multi_head_attention",
     "query! key! value! embed_dim- num_heads qkv_weight! qkv_bias! out_weight! out_bias! mask! need_weights "
     "average_attn_weights mask_type-",
     nullptr, true},
    {"_transformer_encoder_layer_fwd", "transformer_encoder_layer",
     "input! embed_dim- num_heads qkv_weight! qkv_bias! out_weight! out_bias! use_gelu- norm_first eps- norm1_weight! "
     "norm1_bias! norm2_weight! norm2_bias! linear1_weight! linear1_bias! linear2_weight! linear2_bias! mask! "
     "mask_type-"},
    {"softmax _softmax", "softmax", "input! dim dtype-", ShapeDims},
    {"log_softmax _log_softmax", "log_softmax", "input! dim dtype-", ShapeDims},
    // resize
    {"upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d "
     "_upsample_nearest_exact3d",
     "=", "input! size- factors-"},
    {"upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d", "=",
     "input! size- align_corners factors-"},
    {"_upsample_bilinear2d_aa", "upsample_bilinear2d", "input! size- align_corners factors-"},
    {"_upsample_bicubic2d_aa", "upsample_bicubic2d", "input! size- align_corners factors-"},
    {"grid_sampler grid_sampler_2d grid_sampler_3d", "grid_sample", "input! grid! mode- padding- align_corners"},
    {"affine_grid_generator", "affine_grid", "input! size- align_corners"},
    {"torchvision.roi_align torchvision.roi_pool", "roi_align", "input! rois!"},
    {"torchvision.deform_conv2d", "deform_conv2d", "input! weight! offset! mask! bias!"},
    // complex numbers
    {"view_as_complex view_as_real polar complex", "=", "input! other!"},
    // recurrent
    {"lstm", "lstm", "input! hx* params* has_biases num_layers dropout train bidirectional batch_first", ShapeRecurrent,
     true},
    {"gru", "gru", "input! hx! params* has_biases num_layers dropout train bidirectional batch_first", ShapeRecurrent,
     true},
    {"lstm_cell", "lstm_cell", "input! hx* weight_ih! weight_hh! bias_ih! bias_hh!", nullptr, true},
    {"gru_cell", "gru_cell", "input! hx! weight_ih! weight_hh! bias_ih! bias_hh!"},
    {"rnn_tanh rnn_relu", "rnn", "input! hx! params* has_biases num_layers dropout train bidirectional batch_first",
     ShapeRecurrent, true},
    // loss
    {"cross_entropy_loss", "cross_entropy", "input! target! weight! reduction ignore_index- label_smoothing",
     ShapeLoss},
    {"nll_loss nll_loss_nd nll_loss_forward nll_loss2d_forward", "nll_loss",
     "input! target! weight! reduction ignore_index-", ShapeLoss},
    {"mse_loss l1_loss soft_margin_loss smooth_l1_loss huber_loss", "=", "input! target! reduction delta-", ShapeLoss},
    {"binary_cross_entropy", "bce", "input! target! weight! reduction", ShapeLoss},
    {"binary_cross_entropy_with_logits", "bce_logits", "input! target! weight! pos_weight! reduction", ShapeLoss},
    {"_ctc_loss", "ctc_loss", "input! target!", nullptr, true},
    {"kl_div", "kl_div", "input! target! reduction log_target", ShapeLoss},
    {"multi_margin_loss", "=", "input! target! p- margin- weight! reduction", ShapeLoss},
};

const std::unordered_map<std::string_view, AtenRule>& RulesByTarget() {
  static const std::unordered_map<std::string_view, AtenRule> table = [] {
    std::unordered_map<std::string_view, AtenRule> rules;
    for (const AtenRule& row : kRules) {
      for (const std::string_view target : TextsIn(row.target, ' ')) {
        AtenRule rule = row;
        rule.target = target;
        if (rule.op == "=") rule.op = target.substr(0, target.find('.'));
        rules.emplace(target, rule);
      }
    }
    return rules;
  }();
  return table;
}

}  // namespace

const AtenRule* FindAtenRule(std::string_view target) {
  const auto& rules = RulesByTarget();
  if (!target.starts_with("aten.")) {  // of another library: by its whole name
    const auto other = rules.find(target.substr(0, target.find('.', target.find('.') + 1)));
    return other == rules.end() ? nullptr : &other->second;
  }
  target.remove_prefix(5);
  if (const auto exact = rules.find(target); exact != rules.end()) return &exact->second;
  const auto packet = rules.find(target.substr(0, target.find('.')));
  return packet == rules.end() ? nullptr : &packet->second;
}

std::vector<AtenArgument> ParseAtenArguments(std::string_view arguments) {
  std::vector<AtenArgument> result;
  for (const std::string_view word : TextsIn(arguments, ' ')) {
    using Kind = AtenArgument::Kind;
    const char mark = word.back();
    const Kind kind = mark == '!'   ? Kind::kTensor
                      : mark == '*' ? Kind::kTensors
                      : mark == '-' ? Kind::kIgnored
                                    : Kind::kAttribute;
    result.push_back({word.substr(0, word.size() - (kind == Kind::kAttribute ? 0 : 1)), kind});
  }
  return result;
}

void SetAttribute(Attributes& attributes, const std::string& name, const RecordedArgument& argument) {
  using enum RecordedArgument::Kind;
  if (argument.kind == kBool || argument.kind == kInt) attributes.Set(name, argument.integer);
  if (argument.kind == kReal) attributes.Set(name, argument.real);
  if (argument.kind == kText) attributes.Set(name, argument.text);
  if (argument.kind != kList) return;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  for (const RecordedArgument& item : argument.items) {
    if (!IsNumber(item)) return;
    if (item.kind != kReal) integers.push_back(item.integer);
    reals.push_back(item.kind == kReal ? item.real : static_cast<double>(item.integer));
  }
  if (integers.size() == reals.size()) {
    attributes.Set(name, std::move(integers));
  } else {
    attributes.Set(name, std::move(reals));
  }
}

}  // namespace vramplan
