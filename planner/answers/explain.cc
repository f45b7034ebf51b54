#include "planner/answers/explain.h"

#include <algorithm>
#include <utility>

#include "planner/allocator/replay.h"
#include "planner/answers/named_model.h"
#include "planner/answers/vllm.h"
#include "planner/solver/batch_search.h"

namespace vramplan {
namespace {

// Batches that are looked through for the one of the message.
constexpr int64_t kMostBatch = 65536;

// What the message says of the framework, unless it was given: before 2.0 no kernel computed attention as a whole.
bool TakeVersion(const OutOfMemory& message, TrainingSpec* spec) {
  if (!message.before_2 || spec->given.count("framework") != 0 || spec->given.count("attention") != 0) return false;
  spec->framework = Framework{2, 0};
  spec->attention = Attention::kMath;
  return true;
}

std::optional<Bytes> RoomOfMessageOrCard(const OutOfMemory& message, const std::optional<ChosenDevice>& chosen,
                                         Bytes context) {
  if (const std::optional<Bytes> room = RoomOf(message)) return room;
  if (message.capacity && message.place == MemoryPlace::kCard)
    return std::max(Bytes(), *message.capacity - (message.pool.empty() ? context : Bytes()));
  return chosen ? std::optional(chosen->device.CapacityWith(context)) : std::nullopt;
}

// What fits in the room, and what does not.
Status FitInRoom(const StepOfMessage& of, Bytes room, const AllocatorConfig& config, const Layout& lay_out,
                 ExplainedStep* step) {
  const auto& [prepared, spec, timeline] = of.laid_out;
  const int64_t batch = step->head.batch;
  step->room = room;
  if (const auto refused = Replay(timeline, batch, config, room).out_of_memory)
    step->refused = DescribeAllocation(timeline, prepared.layers, batch, *refused);
  if (step->refused && !config.expandable_segments && spec.framework >= Framework{2, 1}) {
    AllocatorConfig expandable = config;
    expandable.expandable_segments = true;
    step->expandable_fits = !Replay(timeline, batch, expandable, room).out_of_memory;
  }
  if (!step->head.model.has_batch) return Done();
  Result<LargestBatch> largest = FindLargestBatch(lay_out, prepared.layers, config, room, step->refused ? 1 : batch);
  if (!largest.ok()) return largest.error();
  step->largest = *std::move(largest);
  return Done();
}

// Of the card, by others than the process that failed, whose own context is the smallest of its generation.
Bytes HeldByOthers(const OutOfMemory& message, const Device& device) {
  if (message.place != MemoryPlace::kCard || !message.capacity || !message.free) return Bytes();
  return std::max(Bytes(), *message.capacity - *message.free - device.context.likely);
}

}  // namespace

Result<ServedModel> ExplainServing(const Question& asked, const OutOfMemory& message, const ChosenDevice& chosen) {
  Question question = asked;
  if (const Status named = TakeNamed(&question); !named.ok()) return named.error();
  if (!question.vllm) question.vllm = VllmOptions();
  ServedModel served;
  const std::optional<int64_t> tokens = message.tokens_fit ? message.tokens_fit : message.tokens;
  if (question.named != nullptr && tokens) {
    const std::string length = ServedLength(*question.named).first;
    if (question.bind.dims.emplace(length, *tokens).second) served.dim = length + "=" + std::to_string(*tokens);
  }
  ChosenDevice beside = chosen;
  served.others = HeldByOthers(message, beside.device);
  beside.device.reserve += served.others;
  const Result<VllmStart> start = VllmStartOf(question, beside);
  if (!start.ok()) return start.error();
  served.verdict = VerdictLine(*start);
  return served;
}

Result<StepOfMessage> ExplainStep(const Question& asked, const OutOfMemory& message,
                                  const std::optional<ChosenDevice>& chosen) {
  Question question = asked;
  const bool takes_version = TakeVersion(message, &question.spec);
  Result<Prepared> made = Prepare(question);
  if (!made.ok()) return made.error();
  if (chosen) made->notes.Append(chosen->notes);
  if (takes_version) {
    made->notes.Add({"assumed-framework", Severity::kNote, "--framework",
                     "the message is of PyTorch before 2.0, so the oldest version and attention in parts are assumed",
                     "give --framework and --attention to change it"});
  }
  StepOfMessage of{.laid_out = {*std::move(made), SpecOf(question, chosen), {}}};
  Prepared& prepared = of.laid_out.prepared;
  const TrainingSpec& spec = of.laid_out.spec;
  Timeline& timeline = of.laid_out.timeline;
  const Layout lay_out = [&](int64_t batch) {
    Notes already_told;
    return LayOut(prepared, spec, batch, &already_told);
  };
  ExplainedStep& step = of.step;
  step.version_told = takes_version;
  of.context = ContextFor(question, chosen, spec);
  step.room_told = RoomOf(message).has_value();
  of.room = RoomOfMessageOrCard(message, chosen, of.context.likely);
  int64_t& batch = prepared.head.batch;
  if (!prepared.head.batch_given && prepared.head.model.has_batch) {
    step.match = BatchLike(message, lay_out, prepared.layers, question.allocator, of.room, kMostBatch);
    step.batch_found = step.match.has_value();
    if (step.batch_found) {
      batch = step.match->request.batch;
    } else {
      prepared.notes.Add({"assumed-batch", Severity::kNote, "--batch",
                          "no batch makes a request like that of the message, so batch 1 is assumed",
                          "give --batch to change it"});
    }
  }
  Result<Timeline> laid_out = LayOut(prepared, spec, batch, &prepared.notes);
  if (!laid_out.ok()) return laid_out.error();
  timeline = *std::move(laid_out);
  if (!step.match) step.match = RequestLike(message, timeline, prepared.layers, batch, question.allocator, of.room);
  step.head = prepared.head;
  if (of.room) {
    if (const Status fitted = FitInRoom(of, *of.room, question.allocator, lay_out, &step); !fitted)
      return fitted.error();
  } else {
    prepared.notes.Add({"unknown-card", Severity::kNote, "--gpu",
                        "the message does not give the size of the card, so what fits there is not known",
                        "name it with --gpu or --gpu-memory"});
  }
  return of;
}

}  // namespace vramplan
