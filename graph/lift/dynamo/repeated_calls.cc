// Several calls of one module in a row: the exporter does not number them, so they look like one call.
//
//   for _ in range(2): x = self.block(x)      block: conv relu conv relu      ->   block: conv relu   block: conv relu
//
// Where the layers of a call repeat one sequence of operators, modules and parameters, the module was called once for
// each repetition: a loop in one call, for w in self.weights: x = x @ w, has others in each turn. The outermost such
// module counts, but never the root, and never arithmetic without weights, which a forward may simply write several
// times.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/lift/dynamo/passes.h"

namespace vramplan {
namespace {

class RepeatedCalls {
 public:
  explicit RepeatedCalls(Layers* layers) : layers_(*layers), ranges_(layers->modules.size()) {}

  void Split() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const std::string path = layer.module.valid() ? layers_[layer.module].path : "";
      const Word word{layer.op, path, ParameterOf(layer), layer.attributes.Int("index", 0)};
      words_.push_back(numbers_.try_emplace(word, static_cast<int>(numbers_.size())).first->second);
      for (ModuleId m = layer.module; m.valid(); m = layers_[m].parent) {
        Range& range = ranges_[m.index()];
        if (range.count++ == 0) range.first = l;
        range.last = l;
      }
    }
    const size_t modules = layers_.modules.size();
    for (size_t m = 0; m < modules; ++m) {  // callers stand in front of what they call
      if (layers_.modules[m].parent.valid()) SplitCall(ModuleId::At(m));
    }
  }

 private:
  using Word = std::tuple<std::string, std::string, ValueId, int64_t>;
  struct Range {
    size_t first = 0, last = 0, count = 0;
  };

  // The length of the shortest sequence that the range repeats; the whole length if it repeats none.
  size_t PeriodOf(const Range& range) const {
    std::vector<size_t> border(range.count, 0);  // of each beginning the longest that it ends with, too
    const auto word = [&](size_t i) { return words_[range.first + i]; };
    for (size_t i = 1; i < range.count; ++i) {
      size_t length = border[i - 1];
      while (length > 0 && word(i) != word(length)) length = border[length - 1];
      border[i] = word(i) == word(length) ? length + 1 : 0;
    }
    const size_t period = range.count - border.back();
    return range.count % period == 0 ? period : range.count;
  }

  // The first that a layer reads; invalid: none.
  ValueId ParameterOf(const Layer& layer) const {
    const auto found = std::ranges::find_if(
        layer.inputs, [&](ValueId id) { return id.valid() && layers_[id].role == Role::kParameter; });
    return found == layer.inputs.end() ? ValueId() : *found;
  }

  void SplitCall(ModuleId call) {
    const Range range = ranges_[call.index()];
    if (range.count < 2 || range.last - range.first + 1 != range.count) return;
    const size_t period = PeriodOf(range);
    if (period < 2 || period == range.count || !HasWeights(range.first, period)) return;
    for (size_t turn = 1; turn < range.count / period; ++turn) {
      std::map<ModuleId, ModuleId> anew;
      for (size_t l = range.first + turn * period; l < range.first + (turn + 1) * period; ++l)
        layers_.layers[l].module = Anew(layers_.layers[l].module, call, &anew);
    }
    Forget(call, range);
  }

  bool HasWeights(size_t first, size_t count) const {
    for (size_t l = first; l < first + count; ++l) {
      for (const ValueId input : layers_.layers[l].inputs) {
        if (input.valid() && layers_[input].role == Role::kParameter) return true;
      }
    }
    return false;
  }

  // The call in the turn that `anew` is of, made with those around it up to `outermost`.
  ModuleId Anew(ModuleId call, ModuleId outermost, std::map<ModuleId, ModuleId>* anew) {
    if (const auto found = anew->find(call); found != anew->end()) return found->second;
    Module copy = layers_[call];
    if (call != outermost) copy.parent = Anew(copy.parent, outermost, anew);
    layers_.modules.push_back(std::move(copy));
    return anew->emplace(call, ModuleId::At(layers_.modules.size() - 1)).first->second;
  }

  // What was called inside is no longer one range.
  void Forget(ModuleId call, const Range& range) {
    for (size_t l = range.first; l < range.first + range.count; ++l) {
      for (ModuleId m = layers_.layers[l].module; m.valid() && m != call; m = layers_[m].parent) {
        if (m.index() < ranges_.size()) ranges_[m.index()].count = 0;
      }
    }
  }

  Layers& layers_;
  std::vector<Range> ranges_;  // by module call: its layers, which follow each other
  std::vector<int> words_;     // by layer: equal where operators and modules are
  std::map<Word, int> numbers_;
};

}  // namespace

void SplitRepeatedCalls(Layers* layers) { RepeatedCalls(layers).Split(); }

}  // namespace vramplan
