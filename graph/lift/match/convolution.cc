// Convolutions, pooling, resizing.
#include <algorithm>
#include <cctype>
#include <string>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

// Spatial axes of a [batch, channels, ...] tensor; 2 where the rank is not known.
int64_t SpatialAxes(PatternSource& source, TensorId tensor) {
  const int rank = source.RankOf(tensor);
  return rank >= 3 ? rank - 2 : 2;
}
std::vector<int64_t> ListOr(const Attributes& attributes, const char* name, int64_t axes, int64_t otherwise) {
  std::vector<int64_t> list = attributes.Ints(name);
  if (list.empty()) list.assign(static_cast<size_t>(axes), otherwise);
  return list;
}
// Begins of all axes, then ends. auto_pad says them by the result (onnx Conv-11): what the windows reach beyond the
// input, the odd one at the end, or at the begin under SAME_LOWER.
std::vector<int64_t> Pads(PatternSource& source, NodeId root, int64_t axes, const std::vector<int64_t>& kernel) {
  const Attributes& node = source[root].attributes;
  std::vector<int64_t> pads = ListOr(node, "pads", 2 * axes, 0);
  const std::string same = node.Text("auto_pad", "NOTSET");
  const Shape in = source.ShapeOf(source.In(root, 0)), out = source.ShapeOf(source[root].outputs[0]);
  const int rank = static_cast<int>(axes) + 2;
  if (!same.starts_with("SAME") || source[root].op != "Conv" || in.rank() != rank || out.rank() != rank) return pads;
  const std::vector<int64_t> strides = ListOr(node, "strides", axes, 1), dilations = ListOr(node, "dilations", axes, 1);
  const auto count = static_cast<size_t>(axes);
  if (strides.size() != count || dilations.size() != count || kernel.size() != count || pads.size() != 2 * count)
    return pads;
  constexpr int64_t kLongest = int64_t{1} << 20;  // beyond it is no convolution, and products stay within 63 bits
  const auto sane = [](int64_t value) { return value >= 0 && value <= kLongest; };
  for (size_t i = 0; i < count; ++i) {
    const Dim length = in[static_cast<int>(i) + 2], windows = out[static_cast<int>(i) + 2];
    if (!length.IsConstant() || !windows.IsConstant()) continue;
    if (!sane(strides[i]) || !sane(dilations[i]) || !sane(kernel[i]) || !sane(length.c0()) || !sane(windows.c0()))
      continue;
    const int64_t reach = (windows.c0() - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1;
    const int64_t total = std::max<int64_t>(0, reach - length.c0()), less = total / 2;
    pads[i] = same == "SAME_LOWER" ? total - less : less;
    pads[count + i] = total - pads[i];
  }
  return pads;
}

// ONNX pads begin and end of each axis; torch has one number for both.
std::vector<int64_t> Padding(PatternSource& source, NodeId root, int64_t axes, const std::vector<int64_t>& kernel) {
  std::vector<int64_t> pads = Pads(source, root, axes, kernel);
  pads.resize(static_cast<size_t>(axes));
  return pads;
}

Attributes ConvolutionAttributes(PatternSource& source, NodeId root, int64_t axes, const Shape& weight) {
  const Attributes& node = source[root].attributes;
  std::vector<int64_t> kernel = node.Ints("kernel_shape");
  for (int axis = 2; kernel.size() < static_cast<size_t>(axes) && axis < weight.rank(); ++axis) {
    kernel.push_back(weight[axis].IsConstant() ? weight[axis].c0() : 1);
  }
  return Named({{"kernel_size", kernel},
                {"stride", ListOr(node, "strides", axes, 1)},
                {"padding", Padding(source, root, axes, kernel)},
                {"dilation", ListOr(node, "dilations", axes, 1)},
                {"groups", node.Int("group", 1)}});
}

// padding="same" of an even kernel: what one side has more than the other is padded in front of the convolution
// (ATen/native/Convolution.cpp, _convolution_same).
Operand PaddedUnevenly(PatternSource& source, NodeId root, int64_t axes, Attributes* attributes) {
  const TensorId input = source.In(root, 0);
  const std::vector<int64_t> pads = Pads(source, root, axes, attributes->Ints("kernel_size"));
  const auto count = static_cast<size_t>(axes);
  Shape padded = source.ShapeOf(input);
  if (pads.size() != 2 * count || padded.rank() != static_cast<int>(axes) + 2 || source[root].op != "Conv" ||
      std::equal(pads.begin(), pads.begin() + axes, pads.begin() + axes))
    return source.Use(input);
  std::vector<int64_t> rims(2 * count, 0), common(count);  // torch order: the last axis first
  for (size_t i = 0; i < count; ++i) {
    common[i] = std::min(pads[i], pads[count + i]);
    rims[2 * (count - 1 - i)] = pads[i] - common[i];
    rims[2 * (count - 1 - i) + 1] = pads[count + i] - common[i];
    Dim& length = padded[static_cast<int>(i) + 2];
    length = length + Dim(pads[i] + pads[count + i] - 2 * common[i]);
  }
  attributes->Set("padding", common);
  const Operand out = source.New(Beside(source[root], ".pad"), source.TypeOf(input), padded);
  source.Put(out, "pad", {source.Use(input)}, {root}, Named({{"pad", rims}, {"mode", std::string("constant")}}));
  return out;
}

// "conv1_bn/FusedBatchNormV3:0", "Conv2D_bias_fused_bn" (tf2onnx), "batch_norm_3", "bn1/BatchNormalization_output_0",
// "ConvBnFusion_BN_B_bn1.bias" (ONNX Runtime)
bool NamesBatchNorm(std::string name) {
  std::erase(name, '_');
  name = LowerCase(name);
  return name.find("batchnorm") != std::string::npos || name.find("fusedbn") != std::string::npos ||
         name.find("convbnfusion") != std::string::npos;
}

bool MatchConv(PatternSource& source, NodeId root) {
  const bool folded = HadBatchNorm(source, root);
  return EmitConvolution(source, root, "conv", folded);
}
bool MatchConvTranspose(PatternSource& source, NodeId root) { return EmitConvolution(source, root, "conv_transpose"); }

bool EmitPool(PatternSource& source, NodeId root, std::string op, Attributes attributes, TensorId input,
              std::vector<NodeId> nodes) {
  std::vector<Operand> outputs = {source.Out(root)};
  if (source.Out(root, 1).valid()) outputs.push_back(source.Out(root, 1));  // where the maximum was
  return source.PutAll(std::move(outputs), std::move(op), {source.Use(input)}, std::move(nodes), std::move(attributes));
}

// An adaptive pool is exported as a pool without a `pads` attribute (symbolic_opset9.py 2.10, _adaptive_pool).
bool EmitWindowPool(PatternSource& source, NodeId root, const char* fixed, const char* adaptive) {
  TensorId input = source.In(root, 0);
  const Attributes& node = source[root].attributes;
  const int64_t axes = SpatialAxes(source, input);
  const std::vector<int64_t> kernel = node.Ints("kernel_shape");
  if (source.FromPyTorch() && !node.Has("pads") && node.Ints("strides") == kernel) {
    return EmitPool(source, root, Ranked(adaptive, axes), {}, input, {root});
  }
  std::vector<int64_t> padding = Padding(source, root, axes, kernel);
  std::vector<NodeId> nodes = {root};
  // avg_pool2d(padding, count_include_pad=True) is exported as a Pad before the pool.
  const NodeId pad = source.OnlyMakerOf(input, "Pad");
  if (source.FromPyTorch() && source[root].op == "AveragePool" && pad.valid() && source.SameScope(pad, root)) {
    const auto pads = source.IntegersOf(pad, "pads", 1);
    if (pads.has_value() && static_cast<int64_t>(pads->size()) == 2 * (axes + 2)) {
      padding.assign(pads->begin() + 2, pads->begin() + 2 + axes);
      input = source.In(pad, 0);
      nodes = {pad, root};
    }
  }
  Attributes attributes = Named({{"kernel_size", kernel},
                                 {"stride", ListOr(node, "strides", axes, 1)},
                                 {"padding", padding},
                                 {"ceil_mode", node.Int("ceil_mode", 0)}});
  return EmitPool(source, root, Ranked(fixed, axes), std::move(attributes), input, std::move(nodes));
}
bool MatchMaxPool(PatternSource& source, NodeId root) {
  return EmitWindowPool(source, root, "max_pool", "adaptive_max_pool");
}
bool MatchAveragePool(PatternSource& source, NodeId root) {
  return EmitWindowPool(source, root, "avg_pool", "adaptive_avg_pool");
}

bool MatchGlobalPool(PatternSource& source, NodeId root) {
  const char* op = source[root].op == "GlobalMaxPool" ? "adaptive_max_pool" : "adaptive_avg_pool";
  return EmitPool(source, root, Ranked(op, SpatialAxes(source, source.In(root, 0))), {}, source.In(root, 0), {root});
}
bool MatchLocalResponseNorm(PatternSource& source, NodeId root) {
  return EmitPool(source, root, "local_response_norm", Named({{"size", source[root].attributes.Int("size", 5)}}),
                  source.In(root, 0), {root});
}

bool MatchResize(PatternSource& source, NodeId root) {
  const std::string mode = source[root].attributes.Text("mode", "nearest");
  const int64_t axes = SpatialAxes(source, source.In(root, 0));
  std::string op = "upsample_nearest" + std::to_string(axes) + "d";
  if (mode == "linear")
    op = axes == 1 ? "upsample_linear1d" : axes == 2 ? "upsample_bilinear2d" : "upsample_trilinear3d";
  if (mode == "cubic") op = "upsample_bicubic2d";
  return EmitPool(source, root, std::move(op), {}, source.In(root, 0), {root});
}

bool MatchGridSample(PatternSource& source, NodeId root) {
  return source.Emit("grid_sample", {source.Input(root, 0), source.Input(root, 1)}, {root});
}

}  // namespace

