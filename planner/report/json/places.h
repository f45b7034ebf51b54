// Lines of a script's code, as fields.
#pragma once

#include "planner/report/script_holders.h"
#include "planner/report/writing/fields.h"

namespace vramplan {

// A line without its function.
struct LineOf {
  const CodePlace* place;
};

template <>
struct Described<LineOf> {
  static constexpr const char* kName = "line";
  static Fields<LineOf> Make();
};
template <>
struct Described<CodePlace> {
  static constexpr const char* kName = "place";
  static Fields<CodePlace> Make();
};
template <>
struct Described<HeldRow> {
  static constexpr const char* kName = "held";
  static Fields<HeldRow> Make();
};

}  // namespace vramplan
