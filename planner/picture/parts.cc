#include "planner/picture/parts.h"

namespace vramplan {

const std::array<Part, kParts>& Parts() {
  static const std::array<Part, kParts> kParts_ = {{
      {"parameters", "#332288", "#8f83e0"},
      {"buffers", "#3d93b8", "#88ccee"},
      {"gradients", "#2e8b7d", "#5fc7b8"},
      {"optimizer state", "#3f6fb5", "#6f9fe0"},
      {"activations", "#b07d12", "#e3b84a"},
      {"temporaries", "#c2576a", "#e58a98"},
      {"inputs", "#85852a", "#c3c35a"},
      {"workspace", "#8d3a86", "#cf86c6"},
      {"slack of blocks", "#8a5a2b", "#c98d5e"},
      {"reserved, not allocated", "#6b9a1f", "#a9d160"},
      {"CUDA context and kernels", "#4c5361", "#7d8694"},
  }};
  return kParts_;
}

std::string PartClass(size_t part) { return "p" + std::to_string(part); }

std::string PartStyle() {
  std::string light, dark;
  for (size_t part = 0; part < kParts; ++part) {
    const std::string name = "--" + PartClass(part) + ":";
    light += name + Parts()[part].light + ";";
    dark += name + Parts()[part].dark + ";";
  }
  std::string style = ":root{" + light + "}\n@media(prefers-color-scheme:dark){:root{" + dark + "}}\n";
  for (size_t part = 0; part < kParts; ++part) {
    const std::string name = PartClass(part);
    style += "." + name + "{fill:var(--" + name + ");background-color:var(--" + name + ")}";
  }
  return style + "\n";
}

}  // namespace vramplan
