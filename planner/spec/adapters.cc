#include "planner/spec/adapters.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "graph/base/text.h"
#include "graph/layers/trained.h"
#include "planner/spec/bypasses.h"
#include "planner/spec/copies.h"

namespace vramplan {
namespace {

// What the shapes must say beside the names.
enum class Told : uint8_t {
  kPair,        // two tensors meet in a length that is less than their other ones; `other` is the second's name
  kVector,      // a tensor with one axis longer than 1
  kTable,       // [tokens, width]
  kBottleneck,  // in the module with the name, a matrix down and one up again
};

struct AdapterRow {
  const char* part;   // of the path: a whole part, or the beginning of one where it ends in *
  const char* other;  // of a pair
  Told told;
  const char* trained;  // the glob
  const char* what;
  const char* source;
};

constexpr AdapterRow kAdaptersRows[] = {
    {"lora_A", "lora_B", Told::kPair, "*lora_*", "low-rank pairs, as lora_A and lora_B of LoRA",
     "peft 0.21.2 tuners/lora/layer.py, LoraLayer.adapter_layer_names; microsoft/loralib layers.py"},
    {"lora_embedding_A", "lora_embedding_B", Told::kPair, "*lora_*",
     "low-rank pairs, as lora_embedding_A and lora_embedding_B of LoRA", "peft 0.21.2 tuners/lora/layer.py, Embedding"},
    {"lora_a", "lora_b", Told::kPair, "*lora_*", "low-rank pairs, as lora_a and lora_b of torchtune",
     "torchtune 0.6 modules/peft/lora.py, LoRALinear"},
    {"lora_down", "lora_up", Told::kPair, "*lora_*", "low-rank pairs, as lora_down and lora_up of LoRA",
     "kohya-ss/sd-scripts networks/lora.py, LoRAModule"},
    {"hada_w1_a", "hada_w1_b", Told::kPair, "*hada_*", "low-rank pairs, as hada_w1_a and hada_w1_b of LoHa",
     "peft 0.21.2 tuners/loha/layer.py, LoHaLayer.adapter_layer_names"},
    {"ia3_l", "", Told::kVector, "*ia3_*", "scales, as ia3_l of IA3",
     "peft 0.21.2 tuners/ia3/layer.py, IA3Layer.adapter_layer_names"},
    {"vera_lambda_b", "", Told::kVector, "*vera_lambda_*", "scales, as vera_lambda_b of VeRA",
     "peft 0.21.2 tuners/vera/layer.py, VeraLayer.adapter_layer_names"},
    {"prompt_encoder", "", Told::kTable, "*prompt_encoder*", "a table of prompts, as prompt_encoder of peft",
     "peft 0.21.2 peft_model.py, _setup_prompt_encoder; tuners/prompt_tuning/model.py, PromptEmbedding"},
    {"prompt_embeddings", "", Told::kTable, "*prompt_embeddings*", "a table of prompts, prompt_embeddings",
     "KaiyangZhou/CoOp and KMnP/vpt src/models/vit_prompt/vit.py, prompt_embeddings"},
    {"adapter*", "", Told::kBottleneck, "*adapter*", "bottlenecks in modules called adapter",
     "Houlsby et al. 2019 (arXiv 1902.00751); adapters 1.2 methods/modeling.py, Adapter: adapter_down, adapter_up"},
};

constexpr std::string_view kSaved = ".modules_to_save.";
constexpr std::string_view kBaseLayer = ".base_layer";

bool Is(std::string_view part, std::string_view wanted) {
  if (wanted.ends_with('*')) return part.starts_with(wanted.substr(0, wanted.size() - 1));
  return part == wanted;
}

// Whether the letters are there at all: most names say no, before they are taken apart.
bool Mentions(const std::string& name, const AdapterRow& row) {
  const std::string_view part = row.part;
  return name.find(part.substr(0, part.find('*'))) != std::string::npos;
}

// Lengths above 1; a convolution of LoRA is [8, 64, 3, 3] and [64, 8, 1, 1].
std::vector<int64_t> LongSides(const Shape& shape) {
  std::vector<int64_t> sides;
  for (int axis = 0; axis < std::min(shape.rank(), 2); ++axis) {
    if (!shape[axis].IsConstant()) return {};
    sides.push_back(shape[axis].At(1));
  }
  return sides;
}

// [8, 768] and [768, 8], or turned: TorchScript files store matrices transposed.
bool MeetInFew(const Shape& first, const Shape& second) {
  const std::vector<int64_t> a = LongSides(first), b = LongSides(second);
  if (a.size() != 2 || b.size() != 2) return false;
  const auto meet = [](int64_t shared, int64_t also, int64_t outer, int64_t other) {
    return shared == also && shared <= std::min(outer, other) && shared < std::max(outer, other);
  };
  return meet(a[0], b[1], a[1], b[0]) || meet(a[1], b[0], a[0], b[1]);
}

int LongAxes(const Shape& shape) {
  int count = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) count += shape[axis].Is(1) ? 0 : 1;
  return count;
}

// IA3 multiplies by 1 * ia3_l.flatten() (peft 0.21.2 tuners/ia3/layer.py, Linear.forward). The TorchScript exporter
// folds that, in a model in eval mode, into a constant without a name. Only peft calls a module that it wraps
// base_layer, and only IA3 multiplies beside it by a vector. The vector gets its name back and is a parameter again.
void NameFoldedScales(Layers* layers) {
  std::set<std::string> wrappers;
  for (const Module& module : layers->modules) {
    if (module.path.ends_with(kBaseLayer))
      wrappers.insert(module.path.substr(0, module.path.size() - kBaseLayer.size()));
  }
  for (const Layer& layer : layers->layers) {
    if (layer.op != "mul" || !layer.module.valid()) continue;
    const std::string& wrapper = (*layers)[layer.module].path;
    if (!wrappers.contains(wrapper)) continue;
    for (const ValueId id : layer.inputs) {
      if (!id.valid()) continue;
      Value& scale = layers->values[static_cast<size_t>(id.value)];
      if (scale.role != Role::kBuffer || scale.shape.rank() != 1 || LongAxes(scale.shape) != 1) continue;
      scale.role = Role::kParameter;
      scale.name = wrapper + ".ia3_l.default";
      std::erase(layers->buffers, id);
      const auto last_of_base = std::find_if(layers->parameters.rbegin(), layers->parameters.rend(), [&](ValueId each) {
        return (*layers)[each].name.starts_with(wrapper + std::string(kBaseLayer) + ".");
      });
      layers->parameters.insert(last_of_base.base(), id);
    }
  }
}

struct Found {
  int count = 0;
  std::string first;
};

class AdapterFinder {
 public:
  explicit AdapterFinder(const Layers& layers) : layers_(layers) {
    for (const ValueId id : layers.parameters) by_name_.emplace(layers[id].name, id);
  }

