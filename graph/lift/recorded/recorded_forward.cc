#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/lift/recorded/recorded.h"

namespace vramplan {
namespace {

// "relu_1" of "%relu_1 : [num_users=2] = call_function[...](...)".
std::string_view NameInFx(std::string_view fx) {
  const size_t begin = fx.find('%');
  if (begin == std::string_view::npos) return {};
  return fx.substr(begin + 1, fx.find_first_of(" :", begin) - begin - 1);
}

class Forward {
 public:
  Forward(const Graph& graph, const RecordedForward& forward, Layers* layers)
      : graph_(graph), forward_(forward), layers_(*layers) {
    for (size_t c = 0; c < forward.calls.size(); ++c) places_.emplace(forward.calls[c], static_cast<int32_t>(c));
    for (size_t v = 0; v < layers_.values.size(); ++v)
      values_.emplace(layers_.values[v].name, ValueId{static_cast<int32_t>(v)});
    for (const Layer& layer : layers_.layers) {
      if (layer.outputs.size() == 1 && layer.outputs[0].valid()) values_.insert_or_assign(layer.name, layer.outputs[0]);
    }
    for (const Layer& layer : layers_.layers) {
      const int32_t before = reached_.empty() ? -1 : reached_.back();
      reached_.push_back(std::max(before, PlaceOf(layer)));
    }
  }

  void TakeEnds() {
    for (const RecordedForward::End& end : forward_.ends) {
      const auto value = values_.find(end.result);
      if (value == values_.end() || layers_[value->second].role != Role::kActivation) continue;
      ValueId made;
      if (end.call != RecordedForward::kWithTheForward) {
        made = LastMadeBy(end.call);
        if (!made.valid()) continue;
      }
      layers_.recorded.push_back({value->second, made});
    }
  }

  // What the caller keeps beside the results that the file has: the state of an encoder, caches of keys and values.
  void HoldWhatTheCallerKeeps() {
    std::set<ValueId> kept(layers_.outputs.begin(), layers_.outputs.end());
    for (const RecordedEnd& end : layers_.recorded) {
      if (!end.made.valid() && kept.insert(end.value).second) layers_.outputs.push_back(end.value);
    }
  }

  void TakeWrites() {
    const std::set<std::string_view> writes(forward_.writes.begin(), forward_.writes.end());
    std::set<ValueId> recorded;
    for (const RecordedEnd& end : layers_.recorded) recorded.insert(end.value);
    for (Layer& layer : layers_.layers) {
      if (layer.inputs.empty() || !layer.inputs[0].valid() || layer.outputs.size() != 1) continue;
      if (!recorded.contains(layer.outputs[0]) || !places_.contains(layer.name)) continue;
      const Value &operand = layers_[layer.inputs[0]], &result = layers_[layer.outputs[0]];
      const bool fits = operand.role == Role::kActivation && operand.shape == result.shape;
      const bool in_place = fits && writes.contains(layer.name);
      if (in_place || layer.attributes.Int("inplace", 0) != 0)
        layer.attributes.Set("inplace", int64_t{in_place ? 1 : 0});
    }
  }

 private:
  // What the last layer makes that is this call or one before it; invalid: there is none.
  ValueId LastMadeBy(int32_t call) const {
    for (auto l = std::upper_bound(reached_.begin(), reached_.end(), call) - reached_.begin(); l-- > 0;) {
      for (const ValueId id : layers_.layers[static_cast<size_t>(l)].outputs) {
        if (id.valid()) return id;
      }
    }
    return {};
  }

  // Where a layer stands among the calls: its own name tells, else the nodes that it was made of; -1: neither.
  int32_t PlaceOf(const Layer& layer) const {
    if (const auto own = places_.find(layer.name); own != places_.end()) return own->second;
    int32_t place = -1;
    for (const NodeId node : layer.nodes) {
      const auto found = places_.find(std::string(NameInFx(graph_[node].provenance.fx_node)));
      if (found != places_.end()) place = std::max(place, found->second);
    }
    return place;
  }

  const Graph& graph_;
  const RecordedForward& forward_;
  Layers& layers_;
  std::unordered_map<std::string, int32_t> places_;  // by call: its number
  std::unordered_map<std::string, ValueId> values_;  // by the name of a result
  std::vector<int32_t> reached_;                     // by layer: the last call that it or one before it is
};

}  // namespace

std::unordered_set<std::string> RecordedResults(const Graph& graph) {
  std::unordered_set<std::string> results;
  if (!graph.facts) return results;
  for (const std::optional<RecordedForward>* forward : {&graph.facts->in_training, &graph.facts->in_inference}) {
    if (!*forward) continue;
    for (const RecordedForward::End& end : (*forward)->ends) results.insert(end.result);
  }
  return results;
}

void TakeRecordedForward(const Graph& graph, const RecordedForward& recorded, Layers* layers) {
  Forward forward(graph, recorded, layers);
  forward.TakeEnds();
  forward.HoldWhatTheCallerKeeps();
  forward.TakeWrites();
}

void TakeRecordedCheckpoints(const Facts& facts, Layers* layers) {
  if (!facts.checkpointed) return;
  layers->told.code = true;
  const std::set<std::string_view> paths(facts.checkpointed->begin(), facts.checkpointed->end());
  std::set<ModuleId> calls;
  for (size_t m = 0; m < layers->modules.size(); ++m) {
    if (paths.contains(layers->modules[m].path)) calls.insert(ModuleId{static_cast<int32_t>(m)});
  }
  layers->checkpointed.assign(calls.begin(), calls.end());
}

}  // namespace vramplan
