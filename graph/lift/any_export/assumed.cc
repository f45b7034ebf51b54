// Assumed: the passes behind PutBack (layers.h): what an eval export has thrown away.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

bool IsActivationOf(const Layers& layers, ValueId id) { return id.valid() && layers[id].role == Role::kActivation; }

// A linear layer, or a convolution over one position, as feed forwards of Informer (arXiv 2012.07436) have it.
bool IsPositionwise(const Layers& layers, const Layer& layer) {
  if (layer.op == "linear" || layer.op == "addmm") return true;
  if (layer.op != "conv1d" || layer.inputs.size() < 2 || !layer.inputs[1].valid()) return false;
  const Shape& weight = layers[layer.inputs[1]].shape;
  return weight.rank() == 3 && weight[2] == Dim(1);
}

// Results behind which a dropout belongs.
std::set<ValueId> InFrontOfDropouts(const Layers& layers) {
  const Uses uses(layers);
  std::set<ValueId> dropped, embeddings;
  for (const Layer& layer : layers.layers) {
    if (layer.outputs.empty() || !layer.outputs[0].valid()) continue;
    const ValueId made = layer.outputs[0];
    const Layer* user = uses.OnlyReaderOf(made);
    const auto is_user = [&](const char* op) { return user != nullptr && user->op == op; };
    // A block's last product in front of the residual sum, perhaps seen under another shape.
    if (IsPositionwise(layers, layer)) {
      ValueId end = made;
      const Layer* sum = user;
      while (sum != nullptr && IsOneOf(sum->op, {"reshape", "transpose", "permute"}))
        sum = uses.OnlyReaderOf(end = sum->outputs[0]);
      if (sum != nullptr && sum->op == "add" && sum->inputs.size() == 2 && IsActivationOf(layers, sum->inputs[0]) &&
          IsActivationOf(layers, sum->inputs[1]))
        dropped.insert(end);
    }
    if (layer.op == "softmax" && (is_user("matmul") || is_user("bmm") || is_user("einsum"))) dropped.insert(made);
    // The sum of embeddings: the last value made of nothing but embeddings.
    const bool normalises = layer.op == "layer_norm" && layer.module.valid() &&
                            layers[layer.module].path.find("embeddings") != std::string::npos;
    if (layer.op != "embedding" && layer.op != "add" && !normalises) continue;
    const bool of_embeddings = layer.op == "embedding" || std::ranges::all_of(layer.inputs, [&](ValueId id) {
                                 return !IsActivationOf(layers, id) || embeddings.contains(id);
                               });
    if (!of_embeddings || !IsFloating(layers[made].type)) continue;
    for (const ValueId id : layer.inputs) {
      if (embeddings.erase(id) != 0) dropped.erase(id);
    }
    embeddings.insert(made);
    dropped.insert(made);
  }
  return dropped;
}

constexpr std::string_view kActivations[] = {"relu", "leaky_relu", "gelu",      "silu", "elu",      "selu",
                                             "tanh", "prelu",      "hardswish", "mish", "softplus", "relu6"};

// Behind activations, as convolutional networks and feed forwards of transformers have them too; and behind features
// that were looked up or joined for a linear layer, where networks of linear layers begin with one (recommenders).
void AddActivations(const Layers& layers, const Uses& uses, std::set<ValueId>* dropped) {
  for (const Layer& layer : layers.layers) {
    if (layer.outputs.empty() || !layer.outputs[0].valid()) continue;
    const bool for_linear = std::ranges::any_of(uses.ReadersOf(layer.outputs[0]), [&](int32_t place) {
      const size_t user = static_cast<size_t>(place);
      return user < layers.layers.size() && layers.layers[user].op == "linear";
    });
    if ((layer.op == "cat" || layer.op == "embedding") && for_linear) dropped->insert(layer.outputs[0]);
    if (Contains(kActivations, layer.op)) dropped->insert(layer.outputs[0]);
  }
}

