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
    {"no foreach", "foreach", "no optimizer chooses by itself to update all parameters at once",
     "give the optimizer foreach=False"},
    {"checkpointed layers", "checkpoint",
     "no library offers it, and the model has no list of modules of one kind and no nn.Sequential of four",
     "checkpoint the layers, which costs time"},
    {"half the batch", "half",
     "the script makes its batches without a DataLoader, or of one sample: halve the number in it, and step each "
     "second "
     "time",
     "halve the batch and step each second time"},
    {"autocast", "amp", "the script uses autocast already, or trains no float32 parameter",
     "run forward and loss under torch.autocast"},
    {"8-bit Adam", "8-bit", "the script makes no torch.optim.Adam or AdamW, or bitsandbytes is not installed",
     "take Adam or AdamW of bitsandbytes.optim in 8 bits"},
}};

// Variables for a run with it.
std::vector<std::pair<std::string, std::string>> VariablesOf(const ScriptChange& change);

}  // namespace vramplan
