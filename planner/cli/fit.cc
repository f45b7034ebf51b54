#include "planner/cli/verbs.h"

namespace vramplan {

Result<Outcome> RunFit(const Options& options, const Style&) {
  return Error{ErrorCode::kBadInput, options.file, "fit is not built yet", ""};
}

}  // namespace vramplan
