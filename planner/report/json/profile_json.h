// Reads a Profile from its file, and writes it (calibration/profile.h). Invariant: what was written reads as the same
// profile; the context's source, which names the file, is not in it.
#pragma once

#include <string>

#include "graph/base/result.h"
#include "planner/calibration/profile.h"
#include "planner/report/writing/json.h"

namespace vramplan {

// Errors: the file cannot be read, is no JSON, has another schema, or a member is missing or of the wrong kind (its
// path is named: "convolutions[3].input").
Result<Profile> ReadProfile(const std::string& path);
Result<Profile> ProfileFromText(const std::string& name, const std::string& text);

Json ToJson(const Profile& profile);

}  // namespace vramplan
