#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph/base/text.h"
#include "graph/lift/match/source.h"

namespace vramplan {

std::vector<NodeId> NodesMatch::Nodes() const {
  std::vector<NodeId> nodes;
  for (const int32_t call : match.calls) {
    if (!Contains(nodes, NodeId{call})) nodes.push_back(NodeId{call});
  }
  std::ranges::reverse(nodes);
  return nodes;
}

bool NodesMatch::AreStored(std::initializer_list<std::string_view> names) const {
  return std::ranges::all_of(names, [&](std::string_view name) {
    return source.Stored((*this)[name]) != nullptr && source.IsInitializer((*this)[name]);
  });
}

PatternRow Becomes(const std::string& form, std::string_view call, FinishDraft finish) {
  struct Rule {
    Form form;
    CallText call;
    FinishDraft finish;
  };
  const auto rule = std::make_shared<const Rule>(Rule{Form(form), ParseCall(call), finish});
  const auto match = [rule](PatternSource& source, NodeId root) {
    return MatchesForm(source, root, rule->form, [&](const NodesMatch& found) {
      Draft draft{.op = rule->call.op,
                  .inputs = {},
                  .outputs = {source.Out(root)},
                  .attributes = rule->call.attributes,
                  .nodes = found.Nodes()};
      if (rule->finish != nullptr && !rule->finish(found, &draft)) return false;
      for (const CallText::Input& input : rule->call.inputs) {
        const TensorId tensor = found[input.name];
        draft.inputs.push_back(input.mark == '%' ? source.Parameter(tensor, root, input.name) : source.Use(tensor));
      }
      source.Add(std::move(draft));
      return true;
    });
  };
  const size_t name = form.find('=') < form.find('(') ? form.find('=') + 1 : 0;
  return {form.substr(name, form.find('(') - name), match, form, finish != nullptr};
}

const PatternRows& AllPatterns() {
  static const PatternRows patterns = [] {
    PatternRows all;
    const std::pair<const char*, const PatternRows&> families[] = {
        {"loss", LossPatterns()},           {"attention", AttentionPatterns()},
        {"norm", NormPatterns()},           {"activation", ActivationPatterns()},
        {"dense", DensePatterns()},         {"linear", LinearPatterns()},
        {"random", RandomPatterns()},       {"move", MovePatterns()},
        {"index", IndexPatterns()},         {"convolution", ConvolutionPatterns()},
        {"recurrent", RecurrentPatterns()}, {"view", ViewNodes()},
        {"look up", LookUpNodes()},         {"reduction", ReductionNodes()},
        {"pointwise", PointwiseNodes()}};
    for (const auto& [family, of] : families) {
      for (const PatternRow& row : of) {
        all.push_back(row);
        all.back().name = std::string(family) + " " + std::to_string(&row - of.data()) + " " + row.ops;
      }
    }
    return all;
  }();
  return patterns;
}

// By operator of the root node: patterns of several nodes first, then single nodes.
const std::vector<const PatternRow*>& PatternsFor(const std::string& op) {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const PatternRow*>> rows;
    for (const PatternRow& row : AllPatterns()) {
      for (const std::string_view one : TextsIn(row.ops, '|')) rows[one].push_back(&row);
    }
    return rows;
  }();
  static const std::vector<const PatternRow*> none;
  const auto found = table.find(op);
  return found == table.end() ? none : found->second;
}

}  // namespace vramplan
