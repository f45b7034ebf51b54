#include "graph/architectures/last_token.h"

#include <algorithm>
#include <limits>

#include "graph/architectures/linear_layers.h"

namespace vramplan {
namespace {

constexpr int kTokens = 1;  // the axis

using Call = RecordedProgram::Call;

// Which call made what an argument names; calls.end(): none.
std::vector<Call>::iterator MakerOf(RecordedProgram* program, int64_t value) {
  return std::ranges::find_if(program->calls, [&](const Call& call) {
    return std::ranges::find(call.results, static_cast<int32_t>(value)) != call.results.end();
  });
}

// arange [S], unsqueeze [1, S]: positions that the model makes itself. The unsqueeze; calls.end(): there is none.
std::vector<Call>::iterator OwnPositions(RecordedProgram* program, const Shape& tokens) {
  return std::ranges::find_if(program->calls, [&](const Call& call) {
    if (call.target != "aten.unsqueeze.default" || call.arguments.front().kind != RecordedArgument::Kind::kValue)
      return false;
    const RecordedProgram::Tensor& made = program->values[static_cast<size_t>(call.results.front())];
    if (made.type != DType::kInt64 || made.shape.rank() != tokens.rank() || made.shape[kTokens] != tokens[kTokens])
      return false;
    auto maker = MakerOf(program, call.arguments.front().integer);
    if (maker != program->calls.end() && maker->target == "aten.add.Tensor")
      maker = MakerOf(program, maker->arguments.front().integer);
    return maker != program->calls.end() && maker->target == "aten.arange.default";
  });
}

// What is made of positions of every sequence is of every sequence: cosines and sines [B, S, W].
void OfEverySequence(RecordedProgram* program, std::vector<Call>::iterator call, const Dim& batch) {
  std::vector<bool> wider(program->values.size(), false);
  wider[static_cast<size_t>(call->results.front())] = true;
  for (; call != program->calls.end(); ++call) {
    const bool reads = std::ranges::any_of(call->arguments, [&](const RecordedArgument& argument) {
      return argument.kind == RecordedArgument::Kind::kValue && wider[static_cast<size_t>(argument.integer)];
    });
    for (const int32_t result : call->results) {
      if (result < 0 || (!reads && !wider[static_cast<size_t>(result)])) continue;
      Shape& shape = program->values[static_cast<size_t>(result)].shape;
      if (shape.rank() == 0 || shape[0] != Dim(1)) continue;
      shape[0] = batch;
      wider[static_cast<size_t>(result)] = true;
    }
  }
}

// generate() gives the model a copy of the prompts, and positions of each of them, which it holds through the forward.
void GiveCopies(RecordedProgram* program) {
  const auto ids = std::ranges::find(program->given, "input_ids", &RecordedProgram::Kept::name);
  if (ids == program->given.end()) return;
  const RecordedProgram::Tensor tokens = program->values[static_cast<size_t>(ids->value)];
  RecordedArgument prompts;
  prompts.kind = RecordedArgument::Kind::kValue;
  prompts.integer = ids->value;
  const auto last = static_cast<int32_t>(program->calls.size());
  if (const auto positions = OwnPositions(program, tokens.shape); positions != program->calls.end()) {
    for (RecordedProgram::End& end : program->ends)
      if (end.value == positions->arguments.front().integer)
        end.call = static_cast<int32_t>(positions - program->calls.begin());
    positions->target = "aten.clone.default";
    positions->arguments = {prompts};
    OfEverySequence(program, positions, tokens.shape[0]);
  }
  Call copy;
  copy.target = "aten.clone.default";
  copy.module = program->calls.front().module;
  copy.arguments = {prompts};
  copy.results = {static_cast<int32_t>(program->values.size())};
  for (RecordedProgram::End& end : program->ends)
    if (end.call >= 0) ++end.call;
  program->ends.push_back({copy.results.front(), last});
  std::ranges::stable_sort(program->ends, {}, &RecordedProgram::End::call);
  program->values.push_back(tokens);
  program->calls.insert(program->calls.begin(), copy);
}

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
  // The cache and the logits die with the request, before the next one is read: generate() returns tokens.
  const auto last = static_cast<int32_t>(program->calls.size()) - 1;
  for (RecordedProgram::End& end : program->ends)
    if (end.call == RecordedForward::kWithTheForward) end.call = last;
  program->returned.clear();
  GiveCopies(program);
  return true;
}

}  // namespace vramplan
