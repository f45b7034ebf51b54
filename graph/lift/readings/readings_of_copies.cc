#include "graph/lift/readings/readings_of_copies.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/readings/changed.h"

namespace vramplan {
namespace {

// x - mean(x), read by a square and by something else.
bool IsSharedCentring(const Uses& uses, const Layer& sub) {
  if (sub.op != "sub" || FromDynamo(sub) || sub.inputs.size() != 2) return false;
  ValueId mean = uses.BehindViews(sub.inputs[1]);
  bool averaged = false;
  for (const Layer* maker = uses.MakerOf(mean); maker != nullptr && maker->op == "mean"; maker = uses.MakerOf(mean)) {
    mean = uses.BehindViews(maker->inputs[0]);
    averaged = true;
  }
  if (!averaged || mean != uses.BehindViews(sub.inputs[0])) return false;
  const auto readers = uses.ReadersOf(sub.outputs[0]);
  const auto& all = uses.layers().layers;
  if (readers.size() != 2 || readers[0] == readers[1] || static_cast<size_t>(readers[1]) >= all.size()) return false;
  const auto squares = [&](int32_t place) { return all[static_cast<size_t>(place)].op == "pow"; };
  return squares(readers[0]) != squares(readers[1]);
}

bool IsNorm(const Layer* layer) {
  return layer != nullptr && IsOneOf(layer->op, {"batch_norm", "instance_norm", "group_norm", "layer_norm"});
}

// What needs its result for its gradient (tools/autograd/derivatives.yaml, 2.10), which PyTorch refuses to overwrite.
bool KeepsResult(const Layer& layer) {
  return IsOneOf(layer.op, {"relu", "sigmoid", "tanh", "softmax", "log_softmax", "exp", "sqrt", "rsqrt", "reciprocal",
                            "elu", "selu", "celu", "softplus", "cumprod", "norm", "logsumexp"});
}

// A write into a part of a tensor is in every file: what reads the whole behind it must see it. Into what shows a
// parameter PyTorch writes nothing.
bool IsPart(const Uses& uses, const Layer& layer) {
  if (IsOneOf(layer.op, {"slice", "select", "split", "unbind", "getitem", "narrow", "diagonal"})) return true;
  const ValueId shown =
      uses.Behind({"reshape", "view", "unsqueeze", "squeeze", "transpose", "permute", "expand"}, layer.outputs[0]);
  return uses.layers()[shown].role == Role::kParameter;
}

bool IsInPlace(const Layer& layer) { return layer.attributes.Int("inplace", 0) != 0; }
void SetInPlace(Layer& layer) { layer.attributes.Set("inplace", int64_t{1}); }

// What people make dense first.
bool ReadsDense(const Layer* layer) {
  return IsNorm(layer) || (layer != nullptr && (layer->op == "reshape" || layer->op.starts_with("conv")));
}

// "/layers.3/blocks.0/attn/Constant_11_output_0" without its numbers.
std::string WithoutNumbers(std::string_view name) {
  std::string rest;
  std::ranges::copy_if(name, std::back_inserter(rest), [](char c) { return c < '0' || c > '9'; });
  return rest;
}

}  // namespace

// The TorchScript exporter computes equal nodes once: (x - mean) / std with a variance of its own centres twice.
std::optional<Reading> CentringTwiceInstead(const Layers& layers) {
  const Uses uses(layers);
  const auto is_shared = [&](const Layer& layer) { return IsSharedCentring(uses, layer); };
  if (std::ranges::none_of(layers.layers, is_shared)) return std::nullopt;
  Layers other = layers;
  Edit edit(&other);
  for (const Layer& sub : layers.layers) {
    if (!is_shared(sub)) continue;
    Layer second = sub;
    second.name += ".again";
    edit.RepeatFor(static_cast<size_t>(uses.ReadersOf(sub.outputs[0])[1]), std::move(second));
  }
  edit.Apply();
  return Reading{"centring-guessed", "assumed: x - mean(x) is computed once, for the variance and for what is divided",
                 kDynamoTells, std::move(other)};
}

// x.transpose(1, 2).contiguous(), of which the TorchScript exporter keeps the transpose. In front of a reshape that must
// copy, the copy is the same.
std::optional<Reading> DenseTransposesInstead(const Layers& layers) {
  const Uses uses(layers);
  Layers other = layers;
  Edit edit(&other);
  bool any = false;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& turn = layers.layers[l];
    if (!IsOneOf(turn.op, {"transpose", "permute"}) || FromDynamo(turn) || uses.IsStored(turn.inputs[0])) continue;
    const Layer* reader = uses.OnlyReaderOf(turn.outputs[0]);
    if (!ReadsDense(reader) && !IsNorm(uses.MakerOf(turn.inputs[0]))) continue;
    Value copy = layers[turn.outputs[0]];
    copy.name += ".contiguous";
    edit.Rename(turn.outputs[0], edit.InsertBehind(l, CallBeside(turn, "contiguous", {turn.outputs[0]}), copy));
    any = true;
  }
  if (!any) return std::nullopt;
  edit.Apply();
  return Reading{"contiguous-guessed",
                 "assumed: transposed tensors are read as they lie; code may copy them with contiguous()", kDynamoTells,
                 std::move(other)};
}