  Found Find(const AdapterRow& row) const {
    if (row.told == Told::kBottleneck) return Bottlenecks(row);
    Found found;
    for (const ValueId id : layers_.parameters) {
      if (!Tells(row, layers_[id])) continue;
      if (found.count++ == 0) found.first = layers_[id].name;
    }
    return found;
  }

  bool HasSaved() const {
    return std::any_of(layers_.parameters.begin(), layers_.parameters.end(),
                       [&](ValueId id) { return layers_[id].name.find(kSaved) != std::string::npos; });
  }

  // The last layer is trained beside adapters that are written by hand: a classifier of its own, never the output table
  // of a language model, which is large and was trained before. Its module; empty: none.
  std::string Head() const {
    constexpr std::array<std::string_view, 7> kHeads = {"head",  "heads",    "classifier",         "fc",
                                                        "score", "cls_head", "classification_head"};
    for (auto layer = layers_.layers.rbegin(); layer != layers_.layers.rend(); ++layer) {
      if (layer->op != "linear" && layer->op != "addmm") continue;
      for (const ValueId id : layer->inputs) {
        if (!id.valid() || by_name_.count(layers_[id].name) == 0) continue;
        const std::string& name = layers_[id].name;
        for (const std::string_view part : PartsOf(name)) {
          if (std::find(kHeads.begin(), kHeads.end(), part) != kHeads.end())
            return name.substr(0, static_cast<size_t>(part.data() - name.data()) + part.size());
        }
      }
      break;
    }
    return "";
  }

