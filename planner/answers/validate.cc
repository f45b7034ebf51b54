#include "planner/answers/validate.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace vramplan {
namespace {

// What loading this takes of the card; nothing: it is not installed.
Result<std::optional<Bytes>> Taken(CardSession* session, CardLibrary library) {
  const Result<CardSession::Memory> before = session->Free();
  if (!before.ok()) return before.error();
  const Result<bool> loaded = session->Load(library);
  if (!loaded.ok()) return loaded.error();
  if (!*loaded) return std::optional<Bytes>();
  const Result<CardSession::Memory> after = session->Free();
  if (!after.ok()) return after.error();
  return std::optional(before->free - after->free);
}

// As a framework that trains has it: its own kernels, cuBLAS and cuDNN. `free`: before the context.
Status SeeContext(CardSession* session, const std::optional<Bytes>& free, ContextSeen* seen) {
  const Result<CardSession::Memory> memory = session->Free();
  if (!memory.ok()) return memory.error();
  if (free) seen->bare = *free - memory->free;
  const Result<std::optional<Bytes>> kernel = Taken(session, CardLibrary::kKernel);
  if (!kernel.ok()) return kernel.error();
  seen->kernel = kernel->value_or(Bytes());
  for (const auto& [library, to] :
       {std::pair(CardLibrary::kCublas, &seen->cublas), std::pair(CardLibrary::kCudnn, &seen->cudnn)}) {
    const Result<std::optional<Bytes>> taken = Taken(session, library);
    if (!taken.ok()) return taken.error();
    *to = *taken;
  }
  return Done();
}

// Fills what a try says of the surroundings; false: nothing more can be compared after it.
bool Undisturbed(const CardTry& tried, const CardTry& first, Observation* seen) {
  if (tried.error && !seen->error) seen->error = tried.error;
  if (tried.end == CardTry::End::kDisturbed) seen->disturbed = tried.refusal->others;
  if (!tried.moments.empty() && !first.moments.empty()) {
    const Bytes since = first.moments.front().free - tried.moments.front().free;
    const bool noticeable = since >= kNoticeable || Bytes() - since >= kNoticeable;
    if (noticeable && seen->disturbed == Bytes()) seen->disturbed = since;
  }
  return !seen->error && seen->disturbed == Bytes();
}

// Everything that happens on the card. `used`: by everybody, before.
Result<Observation> See(const ValidateQuestion& question, const Prediction& prediction, Probe* machine,
                        CardSession* session, const std::optional<Bytes>& used) {
  Observation seen;
  seen.run.batch = prediction.batch;
  seen.found.stopped = true;
  if (const Status looked = SeeContext(session, question.card().free, &seen.context); !looked.ok()) {
    seen.error = looked.error();
    return seen;
  }
  Result<CardTry> run = question.Try(machine, session, prediction.batch, &prediction.peak);
  if (!run.ok()) return run.error();
  seen.run = *std::move(run);
  const std::vector<CardMoment>& moments = seen.run.moments;
  if (seen.context.total()) seen.inside = *seen.context.total() + seen.run.FellInside();
  if (used && seen.run.RoseOutside()) seen.outside = *moments.front().used - *used + *seen.run.RoseOutside();
  if (!Undisturbed(seen.run, seen.run, &seen)) return seen;

  const Result<LargestBatch> largest = question.Largest(seen.context.total().value_or(prediction.context.likely),
                                                        std::max<int64_t>(1, prediction.largest.likely));
  if (!largest.ok()) return largest.error();
  seen.largest_predicted = largest->largest_batch;
  std::optional<Error> bad;
  const KnownBatch known{prediction.batch, seen.run.end == CardTry::End::kRan};
  const int64_t first = std::clamp<int64_t>(prediction.largest.likely, 1, question.Most());
  seen.found = FindFailingBatch(first, question.Most(), known, [&](int64_t batch) -> std::optional<bool> {
    Result<CardTry> tried = question.Try(machine, session, batch, nullptr);
    if (!tried.ok()) {
      bad = tried.error();
      return std::nullopt;
    }
    seen.tries.push_back(*std::move(tried));
    if (!Undisturbed(seen.tries.back(), seen.run, &seen)) return std::nullopt;
    return seen.tries.back().end == CardTry::End::kRan;
  });
  if (bad) return *bad;
  return seen;
}

// When the session is over: what did not come back. The driver may take a moment.
std::optional<Bytes> LeftBehind(Probe* machine, int card, const std::optional<Bytes>& used, Bytes others) {
  constexpr int kLooks = 3;
  std::optional<Bytes> left;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) machine->Wait(0.2);
    const Result<std::optional<Bytes>> now = machine->Used(card);
    if (!used || !now.ok() || !*now) return std::nullopt;
    left = std::max(Bytes(), **now - *used - others);
    if (*left < kNoticeable) break;
  }
  return left;
}

void AddNotes(const ValidateQuestion& question, const std::optional<Bytes>& used, ValidateReport* report) {
  const auto note = [&](const char* code, const std::string& subject, const char* text) {
    report->notes.Add({code, Severity::kNote, subject, text, ""});
  };
  if (report->driver.wsl) {
    note("wsl", "driver", "under WSL Windows can move GPU memory to the host, so a full card may not fail");
  }
  if (!used)
    note("not-from-outside", question.card().name,
         "the driver does not report the used memory, so it was seen from inside the process only");
  const ContextSeen& context = report->seen->context;
  if (!context.cublas || !context.cudnn) {
    note("bare-context", "cuBLAS and cuDNN",
         "are not both installed here, so the context is smaller than that of a framework, which loads them");
  }
}

}  // namespace

Status Observe(const ValidateQuestion& question, int card, Probe* machine, ValidateReport* report) {
  const Result<DriverFacts> driver = machine->Driver();
  if (!driver.ok()) return driver.error();
  report->driver = *driver;
  const Result<std::optional<Bytes>> used = machine->Used(card);
  if (!used.ok()) return used.error();
  Result<std::unique_ptr<CardSession>> session = machine->Open(card);
  if (!session.ok()) return session.error();
  Result<Observation> seen = See(question, report->prediction, machine, session->get(), *used);
  session->reset();
  if (!seen.ok()) return seen.error();
  report->seen = *std::move(seen);
  report->judgement = Judge(report->prediction, *report->seen);
  Bytes others = report->seen->disturbed;
  if (others == Bytes())
    others = report->seen->tries.empty() ? report->seen->run.others : report->seen->tries.back().others;
  report->left_behind = LeftBehind(machine, card, *used, others);
  AddNotes(question, *used, report);
  return Done();
}

}  // namespace vramplan
