// Reads a Profile from its file (calibration/profile.h).
#pragma once

#include <string>

#include "graph/base/result.h"
#include "planner/calibration/profile.h"

namespace vramplan {

// Errors: the file cannot be read, is no JSON, has another schema, or a member is missing or of the wrong kind (its
// path is named: "convolutions[3].input").
Result<Profile> ReadProfile(const std::string& path);
Result<Profile> ProfileFromText(const std::string& name, const std::string& text);

}  // namespace vramplan
