// Attribute lines: what a line gives to an attribute of its module lives until the next forward gives it anew, though
// nobody reads it again.
//
//   self.feats = torch.relu(self.a(x))           what the statement made
//   x, self.attn = attention(q, k, v)            what functions of attention return second: return p @ v, p
//   self.outputs[("disp", i)] = self.disp(x)     likewise; but a buffer is written in place
#include <algorithm>
#include <cctype>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

bool IsLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Parts between commas that stand in no bracket, without blanks around them.
std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += std::string_view("([{").find(c) != std::string_view::npos   ? 1
             : std::string_view(")]}").find(c) != std::string_view::npos ? -1
                                                                         : 0;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    std::string_view part = text.substr(begin, i - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

// What stands in front of " = "; nothing: the line assigns nothing.
std::vector<std::string_view> TargetsOf(std::string_view text) {
  const size_t assignment = text.find(" = ");
  if (assignment == std::string_view::npos) return {};
  const std::string_view left = text.substr(0, assignment);
  if (std::ranges::count(left, '(') != std::ranges::count(left, ')') || left.starts_with("if ")) return {};
  return PartsOf(left);
}

bool IsAttribute(std::string_view target) {
  return target.starts_with("self.") && target.size() > 5 && (IsLetter(target.back()) || target.back() == ']');
}

class AttributeLines {
 public:
  explicit AttributeLines(Layers* layers) : layers_(*layers) {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      if (!StackOf(l).empty()) lined_.push_back(l);
    }
    for (const SourceLine& line : layers_.source.lines) {
      targets_.push_back(TargetsOf(line.text));
      assigns_.push_back(std::ranges::any_of(targets_.back(), IsAttribute));
    }
  }

  void Run() {
    for (size_t i = 0; i < lined_.size(); ++i) {
      const std::span<const int32_t> stack = StackOf(lined_[i]);
      for (size_t depth = 0; depth < stack.size(); ++depth) {
        if (!assigns_[static_cast<size_t>(stack[depth])] || (i + 1 < lined_.size() && Share(i, i + 1, depth))) continue;
        Keep(i, depth);
      }
    }
    for (const auto& [attribute, id] : kept_) {
      if (!Contains(layers_.kept_by_modules, id)) layers_.kept_by_modules.push_back(id);
    }
  }

 private:
  std::span<const int32_t> StackOf(size_t layer) const {
    const std::vector<NodeId>& nodes = layers_.layers[layer].nodes;
    if (nodes.empty() || !nodes.back().valid() || nodes.back().index() >= layers_.source.stacks.size()) return {};
    return layers_.source.stacks[nodes.back().index()];
  }
  // Whether two layers ran in the same statement of the frame at this depth.
  bool Share(size_t a, size_t b, size_t depth) const {
    const std::span<const int32_t> one = StackOf(lined_[a]), other = StackOf(lined_[b]);
    return depth < other.size() &&
           std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(depth) + 1, other.begin());
  }

  // The statement at this depth ends with layer `last`.
  void Keep(size_t last, size_t depth) {
    const std::vector<std::string_view>& targets = targets_[static_cast<size_t>(StackOf(lined_[last])[depth])];
    for (size_t t = 0; t < targets.size(); ++t) {
      if (!IsAttribute(targets[t])) continue;
      const Layer* maker = &layers_.layers[lined_[last]];
      size_t output = 0;
      if (targets.size() > 1 && maker->outputs.size() >= targets.size()) {
        output = t;
      } else if (targets.size() > 1) {
        maker = Returned(last, depth, t);
      }
      if (maker == nullptr || IsOneOf(maker->op, {"slice_scatter", "index_put", "scatter", "copy"})) continue;
      const ValueId id = maker->outputs[output];
      if (id.valid() && layers_[id].role == Role::kActivation)
        kept_[ModuleAt(last, depth) + std::string(targets[t])] = id;
    }
  }

  // What made the t-th value that the function in this statement returned; null: nobody knows. Frames of functions are
  // not in a file (only those called forward): of attention's it is what the product behind the softmax reads.
  const Layer* Returned(size_t last, size_t depth, size_t t) const {
    const Layer& product = layers_.layers[lined_[last]];
    if (t == 0) return &product;
    if (t != 1 || !IsOneOf(product.op, {"matmul", "bmm", "einsum"})) return nullptr;
    for (size_t i = last; i-- > 0 && Share(last, i, depth);) {
      const Layer& layer = layers_.layers[lined_[i]];
      if (IsOneOf(layer.op, {"softmax", "dropout"}) && Contains(product.inputs, layer.outputs[0])) return &layer;
    }
    return nullptr;
  }

  // The path of the module whose forward stands at this depth.
  std::string ModuleAt(size_t i, size_t depth) const {
    const std::span<const int32_t> stack = StackOf(lined_[i]);
    std::vector<ModuleId> chain;  // innermost first
    for (ModuleId m = layers_.layers[lined_[i]].module; m.valid(); m = layers_[m].parent) chain.push_back(m);
    const auto forwards =
        std::count_if(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(depth) + 1,
                      [&](int32_t l) { return layers_.source.lines[static_cast<size_t>(l)].function == "forward"; });
    const auto up = static_cast<int64_t>(chain.size()) - forwards;
    return up >= 0 && up < static_cast<int64_t>(chain.size()) ? layers_[chain[static_cast<size_t>(up)]].path : "";
  }

  Layers& layers_;
  std::vector<size_t> lined_;                           // layers whose lines are known
  std::vector<std::vector<std::string_view>> targets_;  // by line
  std::vector<bool> assigns_;                           // by line: an attribute
  std::map<std::string, ValueId> kept_;                 // by module and attribute
};

}  // namespace

void ReadAttributeLines(Layers* layers) {
  if (!layers->source.stacks.empty()) AttributeLines(layers).Run();
}

}  // namespace vramplan