 private:
  // The name with `part` replaced; empty where the part is not in it.
  static std::string Partner(const AdapterRow& row, const std::string& name) {
    for (const std::string_view part : PartsOf(name)) {
      if (part != row.part) continue;
      std::string other = name;
      return other.replace(static_cast<size_t>(part.data() - name.data()), part.size(), row.other);
    }
    return "";
  }

  bool Tells(const AdapterRow& row, const Value& value) const {
    if (!Mentions(value.name, row)) return false;
    if (row.told == Told::kPair) {
      const auto partner = by_name_.find(Partner(row, value.name));
      return partner != by_name_.end() && MeetInFew(value.shape, layers_[partner->second].shape);
    }
    const std::vector<std::string_view> parts = PartsOf(value.name);
    if (std::none_of(parts.begin(), parts.end(), [&](std::string_view part) { return Is(part, row.part); }))
      return false;
    if (row.told == Told::kVector) return LongAxes(value.shape) == 1;
    return LongAxes(value.shape) == 2;
  }

  // In at least two places: a model with one "adapter" between two of its parts is trained as a whole.
  Found Bottlenecks(const AdapterRow& row) const {
    std::map<std::string, std::vector<ValueId>> modules;  // matrices, by the path of the adapter
    for (const ValueId id : layers_.parameters) {
      const std::string& name = layers_[id].name;
      if (layers_[id].shape.rank() < 2 || !Mentions(name, row)) continue;
      for (const std::string_view part : PartsOf(name)) {
        if (!Is(part, row.part)) continue;
        // adapter_down and adapter_up are parts of one module
        const size_t at = static_cast<size_t>(part.data() - name.data());
        const bool half = part.find("down") != std::string_view::npos || part.find("up") != std::string_view::npos;
        modules[name.substr(0, half ? at : at + part.size())].push_back(id);
        break;
      }
    }
    Found found;
    for (const auto& [path, matrices] : modules) {
      if (matrices.size() != 2 || !MeetInFew(layers_[matrices[0]].shape, layers_[matrices[1]].shape)) continue;
      if (found.count++ == 0) found.first = layers_[matrices[0]].name;
    }
    return found.count > 1 ? found : Found{};
  }

