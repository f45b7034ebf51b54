#include "planner/semantics/operands.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace vramplan::eager {
namespace {

// By operator, a word for each of its first inputs: "3" has three axes, "3+" three or more, "*" is there, "-" may be
// absent, "|" is there or else the next one. An operator that is not here needs its first input.
const std::unordered_map<std::string_view, std::string_view>& Words() {
  static const std::unordered_map<std::string_view, std::string_view> words = {
      {"conv1d", "3 3"},
      {"conv2d", "4 4"},
      {"conv3d", "5 5"},
      {"conv_transpose1d", "3 3"},
      {"conv_transpose2d", "4 4"},
      {"conv_transpose3d", "5 5"},
      {"linear", "1+ 2"},
      {"addmm", "* 2 2"},
      {"mm", "2 2"},
      {"bmm", "3 3"},
      {"grouped_mm", "2 3 *"},
      {"grouped_mm_fallback", "2 3 *"},
      {"baddbmm", "- 3 3"},
      {"matmul", "1+ 1+"},
      {"einsum", "-"},
      {"batch_norm", "2+"},
      {"instance_norm", "3+"},
      {"group_norm", "2+"},
      {"layer_norm", "1+"},
      {"rms_norm", "1+"},
      {"liger_rms_norm", "1+ 1"},
      {"liger_glu", "1+ 1+"},
      {"liger_rope", "4 4 * *"},
      {"liger_linear_cross_entropy", "3 2 1"},
      {"prelu", "1+ *"},
      {"glu", "1+"},
      {"softmax", "*"},
      {"log_softmax", "*"},
      {"scaled_dot_product_attention", "2+ 2+ 2+"},
      {"native_multi_head_attention", "3 3 3 2 * 2 *"},
      {"transformer_encoder_layer", "3 2 * 2 *"},
      {"embedding", "2 *"},
      {"embedding_bag", "2 1+"},
      {"cdist", "2+ 2+"},
      {"linalg_cross", "1+ 1+"},
      {"diag_embed", "1+"},
      {"diagonal_copy", "2+"},
      {"multinomial", "1+"},
      {"fractional_max_pool2d", "4"},
      {"fractional_max_pool3d", "5"},
      {"cosine_similarity", "1+ 1+"},
      {"bilinear", "1+ 1+ 3"},
      {"affine_grid", "3"},
      {"view_as_complex", "1+"},
      {"polar", "* *"},
      {"complex", "* *"},
      {"ctc_loss", "2+ *"},
      {"roi_align", "4 2"},
      {"deform_conv2d", "4 4 4 - -"},
      {"weight_norm", "2+ *"},
      {"spectral_norm", "2+ 1 1"},
      {"max_unpool1d", "3 3"},
      {"max_unpool2d", "4 4"},
      {"max_unpool3d", "5 5"},
      {"unfold", "1+"},
      {"multi_margin_loss", "1+ *"},
      {"multilabel_margin_loss", "1+ *"},
      {"hinge_embedding_loss", "* *"},
      {"margin_ranking_loss", "* * *"},
      {"poisson_nll_loss", "* *"},
      {"gather", "* *"},
      {"index_select", "1+ *"},
      {"take_along_dim", "* *"},
      {"scatter", "* *"},
      {"scatter_add", "* * *"},
      {"scatter_reduce", "* * *"},
      {"index_add", "1+ * *"},
      {"index_copy", "1+ * *"},
      {"slice_scatter", "1+"},
      {"select_scatter", "1+"},
      {"masked_scatter", "* * *"},
      {"masked_fill", "* *"},
      {"where", "*"},
      {"addcmul", "* * *"},
      {"addcdiv", "* * *"},
      {"lerp", "* *"},
      {"feature_dropout", "2+"},
      {"grid_sample", "4+ 4+"},
      {"grid_sampler", "4+ 4+"},
      {"pixel_shuffle", "3+"},
      {"pixel_unshuffle", "3+"},
      {"tril", "2+"},
      {"triu", "2+"},
      {"diagonal", "2+"},
      {"transpose", "1+"},
      {"select", "1+"},
      {"slice", "1+"},
      {"split", "1+"},
      {"unbind", "1+"},
      {"cross_entropy", "1+ *"},
      {"cross_entropy_loss", "1+ *"},
      {"nll_loss", "1+ *"},
      {"nll_loss_nd", "1+ *"},
      {"mse_loss", "* *"},
      {"l1_loss", "* *"},
      {"smooth_l1_loss", "* *"},
      {"huber_loss", "* *"},
      {"bce", "* *"},
      {"binary_cross_entropy", "* *"},
      {"bce_logits", "* *"},
      {"binary_cross_entropy_with_logits", "* *"},
      {"kl_div", "* *"},
      {"soft_margin_loss", "* *"},
      {"im2col", "3+"},
      {"col2im", "2+"},
      {"channel_shuffle", "3+"},
      {"index_fill", "1+ *"},
      {"lstm", "3 - - 2 2"},
      {"lstm_cell", "2 2 2 2 2"},
      {"gru_cell", "2 2 2 2"},
      {"gru", "3 - - 2 2"},
      {"rnn", "3 - - 2 2"},
      // A Python number may stand in the first place.
      {"pow", "|"},
      {"rpow", "|"},
      {"add", "|"},
      {"sub", "|"},
      {"mul", "|"},
      {"div", "|"},
      {"maximum", "|"},
      {"minimum", "|"},
      {"fmax", "|"},
      {"fmin", "|"},
      {"floor_divide", "|"},
      {"remainder", "|"},
      {"fmod", "|"},
      {"eq", "|"},
      {"ne", "|"},
      {"lt", "|"},
      {"le", "|"},
      {"gt", "|"},
      {"ge", "|"},
      {"logical_and", "|"},
      {"logical_or", "|"},
      {"logical_xor", "|"},
      {"bitwise_and", "|"},
      {"bitwise_or", "|"},
      {"bitwise_xor", "|"},
      // Nothing goes in.
      {"arange", "-"},
      {"zeros", "-"},
      {"ones", "-"},
      {"full", "-"},
      {"empty", "-"},
      {"bernoulli", "-"},
  };
  return words;
}

bool Accepts(std::string_view word, const Tensor& t) {
  if (word == "-") return true;
  if (!t) return false;
  if (word == "*") return true;
  const int axes = word[0] - '0';
  return word.size() > 1 ? t->dim() >= axes : t->dim() == axes;
}

bool Within(int64_t axis, int rank) { return axis >= -rank && axis < std::max(rank, 1); }

// The axes that the attributes name are there. Operators whose sizes come from the graph alone do not look at them.
bool AxesFit(const Call& c) {
  const std::string& op = c.layer.op;
  for (const char* by_shape : {"squeeze", "unsqueeze", "reshape", "view", "expand", "one_hot"}) {
    if (op == by_shape) return true;
  }
  const int rank = c.In(0)->dim() + (op == "stack" ? 1 : 0);
  for (const auto& [name, value] : c.layer.attributes.all()) {
    if (name != "dim" && name != "dim0" && name != "dim1" && name != "dim2") continue;
    if (const auto* axis = std::get_if<int64_t>(&value); axis != nullptr && !Within(*axis, rank)) return false;
    const auto* axes = std::get_if<std::vector<int64_t>>(&value);
    const auto is_there = [&](int64_t axis) { return Within(axis, rank); };
    if (axes != nullptr && !std::all_of(axes->begin(), axes->end(), is_there)) return false;
  }
  if (op == "permute") {
    std::vector<int64_t> axes = c.Ints("dims");
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != static_cast<int64_t>(i)) return false;
    }
    return static_cast<int>(axes.size()) == rank;
  }
  return true;
}

