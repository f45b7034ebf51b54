#include "graph/architectures/last_token.h"

#include <algorithm>
#include <limits>

#include "graph/architectures/linear_layers.h"

namespace vramplan {
namespace {

constexpr int kTokens = 1;  // the axis

}  // namespace

bool KeepLastToken(RecordedProgram* program) {
  const auto head = std::find_if(program->calls.rbegin(), program->calls.rend(),
                                 [](const RecordedProgram::Call& call) { return LinearCallOf(call).has_value(); });
  if (head == program->calls.rend()) return false;
  const int64_t states = head->arguments[LinearCallOf(*head)->input].integer;
  const auto chosen =
      std::find_if(program->calls.begin(), program->calls.end(), [&](const RecordedProgram::Call& call) {
        return call.target == "aten.alias.default" && call.results.front() == states;
      });
  if (chosen == program->calls.end()) return false;
  chosen->target = "aten.slice.Tensor";
  chosen->arguments = {chosen->arguments.front(), IntegerOf(kTokens), IntegerOf(-1),
                       IntegerOf(std::numeric_limits<int64_t>::max())};
  for (auto call = chosen; call != program->calls.end(); ++call) {
    for (const int32_t result : call->results) {
      if (result < 0) continue;
      Shape& shape = program->values[static_cast<size_t>(result)].shape;
      if (shape.rank() > kTokens + 1) shape[kTokens] = Dim(1);
    }
  }
  // The cache dies with the request, before the next one is read.
  const auto last = static_cast<int32_t>(program->calls.size()) - 1;
  for (RecordedProgram::End& end : program->ends) {
    const bool given_back = std::ranges::find(program->returned, end.value) != program->returned.end();
    if (end.call == RecordedForward::kWithTheForward && !given_back) end.call = last;
  }
  return true;
}

}  // namespace vramplan