  const Layers& layers_;
  std::unordered_map<std::string, ValueId> by_name_;
};

std::string Millions(int64_t count) {
  constexpr int64_t kMillion = 1'000'000;
  if (count < kMillion) return std::to_string(count);
  const int64_t tenths = count / (kMillion / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " M";
}

// A teacher, a network that follows another one by averaging.
FrozenBase AssumeFrozenCopies(const std::vector<TrainedPattern>& given, Layers* layers, Notes* notes) {
  const std::optional<Copies> copies = FindCopies(*layers);
  if (!copies || (!given.empty() && DecideAll(given, *layers))) return {};
  const Status applied = ApplyTrained(copies->patterns, layers, nullptr);
  CHECK(applied.ok());  // each pattern is of a name that is there
  FrozenBase base{copies->what + ", is frozen", copies->patterns};
  if (notes != nullptr) {
    notes->Add({"assumed-frozen", Severity::kNote, copies->first,
                "assumed: " + base.text + " (" + ToString(copies->patterns) + ")",
                "--trainable '*' trains everything"});
  }
  return base;
}

// Low-rank pairs that no library named.
std::optional<Adapters> AdaptersByForm(const Layers& layers) {
  Bypasses found = FindBypasses(layers);
  if (found.pairs == 0) return std::nullopt;
  found.patterns.insert(found.patterns.begin(), {"*", false});
  return Adapters{"low-rank pairs beside linear layers (" + std::to_string(found.pairs) + ")", std::move(found.first),
                  "arXiv 2106.09685, section 4.1", std::move(found.patterns)};
}

}  // namespace

std::optional<Adapters> FindAdapters(const Layers& layers) {
  const AdapterFinder finder(layers);
  Adapters adapters;
  bool by_hand = false;
  std::set<std::string> globs;
  for (const AdapterRow& row : kAdaptersRows) {
    const Found found = finder.Find(row);
    if (found.count == 0) continue;
    if (adapters.first.empty()) {
      adapters.what = std::string(row.what) + " (" + std::to_string(found.count) + ")";
      adapters.first = found.first;
      adapters.source = row.source;
      by_hand = row.told == Told::kBottleneck;
      adapters.patterns.push_back({"*", false});
    }
    if (globs.insert(row.trained).second) adapters.patterns.push_back({row.trained, true});
  }
  if (adapters.first.empty()) return AdaptersByForm(layers);
  if (finder.HasSaved()) adapters.patterns.push_back({"*" + std::string(kSaved) + "*", true});
  if (const std::string head = by_hand ? finder.Head() : ""; !head.empty())
    adapters.patterns.push_back({head + ".*", true});
  return adapters;
}

int AddOriginalModules(Layers* layers) {
  NameFoldedScales(layers);
  std::set<std::string> names;
  for (const ValueId id : layers->parameters) names.insert((*layers)[id].name);
  std::vector<ValueId> parameters;
  int added = 0;
  for (const ValueId id : layers->parameters) {
    // classifier.modules_to_save.default.weight: classifier.original_module.weight stands before it
    const Value value = (*layers)[id];
    const size_t at = value.name.find(kSaved);
    const size_t end = at == std::string::npos ? at : value.name.find('.', at + kSaved.size());
    if (end != std::string::npos) {
      const std::string original = value.name.substr(0, at) + ".original_module" + value.name.substr(end);
      if (names.insert(original).second) {
        parameters.push_back(ValueId{static_cast<int32_t>(layers->values.size())});
        layers->values.push_back({original, value.type, value.shape, Role::kBuffer});
        ++added;
      }
    }
    parameters.push_back(id);
  }
  layers->parameters = std::move(parameters);
  return added;
}

FrozenBase AssumeFrozenBase(const std::vector<TrainedPattern>& given, Layers* layers, Notes* notes) {
  NameFoldedScales(layers);
  const std::optional<Adapters> adapters = FindAdapters(*layers);
  if (!adapters) return AssumeFrozenCopies(given, layers, notes);
  const int originals = AddOriginalModules(layers);
  if (!given.empty() && DecideAll(given, *layers)) return {};
  const Status applied = ApplyTrained(adapters->patterns, layers, nullptr);
  CHECK(applied.ok());  // each pattern is of a name that is there
  const TrainedCount count = CountTrained(*layers);
  FrozenBase base{"everything but " + adapters->what + " is frozen: " + Millions(count.trained) + " of " +
                      Millions(count.trained + count.frozen) + " parameters are trained",
                  adapters->patterns};
  if (notes == nullptr) return base;
  std::string text = "assumed: " + base.text + " (" + ToString(adapters->patterns) + ")";
  if (originals > 0) {
    text += "; the frozen originals of modules_to_save, which the file lacks, are added (" + std::to_string(originals) +
            ")";
  }
  notes->Add({"assumed-frozen", Severity::kNote, adapters->first, std::move(text),
              "--trainable '*' trains everything, --trainable '*.bias' the biases as well"});
  return base;
}

}  // namespace vramplan
