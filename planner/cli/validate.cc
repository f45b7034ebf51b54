#include "planner/answers/validate.h"

#include <algorithm>
#include <utility>

#include "planner/cli/settings.h"
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
  const Bytes most = options.max_bytes.value_or(Bytes::Max());
  ValidateQuestion question(options, most, std::move(device), *std::move(prepared));
  Result<ValidateReport> predicted = question.Predict();
  if (!predicted.ok()) return predicted.error();
  ValidateReport& report = *predicted;
  report.head.spec = SpecRows(options, question.spec(), report.head, question.chosen(), report.prediction.context);
  report.card = card;
  if (!options.dry_run) {
    if (const Status seen = Observe(question, *card, machine, &report); !seen) return seen.error();
  }
  const int exit_code = report.judgement.agreement == Agreement::kAgrees    ? 0
                        : report.judgement.agreement == Agreement::kDiffers ? kDiffers
                                                                            : kValidateStopped;
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(report)), .exit_code = exit_code};
  return Outcome{.text = PrintValidate(report, style), .exit_code = exit_code, .notes = report.notes};
}

}  // namespace vramplan
