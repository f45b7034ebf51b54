#include "planner/calibration/convolutions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace vramplan {
namespace {

using Pass = ConvolutionCall::Pass;

// Nothing: not all lengths are known, or one is none.
std::optional<std::vector<int64_t>> LengthsAt(const Layers& layers, ValueId id, int64_t batch) {
  if (!id.valid() || layers[id].shape.rank() < 3) return std::nullopt;
  std::vector<int64_t> lengths;
  for (const Dim& dim : layers[id].shape) {
    if (!dim.known() || dim.At(batch) < 1) return std::nullopt;
    lengths.push_back(dim.At(batch));
  }
  return lengths;
}

// By spatial axis; the layer may not say.
std::vector<int64_t> ByAxis(const Layer& layer, const char* name, size_t axes, int64_t otherwise) {
  std::vector<int64_t> values = layer.attributes.Ints(name);
  values.resize(axes, otherwise);
  return values;
}

// The forward of the layer, as the framework names its operands.
struct Forward {
  std::vector<int64_t> input, filter, output, padding, stride, dilation;
  int64_t groups = 1;
  bool transposed = false;
};

std::optional<Forward> ForwardOf(const Layers& layers, const Layer& layer, int64_t batch) {
  if (!layer.op.starts_with("conv") || layer.inputs.size() < 2 || layer.outputs.empty()) return std::nullopt;
  auto input = LengthsAt(layers, layer.inputs[0], batch), filter = LengthsAt(layers, layer.inputs[1], batch),
       output = LengthsAt(layers, layer.outputs[0], batch);
  if (!input || !filter || !output || input->size() != filter->size() || output->size() != filter->size())
    return std::nullopt;
  const size_t axes = filter->size() - 2;
  Forward forward{.input = *std::move(input), .filter = *std::move(filter), .output = *std::move(output)};
  forward.padding = ByAxis(layer, "padding", axes, 0);
  forward.stride = ByAxis(layer, "stride", axes, 1);
  forward.dilation = ByAxis(layer, "dilation", axes, 1);
  forward.groups = layer.attributes.Int("groups", 1);
  forward.transposed = layer.op.starts_with("conv_transpose");
  if (axes > 1) return forward;
  for (auto* lengths : {&forward.input, &forward.filter, &forward.output}) lengths->insert(lengths->begin() + 2, 1);
  forward.padding.insert(forward.padding.begin(), 0);
  forward.stride.insert(forward.stride.begin(), 1);
  forward.dilation.insert(forward.dilation.begin(), 1);
  return forward;
}

Pass PassOf(ConvolutionPass pass, bool transposed) {
  if (pass == ConvolutionPass::kWeightGradient) return Pass::kWeightGradient;
  return (pass == ConvolutionPass::kForward) != transposed ? Pass::kForward : Pass::kInputGradient;
}

ConvolutionQuestion QuestionOf(const Forward& forward, ConvolutionPass pass, DType type, Arithmetic arithmetic) {
  ConvolutionCall call{.pass = PassOf(pass, forward.transposed), .type = arithmetic};
  call.input = forward.transposed ? forward.output : forward.input;
  call.filter = forward.filter;
  call.output = forward.transposed ? forward.input : forward.output;
  call.padding = forward.padding;
  call.stride = forward.stride;
  call.dilation = forward.dilation;
  call.groups = forward.groups;
  return {std::move(call), {pass, type, false, forward.input, forward.filter, forward.output}};
}

auto KeyOf(const ConvolutionCall& call) {
  return std::tuple(call.pass, call.type, call.input, call.filter, call.output, call.padding, call.stride,
                    call.dilation, call.groups);
}

}  // namespace

std::vector<ConvolutionQuestion> ConvolutionsOf(const Layers& layers, int64_t batch, Capability capability) {
  const bool ampere = capability >= Capability{8, 0};
  std::vector<std::pair<DType, Arithmetic>> types = {{DType::kFloat32, ampere ? Arithmetic::kTf32 : Arithmetic::kFp32},
                                                     {DType::kFloat16, Arithmetic::kFp16}};
  if (ampere) types.emplace_back(DType::kBFloat16, Arithmetic::kBf16);
  std::vector<ConvolutionQuestion> questions;
  std::set<std::pair<bool, decltype(KeyOf(ConvolutionCall()))>> asked;
  for (const Layer& layer : layers.layers) {
    const std::optional<Forward> forward = ForwardOf(layers, layer, batch);
    if (!forward) continue;
    for (const auto& [type, arithmetic] : types) {
      for (const auto pass :
           {ConvolutionPass::kForward, ConvolutionPass::kInputGradient, ConvolutionPass::kWeightGradient}) {
        ConvolutionQuestion question = QuestionOf(*forward, pass, type, arithmetic);
        if (asked.insert({forward->transposed, KeyOf(question.call)}).second) questions.push_back(std::move(question));
      }
    }
  }
  return questions;
}

Result<std::vector<MeasuredConvolution>> MeasureConvolutions(CardSession* session,
                                                             const std::vector<ConvolutionQuestion>& questions) {
  std::vector<MeasuredConvolution> measured;
  for (const ConvolutionQuestion& question : questions) {
    const Result<std::optional<Bytes>> workspace = session->Workspace(question.call);
    if (!workspace.ok()) return workspace.error();
    if (*workspace) measured.push_back({question.shape, **workspace});
  }
  return measured;
}

}  // namespace vramplan
