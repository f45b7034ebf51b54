#include "planner/semantics/memory.h"

namespace vramplan {

std::string_view Name(Category category) {
  constexpr std::string_view kNames[kCategories] = {"parameters",  "buffers",     "gradients", "optimizer_state",
                                                    "activations", "temporaries", "inputs",    "workspace"};
  return kNames[static_cast<int>(category)];
}

}  // namespace vramplan
