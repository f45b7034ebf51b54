#include "planner/report/explain.h"
#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"

namespace vramplan {

template <>
struct Described<OutOfMemoryProcess> {
  static constexpr const char* kName = "";
  static Fields<OutOfMemoryProcess> Make() {
    return Fields<OutOfMemoryProcess>()
        .Has("pid", "", &OutOfMemoryProcess::pid)
        .Has("in_use", "", &OutOfMemoryProcess::in_use)
        .Has("own", "the process that failed", &OutOfMemoryProcess::own);
  }
};

template <>
struct Described<OutOfMemoryPart> {
  static constexpr const char* kName = "";
  static Fields<OutOfMemoryPart> Make() {
    return Fields<OutOfMemoryPart>().Has("name", "", &OutOfMemoryPart::name).Has("bytes", "", &OutOfMemoryPart::bytes);
  }
};

template <>
struct Described<OutOfMemory> {
  static constexpr const char* kName = "";
  static Fields<OutOfMemory> Make() {
    using M = OutOfMemory;
    return Fields<M>()
        .Has("kind", "who says it: pytorch, tensorflow, device (the driver), library, host ...", &M::kind)
        .Has("place", "which memory ran out", &M::place)
        .Has("backend", "CUDA, HIP, XPU, NPU, MPS; empty: not said", &M::backend)
        .Has("gpu", "as the process counts them", &M::gpu)
        .Has("tried", "to allocate", &M::tried)
        .Has("capacity", "of the card", &M::capacity)
        .Has("free", "", &M::free)
        .Has("allowed", "of a process that set a fraction, or a limit", &M::allowed)
        .Has("allocated", "by live tensors", &M::allocated)
        .Has("private_pools", "idle, in pools of CUDA graphs", &M::private_pools)
        .Has("unallocated", "by no tensor, of `reserved`", &M::unallocated)
        .Has("reserved", "by the allocator", &M::reserved)
        .Has("in_use", "by this process, inside and outside the allocator", &M::in_use)
        .Has("outside", "of this process, beside `reserved`", &M::outside)
        .Has("total", "by a whole compiled program, with `parts`", &M::total)
        .Has("parts", "", &M::parts)
        .Has("tokens", "of a server: in a request", &M::tokens)
        .Has("tokens_fit", "that its cache has room for", &M::tokens_fit)
        .Has("processes", "", &M::processes)
        .Has("shape", "", &M::shape)
        .Has("node", "", &M::node)
        .Has("op", "", &M::op)
        .Has("failed_in",
             "loading, forward, backward, optimizer, validation, generation, inference, saving or serving, by the "
             "traceback; empty: it does not say",
             [](const M& message) { return std::string(Name(message.failure.part)); })
        .Has("failed_at", "the innermost frame of one's own code", &M::failure, &Failure::at)
        .Has("messages", "of this kind in the text", &M::messages);
  }
};

template <>
struct Described<CardShares> {
  static constexpr const char* kName = "";
  static Fields<CardShares> Make() {
    using S = CardShares;
    return Fields<S>()
        .Has("allocated", "", &S::allocated)
        .Has("unallocated", "", &S::unallocated)
        .Has("graphs", "idle, in pools of CUDA graphs", &S::graphs)
        .Has("outside", "", &S::outside)
        .Has("undivided", "this process holds it, and the message does not say what for", &S::undivided)
        .Has("others", "the processes that the message tells from this one", &S::others)
        .Has("free", "", &S::free)
        .Has("unknown", "the rest, which the message does not name", &S::unknown);
  }
};

template <>
struct Described<RequestMatch> {
  static constexpr const char* kName = "";
  static Fields<RequestMatch> Make() {
    using M = RequestMatch;
    return Fields<M>()
        .Has("request", "", [](const M& match) { return std::optional(match.request); })
        .Has("tried", "what was asked for", &M::tried)
        .Has("allocated", "before it, on an unlimited card", &M::allocated)
        .Has("alike", "requests of the run that would print the same message", &M::alike)
        .Has("refused", "the step, in the memory that was available, fails at this very request", &M::refused)
        .Has("fails_elsewhere", "it fails at another request", &M::fails_elsewhere)
        .Has("difference", "of the message's allocated bytes from these, as a share", &M::difference);
  }
};

template <>
struct Described<ExplainedStep> {
  static constexpr const char* kName = "";
  static Fields<ExplainedStep> Make() {
    using S = ExplainedStep;
    return Fields<S>()
        .Has("model", "", &S::head, &AnswerHead::model)
        .Has("batch", "", &S::head, &AnswerHead::batch)
        .Has("batch_found", "it was not given", &S::batch_found)
        .Has("spec", "the options behind the answer", &S::head, &AnswerHead::spec)
        .Has("match", "the request that failed", &S::match)
        .Has("room", "what the allocator could take there", &S::room)
        .Has("room_told", "by the message; else the card's size less a context", &S::room_told)
        .Has("refused", "of the same step replayed in that room; null: it fits", &S::refused)
        .Has("expandable_fits", "with expandable segments", &S::expandable_fits)
        .Has("largest_batch", "in that room",
             [](const S& of) { return of.largest ? std::optional(of.largest->largest_batch) : std::nullopt; })
        .Has("plan", "the command line that says what to change; of what does not train, what fits", &S::plan);
  }
};

template <>
struct Described<ServedModel> {
  static constexpr const char* kName = "";
  static Fields<ServedModel> Make() {
    return Fields<ServedModel>()
        .Has("verdict", "whether vllm serve starts with it on that card", &ServedModel::verdict)
        .Has("command", "the command line that says more", &ServedModel::command);
  }
};

template <>
struct Described<ExplainReport> {
  static constexpr const char *kName = "", *kAnswer = "explain", *kTitle = "why memory ran out";
  static Fields<ExplainReport> Make() {
    return Fields<ExplainReport>()
        .Has("file", "where the message stood", &ExplainReport::file)
        .Has("message", "what it says; null: nothing about it", &ExplainReport::message)
        .Has("cause", "docs/oom.md lists them", &ExplainReport::cause)
        .Has("shares", "of the card", &ExplainReport::shares)
        .Has("step", "--model: the step that the message is about", &ExplainReport::step)
        .Has("served", "--model, of a message of vLLM, in place of the step", &ExplainReport::served)
        .Has("notes", "", &ExplainReport::notes);
  }
};

Json ToJson(const ExplainReport& report) { return AnswerJson(report); }

Json ExplainSchema() { return AnswerSchema<ExplainReport>(); }

}  // namespace vramplan