bool AllAlike(const std::vector<Tensor>& tensors) {
  return !tensors.empty() && std::all_of(tensors.begin(), tensors.end(),
                                         [&](const Tensor& t) { return t && t->dim() == tensors[0]->dim(); });
}

bool AllSameRank(const Call& c, int rank) {
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.layer.outputs[i].valid() || c.OutShape(i).rank() != rank) return false;
  }
  return true;
}

// Sizes come from the graph where an operator's own are not known.
bool OutputFits(const Call& c) {
  const std::string& op = c.layer.op;
  if (c.layer.outputs.empty() || !c.layer.outputs[0].valid()) return false;
  const int rank = c.In(0) ? c.In(0)->dim() : 0, out = c.OutShape().rank();
  if (op.find("_pool") != std::string::npos || op.find("upsample") != std::string::npos || op == "slice" ||
      op == "split" || op == "pad")
    return out == rank && (op != "split" || AllSameRank(c, rank));
  if (op == "expand" || op == "repeat") return out >= rank;
  return true;
}

}  // namespace

bool OperandsFit(const Call& c) {
  const std::string& op = c.layer.op;
  if (op == "cat" || op == "stack") return AllAlike(c.inputs) && AxesFit(c);
  const auto found = Words().find(op);
  std::string_view words = found == Words().end() ? "*" : found->second;
  for (size_t i = 0; !words.empty(); ++i) {
    const size_t space = words.find(' ');
    const std::string_view word = words.substr(0, space);
    if (word == "|" ? !c.Has(i) && !c.Has(i + 1) : !Accepts(word, c.In(i))) return false;
    words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  }
  return OutputFits(c) && (!c.In(0) || AxesFit(c));
}

}  // namespace vramplan::eager