// lora_B(lora_A(lora_dropout(x))): in front of a product to few features that another product alone reads (peft,
// tuners/lora/layer.py, Linear.forward).
bool IsDownOfPair(const Uses& uses, const Layer& layer) {
  constexpr int64_t kNarrow = 4;
  if (layer.op != "linear" || layer.inputs.size() < 2 || !layer.inputs[1].valid()) return false;
  const Shape& weight = uses.layers()[layer.inputs[1]].shape;
  if (weight.rank() != 2 || !weight[0].IsConstant() || !weight[1].IsConstant()) return false;
  const Layer* user = uses.OnlyReaderOf(layer.outputs[0]);
  return weight[0].At(1) * kNarrow <= weight[1].At(1) && user != nullptr && user->op == "linear";
}

Layer DropoutOf(const Layer& beside, ValueId input, ValueId output, double p) {
  Layer dropout = CallBeside(beside, "dropout", {input}, Named({{"p", p}}));
  dropout.outputs = {output};
  dropout.nodes = beside.nodes;
  return dropout;
}

// Where a module beside the convolution's holds nothing but the activation behind it, the norm was in there, too:
// Sequential(conv, Sequential(norm, act)), as MONAI's blocks/convolutions.py and blocks/acti_norm.py have it. Invalid: no.
ModuleId ModuleOfNormAndActivation(const Layers& layers, size_t convolution) {
  const size_t next = convolution + 1;
  if (next >= layers.layers.size()) return {};
  const Layer &conv = layers.layers[convolution], &activation = layers.layers[next];
  if (!conv.module.valid() || !activation.module.valid()) return {};
  const ModuleId holder = layers[activation.module].parent;
  if (!Contains(kActivations, activation.op) || activation.inputs[0] != conv.outputs[0] || !holder.valid()) return {};
  const bool is_beside = holder != conv.module && layers[holder].parent == layers[conv.module].parent;
  if (!is_beside || !layers[holder].parent.valid()) return {};
  // A call's layers follow one another.
  const Layer* behind = next + 1 < layers.layers.size() ? &layers.layers[next + 1] : nullptr;
  const bool holds_more = behind != nullptr && behind->module.valid() &&
                          (behind->module == holder || layers[behind->module].parent == holder);
  return holds_more ? ModuleId() : holder;
}

// A batch norm is a module of its own: beside its convolution's, or, where that has none, in what calls both.
ModuleId NormModule(Layers* layers, size_t place, const std::string& path) {
  const Layer& convolution = layers->layers[place];
  const ModuleId holder = ModuleOfNormAndActivation(*layers, place);
  ModuleId parent = holder.valid() ? holder : convolution.module;
  if (parent.valid() && !holder.valid()) {
    const std::string& weight = (*layers)[convolution.inputs[1]].name;
    const std::string& module = (*layers)[parent].path;
    if (!module.empty() && weight.substr(0, weight.rfind('.')).ends_with(module)) parent = (*layers)[parent].parent;
  }
  layers->modules.push_back({.path = path, .class_name = "", .parent = parent});
  return ModuleId{static_cast<int32_t>(layers->modules.size()) - 1};
}

}  // namespace

int AssumeBatchNorm(Layers* layers) {
  int assumed = 0;
  Edit edit(layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    Layer& layer = layers->layers[l];
    if (layer.attributes.Int("folded_norm", 0) == 0) continue;
    ++assumed;
    if (layer.inputs.size() > 2 && layer.inputs[2].valid()) {
      std::erase(layers->parameters, layer.inputs[2]);
      layer.inputs[2] = ValueId();
    }
    const ValueId result = layer.outputs[0];
    const Value folded = (*layers)[result];
    const Shape channels{folded.shape.rank() > 1 ? folded.shape[1] : Dim(1)};
    const std::string weight = (*layers)[layer.inputs[1]].name;
    const std::string path = weight.substr(0, weight.rfind('.')) + "_norm";
    Layer norm{.op = "batch_norm",
               .name = layer.name + ".norm",
               .inputs = {layers->Add({folded.name + ".folded", folded.type, folded.shape, Role::kActivation})},
               .outputs = {result},
               .attributes = {},
               .module = NormModule(layers, l, path),
               .nodes = layer.nodes,
               .evidence = layer.evidence};
    norm.attributes.Set("training", int64_t{1});
    const auto beside = std::ranges::find(layers->parameters, layer.inputs[1]);
    auto at = beside == layers->parameters.end() ? beside : beside + 1;
    for (const char* name : {".weight", ".bias"}) {
      norm.inputs.push_back(layers->Add({path + name, DType::kFloat32, channels, Role::kParameter}));
      at = layers->parameters.insert(at, norm.inputs.back()) + 1;
    }
    for (const char* name : {".running_mean", ".running_var"}) {
      norm.inputs.push_back(layers->Add({path + name, DType::kFloat32, channels, Role::kBuffer}));
      layers->buffers.push_back(norm.inputs.back());
    }
    layers->buffers.push_back(layers->Add({path + ".num_batches_tracked", DType::kInt64, Shape(), Role::kBuffer}));
    layer.outputs[0] = norm.inputs[0];
    layer.attributes.Set("folded_norm", int64_t{0});
    edit.InsertBehind(l, std::move(norm));
  }
  edit.Apply();
  return assumed;
}

