// Script changes: what --try changes in a script from outside, one after the other. The hook does it where it is
// Python's (pretend/hook/changes.py), and says what it really changed.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace vramplan {

struct ScriptChange {
  const char* text;       // "expandable segments"
  const char* hook;       // of changes.py; null: the environment does it
  const char* otherwise;  // what it means when the hook changed nothing
};

inline constexpr std::array<ScriptChange, 4> kScriptChanges = {{
    {"expandable segments", nullptr, ""},
    {"no foreach", "foreach", "no optimizer chooses by itself to update all parameters at once"},
    {"checkpointed layers", "checkpoint", "the model has no list of modules of one kind"},
    {"8-bit Adam", "8-bit", "the script makes no torch.optim.Adam or AdamW, or bitsandbytes is not installed"},
}};

// Variables for a run with it.
std::vector<std::pair<std::string, std::string>> VariablesOf(const ScriptChange& change);

}  // namespace vramplan
