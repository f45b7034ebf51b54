// Snippets: a plan as the configuration that applies it: a Python module, or a file of a training framework.
//
//   Emit::kPytorch   BATCH = 96 ... def prepare(model): wraps the chosen modules    plan.py
//   Emit::kEnv       export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
#pragma once

#include <string>
#include <string_view>

#include "graph/base/result.h"
#include "planner/report/snippets/snippet_freeze.h"
#include "planner/solver/plan.h"

namespace vramplan {

enum class Emit : uint8_t { kNone, kPytorch, kPytorchSac, kHf, kAccelerate, kLightning, kDeepspeed, kKeras, kEnv };
Result<Emit> ParseEmit(std::string_view text);

// What a snippet says: the plan, and the step that it is a plan for.
struct SnippetOf {
  const Plan& plan;
  const TrainingSpec& spec;
  std::string file;            // the graph
  std::string device;          // "Tesla T4"
  Bytes needs;                 // of the device
  std::string allocator_text;  // as given with --allocator-conf
  TrainedPart trained;
};

// Errors: an optimizer that the framework cannot be told in its configuration.
Result<std::string> PrintSnippet(Emit emit, const SnippetOf& of);

// The Python module of Emit::kPytorch and kPytorchSac. No side effects on import; every name that it defines is in its
// docstring.
Result<std::string> PytorchModule(const SnippetOf& of);
// The Python module of Emit::kKeras: what Keras 3 can be told of the plan, and what it cannot.
Result<std::string> KerasModule(const SnippetOf& of);

}  // namespace vramplan
