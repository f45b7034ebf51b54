// ReadRegions: calls that ran under torch.no_grad() or torch.autocast(). torch.export puts each such block into a graph
// of its own behind an operator of higher order (torch/_export/passes/replace_set_grad_with_hop_pass.py 2.10), and when
// the exporter puts the calls back, they have lost the module that they were called in and their line:
//
//   with torch.no_grad():        student.0.weight   in student.0   File "net.py", line 12, in forward
//       t = self.teacher(x)      teacher.0.weight   in the caller  File "<eval_with_key>.42", line 7, in forward
//                                teacher.2.weight   in the caller      linear = torch.ops.aten.linear.default(relu, p_...)
//
// The block's lines tell which kind it was: no_grad hands on the outer names, autocast numbers them, arg18_1, or reads
// the casts that stand in front, `to`. Without lines, modules of modules that never ran are a sign of no_grad, which is
// more than a guess but less than a fact (readings: "no-grad-guessed").
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

constexpr std::string_view kBody = "<eval_with_key>";
constexpr int64_t kStepsOfBackward = 2;  // the derivative and one factor of it; a reading tells four
constexpr const char* kSequential = "torch.nn.modules.container.Sequential";  // whose children have numbers

// Layers `first` up to `end` of one block, called in `scope`.
struct Region {
  size_t first = 0, end = 0;
  ModuleId scope;
};

// "arg18_1"
bool IsNumberedArgument(std::string_view word) {
  if (!word.starts_with("arg") || !word.ends_with("_1") || word.size() < 6) return false;
  return IsNumber(word.substr(3, word.size() - 5));
}

// "to" or "to_3": what a cast in front of the block made.
bool IsCast(std::string_view word) {
  if (!word.starts_with("to")) return false;
  word.remove_prefix(2);
  return word.empty() || (word.front() == '_' && IsNumber(word.substr(1)));
}

