#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

// An image like the caller's, smaller by the same factor along both axes; not a matrix of attention, and not what was
// padded for the one convolution behind it (efficientnet_pytorch's and MONAI's encoders).
bool IsMap(const Layers& layers, const Layer& maker, ValueId id) {
  const Shape& shape = layers[id].shape;
  if (shape.rank() != 4 || maker.op == "matmul" || maker.op == "softmax" || maker.op == "pad") return false;
  if (layers.inputs.empty()) return true;
  const Shape& image = layers[layers.inputs[0]].shape;
  return image.rank() != 4 || image[2] * shape[3] == image[3] * shape[2];
}

}  // namespace

void HoldPyramid(const Frames& frames, Holds& holds) {
  const Layers& layers = frames.layers();
  std::map<ModuleId, std::set<std::string, std::less<>>> children;
  for (const Module& module : layers.modules) {
    if (module.parent.valid()) children[module.parent].insert(module.path.substr(module.path.rfind('.') + 1));
  }
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const Module& encoder = layers.modules[m];
    if (!encoder.parent.valid()) continue;
    const std::string& around = layers[encoder.parent].class_name;
    const NameHabit* habit = HabitOfName(encoder.path, NameHabit::Of::kPyramid, around);
    const std::set<std::string, std::less<>>& beside = children[encoder.parent];
    const bool hands_on = habit != nullptr && LeafOf(encoder.path) == habit->name && beside.contains("decoder") &&
                          beside.contains(habit->with);
    if (!hands_on) continue;
    // features = [x]; features.append(self.stem(x)); for block in self.blocks: the blocks' first stage may have the
    // stem's resolution, and ends where the next one has made it smaller.
    const bool has_stem = std::ranges::any_of(children[ModuleId::At(m)], [&](std::string_view name) {
      const NameHabit* stem = HabitOfName(name, NameHabit::Of::kStemOfPyramid, encoder.class_name);
      return stem != nullptr && stem->name == name;
    });
    const auto is_of_block = [&](ValueId id) {
      return frames.IsOfList(frames.StatementOf(frames.MakerOf(id), ModuleId::At(m)));
    };
    struct Map {
      ValueId id;
      int depth;       // rises with that of the frame in which it is handed on
      ModuleId stage;  // that handed it on, if it may be dilated: then it has the resolution of the one before
    };
    const auto stage_of = [&](ModuleId made) {
      while (made.valid() && layers[made].parent != ModuleId::At(m)) made = layers[made].parent;
      const bool stage =
          made.valid() && HabitOfName(layers[made].path, NameHabit::Of::kDilatedStage, around) != nullptr;
      return stage ? made : ModuleId();
    };
    std::vector<Map> maps;  // one a resolution, and one a stage
    const Statement call = frames.StatementOf(frames.EndOf(ModuleId::At(m)), encoder.parent);
    for (int l = call.first; l < static_cast<int>(layers.layers.size()); ++l) {
      for (const ValueId id : frames.At(l).inputs) {
        const int maker = frames.MakerOf(id);
        if (maker < call.first || maker > call.last || !IsMap(layers, frames.At(maker), id)) continue;
        const ModuleId stage = stage_of(frames.MadeIn(id));
        if (stage.valid() && frames.IsInside(frames.At(l).module, stage)) continue;
        const Map map{id, frames.WithFrame(frames.Common(frames.MadeIn(id), frames.At(l).module)).holder, stage};
        const auto same = std::ranges::find_if(maps, [&](const Map& other) {
          if (map.stage != other.stage) return false;
          return layers[other.id].shape[2] == layers[id].shape[2] && layers[other.id].shape[3] == layers[id].shape[3];
        });
        if (same == maps.end()) {
          maps.push_back(map);
        } else if (map.depth <= same->depth && !(has_stem && is_of_block(map.id) && !is_of_block(same->id))) {
          *same = map;
        }
      }
    }
    for (const Map& map : maps) holds.Lengthen(map.id, frames.WithFrame(encoder.parent));
  }
}

void HoldDecoders(const Frames& frames, Holds& holds) {
  for (const Layer& sum : frames.layers().layers) {
    if (sum.op != "add" || sum.inputs.size() != 2 || !frames.IsMade(sum.inputs[0]) || !frames.IsMade(sum.inputs[1]))
      continue;
    const auto maker = [&](ValueId id) -> const Layer& { return frames.At(frames.MakerOf(id)); };
    ValueId lateral = sum.inputs[0], top_down = sum.inputs[1];
    if (maker(lateral).op.starts_with("upsample")) std::swap(lateral, top_down);
    // A call of this frame returned the one, the frame made the other.
    const bool meets = maker(top_down).op.starts_with("upsample") && maker(top_down).module == sum.module &&
                       frames.IsInside(maker(lateral).module, sum.module) &&
                       frames.StatementOf(frames.MakerOf(lateral), sum.module).call.valid();
    if (!meets) continue;
    for (const ValueId id : {lateral, top_down, sum.outputs[0]})
      holds.Lengthen(id, frames.Named(frames.EndOfName(frames.MakerOf(id), sum.module), sum.module));
  }
}

}  // namespace vramplan