// Tables that the TorchScript exporter computed in each copy of a module, and stores in its nodes: views of one table
// that all copies are given, or of a buffer that each has.
std::optional<Reading> OneTableInstead(const Layers& layers) {
  constexpr int64_t kTable = 1024;  // elements; fewer move nothing
  std::map<std::string, std::vector<ValueId>> copies;
  for (const ValueId id : layers.buffers) {
    const Value& table = layers[id];
    const Dim elements = table.shape.Elements();
    if (!table.name.starts_with('/') || !elements.known() || elements.At(1) < kTable) continue;
    copies[ToString(table.shape) + WithoutNumbers(table.name)].push_back(id);
  }
  std::erase_if(copies, [](const auto& entry) { return entry.second.size() < 2; });
  if (copies.empty()) return std::nullopt;
  Layers other = layers;
  std::map<ValueId, ValueId> first;
  for (const auto& [name, tables] : copies) {
    for (size_t t = 1; t < tables.size(); ++t) first[tables[t]] = tables[0];
  }
  for (Layer& layer : other.layers) {
    for (ValueId& id : layer.inputs) {
      if (const auto found = first.find(id); found != first.end()) id = found->second;
    }
  }
  std::erase_if(other.buffers, [&](ValueId id) { return first.contains(id); });
  return Reading{"tables-guessed",
                 "assumed: each copy of a module has its own of " + std::to_string(first.size() + copies.size()) +
                     " equal tables; all may be given one",
                 kDynamoTells, std::move(other)};
}

// x = F.leaky_relu(self.conv(x), 0.2, inplace=True), as super resolution writes it; of ReLU it is seldom written so.
std::optional<Reading> InPlaceCallsInstead(const Layers& layers) {
  const Uses uses(layers);
  const auto may_be = [&](const Layer& layer) {
    if (!IsOneOf(layer.op, {"leaky_relu", "elu"}) || FromDynamo(layer) || IsInPlace(layer)) return false;
    const Layer* maker = uses.MakerOf(layer.inputs[0]);
    const bool makes_features = maker != nullptr && (maker->op.starts_with("conv") || maker->op == "batch_norm");
    return makes_features && uses.OnlyReaderOf(layer.inputs[0]) != nullptr;
  };
  return ReadAs(Changed(layers, may_be, SetInPlace), "in-place-calls",
                "assumed: F.leaky_relu and F.elu make a tensor, without inplace=True", kDynamoTells);
}

// nn.Dropout(0.5, inplace=True) behind a map's norm, as skeleton networks write it (yysijie/st-gcn, net/st_gcn.py): it
// multiplies by noise as large as the map, and keeps that (ATen/native/Dropout.cpp, _dropout_impl, 2.10).
std::optional<Reading> InPlaceDropoutsInstead(const Layers& layers) {
  const Uses uses(layers);
  constexpr int kMap = 4;  // axes
  const auto may_be = [&](const Layer& layer) {
    if (layer.op != "dropout" || FromDynamo(layer) || IsInPlace(layer)) return false;
    const Layer* maker = uses.MakerOf(layer.inputs[0]);
    return maker != nullptr && !KeepsResult(*maker) && layers[layer.inputs[0]].shape.rank() >= kMap &&
           uses.OnlyReaderOf(layer.inputs[0]) != nullptr;
  };
  return ReadAs(Changed(layers, may_be, SetInPlace), "in-place-dropouts",
                "assumed: dropouts of maps keep a mask; nn.Dropout(inplace=True) keeps noise in the type of the map",
                kDynamoTells);
}

namespace {

// Neither TorchScript nor a file without source lines keeps the place of an operation that writes into its operand.
std::optional<Reading> InPlaceInstead(const Layers& layers, std::string_view op, const char* code, const char* text) {
  if (!layers.source.stacks.empty()) return std::nullopt;
  const Uses uses(layers);
  const auto may_be = [&](const Layer& sum) {
    const bool is_asked = sum.op == op && sum.inputs.size() == 2 && sum.inputs[0].valid() && sum.inputs[1].valid();
    if (!is_asked || IsInPlace(sum)) return false;
    const ValueId into = sum.inputs[0];
    const Layer* maker = uses.MakerOf(into);
    return maker != nullptr && !KeepsResult(*maker) && !IsPart(uses, *maker) && uses.OnlyReaderOf(into) != nullptr &&
           layers[into].shape == layers[sum.outputs[0]].shape;
  };
  return ReadAs(Changed(layers, may_be, SetInPlace), code, text, kDynamoTells);
}

}  // namespace

// out = self.conv2(out); out += x
std::optional<Reading> InPlaceSumsInstead(const Layers& layers) {
  return InPlaceInstead(layers, "add", "in-place-sums", "assumed: sums make a tensor; code may write out += x");
}

// residual *= soft_assign.unsqueeze(2), as copies of NetVLAD write it (Nanne/pytorch-NetVlad, netvlad.py)
std::optional<Reading> InPlaceProductsInstead(const Layers& layers) {
  return InPlaceInstead(layers, "mul", "in-place-products",
                        "assumed: products make a tensor; code may write x *= scale");
}

}  // namespace vramplan
