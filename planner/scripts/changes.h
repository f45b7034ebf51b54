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
  const char* advice;     // how it is written into the script
};

// Those that change the least about a training first.
inline constexpr std::array<ScriptChange, 6> kScriptChanges = {{
    {"expandable segments", nullptr, "", "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"no foreach", "foreach", "no optimizer of the script updates all parameters at once by default",
     "give the optimizer foreach=False"},
    {"checkpointed layers", "checkpoint",
     "the library has no checkpointing, and the model has no list of modules of one kind and no nn.Sequential of four",
     "checkpoint the layers, which costs time"},
    {"half the batch", "half",
     "the script makes its batches without a DataLoader, or with one sample each: halve the batch in the script, and "
     "step every second time",
     "halve the batch and step every second time"},
    {"autocast", "amp", "the script already uses autocast, or trains no float32 parameter",
     "run forward and loss under torch.autocast"},
    {"8-bit Adam", "8-bit", "the script makes no torch.optim.Adam or AdamW, or bitsandbytes is not installed",
     "use the 8-bit Adam or AdamW of bitsandbytes.optim"},
}};

// Variables for a run with it.
std::vector<std::pair<std::string, std::string>> VariablesOf(const ScriptChange& change);

}  // namespace vramplan
