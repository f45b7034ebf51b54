#include "planner/report/validate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "planner/cli/validate_question.h"
#include "planner/cli/verbs.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

constexpr int kDiffers = 3, kValidateStopped = 4;
// Stays free for others unless --reserve says otherwise: what desktops and small jobs ask for from one moment to the
// next.
constexpr Bytes kMargin = Bytes::MiB(256);

Status CheckValidateOptions(const Options& options) {
  const auto refused = [](std::string flag, std::string text, std::string hint) {
    return Error{ErrorCode::kUsage, std::move(flag), std::move(text), std::move(hint)};
  };
  if (options.allocator.expandable_segments) {
    return refused("--allocator-conf",
                   "validate replays segments of cudaMalloc, and expandable segments map pages instead",
                   "leave expandable_segments out, or ask vramplan fit");
  }
  if (options.dry_run) return Done();
  if (!options.gpu.empty() && !IsAuto(options.gpu)) {
    return refused(
        "--gpu",
        "validate runs on a card of this machine, and " + InQuotes(options.gpu) + " is a name of the catalogue",
        "type --gpu auto, or add --dry-run");
  }
  if (options.gpu_memory) {
    return refused("--gpu-memory", "the size of a real card cannot be chosen", "type --max-bytes, or add --dry-run");
  }
  return Done();
}

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

Result<Outcome> RunValidate(const Options& given, const Style& style, Probe* machine) {
  if (const Status checked = CheckValidateOptions(given); !checked.ok()) return checked.error();
  Options options = given;
  if (options.gpu.empty() && !options.gpu_memory && options.profile.empty()) options.gpu = "auto";
  if (!options.dry_run && options.gpu.empty()) options.gpu = "auto";
  if (options.spec.given.count("reserve") == 0) options.reserve = kMargin;
  Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  ChosenDevice& device = **chosen;
  // What others hold was then asked of a context, which takes at least that much itself.
  if (device.facts && !device.facts->free)
    device.device.held = std::max(Bytes(), device.device.held - device.device.context.low);
  std::optional<int> card;
  if (device.facts) card = device.facts->index;
  ValidateQuestion question(options, std::move(device), *std::move(prepared));
  Result<ValidateReport> predicted = question.Predict();
  if (!predicted.ok()) return predicted.error();
  ValidateReport& report = *predicted;
  report.card = card;

  if (!options.dry_run) {
    const Result<DriverFacts> driver = machine->Driver();
    if (!driver.ok()) return driver.error();
    report.driver = *driver;
    const Result<std::optional<Bytes>> used = machine->Used(*card);
    if (!used.ok()) return used.error();
    Result<std::unique_ptr<CardSession>> session = machine->Open(*card);
    if (!session.ok()) return session.error();
    Result<Observation> seen = See(question, report.prediction, machine, session->get(), *used);
    session->reset();
    if (!seen.ok()) return seen.error();
    report.seen = *std::move(seen);
    report.judgement = Judge(report.prediction, *report.seen);
    Bytes others = report.seen->disturbed;
    if (others == Bytes())
      others = report.seen->tries.empty() ? report.seen->run.others : report.seen->tries.back().others;
    report.left_behind = LeftBehind(machine, *card, *used, others);
    AddNotes(question, *used, &report);
  }
  const int exit_code = report.judgement.agreement == Agreement::kAgrees    ? 0
                        : report.judgement.agreement == Agreement::kDiffers ? kDiffers
                                                                            : kValidateStopped;
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(report)), .exit_code = exit_code};
  return Outcome{.text = PrintValidate(report, style), .exit_code = exit_code, .notes = report.notes};
}

}  // namespace vramplan
