#include "planner/timeline/selective.h"

#include <algorithm>

#include "planner/spec/nearest.h"

namespace vramplan {

const std::vector<SaveableOperator>& SaveableOperators() {
  static const auto* const rows = new std::vector<SaveableOperator>{
      {"aten::addmm", "AddmmBackward0", "aten.addmm.default"},
      {"aten::mm", "MmBackward0", "aten.mm.default"},
      {"aten::bmm", "BmmBackward0", "aten.bmm.default"},
      {"aten::conv1d", "ConvolutionBackward0", "aten.convolution.default"},
      {"aten::conv2d", "ConvolutionBackward0", "aten.convolution.default"},
      {"aten::conv3d", "ConvolutionBackward0", "aten.convolution.default"},
      {"aten::conv_transpose1d", "ConvolutionBackward0", "aten.convolution.default"},
      {"aten::conv_transpose2d", "ConvolutionBackward0", "aten.convolution.default"},
      {"aten::conv_transpose3d", "ConvolutionBackward0", "aten.convolution.default"},
      {"aten::_scaled_dot_product_efficient_attention", "ScaledDotProductEfficientAttentionBackward0",
       "aten._scaled_dot_product_efficient_attention.default"},
      {"aten::_scaled_dot_product_flash_attention", "ScaledDotProductFlashAttentionBackward0",
       "aten._scaled_dot_product_flash_attention.default"},
      {"aten::layer_norm", "NativeLayerNormBackward0", "aten.native_layer_norm.default"},
      {"aten::gelu", "GeluBackward0", "aten.gelu.default"},
  };
  return *rows;
}

Status CheckOverload(const SavedCall& call) {
  std::vector<std::string> overloads;
  for (const SaveableOperator& row : SaveableOperators()) {
    if (row.overload == call.op) return Done();
    if (std::find(overloads.begin(), overloads.end(), row.overload) == overloads.end())
      overloads.emplace_back(row.overload);
  }
  const std::string near = SuggestNearest(call.op, overloads);
  return Error{ErrorCode::kUsage, "--saved", InQuotes(call.op) + " is not one of " + JoinChoices(overloads), near};
}

const SaveableOperator* CallCounter::Begins(std::string_view op) {
  for (const SaveableOperator& row : SaveableOperators()) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

int CallCounter::Ended(std::string_view node) {
  for (const SaveableOperator& row : SaveableOperators()) {
    if (row.node != node) continue;
    for (auto& [overload, count] : counts_) {
      if (overload == row.overload) return count++;
    }
    counts_.emplace_back(row.overload, 1);
    return 0;
  }
  return -1;
}

int CallCounter::Next(std::string_view overload) const {
  for (const auto& [counted, count] : counts_) {
    if (counted == overload) return count;
  }
  return 0;
}

}  // namespace vramplan