// linear = torch.ops.aten.linear.default(to, arg18_1, arg19_1);  to = None
std::vector<std::string_view> OperandsIn(std::string_view line) {
  const size_t open = line.find('('), close = line.find(')', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  std::vector<std::string_view> operands;
  std::string_view rest = line.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    operands.push_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return operands;
}

class Regions {
 public:
  Regions(Layers* layers, Notes* notes) : layers_(*layers), edit_(layers), notes_(notes) {}

  void Read() {
    const bool lines = !layers_.source.stacks.empty();
    const Uses uses(layers_);
    for (const Region& region : lines&& Runs("read", "regions ByApply") ? ByApply() : std::vector<Region>()) {
      if (const ValueId operand = OperandOfFunction(uses, region); operand.valid()) PutFunction(region, operand);
    }
    std::vector<Region> regions = lines ? ByLines() : ByLostScopes();
    if (!regions.empty() && !Runs("read", lines ? "regions ByLines" : "regions ByLostScopes")) regions.clear();
    trained_.resize(layers_.values.size());
    in_block_.resize(layers_.layers.size());
    for (const Region& region : regions) std::fill_n(in_block_.begin() + region.first, region.end - region.first, true);
    size_t done = 0;
    for (const Region& region : regions) {
      Train(done, region.first);
      done = region.end;
      const bool without_gradients = IsWithoutGradients(uses, region, lines);
      if (without_gradients || lines) RestoreScopes(region);
      if (!without_gradients) {
        std::fill_n(in_block_.begin() + region.first, region.end - region.first, false);
        Train(region.first, region.end);
        continue;
      }
      for (size_t l = region.first; l < region.end; ++l)
        layers_.layers[l].attributes.Set("no_grad", int64_t{lines ? 1 : kNoGradGuessed});
    }
    edit_.Apply();
  }

 private:
  // The file of the line, "<eval_with_key>.42"; empty: it ran elsewhere.
  std::string_view BodyOf(const Layer& layer) const {
    const SourceLine* line = LineOf(layers_, layer);
    if (line == nullptr || !line->file.starts_with(kBody)) return {};
    return line->file;
  }

  std::vector<Region> ByLines() const {
    std::vector<Region> regions;
    std::string_view open;
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const std::string_view body = BodyOf(layers_.layers[l]);
      if (!body.empty() && body == open) {
        regions.back().end = l + 1;
        if (IsAround(layers_.layers[l].module, regions.back().scope)) regions.back().scope = layers_.layers[l].module;
      } else if (!body.empty()) {
        regions.push_back({l, l + 1, layers_.layers[l].module});
      }
      open = body;
    }
    return regions;
  }

  // y = Swish.apply(x), and below it the forward of an autograd.Function in the same module call.
  int32_t ApplyOf(const Layer& layer) const {
    if (layer.nodes.empty() || !layer.nodes.back().valid()) return -1;
    const auto node = static_cast<size_t>(layer.nodes.back().value);
    if (node >= layers_.source.stacks.size()) return -1;
    const std::vector<int32_t>& stack = layers_.source.stacks[node];
    const auto line = [&](size_t i) -> const SourceLine& {
      return layers_.source.lines[static_cast<size_t>(stack[i])];
    };
    // Each module that is being called has a forward in the stack; the function's is one more.
    int64_t modules = 1;
    for (ModuleId m = layer.module; m.valid() && layers_[m].parent.valid(); m = layers_[m].parent) ++modules;
    const auto is_forward = [&](int32_t at) {
      return layers_.source.lines[static_cast<size_t>(at)].function == "forward";
    };
    if (std::ranges::count_if(stack, is_forward) <= modules) return -1;
    for (size_t i = 0; i + 1 < stack.size(); ++i) {
      if (line(i).text.find(".apply(") != std::string::npos && line(i + 1).function == "forward") return stack[i];
    }
    return -1;
  }

  std::vector<Region> ByApply() const {
    std::vector<Region> regions;
    int32_t open = -1;
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const int32_t line = ApplyOf(layer);
      if (line >= 0 && line == open && regions.back().scope == layer.module) {
        regions.back().end = l + 1;
      } else if (line >= 0) {
        regions.push_back({l, l + 1, layer.module});
      }
      open = line;
    }
    return regions;
  }

  // Of two modules of one block the one around the other: a convolution that a norm was folded into got its module back
  // (dynamo/folded.cc).
  bool IsAround(ModuleId outer, ModuleId inner) const {
    return outer.valid() && inner.valid() && layers_[outer].path.size() < layers_[inner].path.size();
  }

  // What the path of a parameter's module has below `scope`: "teacher.0" of teacher.0.weight in the root; empty: none.
  std::string_view Below(ModuleId scope, ValueId id) const {
    if (!id.valid() || layers_[id].role != Role::kParameter) return {};
    std::string_view name = layers_[id].name;
    const std::string& path = layers_[scope].path;
    if (!path.empty()) {
      if (!name.starts_with(path) || name.size() <= path.size() || name[path.size()] != '.') return {};
      name.remove_prefix(path.size() + 1);
    }
    const size_t leaf = name.rfind('.');
    return leaf == std::string_view::npos ? std::string_view() : name.substr(0, leaf);
  }
  std::string_view Below(ModuleId scope, const Layer& layer) const {
    if (!scope.valid()) return {};
    for (const ValueId id : layer.inputs) {
      if (const std::string_view owner = Below(scope, id); !owner.empty()) return owner;
    }
    return {};
  }

  // "teacher" where a layer runs in teacher or in a module of it.
  bool IsInside(const Layer& layer, const Region& region, std::string_view child) const {
    if (!layer.module.valid()) return false;
    const std::string& scope = layers_[region.scope].path;
    std::string_view path = layers_[layer.module].path;
    if (!scope.empty()) {
      if (!path.starts_with(scope) || path.size() <= scope.size()) return false;
      path.remove_prefix(scope.size() + 1);
    }
    return path.starts_with(child) && (path.size() == child.size() || path[child.size()] == '.');
  }

  // Two or more modules of one child of the scope, which the scope itself never reads: F.linear(x, self.child.weight)
  // is nothing unusual, F.conv2d(x, self.child.block.conv.weight) is not written by anybody.
  std::vector<Region> ByLostScopes() const {
    std::vector<Region> regions;
    std::optional<Region> open;
    std::string child;
    std::set<std::string_view> owners;
    const auto close = [&] {
      if (open && owners.size() > 1) regions.push_back(*open);
      open.reset();
      owners.clear();
    };
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const std::string_view owner = Below(layer.module, layer);
      const std::string_view head = owner.substr(0, owner.find('.'));
      if (open && IsInside(layer, *open, child)) {
        open->end = l + 1;
        owners.insert(layers_[layer.module].path);
        continue;
      }
      if (open && layer.module == open->scope && owner.empty()) continue;  // between two of its calls, or behind them
      if (open && (layer.module != open->scope || head != child)) close();
      if (owner.find('.') == std::string_view::npos) continue;
      if (!open) {
        open = Region{l, l + 1, layer.module};
        child = head;
        while (open->first > 0 && IsInside(layers_.layers[open->first - 1], *open, child)) --open->first;
        if (open->first < l) owners.insert(layers_[layers_.layers[l - 1].module].path);
      }
      open->end = l + 1;
      owners.insert(owner);
    }
    close();
    return regions;
  }

  bool IsAutocast(const Region& region) const {
    bool casts = false, outer = false;
    for (size_t l = region.first; l < region.end; ++l) {
      for (const std::string_view operand : OperandsIn(LineOf(layers_, layers_.layers[l])->text)) {
        if (IsNumberedArgument(operand)) return true;
        casts = casts || IsCast(operand);
        outer = outer || operand.starts_with("p_") || operand.starts_with("b_");
      }
    }
    return casts && !outer;
  }

  // enabled=False, which is what models write: the call runs in the type of its operands. A cast to fp32 in front of the
  // block, or at its beginning, has left no node in an export in fp32.
  void TurnAutocastOff(const Uses& uses, const Region& region) {
    std::map<ValueId, ValueId> wide;  // each is cast once
    for (size_t l = region.first; l < region.end; ++l) {
      Layer& layer = layers_.layers[l];
      layer.attributes.Set("autocast", int64_t{0});
      const std::vector<std::string_view> operands = OperandsIn(LineOf(layers_, layer)->text);
      for (size_t i = 0; i < std::min(operands.size(), layer.inputs.size()); ++i) {
        const ValueId id = layer.inputs[i];
        const bool outside = uses.PlaceOfMaker(id) < static_cast<int>(region.first);
        if (!IsCast(operands[i]) || !id.valid() || !outside || layers_[id].role != Role::kActivation) continue;
        if (!IsFloating(layers_[id].type)) continue;
        Layer cast{.op = "float",
                   .name = layer.name + ".float",
                   .inputs = {id},
                   .module = layer.module,
                   .evidence = layer.evidence};
        const Value from = layers_[id];
        const auto [known, fresh] = wide.try_emplace(id);
        if (fresh) known->second = edit_.InsertBefore(l, std::move(cast), {.type = from.type, .shape = from.shape});
        layer.inputs[i] = known->second;
      }
    }
  }

  // Whether the block is one of no_grad; another one becomes what it is.
  bool IsWithoutGradients(const Uses& uses, const Region& region, bool lines) {
    if (lines && IsAutocast(region) && Runs("read", "regions IsAutocast")) {
      TurnAutocastOff(uses, region);
      return false;
    }
    if (const ValueId operand = OperandOfFunction(uses, region);
        operand.valid() && Runs("read", "regions PutFunction")) {
      PutFunction(region, operand);
      return false;
    }
    return !Runs("read", "regions IsTrainedForNothing") || !IsTrainedForNothing(uses, region);
  }

  // Which results of these layers come from a parameter.
  void Train(size_t first, size_t end) {
    for (size_t l = first; l < end; ++l) {
      const Layer& layer = layers_.layers[l];
      const bool any = std::ranges::any_of(layer.inputs, [&](ValueId id) {
        return id.valid() && (layers_[id].role == Role::kParameter || IsTrained(id));
      });
      for (const ValueId id : layer.outputs) {
        if (id.valid() && any && IsFloating(layers_[id].type)) trained_[id.index()] = true;
      }
    }
  }
  bool IsTrained(ValueId id) const { return id.valid() && id.index() < trained_.size() && trained_[id.index()]; }

  // Whether nothing but such blocks reads a trained activation that this one reads: then no_grad, if that is what it was,
  // was left again inside, as checkpoints and autograd.Functions do.
  bool IsTrainedForNothing(const Uses& uses, const Region& region) const {
    for (size_t l = region.first; l < region.end; ++l) {
      for (const ValueId id : layers_.layers[l].inputs) {
        if (!IsTrained(id)) continue;
        const auto in_block = [&](int32_t place) {
          return static_cast<size_t>(place) < in_block_.size() && in_block_[static_cast<size_t>(place)];
        };
        if (std::ranges::all_of(uses.ReadersOf(id), in_block)) return true;
      }
    }
    return false;
  }

  // Whether each layer moves or negates what it is given: its derivative needs nothing, so nobody writes a function for
  // it, and a block of such layers is another one.
  bool IsMoves(const Region& region) const {
    static const std::set<std::string_view> kMoves = {
        "view",   "reshape", "permute", "transpose", "expand", "slice", "select", "unsqueeze", "squeeze", "contiguous",
        "unbind", "split",   "cat",     "stack",     "neg",    "flip",  "roll",   "clone",     "detach"};
    return std::all_of(layers_.layers.begin() + region.first, layers_.layers.begin() + region.end,
                       [](const Layer& layer) { return kMoves.contains(layer.op); });
  }

  // The forward of an autograd.Function runs without gradients as well (torch/csrc/autograd/custom_function.cpp). Where
  // nothing but the block reads the one activation that it is given, no_grad would leave what made that untrained; so it
  // is a function with a gradient of its own. That activation; invalid: it is none.
  ValueId OperandOfFunction(const Uses& uses, const Region& region) const {
    ValueId operand;
    for (size_t l = region.first; l < region.end; ++l) {
      for (const ValueId id : layers_.layers[l].inputs) {
        if (!id.valid() || uses.PlaceOfMaker(id) >= static_cast<int>(region.first)) continue;
        if (layers_[id].role == Role::kConstant) continue;
        if (layers_[id].role != Role::kActivation || (operand.valid() && operand != id)) return {};
        operand = id;
      }
    }
    const Layer& last = layers_.layers[region.end - 1];
    if (!operand.valid() || last.outputs.size() != 1 || !IsFloating(layers_[operand].type)) return {};
    if (IsMoves(region)) return {};
    if (layers_[operand].shape != layers_[last.outputs[0]].shape) return {};
    const auto outside = [&](int32_t place) { return static_cast<size_t>(place) >= region.end; };
    if (std::ranges::any_of(uses.ReadersOf(operand), outside)) return {};
    for (size_t l = region.first; l + 1 < region.end; ++l) {
      for (const ValueId id : layers_.layers[l].outputs) {
        if (id.valid() && std::ranges::any_of(uses.ReadersOf(id), outside)) return {};
      }
    }
    return operand;
  }

  // Its calls run without gradients; behind them stands the entry of the tape, which keeps the input, as such functions
  // are written for (planner/semantics/function.cc).
  void PutFunction(const Region& region, ValueId operand) {
    for (size_t l = region.first; l < region.end; ++l) layers_.layers[l].attributes.Set("no_grad", int64_t{1});
    const Layer& call = layers_.layers[region.end - 1];
    PutFunctionBehind(region.end - 1, operand, kStepsOfBackward, layers_, &edit_);
    if (notes_ == nullptr) return;
    notes_->Add({"custom-function", Severity::kNote, call.module.valid() ? layers_[call.module].path : call.name,
                 "assumed: its autograd.Function keeps its input and nothing else",
                 "vramplan run tells, on the script"});
  }

  // Each call in the module that owns its parameters, what stands between them in the module around them all.
  void RestoreScopes(const Region& region) {
    std::string around;  // below the scope
    bool any = false;
    for (size_t l = region.first; l < region.end; ++l) {
      const std::string_view owner = Below(region.scope, layers_.layers[l]);
      if (owner.empty()) continue;
      around = any ? CommonPath(around, owner) : std::string(owner);
      any = true;
    }
    if (!any) return;
    const std::string& scope = layers_[region.scope].path;
    const std::string prefix = scope.empty() ? "" : scope + ".";
    const ModuleId outer = around.empty() ? region.scope : ModuleAt(prefix + around, region.scope);
    bool numbered = true;
    for (size_t l = region.first; l < region.end; ++l) {
      Layer& layer = layers_.layers[l];
      const std::string_view owner = Below(region.scope, layer);
      if (owner.empty() || owner == around) {
        layer.module = outer;
        continue;
      }
      const std::string child(owner.substr(around.empty() ? 0 : around.size() + 1));
      numbered = numbered && IsNumber(child);
      layer.module = ModuleAt(prefix + std::string(owner), outer);
    }
    if (numbered && outer != region.scope) layers_.modules[outer.index()].class_name = kSequential;
  }

  static std::string CommonPath(std::string_view a, std::string_view b) {
    const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    size_t length = static_cast<size_t>(end - a.begin());
    const bool whole = (end == a.end() || *end == '.') && (other == b.end() || *other == '.');
    if (!whole) length = a.substr(0, length).rfind('.') == std::string_view::npos ? 0 : a.substr(0, length).rfind('.');
    return std::string(a.substr(0, length));
  }

  ModuleId ModuleAt(std::string path, ModuleId parent) {
    layers_.modules.push_back({.path = std::move(path), .class_name = "", .parent = parent});
    return ModuleId{static_cast<int32_t>(layers_.modules.size()) - 1};
  }

  Layers& layers_;
  Edit edit_;
  Notes* notes_;
  std::vector<bool> trained_;   // by value
  std::vector<bool> in_block_;  // by layer
};

}  // namespace

void PutFunctionBehind(size_t at, ValueId operand, int64_t steps, const Layers& layers, Edit* edit) {
  const Layer& call = layers.layers[at];
  const ValueId result = call.outputs[0];
  const Value made = layers[result];
  Layer entry{.op = "function",
              .name = call.name + ".function",
              .inputs = {result, operand, operand},
              .attributes = Named({{"results", int64_t{1}}, {"operands", int64_t{1}}, {"steps", steps}}),
              .module = call.module,
              .nodes = call.nodes,
              .evidence = call.evidence};
  edit->Rename(result, edit->InsertBehind(at, std::move(entry), {.type = made.type, .shape = made.shape}));
}

void ReadRegions(Layers* layers, Notes* notes) { Regions(layers, notes).Read(); }

}  // namespace vramplan
