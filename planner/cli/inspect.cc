#include "planner/cli/verbs.h"

namespace vramplan {

Result<Outcome> RunInspect(const Options& options, const Style&) {
  return Error{ErrorCode::kBadInput, options.file, "inspect is not built yet", ""};
}

}  // namespace vramplan