void NoteFoldedBatchNorms(const Layers& layers, const std::string& file, Notes* notes) {
  if (notes == nullptr) return;
  if (const int restored = layers.guesses.restored_norms; restored > 0) {
    notes->Add({"restored-batch-norm", Severity::kNote, file,
                "the export folded batch norms into " + std::to_string(restored) +
                    " convolutions; they are put back, because PyTorch runs them",
                "--assume-batchnorm off leaves them out"});
    return;
  }
  const auto folded = std::ranges::count_if(
      layers.layers, [](const Layer& layer) { return layer.attributes.Int("folded_norm", 0) != 0; });
  if (folded == 0) return;
  notes->Add({"folded-batch-norm", Severity::kWarning, file,
              "the export folded batch norms into " + std::to_string(folded) +
                  " convolutions, and their memory is not counted",
              "--assume-batchnorm on puts them back"});
}

void NoteDropouts(int put_back, Notes* notes) {
  if (notes == nullptr) return;
  const bool any = put_back > 0;
  notes->Add(
      {"assumed-layers", any ? Severity::kNote : Severity::kWarning, "--assume-dropout",
       any ? "put back " + std::to_string(put_back) + " dropouts"
           : std::string("found no place for a dropout: the file has dropouts of its own, or no transformer block"),
       ""});
}

int AssumeDropout(Layers* layers, const PutBack& put_back) {
  const double p = put_back.dropout;
  if (std::ranges::any_of(layers->layers, [](const Layer& layer) { return layer.op == "dropout"; })) return 0;
  int assumed = 0;
  std::set<ValueId> dropped = InFrontOfDropouts(*layers);
  const Uses uses(*layers);
  if (put_back.dropout_behind_activations) AddActivations(*layers, uses, &dropped);
  Edit edit(layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    Layer& layer = layers->layers[l];
    if (put_back.dropout_behind_activations && IsDownOfPair(uses, layer)) {
      Value kept = (*layers)[layer.inputs[0]];
      kept.name += ".kept";
      kept.role = Role::kActivation;
      const ValueId before = std::exchange(layer.inputs[0], layers->Add(std::move(kept)));
      edit.InsertBefore(l, DropoutOf(layer, before, layer.inputs[0], p));
      ++assumed;
    }
    if (layer.op == "scaled_dot_product_attention") {
      layer.attributes.Set("dropout_p", p);
      ++assumed;
    }
    const ValueId made = layer.outputs.empty() ? ValueId() : layer.outputs[0];
    if (!made.valid() || !dropped.contains(made)) continue;
    ++assumed;
    Value kept = (*layers)[made];
    kept.name += ".kept";
    const ValueId before = layers->Add(std::move(kept));
    layer.outputs[0] = before;
    edit.InsertBehind(l, DropoutOf(layer, before, made, p));
  }
  edit.Apply();
  return assumed;
}

int MissingDropouts(const Layers& layers) {
  bool attends = false;
  int calls = 0;
  for (const Layer& layer : layers.layers) {
    if (layer.op == "dropout") return 0;
    if (layer.op == "scaled_dot_product_attention") {
      if (layer.attributes.Real("dropout_p", 0) > 0) return 0;
      ++calls;
    }
    attends |= layer.op == "scaled_dot_product_attention" || layer.op == "softmax";
  }
  return attends ? calls + static_cast<int>(InFrontOfDropouts(layers).size()) : 0;
}

}  // namespace vramplan
