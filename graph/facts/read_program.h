// The "program" of a file's facts (docs/facts.md): every call of a forward. Holds of what is read: each number of a value,
// a call or a module is in range, a parent comes before its children, and a result is made once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "graph/ir/facts.h"

namespace vramplan {

// Nothing: it is malformed.
std::optional<RecordedProgram> ReadProgram(const nlohmann::json& object);

}  // namespace vramplan
