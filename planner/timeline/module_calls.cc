#include "planner/timeline/module_calls.h"

#include <algorithm>
#include <set>

namespace vramplan {
namespace {

std::string OwnerOf(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

void AddOnce(ValueId id, std::vector<ValueId>* to) {
  if (std::ranges::find(*to, id) == to->end()) to->push_back(id);
}

// Trained ones, and those that are not.
std::vector<ValueId> ParametersOf(const std::vector<bool>& is_parameter, const Layer& layer) {
  std::vector<ValueId> read;
  for (const ValueId id : layer.inputs)
    if (id.valid() && is_parameter[id.index()]) AddOnce(id, &read);
  return read;
}

}  // namespace

std::vector<ModuleCall> ModuleCallsOf(const Layers& layers) {
  const size_t modules = std::max<size_t>(layers.modules.size(), 1);
  std::vector<ModuleCall> of(modules);
  std::vector<std::set<std::string>> owners(modules);
  const auto module_of = [&](size_t layer) {
    const ModuleId module = layers.layers[layer].module;
    return module.valid() ? module.index() : 0;
  };
  const auto parent_of = [&](size_t module) {
    const ModuleId parent = layers.modules[module].parent;
    return parent.valid() ? parent.index() : 0;
  };
  std::vector<bool> runs(modules, false), is_parameter(layers.values.size(), false);
  for (const ValueId id : layers.parameters) is_parameter[id.index()] = true;
  for (size_t m = 1; m < modules; ++m) of[m].module = layers.modules[m].path;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (size_t m = module_of(l);; m = parent_of(m)) {
      if (!runs[m]) of[m].first = l;
      runs[m] = true;
      of[m].last = l;
      if (m == 0) break;
    }
    for (const ValueId id : ParametersOf(is_parameter, layers.layers[l]))
      owners[module_of(l)].insert(OwnerOf(layers[id].name));
  }
  std::vector<size_t> call_of(modules);
  std::vector<ModuleCall> calls;
  for (size_t m = 0; m < modules; ++m) {
    if (!runs[m] && m > 0) continue;
    call_of[m] = calls.size();
    calls.push_back(std::move(of[m]));
  }
  // By layer, the innermost call.
  std::vector<size_t> innermost(layers.layers.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const size_t m = module_of(l);
    innermost[l] = call_of[m];
    const std::vector<ValueId> read = ParametersOf(is_parameter, layers.layers[l]);
    if (read.empty()) continue;
    if (owners[m].size() > 1) {
      innermost[l] = calls.size();
      calls.push_back({calls[call_of[m]].module + "/" + OwnerOf(layers[read.front()].name), l, l, {}, {}, {}});
    }
    for (const ValueId id : read) AddOnce(id, &calls[innermost[l]].own);
  }
  std::vector<int> made_by(layers.values.size(), -1);
  for (size_t l = 0; l < layers.layers.size(); ++l)
    for (const ValueId id : layers.layers[l].outputs)
      if (id.valid()) made_by[id.index()] = static_cast<int>(l);
  const auto chain_of = [&](size_t layer) {
    std::vector<size_t> chain;
    if (innermost[layer] != call_of[module_of(layer)]) chain.push_back(innermost[layer]);
    for (size_t m = module_of(layer); m != 0; m = parent_of(m)) chain.push_back(call_of[m]);
    return chain;
  };
  const auto is_inside = [&](size_t call, size_t layer) {
    return calls[call].first <= layer && layer <= calls[call].last;
  };
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (const ValueId id : layers.layers[l].inputs) {
      if (!id.valid() || made_by[id.index()] < 0) continue;
      const auto maker = static_cast<size_t>(made_by[id.index()]);
      for (const size_t call : chain_of(l))
        if (!is_inside(call, maker)) AddOnce(id, &calls[call].inputs);
      for (const size_t call : chain_of(maker))
        if (!is_inside(call, l)) AddOnce(id, &calls[call].outputs);
    }
  }
  for (const ValueId id : layers.outputs) {
    if (!id.valid() || made_by[id.index()] < 0) continue;
    for (const size_t call : chain_of(static_cast<size_t>(made_by[id.index()]))) AddOnce(id, &calls[call].outputs);
  }
  std::ranges::stable_sort(calls, [](const ModuleCall& a, const ModuleCall& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  return calls;
}

}  // namespace vramplan
