#include "planner/lifetimes/pyramid.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

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

void HoldPyramid(const Layers& layers, const Statements& statements, Holds& release) {
  std::map<ModuleId, std::set<std::string>> children;
  for (const Module& module : layers.modules) {
    if (module.parent.valid()) children[module.parent].insert(module.path.substr(module.path.rfind('.') + 1));
  }
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const Module& encoder = layers.modules[m];
    if (!encoder.parent.valid() || encoder.path.substr(encoder.path.rfind('.') + 1) != "encoder") continue;
    const std::set<std::string>& beside = children[encoder.parent];
    if (!beside.contains("decoder") || !beside.contains("segmentation_head")) continue;
    struct Map {
      ValueId id;
      int depth;  // rises with that of the frame in which it is handed on
    };
    std::vector<Map> maps;  // one a resolution
    const Statements::Statement call =
        statements.StatementOf(statements.WithFrame(ModuleId{static_cast<int32_t>(m)}).after, encoder.parent);
    for (int l = call.first; l < static_cast<int>(layers.layers.size()); ++l) {
      for (const ValueId id : layers.layers[static_cast<size_t>(l)].inputs) {
        const int maker = id.valid() ? statements.MakerOf(id) : -1;
        if (maker < call.first || maker > call.last || !IsMap(layers, layers.layers[static_cast<size_t>(maker)], id)) {
          continue;
        }
        const Map map{id, statements
                              .WithFrame(statements.Common(layers.layers[static_cast<size_t>(maker)].module,
                                                           layers.layers[static_cast<size_t>(l)].module))
                              .holder};
        const auto same = std::find_if(maps.begin(), maps.end(), [&](const Map& other) {
          return layers[other.id].shape[2] == layers[id].shape[2] && layers[other.id].shape[3] == layers[id].shape[3];
        });
        if (same == maps.end()) {
          maps.push_back(map);
        } else if (map.depth <= same->depth) {
          *same = map;
        }
      }
    }
    for (const Map& map : maps) Hold(release, map.id, statements.WithFrame(encoder.parent));
  }
}

}  // namespace vramplan
