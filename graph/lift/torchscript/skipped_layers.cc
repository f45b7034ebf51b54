// Layers that did not run while the model was exported: LayerDrop (wav2vec 2.0, M2M-100, BART: config.layerdrop) leaves
// layers out by chance in training mode, and a trace has neither their nodes nor their parameters. Seen as a hole among
// modules of one list that are alike:
//
//   encoder.layers.0 {attn, fc1, fc2}, encoder.layers.2 {attn, fc1, fc2}    ->  a warning that names encoder.layers.1
//
// A last layer that is missing leaves no hole.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "graph/base/text.h"
#include "graph/layers/uses.h"
#include "graph/lift/habit_of.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

// Fewer children have a convolution with its norm, an activation between two of them; a list of those has holes where
// something without nodes stands.
constexpr size_t kFewestChildren = 3;
// Of a list with one layer left, which has no neighbour to be like: as many as a transformer's layer has; and the other
// half of the model, encoder.layers beside decoder.layers, has more of them.
constexpr size_t kFewestChildrenAlone = 5;
constexpr int kLongest = 1024;

struct SkippedPlace {
  std::string_view list;  // "encoder.layers" of "encoder.layers.2"
  int index = 0;
};

std::optional<SkippedPlace> PlaceIn(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  SkippedPlace place{path.substr(0, dot), 0};
  const std::string_view number = path.substr(dot + 1);
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), place.index);
  if (status != std::errc() || end != number.data() + number.size() || place.index < 0 || place.index > kLongest)
    return std::nullopt;
  return place;
}

using Children = std::set<std::string_view>;

// What ran of each list: by index, the names of its children.
using ListsOfLayers = std::map<std::string_view, std::map<int, Children>>;

ListsOfLayers Lists(const Layers& layers) {
  ListsOfLayers lists;
  const auto add = [&](std::string_view path) {
    for (size_t dot = path.find('.'); dot != std::string_view::npos;) {
      const size_t next = path.find('.', dot + 1);
      if (const auto place = PlaceIn(path.substr(0, next))) {
        Children& children = lists[place->list][place->index];
        if (next != std::string_view::npos) {
          const std::string_view rest = path.substr(next + 1);
          children.insert(rest.substr(0, rest.find('.')));
        }
      }
      dot = next;
    }
  };
  for (const Module& module : layers.modules) add(module.path);
  return lists;
}

// A layer that is declared did not run because nobody calls it. Exporters differ in whether the wrapper around the
// model has a name.
bool IsDeclared(const Layers& layers, const std::string& path) {
  const std::string whole = path + ".", inner = whole.substr(whole.find('.') + 1);
  return std::ranges::any_of(layers.parameters, [&](ValueId id) {
    const std::string& name = layers[id].name;
    return name.starts_with(whole) || name.starts_with(inner);
  });
}

bool HasLongerSister(const ListsOfLayers& lists, std::string_view list) {
  return std::ranges::any_of(
      lists, [&](const auto& other) { return other.second.size() > 1 && LeafOf(other.first) == LeafOf(list); });
}

}  // namespace

void NoteSkippedLayers(const Layers& layers, Notes* notes) {
  if (notes == nullptr) return;
  const ListsOfLayers lists = Lists(layers);
  for (const auto& [list, present] : lists) {
    const Children& children = present.rbegin()->second;
    if (children.size() < (present.size() < 2 ? kFewestChildrenAlone : kFewestChildren)) continue;
    if (present.size() < 2 && !HasLongerSister(lists, list)) continue;
    if (PlaceIn(list)) continue;  // lists within lists number what only some of them have: branches, scales
    bool alike = true;
    std::string holes;
    int expected = 0;
    for (const auto& [index, own] : present) {
      alike = alike && own == children;
      for (; expected < index; ++expected) {
        const std::string hole = std::string(list) + "." + std::to_string(expected);
        if (!IsDeclared(layers, hole)) holes += (holes.empty() ? "" : ", ") + hole;
      }
      expected = index + 1;
    }
    if (!alike || holes.empty()) continue;
    notes->Add({.code = "skipped-layer",
                .severity = Severity::kWarning,
                .subject = holes,
                .text = "not in the file, unlike the neighbours: LayerDrop leaves layers out by chance when a model is "
                        "exported in training mode, and their parameters and tensors are missing here",
                .hint = "set layerdrop (encoder_layerdrop, decoder_layerdrop) to 0 and export again"});
  }
}

void NoteUnrunStages(const Layers& layers, Notes* notes) {
  if (notes == nullptr) return;
  const auto habit = [&](ValueId id) { return HabitInPath(layers, layers[id].name, NameHabit::Of::kUnrunStages); };
  const auto reads = std::ranges::find_if(layers.parameters, [&](ValueId id) { return habit(id) != nullptr; });
  if (reads == layers.parameters.end()) return;
  const std::string stages = std::string(habit(*reads)->with) + ".";
  const Uses uses(layers);
  const bool listed = std::ranges::any_of(layers.parameters, [&](ValueId id) {
    return layers[id].name.find(stages) != std::string::npos && uses.ReadersOf(id).empty();
  });
  if (listed) return;
  notes->Add({.code = "unrun-stages",
              .severity = Severity::kWarning,
              .subject = layers[*reads].name,
              .text = "this decoder reads the first maps of its encoder alone; stages behind them never run, and the "
                      "export leaves their parameters out: they are not counted",
              .hint = "export with dynamo=True, which lists them, or run the script: vramplan run"});
}

}  // namespace vramplan