// A batch norm that was folded into the convolution leaves its names behind: the result is called what the batch norm's
// was ("getitem" in the dynamo exporter's, whose native batch norm gives a tuple), or the folded tensors are.
bool HadBatchNorm(PatternSource& source, NodeId root) {
  if (!Runs("read", "convolution HadBatchNorm")) return false;
  const TensorId weight = source.In(root, 1), bias = source.In(root, 2);
  if (source.Stored(weight) == nullptr) return false;
  const std::string& result = source.NameOf(source[root].outputs[0]);
  if (NamesBatchNorm(result) || (bias.valid() && NamesBatchNorm(source.NameOf(bias)))) return true;
  if (!source.FromPyTorch()) return false;
  // The TorchScript exporter's folded tensors are "onnx::Conv_193" and "onnx::Conv_194". What folds a weight norm or a
  // number (onnxsim) into the weight leaves the bias alone.
  return result.starts_with("getitem") ||
         (!source.HasModulePath(weight) && bias.valid() && !source.HasModulePath(bias));
}

bool EmitConvolution(PatternSource& source, NodeId root, const char* op, bool folded_norm) {
  const TensorId weight = source.In(root, 1);
  const int64_t axes = SpatialAxes(source, weight);
  Attributes attributes = ConvolutionAttributes(source, root, axes, source.ShapeOf(weight));
  if (source[root].op == "ConvTranspose") {
    attributes.Set("output_padding", ListOr(source[root].attributes, "output_padding", axes, 0));
  }
  if (folded_norm) attributes.Set("folded_norm", int64_t{1});
  const Operand input = PaddedUnevenly(source, root, axes, &attributes);
  return source.Put(
      source.Out(root), Ranked(op, axes),
      {input, source.Parameter(weight, root, "weight"), source.Parameter(source.In(root, 2), root, "bias")}, {root},
      std::move(attributes));
}

const PatternRows& ConvolutionPatterns() {
  static const PatternRows rows = {
      {"Conv", MatchConv},
      {"ConvTranspose", MatchConvTranspose},
      {"MaxPool", MatchMaxPool},
      {"AveragePool", MatchAveragePool},
      {"GlobalAveragePool|GlobalMaxPool", MatchGlobalPool},
      {"LRN", MatchLocalResponseNorm},
      {"Resize|Upsample", MatchResize},
      {"GridSample", MatchGridSample},
  };
  return rows;
}

}  // namespace vramplan
