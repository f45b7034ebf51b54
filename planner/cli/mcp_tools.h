// The tools of `vramplan mcp`: what each takes and gives, and the command line that answers it.
//
//   CommandOf("fit", {"model": "unet.onnx", "gpu": "t4", "options": {"accumulate": 4}})
//       {"fit", "unet.onnx", "--gpu", "t4", "--accumulate", "4"}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "planner/report/writing/json.h"

namespace vramplan {

struct ToolCommand {
  std::vector<std::string> words;  // without --format
  std::string input;               // for standard input
  std::string emit;                // plan: the configuration that is wanted, too
};

bool IsTool(std::string_view name);
// "fit, plan, explain, models or gpus"
std::string ToolNames();
bool HasArgument(std::string_view tool, std::string_view argument);
// An option that would write a file, or is the server's own business.
bool IsServersOwn(std::string_view option);
// The result of tools/list.
Json ToolList();
// Errors: an argument that the tool does not have, that is missing, or of another type; an option that would write.
Result<ToolCommand> CommandOf(std::string_view tool, const Json& arguments);

}  // namespace vramplan
