// ultralytics.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr ClassHabit kUltralyticsClasses[] = {
    {"ultralytics.", Effect::kActsInPlace},  // initialize_weights sets inplace on ReLU, SiLU, Hardswish
};

}  // namespace

constinit const Library kUltralytics = {"ultralytics.", "8", kUltralyticsClasses, {}, {}};

}  // namespace vramplan
