#include "planner/cli/verbs.h"

namespace vramplan {

Result<Outcome> RunEstimate(const Options& options, const Style&) {
  return Error{ErrorCode::kBadInput, options.file, "estimate is not built yet", ""};
}

}  // namespace vramplan
