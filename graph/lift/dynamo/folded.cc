#include "graph/lift/dynamo/folded.h"

#include <algorithm>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/lift/dynamo/without_node.h"
#include "graph/lift/torchscript/merged_pad.h"

namespace vramplan {
namespace {

// The first reference among the arguments: what the batch norm normalises.
std::string FirstRef(const FxNode& fx) {
  if (fx.arguments.empty() || fx.arguments.front().kind != FxLiteral::Kind::kRef) return "";
  return fx.arguments.front().text;
}

// ONNX: all begins, then all ends. Exported convolutions pad alike on both sides.
std::vector<int64_t> BeginsOf(std::vector<int64_t> pads, size_t axes) {
  pads.resize(axes, 0);
  return pads;
}

std::vector<int64_t> OrOnes(std::vector<int64_t> list, size_t axes) {
  if (list.size() != axes) list.assign(axes, 1);
  return list;
}

}  // namespace

ModulePath PathOfModule(const std::string& module, const std::string& class_name, const ClassByPath& classes) {
  ModulePath path;
  for (size_t dot = module.find('.'); dot != std::string::npos; dot = module.find('.', dot + 1)) {
    const auto known = classes.find(module.substr(0, dot));
    if (known != classes.end()) path.push_back({.path = module.substr(0, dot), .class_name = known->second});
  }
  if (!module.empty()) path.push_back({.path = module, .class_name = class_name});
  return path;
}

FoldedConvolution LiftFoldedConvolution(ValueId input, ValueId norm, const FxSite& at) {
  const Graph& graph = at.builder.graph();
  const auto found = std::ranges::find_if(at.user.nodes, [&](NodeId id) {
    const std::string& op = graph[id].op;
    return op == "Conv" || op == "ConvTranspose" || op == "Gemm";
  });
  const std::string name = FirstRef(at.user.fx);
  if (found == at.user.nodes.end() || name.empty() || graph[*found].inputs.size() < 2) return {};
  const Node& node = graph[*found];
  const Tensor& stored_weight = graph[node.inputs[1]];

  ValueId weight = at.signature.ByTarget(stored_weight.name);
  if (!weight.valid()) {  // merged or renamed: module trees list the convolution right before its norm
    for (const FxLiteral& argument : at.user.fx.arguments) {
      if (argument.kind != FxLiteral::Kind::kRef || weight.valid()) continue;
      const ValueId norm_weight = at.signature.ByPlaceholder(argument.text);
      if (norm_weight.valid()) weight = at.signature.UnreferencedBefore(norm_weight);
    }
  }
  if (!weight.valid()) weight = at.builder.ValueOf(node.inputs[1]);
  if (!at.signature.ShapeIsKnown(weight) && stored_weight.stored.has_value()) {
    Shape shape;
    for (const int64_t length : stored_weight.stored->dims) shape.Append(length);
    at.signature.SetShape(weight, stored_weight.stored->type, shape);
  }
  const std::string module = ParentOf(at.builder.At(weight).name);

  Value result = at.builder.At(norm);
  result.name = name;
  Layer layer{.name = name, .inputs = {input, weight}, .nodes = {*found}, .evidence = Evidence::kProvenance};
  std::string class_name = "torch.nn.modules.linear.Linear";
  if (node.op == "Gemm") {
    layer.op = "linear";
  } else {
    const Shape& kernel = at.builder.At(weight).shape;
    const size_t axes = kernel.rank() > 2 ? static_cast<size_t>(kernel.rank()) - 2 : 0;
    const bool transposed = node.op == "ConvTranspose";
    class_name =
        std::string("torch.nn.modules.conv.") + (transposed ? "ConvTranspose" : "Conv") + std::to_string(axes) + "d";
    layer.inputs[0] =
        LiftMergedPad(node, input, {}, PathOfModule(module, class_name, at.classes), at.user.last(), at.builder);
    const bool padded = layer.inputs[0] != input;
    layer.op = (transposed ? "conv_transpose" : "conv") + std::to_string(axes) + "d";
    std::vector<int64_t> lengths;
    for (int i = 2; i < kernel.rank(); ++i) lengths.push_back(kernel[i].IsConstant() ? kernel[i].c0() : 0);
    const std::vector<int64_t> own = padded ? std::vector<int64_t>() : node.attributes.Ints("pads");
    layer.attributes = Named({{"kernel_size", lengths},
                              {"stride", OrOnes(node.attributes.Ints("strides"), axes)},
                              {"padding", BeginsOf(own, axes)},
                              {"dilation", OrOnes(node.attributes.Ints("dilations"), axes)},
                              {"groups", node.attributes.Int("group", 1)}});
    if (transposed) layer.attributes.Set("output_padding", BeginsOf(node.attributes.Ints("output_padding"), axes));
  }
  const ValueId bias = at.signature.ByTarget(module + ".bias");
  if (bias.valid() && at.signature.IsUnreferenced(module + ".bias")) layer.inputs.push_back(bias);
  const ValueId made = at.builder.AddValue(std::move(result));
  layer.outputs = {made};
  at.signature.InferFromUse({.op = layer.op, .inputs = layer.inputs, .outputs = layer.outputs});
  at.builder.AddLayer(std::move(layer), PathOfModule(module, class_name, at.classes), at.user.last());
  return {.name = name, .result = made};
}

ValueId LiftFoldedTable(TensorId constant, const std::string& name, const FxSite& at) {
  if (!Runs("read", "folded LiftFoldedTable")) return {};
  const ModulePath& path = at.user.path;
  // Rows of a table are picked and turned. What ends in a difference or a choice is the mask of a shifted window:
  // (windows.unsqueeze(1) - windows.unsqueeze(2)).masked_fill(...) (transformers, modeling_donut_swin.py, version 5).
  if (path.empty() || IsOneOf(OperatorOf(name), {"sub", "ne", "eq", "masked_fill", "where", "zeros", "full"}))
    return {};
  // torchvision, timm and transformers name them alike: a table of [(2w-1)^2, heads] and an index of [w^2 * w^2] for a
  // window of w x w (torchvision/models/swin_transformer.py, define_relative_position_bias_table).
  // timm's RelPosBias is a module of its own, called from no node that is left.
  static const NameHabit kBias = NamesWith(NameHabit::Of::kDenseBias).front();
  const ValueId table = at.signature.OnlyInside(path.back().path, std::string(kBias.name));
  const ValueId index = at.signature.OnlyInside(path.back().path, std::string(kBias.with));
  const StoredTensor& stored = *at.builder.graph()[constant].stored;
  if (!table.valid() || !index.valid() || stored.dims.size() < 2) return {};
  constexpr int64_t kMostRows = 1 << 24;  // a window of 64 x 64 has as many
  if (std::ranges::any_of(stored.dims, [](int64_t length) { return length > kMostRows; })) return {};
  // Folding stops anywhere between the gathered rows, [w^4, heads], and the bias, [1, heads, w^2, w^2].
  const size_t rank = stored.dims.size();
  int64_t heads = stored.dims[rank - 1], tokens = 1, window = 1;
  if (rank == 2) {
    while (tokens * tokens < stored.dims[0]) ++tokens;
  } else {
    const bool heads_last = rank == 3 && stored.dims[0] == stored.dims[1] && stored.dims[2] != stored.dims[1];
    if (!heads_last) heads = stored.dims[rank - 3];
    tokens = stored.dims[rank - 2];
  }
  while (window * window < tokens) ++window;
  if (window * window != tokens) return {};
  const Shape final_shape = at.builder.At(at.builder.ValueOf(constant)).shape;
  if (!at.signature.ShapeIsKnown(table)) {
    at.signature.SetShape(table, stored.type, Shape{(2 * window - 1) * (2 * window - 1), heads});
  }
  if (!at.signature.ShapeIsKnown(index)) at.signature.SetShape(index, DType::kInt64, Shape{tokens * tokens});

  const std::string base = at.builder.graph()[constant].name;
  struct Step {
    const char* op;
    Shape shape;
    Attributes attributes;
  };
  Step steps[] = {{"index", Shape{tokens * tokens, heads}, {}},
                  {"reshape", Shape{tokens, tokens, heads}, {}},
                  {"permute", Shape{heads, tokens, tokens}, Named({{"dims", std::vector<int64_t>{2, 0, 1}}})},
                  {"contiguous", Shape{heads, tokens, tokens}, {}},
                  {"unsqueeze", Shape{1, heads, tokens, tokens}, Named({{"dim", int64_t{0}}})}};
  ValueId last = table;
  for (Step& step : steps) {
    std::vector<ValueId> inputs = {last};
    if (last == table) inputs.push_back(index);
    last = at.builder.Make({.name = base + "." + step.op, .type = stored.type, .shape = step.shape}, step.op,
                           std::move(inputs), path, at.user.last(), std::move(step.attributes));
    if (step.shape == final_shape && std::string_view(step.op) != "permute") break;
  }
  return last;
}

}  // namespace vramplan
